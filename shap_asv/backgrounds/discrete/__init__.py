"""Discrete Bayesian networks as backgrounds: ``background`` is the door, ``inference/`` the machinery behind it."""
