"""Calling a model: what it takes, what it answers, which column is which feature, how long it takes."""
