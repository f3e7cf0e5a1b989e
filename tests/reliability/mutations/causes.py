"""Wrong lines in what is known of causes: groups, global values, causal values, several graphs, graphs from tables."""

from tests.reliability.mutations.mutant import Mutant

OF_GROUPS = "tests/reliability/test_properties.py::test_every_question_of_a_kind[discrete networks]"
UNCERTAIN = "tests/explainer/test_uncertain_graphs.py"
DO = "tests/explainer/test_causal_values.py"

MUTANTS = (
    Mutant(
        "groups: the first member of all is left behind",
        "orders/players.py",
        "        return np.asarray(coalitions)[:, self.of_feature]",
        "        return np.asarray(coalitions)[:, self.of_feature] & (np.arange(len(self.of_feature)) > 0)",
        (OF_GROUPS,),
    ),
    Mutant(
        "groups: the quotient turns arrows around",
        "orders/players.py",
        "                pair = int(self.of_feature[u]), int(self.of_feature[v])",
        "                pair = int(self.of_feature[v]), int(self.of_feature[u])",
        (OF_GROUPS,),
    ),
    Mutant(
        "groups: orders of groups put their members apart",
        "orders/players.py",
        '        return np.argsort(position[:, self.of_feature], axis=1, kind="stable")',
        '        return np.argsort(self.of_feature + 0 * position[:, self.of_feature], axis=1, kind="stable")',
        ("tests/explainer/test_groups.py",),
    ),
    Mutant(
        "importance: the loss of each draw instead of the loss of their mean",
        "backends/losses.py",
        "        whole = self._losses(mean, targets)",
        "        whole = np.mean([self._losses(part, targets) for part in grouped], axis=0)",
        ("tests/explainer/test_importance.py",),
    ),
    Mutant(
        "importance: rows get the targets of their neighbours",
        "backends/losses.py",
        "        return self.loss(nu.reshape(r * m, k), np.repeat(targets, m)).reshape(r, m)",
        "        return self.loss(nu.reshape(r * m, k), np.tile(targets, m)).reshape(r, m)",
        (OF_GROUPS,),
    ),
    Mutant(
        "importance: resampled rows are all rows",
        "explainer/importances.py",
        "rng.integers(0, n_rows, n_rows)",
        "rng.permutation(n_rows)",
        ("tests/explainer/test_importance.py",),
    ),
    Mutant(
        "causal values: latent nodes that are nearly functions count as known",
        "backgrounds/discrete/background.py",
        "bool((tables[name].max(axis=0) == 1.0).all())",
        "bool((tables[name].max(axis=0) > 0.5).all())",
        (DO,),
    ),
    Mutant(
        "marginal values: features cut loose have the distribution that they have given all others' first states",
        "backgrounds/discrete/background.py",
        "            evidence = np.full((card, n), -1)",
        "            evidence = np.full((card, n), 0)",
        (DO,),
    ),
    Mutant(
        "sensitivity: standard errors of the graph before",
        "explainer/sensitivities.py",
        "error_std=None if errors is None else errors[len(given) :],",
        "error_std=None if errors is None else errors[: len(errors) - len(given)],",
        (UNCERTAIN,),
    ),
    Mutant(
        "sensitivity: graphs between groups lose the hidden nodes' arrows",
        "orders/uncertain/partial_graph.py",
        "        directed = frozenset((rename(a), rename(b)) for a, b in self.directed if rename(a) != rename(b))",
        "        directed = frozenset((rename(a), rename(b)) for a, b in self.directed if rename(a) != a != rename(b))",
        (UNCERTAIN,),
    ),
    Mutant(
        "neighbours: a flipped edge is only dropped",
        "orders/uncertain/neighbours.py",
        '    if change != "drop":',
        '    if change == "add":',
        (UNCERTAIN,),
    ),
    Mutant(
        "mixtures: every graph counts alike in the polynomial backends",
        "backends/polynomial.py",
        "            phi = phi + share * each.attributions(rows, report=of_graph)",
        "            phi = phi + each.attributions(rows, report=of_graph) / len(self.prepared)",
        (f"{UNCERTAIN}::test_polynomial_backends_run_once_for_each_graph",),
    ),
    Mutant(
        "mixtures: a graph with undirected edges counts once for each of its DAGs",
        "orders/uncertain/mixture.py",
        "share / min(total, limit)",
        "share",
        ("tests/orders/uncertain/test_mixture.py", UNCERTAIN),
    ),
    Mutant(
        "graphs of causal-learn: the arrow is where the tail is",
        "orders/uncertain/formats.py",
        '        if one == "TAIL" and other == "ARROW":\n            directed.add((a, b))',
        '        if one == "TAIL" and other == "ARROW":\n            directed.add((b, a))',
        ("tests/orders/uncertain/test_formats.py",),
    ),
    Mutant(
        "graphs: a typo is another variable",
        "orders/uncertain/readings.py",
        "            check_typo(node, missing or list(features))",
        "            check_typo(node, [])",
        ("tests/orders/uncertain/test_formats.py",),
    ),
    Mutant(
        "check_graph: no correction for the number of tests",
        "discovery/checks.py",
        "    adjusted = holm([p for *_, p in found])",
        "    adjusted = [p for *_, p in found]",
        ("tests/discovery/test_checks.py",),
    ),
    Mutant(
        "bootstrap_graphs: a resample on which the learner fails is lost without a word",
        "discovery/bootstrap.py",
        "    if failures:\n        warn_user(",
        "    if len(failures) > n:\n        warn_user(",
        ("tests/discovery/test_bootstrap.py",),
    ),
)
