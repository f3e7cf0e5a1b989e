"""States of a discrete network: how tables become codes, networks are read, checked, or fitted to a table."""
