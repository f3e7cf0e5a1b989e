"""The causal graph as a picture: who stands in which layer, at which height, and how arrows go around."""
