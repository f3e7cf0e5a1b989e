"""Packages that explain the problems: a module for each, which imports nothing but its package and numpy, and a row of
:mod:`benchmarks.truth.peers.registry`.
"""
