"""How long the equivalence classes take: over size, against enumerating the orders, and against their own number.

Two things are timed from a fresh graph. *Weights*: everything that ASV needs of the order, for all features at once
(the lattice of ideals, its edge weights, and the sparse matrix W with ``phi = nu @ W``). *Listing*: what the paper's
algorithm returns, the classes of every feature as sets with their sizes. The naive way is to enumerate all topological
orders; it is extrapolated from the first 1,000 of ``networkx.all_topological_sorts``, as in the paper.
"""

from itertools import islice

import networkx as nx
import numpy as np

from benchmarks.experiment import AGAINST_PAPER, UP_TO, Claim, Experiment, Plot, Progress, Result, Size, Table
from benchmarks.graphs import balanced_binary_tree, multiple_paths, naive_bayes, pruned_child, random_tree
from benchmarks.timing import shortest, timed

DAY = 86_400
ENUMERATED = 1000
LISTED_AT_MOST = 300_000
MANY_ORDERS = 10_000


def graphs(size: Size) -> list[tuple[str, str, nx.DiGraph]]:
    """(family, name, graph), each family from small to large."""
    full = size == "full"
    rng = np.random.default_rng(3)
    found = [("child", "child, pruned", pruned_child())]
    found += [("balanced binary", f"depth {d}", balanced_binary_tree(d)) for d in range(2, 6 if full else 4)]
    found += [("naive Bayes", f"{n} effects", naive_bayes(n)) for n in range(2, 18 if full else 7, 2)]
    for paths, longest in ((2, 20), (4, 11), (6, 6)):
        lengths = range(1, longest if full else 4, 3 if paths == 2 else 1)
        found += [(f"multiplePaths, {paths} paths", f"{paths} x {m}", multiple_paths(paths, m)) for m in lengths]
    sizes = range(8, 25, 2) if full else (8, 10)
    found += [("random trees", f"random tree of {n}", random_tree(n, rng)) for n in sizes]
    return found


def measured(size: Size, progress: Progress) -> Table:
    """One row per graph: counts, and seconds of the three ways."""
    from shap_asv.orders import CausalOrder
    from shap_asv.orders.weights import weigh_ideals

    def weigh(graph: nx.DiGraph) -> None:
        weigh_ideals(CausalOrder.from_graph(graph))

    def list_classes(graph: nx.DiGraph) -> None:
        order = CausalOrder.from_graph(graph)
        for feature in order.features:
            order.equivalence_classes(feature)

    repeats = 9 if size == "full" else 1
    weigh(balanced_binary_tree(4))  # imports and first calls are not what is measured
    rows = []
    for family, name, graph in progress.over(graphs(size), "runtime"):
        order = CausalOrder.from_graph(graph)
        orders, ideals = order.count_topological_orders(), order.count_ideals()
        classes = sum(order.count_equivalence_classes(feature) for feature in order.features)
        weights = shortest(lambda graph=graph: weigh(graph), repeats, enough=1.0)
        listing = None
        if classes <= LISTED_AT_MOST:
            listing = shortest(lambda graph=graph: list_classes(graph), repeats, enough=0.5)
        some, produced = timed(lambda graph=graph: sum(1 for _ in islice(nx.all_topological_sorts(graph), ENUMERATED)))
        naive = some / produced * orders
        n = order.n_features
        rows.append((family, name, n, orders, classes / n, ideals, weights, listing, naive, naive / weights))
    columns = (
        "family", "graph", "features", "orders", "mean classes", "ideals", "weights (s)", "listing (s)",
        "enumeration (s)", "enumeration / weights",
    )  # fmt: skip
    return Table("times", columns, tuple(rows), on_page=False)


def correlation(xs: list[float], ys: list[float]) -> tuple[float, float]:
    """Pearson's r of the logarithms, and the exponent of the line fitted to them."""
    x, y = np.log10(np.array(xs, dtype=float)), np.log10(np.array(ys, dtype=float))
    return float(np.corrcoef(x, y)[0, 1]), float(np.polyfit(x, y, 1)[0])


def quick_enumeration(slower: list[tuple], tried: int) -> str:
    """A sentence on the graphs (rows of the table) whose weights take longer than enumerating their orders."""
    if not slower:
        return f"Enumeration is quicker than the weights on none of {tried} graphs."
    orders, slowest = max(row[3] for row in slower), max(row[6] for row in slower)
    return (
        f"Enumeration is quicker than the weights on {len(slower)} of {tried} graphs, none of them with more than "
        f"{orders:,} orders: a handful of orders is enumerated before a lattice is set up (at most "
        f"{1e3 * slowest:.2g} ms there)."
    )


def run(size: Size, progress: Progress) -> Result:
    times = measured(size, progress)
    child = times.rows[0]
    weights, listing, naive, ratio = child[6:]
    largest: dict[str, tuple] = {str(row[0]): row for row in times.rows}
    shown = Table(
        "largest",
        times.columns,
        tuple(largest.values()),
        f"The largest graph of each family; classes are listed up to {LISTED_AT_MOST:,} in all.",
    )
    least = 1000 if size == "full" else 1
    enough = [row for row in times.rows if row[4] * row[2] >= least]
    by_classes, exponent = correlation([row[4] * row[2] for row in enough], [row[6] for row in enough])
    listed = [row for row in enough if row[7] is not None]
    by_listed, listed_exponent = correlation([row[4] * row[2] for row in listed], [row[7] for row in listed])
    many = [row for row in times.rows if row[3] > MANY_ORDERS]
    slower = [row for row in times.rows if row[9] < 1]
    worst = min(many, key=lambda row: row[9])
    claims = (
        Claim("all equivalence classes of child", "less than 1 s", f"listed in {listing:.2f} s", listing < 1),
        Claim("all weights that ASV needs on child", "less than 1 s", f"{1e3 * weights:.1f} ms", weights < 1),
        Claim(
            "enumerating all orders is infeasible where the classes are not: child",
            "days against seconds",
            f"{naive / DAY:,.0f} days against {1e3 * weights:.1f} ms, {ratio:.1e} times",
            naive > DAY,
        ),
        Claim(
            f"the weights are quicker than enumeration on every graph of more than {MANY_ORDERS:,} orders",
            "more than 1 times",
            f"{worst[9]:.3g} times or more (least: {worst[0]}, {worst[1]}), {len(many)} graphs",
            worst[9] > 1,
        ),
        Claim(
            "runtime goes with the number of classes (paper: strongly correlated)",
            "r of the logarithms at least 0.9",
            f"weights: r = {by_classes:.3f}, time ~ classes^{exponent:.2f}; listing: r = {by_listed:.3f}, "
            f"time ~ classes^{listed_exponent:.2f}; {len(enough)} graphs of {least:,} classes or more",
            min(by_classes, by_listed) >= 0.9,
        ),
    )
    notes = (
        quick_enumeration(slower, len(times.rows)),
        "Enumeration only produces the orders; a naive ASV evaluates nu along each of them as well.",
        "All graphs are in `benchmarks/results/runtime_times.csv`.",
    )
    paper = Table(
        "against_paper",
        AGAINST_PAPER,
        (
            ("all classes of child, listed with sizes", "s", "less than 1", listing, f"{UP_TO}{1 / listing:.1f}"),
            ("all classes of child, as weights for ASV", "s", "less than 1", weights, f"{UP_TO}{1 / weights:,.0f}"),
        ),
    )
    return Result("runtime", RUNTIME.title, (shown, times, paper), claims, notes)


def draw(result: Result) -> list[Plot]:
    import matplotlib.pyplot as plt

    times = result.table("times")
    members = {family: [row for row in times.rows if row[0] == family] for family in times.column("family")}
    plots = []
    for name, x, xlabel, caption in (
        ("size", lambda row: row[2], "features", "Time for all weights, and for listing all classes."),
        (
            "classes",
            lambda row: row[2] * row[4],
            "equivalence classes of all features",
            "The same against the classes.",
        ),
    ):
        figure, axes = plt.subplots(figsize=(7.2, 4.4))
        for (family, rows), marker in zip(members.items(), "*os^vDP", strict=False):
            big = 13 if marker == "*" else 5
            (line,) = axes.plot(
                [x(row) for row in rows], [row[6] for row in rows], marker=marker, markersize=big, label=family
            )
            rows = [row for row in rows if row[7] is not None]
            axes.plot([x(r) for r in rows], [r[7] for r in rows], ":", marker=marker, color=line.get_color(), ms=3)
        axes.plot([], [], "k-", label="weights")
        axes.plot([], [], "k:", label="listing")
        axes.set(xlabel=xlabel, ylabel="time (s)", yscale="log", xscale="log" if name == "classes" else "linear")
        axes.set_title("Runtime over size" if name == "size" else "Runtime against the number of classes")
        axes.grid(alpha=0.3)
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
        plots.append(Plot(name, caption, figure))
    figure, axes = plt.subplots(figsize=(7.2, 4.4))
    for (family, rows), marker in zip(members.items(), "*os^vDP", strict=False):
        big = 13 if marker == "*" else 5
        axes.loglog([row[8] for row in rows], [row[6] for row in rows], marker, markersize=big, label=family)
    for seconds, word in ((1, "second"), (DAY, "day"), (365.25 * DAY, "year"), (365.25e9 * DAY, "billion years")):
        axes.axvline(seconds, color="0.7", linewidth=0.8, zorder=0)
        axes.text(seconds, 1.01, word, rotation=45, fontsize=8, transform=axes.get_xaxis_transform())
    low, high = min(times.column("weights (s)")), max(times.column("weights (s)"))
    axes.plot([low, high], [low, high], "k--", linewidth=1, label="equally long")
    axes.set(xlabel="enumerating all orders, extrapolated (s)", ylabel="all weights (s)")
    axes.set_title("Weights against enumeration of the orders", pad=38)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    plots.append(
        Plot("enumeration", "Time for all weights against time for enumerating all topological orders.", figure)
    )
    return plots


RUNTIME = Experiment(
    "runtime",
    "Runtime of the equivalence classes",
    run,
    draw,
    "How long the classes take: over size, against the naive enumeration of all orders (extrapolated from the first "
    "1,000 of `networkx.all_topological_sorts`, as in the paper), and against the number of classes. *Weights* is all "
    "that ASV needs of the causal graph, for all features; *listing* is what the paper's algorithm returns, every "
    "class of every feature with its size.",
)
