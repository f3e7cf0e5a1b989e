"""How far sampled ASV is from exact ASV on the pruned Child network, and how the error falls with the orders.

nu is computed exactly, once for every ideal; sampled and exact attributions are then the same nu under two matrices,
``phi = nu @ W``, so that only the sampling of orders makes a difference and many samples can be tried. The paper says
neither which variable its trees predict nor how deep they are nor which values enter its average, so several settings
are measured. Relative errors of values near zero are large whatever one does; averages are given over all values that
are not zero and over those above 0.001 (of a probability), which is what a plot shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.experiment import AGAINST_PAPER, Claim, Experiment, Plot, Progress, Result, Size, Table

if TYPE_CHECKING:
    from shap_asv.backgrounds.discrete.network import DiscreteNetwork
    from shap_asv.orders import CausalOrder

PAPER_ERROR = 0.08
PAPER_ORDERS = 1000
SMALL_VALUE = 1e-3
ZERO = 1e-9
BINS = ((ZERO, 1e-4), (1e-4, 1e-3), (1e-3, 1e-2), (1e-2, 1.0))
CONFIDENCE = 0.95
LARGE_MEAN, LARGE_MEDIAN, ALL_MEAN = "mean, values > 0.001", "median, values > 0.001", "mean, all values"
GAIN = "independent / spread"
ABSOLUTE, INDEPENDENT = "mean absolute error", "mean absolute error, independent"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, eq=False)
class Setting:
    """A tree explained exactly: nu of the predicted class (rows x ideals), exact values, place of each ideal."""

    target: str
    depth: int | None
    leaves: int
    order: CausalOrder
    nu: np.ndarray
    exact: np.ndarray
    places: dict[bytes, int]

    @property
    def name(self) -> str:
        return f"{self.target}, {'full depth' if self.depth is None else f'depth {self.depth}'}"

    def sampled(self, n_orders: int, seed: int, spread: bool = True) -> np.ndarray:
        """ASV from a sample of uniform topological orders, (rows, features).

        ``spread``: drawn as the explainer does, spread evenly within groups; else independent of one another.
        """
        from shap_asv.backends.weight_columns import N_GROUPS
        from shap_asv.orders.weights import weigh_orders

        orders = self.order.sample_topological_orders(
            n_orders, seed=seed, n_groups=min(n_orders, N_GROUPS) if spread else None
        )
        weights = weigh_orders(orders)
        columns = [self.places[key.tobytes()] for key in np.packbits(weights.coalitions, axis=1)]
        return self.nu[:, columns] @ weights.matrix


def prepare(network: DiscreteNetwork, target: str, depth: int | None, n_rows: int) -> Setting:
    """Fit a tree that predicts ``target`` from all other nodes, and explain the class it predicts for each row."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier

    from benchmarks.ensembles import draw as draw_rows
    from shap_asv import AsymmetricExplainer
    from shap_asv.backgrounds.discrete.background import DiscreteBackground
    from shap_asv.models.predictor import read_model
    from shap_asv.orders.weights import weigh_ideals
    from shap_asv.values.expected_terms import ExactProducts

    rng = np.random.default_rng(0)
    place = network.names.index(target)
    features = [v for v in range(network.n_nodes) if v != place]
    names = [network.names[v] for v in features]
    data = draw_rows(network, 5000, rng)
    model = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(data[:, features], data[:, place])
    rows = draw_rows(network, n_rows, rng)[:, features]
    explainer = AsymmetricExplainer(model, network, feature_names=names)
    order = explainer.causal_order
    weights = weigh_ideals(order)
    predictor = read_model(model, names, [network.states[v] for v in features])
    assert predictor.products is not None, predictor.reason
    nu = ExactProducts(DiscreteBackground(network, names), predictor.products).values(weights.coalitions, rows)
    predicted = nu[:, -1].argmax(axis=1)
    nu = nu[np.arange(len(rows)), :, predicted]
    exact = nu @ weights.matrix
    explained = explainer(pd.DataFrame(rows, columns=names)).values[np.arange(len(rows)), :, predicted]
    np.testing.assert_allclose(explained, exact, atol=1e-9)  # the explainer, by its own choice of backend
    places = {key.tobytes(): i for i, key in enumerate(np.packbits(weights.coalitions, axis=1))}
    return Setting(target, depth, int(model.get_n_leaves()), order, nu, exact, places)


def relative(found: np.ndarray, exact: np.ndarray, least: float, most: float = np.inf) -> np.ndarray:
    """|found - exact| / |exact| where least < |exact| <= most, flat."""
    counts = (np.abs(exact) > least) & (np.abs(exact) <= most)
    return np.abs(found - exact)[counts] / np.abs(exact)[counts]


def allowed_gap(n_orders: int) -> float:
    """Hoeffding's bound on the error of a mean over independent orders, at :data:`CONFIDENCE`.

    nu is a probability, so that a marginal contribution lies between -1 and 1.
    """
    return 2 * sqrt(log(2 / (1 - CONFIDENCE)) / (2 * n_orders))


def quantile_table(name: str, pooled: dict[int, list[np.ndarray]]) -> Table:
    """Quantiles and mean of the errors by number of orders, what the boxes show."""
    rows = []
    for n, errors in pooled.items():
        together = np.concatenate(errors)
        rows.append((n, *np.quantile(together, QUANTILES), together.mean()))
    return Table(name, ("orders", *(f"{q:.0%}" for q in QUANTILES), "mean"), tuple(rows), on_page=False)


def mean_and_error(values: list[float]) -> tuple[float, float | None]:
    """The mean over the settings, and its standard error (None: a single one)."""
    if len(values) < 2:
        return float(np.mean(values)), None
    return float(np.mean(values)), float(np.std(values, ddof=1) / sqrt(len(values)))


def run(size: Size, progress: Progress) -> Result:
    from benchmarks.ensembles import pruned_child_network

    full = size == "full"
    network = pruned_child_network()
    settings = [(t, d) for t in ("XrayReport", "Disease") for d in (3, 5, 8, None)] if full else [("XrayReport", 3)]
    counts = (100, 300, 1000, 3000, 10_000) if full else (30, 100)
    seeds = range(10 if full else 2)
    at = PAPER_ORDERS if full else counts[-1]
    rows, summary = [], []
    pooled_large: dict[int, list[np.ndarray]] = {n: [] for n in counts}
    pooled_all: dict[int, list[np.ndarray]] = {n: [] for n in counts}
    sizes: dict[tuple[float, float], list[np.ndarray]] = {edges: [] for edges in BINS}
    within = total = 0
    for target, depth in progress.over(settings, "trees"):
        setting = prepare(network, target, depth, 30 if full else 4)
        absolute, independent = [], []
        for n in progress.over(counts, setting.name):
            found = [setting.sampled(n, seed) for seed in seeds]
            gaps = np.abs(np.array(found) - setting.exact)
            all_errors = np.concatenate([relative(one, setting.exact, ZERO) for one in found])
            large = np.concatenate([relative(one, setting.exact, SMALL_VALUE) for one in found])
            pooled_large[n].append(large)
            pooled_all[n].append(all_errors)
            alone = np.abs(np.array([setting.sampled(n, seed, spread=False) for seed in seeds]) - setting.exact)
            within, total = within + int((alone <= allowed_gap(n)).sum()), total + alone.size
            absolute.append(gaps.mean())
            independent.append(alone.mean())
            relative_errors = (all_errors.mean(), large.mean(), np.median(large))
            rows.append((target, depth, setting.leaves, n, *relative_errors, gaps.mean(), alone.mean()))
            if n == at:
                for edges in BINS:
                    sizes[edges] += [relative(one, setting.exact, *edges) for one in found]
        exponent = float(np.polyfit(np.log(counts), np.log(independent), 1)[0])
        gain = independent[counts.index(at)] / absolute[counts.index(at)]
        here = next(row for row in rows if row[:2] == (target, depth) and row[3] == at)
        name = "full" if depth is None else depth
        summary.append((target, name, setting.leaves, here[5], here[6], here[4], gain, exponent))
    by_size = [
        (f"{low:g} to {high:g}", sum(len(e) for e in errors) // len(seeds), np.concatenate(errors).mean())
        for (low, high), errors in sizes.items()
        if any(map(len, errors))
    ]
    tables = (
        Table(
            "settings",
            ("target", "depth", "leaves", LARGE_MEAN, LARGE_MEDIAN, ALL_MEAN, GAIN, "exponent"),
            tuple(summary),
            f"Relative error with {at:,} orders; the mean absolute error of as many independent orders, divided by "
            "that of orders that are spread evenly within groups; and the fitted exponent of the mean absolute error "
            "of independent orders over their number.",
        ),
        Table(
            "by_size",
            ("absolute value of the attribution", "values", "mean relative error"),
            tuple(by_size),
            f"Relative error with {at:,} orders by the size of the exact value, all settings together.",
        ),
        Table(
            "errors",
            ("target", "depth", "leaves", "orders", ALL_MEAN, LARGE_MEAN, LARGE_MEDIAN, ABSOLUTE, INDEPENDENT),
            tuple(rows),
            on_page=False,
        ),
        quantile_table("quantiles", pooled_large),
        quantile_table("quantiles_all", pooled_all),
    )
    return conclude(tables, at, within / total)


def conclude(tables: tuple[Table, ...], at: int, within: float) -> Result:
    """Claims and notes from the tables."""
    settings, by_size = tables[:2]
    large, everything = settings.column(LARGE_MEAN), settings.column(ALL_MEAN)
    exponents, gains = settings.column("exponent"), settings.column(GAIN)
    falling = [row[2] for row in by_size.rows]
    what = f"mean relative error of ASV on child with {at:,} orders"
    rows = []
    for which, errors in (("values above 0.001", large), ("all values", everything)):
        mean, doubt = mean_and_error(errors)
        over = f"mean over {len(errors)} setting{'s' if len(errors) > 1 else ''}"
        rows.append(
            (f"{what}, {which}, {over}" + ("" if doubt is None else f", standard error {100 * doubt:.2g}"), mean)
        )
    mean, doubt = mean_and_error(everything)
    told = "" if doubt is None else f", standard error {doubt:.1%}"
    paper = Table(
        "against_paper",
        AGAINST_PAPER,
        tuple((text, "%", 100 * PAPER_ERROR, 100 * ours, PAPER_ERROR / ours) for text, ours in rows),
        "The paper does not say which values enter its average error, nor how deep its trees are; the error depends "
        "on both.",
    )
    claims = (
        Claim(
            f"mean relative error with {at:,} orders, values above 0.001",
            "at most the paper's 8%",
            f"{min(large):.1%} to {max(large):.1%}, by target and depth",
            max(large) <= PAPER_ERROR,
        ),
        Claim(
            f"mean relative error with {at:,} orders, all values that are not zero, mean over the settings",
            "at most the paper's 8%",
            f"{mean:.1%}{told} ({min(everything):.1%} to {max(everything):.1%}; at most 8% in "
            f"{sum(error <= PAPER_ERROR for error in everything)} of {len(everything)} settings)",
            mean <= PAPER_ERROR,
        ),
        Claim(
            "large values have small relative errors (paper)",
            "falling with the size",
            ", ".join(f"{error:.1%}" for error in falling),
            all(a > b for a, b in pairwise(falling)),
        ),
        Claim(
            "the error of independent orders falls as 1 / sqrt(orders)",
            "exponent -0.5, up to 0.08",
            f"{min(exponents):.2f} to {max(exponents):.2f}, mean {np.mean(exponents):.3f}",
            all(abs(exponent + 0.5) <= 0.08 for exponent in exponents),
        ),
        Claim(
            "orders that are spread evenly within groups are more accurate than as many independent ones",
            "a smaller mean absolute error in every setting",
            f"{min(gains):.2f} to {max(gains):.2f} times smaller",
            min(gains) > 1,
        ),
        Claim(
            "Hoeffding's inequality at 95% for independent orders (contributions between -1 and 1)",
            "at least 95% within",
            f"{within:.2%} within",
            within >= CONFIDENCE,
        ),
    )
    notes = (
        "The class that the tree predicts is explained. `XrayReport` is a leaf of the network; `Disease` is a cause of "
        "most other nodes, in the middle of the network, where it is summed out exactly.",
        "The mean over all values is carried by those that are nearly zero. Orders are drawn as the explainer draws "
        "them: each is uniform, and within groups the random numbers behind them are spread evenly.",
    )
    return Result("accuracy", ACCURACY.title, (*tables, paper), claims, notes)


def draw(result: Result) -> list[Plot]:
    import matplotlib.pyplot as plt

    errors = result.table("errors")
    figure = plt.figure(figsize=(11, 6.6), layout="constrained")
    panels = figure.subplot_mosaic([["large", "decay"], ["all", "decay"]])
    right = panels["decay"]
    names = ("whislo", "q1", "med", "q3", "whishi", "mean")
    for axes, table, title in (
        (panels["large"], result.table("quantiles"), "Values above 0.001"),
        (panels["all"], result.table("quantiles_all"), "All values that are not zero"),
    ):
        boxes = [{"label": f"{row[0]:,}", **dict(zip(names, row[1:], strict=True))} for row in table.rows]
        axes.bxp(boxes, showfliers=False, showmeans=True, meanprops={"marker": "D", "markerfacecolor": "C1", "ms": 5})
        axes.plot([], [], "D", color="C1", label="mean")
        counts = table.column("orders")
        if PAPER_ORDERS in counts:
            axes.plot(counts.index(PAPER_ORDERS) + 1, PAPER_ERROR, "*", color="C3", ms=12, label="the paper's mean")
        axes.set(ylabel="relative error", yscale="log", ylim=(1e-4, 2), title=title)
        axes.grid(alpha=0.3, axis="y")
        axes.legend(frameon=False, fontsize=8, loc="lower left")
    panels["all"].set_xlabel("topological orders")
    for setting in dict.fromkeys((row[0], row[1]) for row in errors.rows):
        rows = [row for row in errors.rows if (row[0], row[1]) == setting]
        counts = [row[3] for row in rows]
        depth = "full depth" if setting[1] is None else f"depth {setting[1]}"
        (line,) = right.loglog(counts, [row[8] for row in rows], marker="o", ms=4, label=f"{setting[0]}, {depth}")
        right.loglog(counts, [row[7] for row in rows], ":", marker="o", ms=2.5, color=line.get_color())
    right.plot([], [], "-", color="0.4", label="independent orders")
    right.plot([], [], ":", color="0.4", label="spread orders")
    first, last = min(errors.column("orders")), max(errors.column("orders"))
    start = max(errors.column(INDEPENDENT)) * 1.5
    right.loglog([first, last], [start, start * sqrt(first / last)], "k--", label=r"$1/\sqrt{orders}$")
    right.set(xlabel="topological orders", ylabel="mean absolute error", title="Decay of the error")
    right.grid(alpha=0.3)
    right.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False, fontsize=8)
    caption = (
        "Left: relative error of sampled ASV by number of orders, all settings; boxes are quartiles, whiskers 5% and "
        "95%; the star is the paper's mean, given for 1,000 orders alone. Right: mean absolute error of each setting, "
        "with independent orders (lines) and with orders spread evenly within groups (dots)."
    )
    return [Plot("errors", caption, figure)]


ACCURACY = Experiment(
    "accuracy",
    "Error of sampled values",
    run,
    draw,
    "Sampled ASV against exact ASV on the Child network pruned to a tree, decision trees of several depths for two "
    "targets, 30 rows, 10 samples each. The paper reports about 8% relative error on average with 1,000 orders.",
)
