"""Tree ensembles: one file per library that grows them, read as arrays of nodes, then as products of state sets."""
