"""Exact inference: an elimination plan per network, a circuit per batch of evidence, terms run through it."""
