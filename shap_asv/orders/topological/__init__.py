"""Topological orders, counted and drawn uniformly; ``sampling`` has the table of methods."""
