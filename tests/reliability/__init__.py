"""Runs too long for every test run: each prints its figures and keeps them for ``docs/reliability.md``."""
