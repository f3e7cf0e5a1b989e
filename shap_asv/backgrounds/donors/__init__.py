"""Rows of a table that lend the rest to what is known: donors weighted by forests, or by nearness. Any coalition."""
