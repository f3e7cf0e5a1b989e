"""Mechanisms ``x_v = g(x_parents, u)``: what they are (``contract``), given ones, fitted ones."""
