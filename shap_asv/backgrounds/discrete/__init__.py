"""Discrete Bayesian networks as backgrounds: ``background`` is the door, ``engine`` the machinery behind it."""
