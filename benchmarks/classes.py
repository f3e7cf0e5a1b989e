"""Equivalence classes against topological orders (the paper's first figure), and Proposition 2's bound on the classes.

Nothing is enumerated: orders and classes of trees are counted by recursions, exactly, in Python integers.

The bound ``|Lambda^x| <= h^l + 1`` (rooted tree, l leaves, depth h) depends on what a depth is. The paper's proof gives
a single node the depth 1, so h counts the *nodes* of the longest path. Then the bound holds, with room: the features
unrelated to x hang from its ancestors in subtrees of depth at most h - 1, which have at most ``h^leaves`` ideals each.
So ``|Lambda^x| <= h^(l - l_x)`` with l_x the leaves below x (or x itself). If h counted *edges*, the star would break
it. In a forest the other trees may have depth h, and the same argument gives ``(h + 1)^(l - l_x)``. All of these are
tried, also on graphs that the proposition does not speak of.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import log10

import networkx as nx
import numpy as np

from benchmarks.experiment import AGAINST_PAPER, THE_SAME, Claim, Experiment, Plot, Progress, Result, Size, Table
from benchmarks.graphs import (
    balanced_binary_tree,
    inverted_star,
    multiple_paths,
    naive_bayes,
    pruned_child,
    random_tree,
    rooted_trees,
)

CHILD_ORDERS, CHILD_CLASSES = 7.41e11, 2003


def families(size: Size) -> dict[str, list[tuple[str, nx.DiGraph]]]:
    """Name of the family -> its graphs, from small to large, with a name each."""
    full = size == "full"
    found = {
        "child": [("child, pruned", pruned_child())],
        "balanced binary": [(f"depth {d}", balanced_binary_tree(d)) for d in range(2, 7 if full else 5)],
        "naive Bayes": [(f"{n} effects", naive_bayes(n)) for n in (*range(2, 10), *range(10, 41 if full else 12, 5))],
    }
    for paths in (2, 4, 6):
        lengths = range(1, 11 if full else 4)
        found[f"multiplePaths, {paths} paths"] = [(f"{paths} x {m}", multiple_paths(paths, m)) for m in lengths]
    return found


def counted(size: Size, progress: Progress) -> Table:
    """Orders, classes and ideals of every graph of every family."""
    from shap_asv.orders import CausalOrder

    rows = []
    graphs = [(family, name, graph) for family, members in families(size).items() for name, graph in members]
    for family, name, graph in progress.over(graphs, "counting"):
        order = CausalOrder.from_graph(graph)
        classes = [order.count_equivalence_classes(x) for x in order.features]
        orders, ideals = order.count_topological_orders(), order.count_ideals()
        mean = sum(classes) / len(classes)
        rows.append((family, name, order.n_features, orders, mean, max(classes), ideals, orders / mean))
    columns = ("family", "graph", "features", "orders", "mean classes", "most classes", "ideals", "orders per class")
    return Table("counts", columns, tuple(rows), on_page=False)


@dataclass(frozen=True)
class Shape:
    """What the bound looks at: classes and leaves below (or at) each feature, all leaves, longest path in nodes."""

    classes: dict
    leaves: int
    leaves_below: dict
    depth: int

    @classmethod
    def of(cls, graph: nx.DiGraph) -> "Shape":
        from shap_asv.orders import CausalOrder

        order = CausalOrder.from_graph(graph)
        sinks = {v for v in graph if graph.out_degree(v) == 0}
        below = {v: len(sinks & (nx.descendants(graph, v) | {v})) for v in graph}
        classes = {x: order.count_equivalence_classes(x) for x in order.features}
        return cls(classes, len(sinks), below, nx.dag_longest_path_length(graph) + 1)

    def breaks(self, depth: int) -> bool:
        """Is the bound h^l + 1 exceeded for some feature, taking h = depth?"""
        return max(self.classes.values()) > depth**self.leaves + 1

    def breaks_power(self, base: int) -> bool:
        """Is base^(l - l_x) exceeded for some feature x?"""
        return any(count > base ** (self.leaves - self.leaves_below[x]) for x, count in self.classes.items())

    def example(self, name: str, depth: int) -> str:
        most, bound = max(self.classes.values()), depth**self.leaves + 1
        return f"{name}: {most:,} classes > {depth}^{self.leaves} + 1 = {bound:,}"


def graphs_to_bound(size: Size) -> Iterator[tuple[str, bool, Iterable[tuple[str, nx.DiGraph]]]]:
    """(kind, whether it is a rooted tree, its graphs from small to large)."""
    full = size == "full"
    rng = np.random.default_rng(2)
    for family, members in families(size).items():
        yield family, True, members
    yield "path", True, [(f"path of {n}", nx.path_graph(n, create_using=nx.DiGraph)) for n in range(1, 31)]
    largest = 10 if full else 6
    every = ((f"a tree of {n}: {sorted(tree.edges)}", tree) for n in range(1, largest + 1) for tree in rooted_trees(n))
    yield f"every rooted tree of up to {largest} nodes", True, every
    count = 300 if full else 20
    sizes = sorted(int(n) for n in rng.integers(3, 80, size=count))
    yield "random rooted trees, 3 to 79 nodes", True, [(f"random tree of {n}", random_tree(n, rng)) for n in sizes]
    isolated = [(f"{n} features without edges", nx.empty_graph(n, nx.DiGraph)) for n in range(2, 8)]
    yield "isolated features", False, isolated
    forests = [(f"random forest of {n}", random_tree(n, rng, roots=3)) for n in sizes]
    yield "random forests of 3 trees", False, forests
    yield "inverted star", False, [(f"{n} causes of one effect", inverted_star(n)) for n in range(2, 12)]


def bounded(size: Size, progress: Progress) -> Table:
    """Proposition 2 tried on every kind of graph, depth counted in nodes and in edges."""
    rows = []
    for kind, is_tree, members in progress.over(graphs_to_bound(size), "bounding"):
        broken = {"nodes": 0, "edges": 0, "sharper": 0, "forest": 0}
        examples: dict[str, str] = {}
        tried, most, tightest = 0, 0, 0.0
        for name, graph in progress.over(members, kind):
            shape = Shape.of(graph)
            tried += 1
            most = max(most, *shape.classes.values())
            tightest = max(tightest, max(shape.classes.values()) / (shape.depth**shape.leaves + 1))
            for unit, depth in (("nodes", shape.depth), ("edges", shape.depth - 1)):
                if shape.breaks(depth):
                    broken[unit] += 1
                    examples.setdefault(unit, f"{shape.example(name, depth)} ({unit})")
            broken["sharper"] += shape.breaks_power(shape.depth)
            broken["forest"] += shape.breaks_power(shape.depth + 1)
        example = examples.get("nodes", examples.get("edges", ""))
        rows.append((kind, is_tree, tried, most, tightest, *broken.values(), example))
    columns = (
        "graphs", "rooted trees", "tried", "most classes of a feature", "largest classes / bound",
        "broken (h in nodes)", "broken (h in edges)", "h^(l - l_x) broken", "(h+1)^(l - l_x) broken",
        "first counterexample",
    )  # fmt: skip
    caption = (
        "Proposition 2, `|Lambda^x| <= h^l + 1`, tried on each kind of graph: how close the classes come to the bound "
        "(depth h in nodes); how many graphs break it when h counts nodes and when it counts edges; and how many break "
        "two sharper bounds, l_x being the number of leaves below x (1 if x is one)."
    )
    return Table("bound", columns, tuple(rows), caption)


def growth(counts: Table) -> Table:
    """Per family: how the classes grow against the orders, from the smallest graph to the largest."""
    rows = []
    members: dict[str, list] = {}
    for row in counts.rows:
        members.setdefault(str(row[0]), []).append(row)
    for family, graphs in members.items():
        per_class = [row[7] for row in graphs]
        steady = all(a < b for a, b in pairwise(per_class)) if len(graphs) > 1 else None
        last = graphs[-1]
        slope = None
        if len(graphs) > 1:
            slope = (log10(last[4]) - log10(graphs[-2][4])) / (log10(last[3]) - log10(graphs[-2][3]))
        rows.append((family, last[1], last[2], last[3], last[4], last[6], slope, steady))
    columns = (
        "family", "largest graph", "features", "orders", "mean classes", "ideals",
        "decades of classes per decade of orders", "orders per class grow at every step",
    )  # fmt: skip
    return Table("growth", columns, tuple(rows), "The largest graph of each family.")


def agrees(same: bool) -> str:
    """For a count, which is right or wrong."""
    return THE_SAME if same else "another count"


def run(size: Size, progress: Progress) -> Result:
    counts = counted(size, progress)
    grown = growth(counts)
    bound = bounded(size, progress)
    child = counts.rows[0]
    orders, mean, ideals, features = child[3], child[4], child[6], child[2]
    trees = [row for row in bound.rows if row[1]]
    others = [row for row in bound.rows if not row[1]]
    forests = [row for row in others if row[0] != "inverted star"]
    growing = [row for row in grown.rows if row[7] is not None]
    star, path = (next(row for row in bound.rows if row[0] == kind) for kind in ("naive Bayes", "path"))
    same_orders, same_classes = f"{orders:.2e}" == f"{CHILD_ORDERS:.2e}", round(mean) == CHILD_CLASSES
    slowest = max(row[6] for row in grown.rows if row[6] is not None)
    paper = Table(
        "against_paper",
        AGAINST_PAPER,
        (
            ("topological orders of child", "orders", CHILD_ORDERS, orders, agrees(same_orders)),
            (
                "equivalence classes of child, mean over features",
                "classes",
                CHILD_CLASSES,
                mean,
                agrees(same_classes),
            ),
            (
                "evaluations of nu that exact ASV of all features of child needs (paper: 2 per class and feature)",
                "evaluations",
                f"{round(2 * mean * features):,} (derived)",
                ideals,
                2 * mean * features / ideals,
            ),
        ),
    )
    claims = (
        Claim(
            "topological orders of child",
            "7.41e11",
            f"{orders:,}",
            same_orders,
        ),
        Claim("equivalence classes of child, mean over features", "2003", f"{mean:.1f}", same_classes),
        Claim(
            "the classes grow far slower than the orders in every family",
            "orders per class grow with every step of the size",
            f"they do in {sum(row[7] for row in growing)} of {len(growing)} families; at the largest sizes a tenfold "
            f"number of orders means at most {10**slowest:.1f} times the classes"
            + "".join(f"; {row[0]}: one size, not judged" for row in grown.rows if row[7] is None),
            all(row[7] for row in growing),
        ),
        Claim(
            "Proposition 2: at most h^l + 1 classes in a rooted tree, depth h in nodes as in the proof",
            "never more",
            f"{sum(row[5] for row in trees)} of {sum(row[2] for row in trees):,} rooted trees have more",
            not any(row[5] for row in trees),
        ),
        Claim(
            "Proposition 2 read with h in edges (a star has depth 1)",
            "never more",
            f"{sum(row[6] for row in trees):,} of them have more; star with {star[9].removesuffix(' (edges)')}",
            not any(row[6] for row in trees),
        ),
        Claim(
            "a path: one class for each feature, and Proposition 2 holds with h in nodes and in edges",
            "1 class, never more than the bound",
            f"at most {path[3]} class in {path[2]} paths; {path[5]} break the bound in nodes, {path[6]} in edges",
            path[3] == 1 and not path[5] and not path[6],
        ),
        Claim(
            "a sharper bound for rooted trees, by the same proof: h^(l - l_x), l_x the leaves below x",
            "never more",
            f"{sum(row[7] for row in trees)} of {sum(row[2] for row in trees):,} rooted trees have more",
            not any(row[7] for row in trees),
        ),
        Claim(
            "Proposition 2 past what it says, h in nodes: forests and other DAGs",
            "",
            "fails: " + "; ".join(str(row[9]).removesuffix(" (nodes)") for row in others if row[5]),
        ),
        Claim(
            "a bound for forests: (h + 1)^(l - l_x)",
            "never more",
            f"{sum(row[8] for row in forests)} of {sum(row[2] for row in forests):,} forests have more",
            not any(row[8] for row in forests),
        ),
    )
    notes = (
        "The proposition is stated for rooted trees and holds there, with the depth counted in nodes. The figure "
        "beside it in the paper shows a forest, where it does not hold: a tree beside that of x may have depth h.",
        "The package evaluates nu once per *ideal* (a set that holds the causes of its members), shared by all "
        "features. A class of x is an ideal to which x can be added, so no feature has more classes than there are "
        "ideals.",
        "Every count of the figure is in `benchmarks/results/classes_counts.csv`.",
    )
    return Result("classes", CLASSES.title, (grown, bound, counts, paper), claims, notes)


def draw(result: Result) -> list[Plot]:
    import matplotlib.pyplot as plt

    counts = result.table("counts")
    figure, axes = plt.subplots(figsize=(7.2, 4.6))
    markers = iter("*os^vD")
    for family in dict.fromkeys(counts.column("family")):
        points = [(row[3], row[4]) for row in counts.rows if row[0] == family]
        marker = next(markers)
        size = 14 if marker == "*" else 5
        axes.loglog(*zip(*points, strict=True), marker=marker, markersize=size, label=family, zorder=3)
    highest = max(counts.column("mean classes"))
    axes.loglog([1, highest], [1, highest], "k--", linewidth=1, label="as many classes as orders")
    axes.set(
        xlabel=r"topological orders, $|\mathrm{topos}(C)|$",
        ylabel=r"equivalence classes, mean of $|\Lambda^x|$ over $x$",
        title="Equivalence classes against topological orders",
        ylim=(0.8, 5 * highest),
    )
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    caption = "Classes a feature has on average against the number of topological orders, for graphs of growing size."
    return [Plot("orders", caption, figure)]


CLASSES = Experiment(
    "classes",
    "Equivalence classes against topological orders",
    run,
    draw,
    "The paper's first figure: how many equivalence classes a feature has on average, against the number of "
    "topological orders, for the Child network pruned to a tree, balanced binary trees, naive Bayes (a star) and "
    "`multiplePaths` (directed paths that share their root); and its Proposition 2, tried on every small rooted tree "
    "and on larger ones.",
)
