"""Distributions of tables and trees alone: structural models, Gaussians, copulas, donors, fitted networks, covers,
several graphs, the bootstrap."""

from tests.reliability.mutations.mutant import Mutant

_CASES = "tests/reliability/test_properties.py::test_every_question_of_a_kind"
STRUCTURAL = (f"{_CASES}[structural models]",)
GAUSSIANS = (f"{_CASES}[Gaussians]",)
COPULAS = (f"{_CASES}[copulas]",)
DONORS = (f"{_CASES}[donors]", "tests/backgrounds/test_donors.py")
FITTED = (f"{_CASES}[fitted networks]",)
TREES = (f"{_CASES}[trees without a network]",)
GRAPHS = FITTED
MECHANISMS = ("tests/backgrounds/structural/test_spread.py", "tests/backgrounds/structural/test_fitted_models.py")
PARTS = ("tests/orders/test_restricted.py::test_steps_are_the_distribution_of_restricted_orders",)
BOOTSTRAP = ("tests/explainer/test_bootstrapping.py",)

MUTANTS = (
    Mutant(
        "standard error of draws: the slope of the link with the wrong sign inside",
        "backends/coalitionwise.py",
        "self.link(nu + step) - self.link(nu - step)",
        "self.link(nu + step) + self.link(nu - step)",
        ("tests/explainer/test_sampling.py::test_errors_go_through_the_slope_of_the_link",),
    ),
    # --- trees alone, under half a graph ---
    Mutant(
        "orders in parts: who comes next is not weighed by how many are left",
        "orders/restricted_kernels.py",
        "from_left = chance * (p - j) / max(1, n - k)",
        "from_left = chance * (p - j) / max(1, p + q)",
        PARTS,
    ),
    Mutant(
        "orders in parts: what is not looked at is left out inside of a series, too",
        "orders/restricted_kernels.py",
        "if others and not parts.outer[block]:",
        "if others and parts.outer[block]:",
        PARTS,
    ),
    # --- structural models ---
    Mutant(
        "mechanisms: parents in another order",
        "backgrounds/structural/mechanisms.py",
        "cause.restore(points[:, j]) for j, cause in enumerate(self.causes)}\n        noise",
        "cause.restore(points[:, -1 - j]) for j, cause in enumerate(self.causes)}\n        noise",
        STRUCTURAL,
    ),
    Mutant(
        "mechanisms: the noise of one node serves another",
        "backgrounds/structural/simulation.py",
        "noise = uniforms[:, int(starts[v]) : int(starts[v]) + mechanisms[v].n_uniforms]",
        "noise = uniforms[:, : mechanisms[v].n_uniforms]",
        STRUCTURAL,
    ),
    Mutant(
        "mechanisms: descendants are not simulated again",
        "backgrounds/structural/simulation.py",
        "joint = np.unique(joint * len(cause.values) + cause.group[free], return_inverse=True)[1]",
        "joint = np.unique(joint, return_inverse=True)[1]",
        STRUCTURAL,
    ),
    Mutant(
        "mechanisms: one settled cause makes all of them settled",
        "backgrounds/structural/simulation.py",
        "settled &= cause.settled[cause.group[rows]]",
        "settled |= cause.settled[cause.group[rows]]",
        STRUCTURAL,
    ),
    Mutant(
        "mechanisms: what is held is drawn all the same",
        "backgrounds/structural/simulation.py",
        "        values[: len(known)] = known[:, None]",
        "        values[: len(known)] = known.mean() if len(known) else 0.0",
        STRUCTURAL,
    ),
    Mutant(
        "fits: residuals of the training fit instead of held-out ones",
        "backgrounds/structural/numbers.py",
        "learn_noise(task, kind, task.target - fitted.held_out)",
        "learn_noise(task, kind, task.target - fitted.function(task.parents))",
        MECHANISMS,
    ),
    Mutant(
        "fits: scaled noise forgets the scale",
        "backgrounds/structural/numbers.py",
        "return residuals if scales is None else scales[:, None] * residuals",
        "return residuals",
        MECHANISMS,
    ),
    Mutant(
        "fits: a number is drawn without its location",
        "backgrounds/structural/numbers.py",
        "self.location(parents)[:, None] + self.noise.draw(parents, uniforms[:, :, 0])",
        "self.location(parents).mean() + self.noise.draw(parents, uniforms[:, :, 0])",
        MECHANISMS,
    ),
    # --- Gaussians and copulas ---
    Mutant(
        "Gaussians: the mean of what is known is not taken off",
        "backgrounds/gaussian/model.py",
        "return (evidence[:, given.known] - self.mean[given.known]) / self._scale[given.known]",
        "return evidence[:, given.known] / self._scale[given.known]",
        GAUSSIANS,
    ),
    Mutant(
        "Gaussians: scales of the rest and of the known confused",
        "backgrounds/gaussian/model.py",
        "return self.mean[given.rest] + self._scale[given.rest] * shift",
        "return self.mean[given.rest] + self._scale[::-1][given.rest] * shift",
        GAUSSIANS,
    ),
    Mutant(
        "Gaussians: what is left varies as if nothing were known",
        "backgrounds/gaussian/algebra.py",
        "left = correlation[np.ix_(rest, rest)] - half @ half.T",
        "left = correlation[np.ix_(rest, rest)]",
        GAUSSIANS,
    ),
    Mutant(
        "Gaussians: features left out keep their place in the covariance",
        "backgrounds/gaussian/model.py",
        "self.covariance: np.ndarray = all_covariances[np.ix_(kept, kept)]",
        "self.covariance: np.ndarray = all_covariances[: len(kept), : len(kept)]",
        GAUSSIANS,
    ),
    Mutant(
        "linear models: means of the wrong evidence",
        "values/moments.py",
        "means = self.background.means(evidence_of(coalitions, rows, self.background.free))",
        "means = self.background.means(evidence_of(~coalitions, rows, self.background.free))",
        GAUSSIANS,
    ),
    Mutant(
        "linear models: slopes without what the known say of the rest",
        "backgrounds/gaussian/algebra.py",
        "slopes[chosen[:, None], known] += gain",
        "slopes[chosen[:, None], known] += 0 * gain",
        GAUSSIANS,
    ),
    Mutant(
        "copulas: ties are not made up for",
        "backgrounds/gaussian/copula.py",
        "raw = np.clip(scores.T @ scores / len(scores) / np.outer(variances, variances), -1.0, 1.0)",
        "raw = np.clip(scores.T @ scores / len(scores), -1.0, 1.0)",
        COPULAS,
    ),
    Mutant(
        "copulas: values come back from the wrong column",
        "backgrounds/gaussian/copula.py",
        "self._quantiles(k, ndtr(drawn[free, :, k]))",
        "self._quantiles(0, ndtr(drawn[free, :, k]))",
        COPULAS,
    ),
    Mutant(
        "copulas: scores at the edges of the intervals",
        "backgrounds/gaussian/copula.py",
        "return values, -np.diff(density) * len(column) / counts",
        "return values, np.clip(edges[1:], -3.0, 3.0)",
        COPULAS,
    ),
    # --- donors ---
    Mutant(
        "donors: residuals of a fit that has seen the donor",
        "backgrounds/donors/smoothers.py",
        "left = (centred - rotated @ inside) / np.maximum(1 - leverage, 1e-3)[:, None]",
        "left = centred - rotated @ inside",
        DONORS,
    ),
    Mutant(
        "donors: picked by their place in the row of neighbours",
        "backgrounds/donors/conditional_table.py",
        "picked[e] = lending.order[places]",
        "picked[e] = places",
        DONORS,
    ),
    Mutant(
        "donors: the evidence is not held",
        "backgrounds/donors/conditional_table.py",
        "            rows[:, members] = evidence[e, members]\n",
        "            rows[:, members] = rows[:, members] * 1.0\n",
        DONORS,
    ),
    Mutant(
        "donors: weights of the forests without their shares",
        "backgrounds/donors/leaf_weights.py",
        "result[block] += share * forest.weights(matrix[block])",
        "result[block] += forest.weights(matrix[block])",
        DONORS,
    ),
    # --- networks fitted to tables ---
    Mutant(
        "fitted networks: pseudo-rows look alike for every column",
        "backgrounds/discrete/states/fitted.py",
        "table = (counts + smoothing * own) / np.where(total > 0, total, 1.0)",
        "table = (counts + smoothing / n_states) / np.where(total > 0, total, 1.0)",
        FITTED,
    ),
    Mutant(
        "fitted networks: causes in the order of the table",
        "backgrounds/discrete/states/fitted.py",
        "        parents.append(tuple(node for node, _, _ in causes))",
        "        parents.append(tuple(sorted((node for node, _, _ in causes), reverse=True)))",
        FITTED,
    ),
    Mutant(
        "fitted networks: a bin closed on the wrong side",
        "backgrounds/discrete/states/binning.py",
        'np.searchsorted(self.at, seen, side="left")',
        'np.searchsorted(self.at, seen, side="right")',
        FITTED,
    ),
    # --- trees alone ---
    Mutant(
        "trees: cover ratios of the wrong child",
        "backends/trees/path_kernels.py",
        "ratio[depth, place] *= nodes.cover[node] / weight if weight > 0 else 0.5",
        "ratio[depth, place] *= 1.0 - nodes.cover[node] / weight if weight > 0 else 0.5",
        TREES,
    ),
    Mutant(
        "trees, levels: weights off by one",
        "orders/restricted_kernels.py",
        "                    weight *= s / (m - s)\n",
        "                    weight *= s / (m - s + 1)\n",
        TREES,
    ),
    Mutant(
        "trees: shares of explicit orders dropped",
        "orders/restricted.py",
        "    share = check_order_weights(weights, len(orders))",
        "    share = np.full(len(orders), 1 / len(orders))",
        ("tests/explainer/test_trees_alone.py::test_given_orders_and_sampled_orders",),
    ),
    Mutant(
        "trees: coalitions of several graphs taken for closed under unions",
        "orders/restricted.py",
        "return _restrict_lattice(weights.coalitions, *weights.steps(), closed=False)",
        "return _restrict_lattice(weights.coalitions, *weights.steps(), closed=True)",
        ("tests/explainer/test_uncertain_graphs.py", *TREES),
    ),
    # --- several graphs ---
    Mutant(
        "mixtures: the weight of a graph that stands twice is dropped",
        "orders/uncertain/mixture.py",
        "merged[order] = merged.get(order, 0.0) + share",
        "merged[order] = share",
        ("tests/orders/uncertain/test_mixture.py", *GRAPHS),
    ),
    Mutant(
        "mixtures: the DAGs of a graph are not given their share of its weight",
        "orders/uncertain/mixture.py",
        "found[order] = found.get(order, 0.0) + share / min(total, limit)",
        "found[order] = found.get(order, 0.0) + share",
        ("tests/orders/uncertain/test_mixture.py", *GRAPHS),
    ),
    Mutant(
        "partly directed graphs: an undirected edge oriented one way only",
        "orders/uncertain/extensions.py",
        "branches = []\n    for cause, effect in ((a, b), (b, a)):",
        "branches = []\n    for cause, effect in ((a, b),):",
        GRAPHS,
    ),
    # --- groups, mixtures of distributions, bootstrap ---
    Mutant(
        "groups: the first member of a group is lost",
        "orders/players.py",
        "return np.flatnonzero(self.of_feature == player)",
        "return np.flatnonzero(self.of_feature == player)[:1]",
        ("tests/explainer/test_groups.py",),
    ),
    Mutant(
        "mixtures of distributions: every component counts alike",
        "backgrounds/choice/mixture.py",
        "bounds = np.cumsum(self.shares)[:-1]",
        "bounds = np.arange(1, len(self.shares)) / len(self.shares)",
        ("tests/backgrounds/test_scoring.py", "tests/backgrounds/test_contract.py"),
    ),
    Mutant(
        "bootstrap: the table is not resampled",
        "explainer/worth.py",
        "        again = resampled(table, np.random.default_rng([seed, _STREAM]))",
        "        again = table",
        BOOTSTRAP,
    ),
    Mutant(
        "bootstrap: nothing is fitted again",
        "explainer/worth.py",
        "explainer._derived(masker=again, causal_graph=graph, seed=seed, silent=True)",
        "explainer._derived(causal_graph=graph, seed=seed, silent=True)",
        BOOTSTRAP,
    ),
)
