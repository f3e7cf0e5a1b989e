"""Random mutants that survive because nothing that a user sees depends on them, each with the reason."""

#: file: function: old -> new, as ``random_mutants`` writes it down.
EQUIVALENT: dict[str, str] = {}
