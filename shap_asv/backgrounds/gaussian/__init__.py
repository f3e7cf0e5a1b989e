"""Jointly Gaussian features, conditioned on any coalition in closed form; copulas where margins are not Gaussian."""
