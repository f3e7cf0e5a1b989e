"""Tables of numbers and categories as rows of floats, and what evidence over such rows looks like."""
