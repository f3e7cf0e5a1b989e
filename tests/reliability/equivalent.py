"""Random mutants that survive because nothing that a user sees depends on them, each with the reason."""

#: file: function: old -> new, as ``random_mutants`` writes it down.
EQUIVALENT: dict[str, str] = {
    "backgrounds/choice/choosing.py: choose_background: shares >= LEAST_SHARE -> (shares > LEAST_SHARE)": (
        "a share of exactly 0.05 does not occur: it is the solution of a quadratic problem with measured coefficients"
    ),
    "backends/trees/leaves.py: find_leaves: 2 -> 3 (3)": "room for masks that is cut to what is used",
    "backgrounds/discrete/inference/engine.py: Inference.plan: sum(kept.n_entries for kept in "
    "list(self._plans.values())) > PLAN_ENTRIES_KEPT -> "
    "(sum((kept.n_entries for kept in list(self._plans.values()))) >= PLAN_ENTRIES_KEPT)": (
        "when remembered plans are forgotten; they are made again, the same"
    ),
    "backends/forest/recursion.py: : 2**22 -> (2 * 22)": "lanes computed at a time; each is computed by itself",
    "backends/trees/cost.py: : 12 -> 13": (
        "where tables end and the algorithm for long paths begins: both give the same values, and are tested apart"
    ),
    "backends/trees/leaves.py: find_leaves: 5 -> 6": "room for a sixth number that nobody writes or reads",
    "backgrounds/donors/smoothers.py: Smoother.fit: gain.mean(axis=0) > gain.std(axis=0) / np.sqrt(len(matrix)) -> "
    "(gain.mean(axis=0) >= gain.std(axis=0) / np.sqrt(len(matrix)))": (
        "equal only for an output that is constant, which straight lines and curves predict alike"
    ),
    "backends/forest/recursion.py: _mixing: a * b <= _KEPT -> (a * b < _KEPT)": (
        "whether an array is remembered or computed again, the same"
    ),
    "backgrounds/discrete/inference/elimination.py: _Pricing.eliminate: 1 -> 2": (
        "a price by which orders of elimination are compared, each of which gives the same values"
    ),
    "backends/trees/leaves.py: find_leaves: 0 -> 1 (3)": "node 0 is the root of the first tree, never a left child",
    "backends/closures/kernels.py: fill_demand: 0 -> 1 (2)": (
        "nodes that a term looks at have rows from 1 on, since row 0 is that of all others"
    ),
}
