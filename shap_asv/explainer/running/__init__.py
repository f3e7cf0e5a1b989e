"""A problem being explained: planned, cut into blocks of rows, run, and told about while it runs."""
