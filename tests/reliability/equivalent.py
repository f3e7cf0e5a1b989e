"""Random mutants that survive because nothing that a user sees depends on them, each with the reason."""

#: file: function: old -> new, as ``random_mutants`` writes it down.
EQUIVALENT: dict[str, str] = {
    "backends/trees/leaves.py: find_leaves: 2 -> 3 (3)": "room for masks that is cut to what is used",
}
