"""Kinds of random cases, one file each; ``table.py`` has a row for every kind."""
