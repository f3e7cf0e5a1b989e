"""Random mutants that survive because nothing that a user sees depends on them, each with the reason."""

#: file: function: old -> new, as ``random_mutants`` writes it down.
EQUIVALENT: dict[str, str] = {
    "backgrounds/choice/choosing.py: choose_background: shares >= LEAST_SHARE -> (shares > LEAST_SHARE)": (
        "a share of exactly 0.05 does not occur: it is the solution of a quadratic problem with measured coefficients"
    ),
    "backends/trees/leaves.py: find_leaves: 2 -> 3 (3)": "room for masks that is cut to what is used",
}
