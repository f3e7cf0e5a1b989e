"""How far to trust the values: samples, fits, graphs and their effect."""
