"""How fast lattices are built and Markov chains draw orders, which are uniform: ``python -m benchmarks orders``.

Every claim is a ratio of two times taken in the same run. ``python -m benchmarks.orders`` prints the same tables, and
the sampling times beside the paper's, without storing anything.
"""

from __future__ import annotations

import argparse
import tracemalloc
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks import sampling
from benchmarks.experiment import Claim, Experiment, Plot, Progress, Result, Size, Table
from benchmarks.graphs import network_graph
from benchmarks.markdown import shown
from benchmarks.timing import shortest, timed
from benchmarks.uniformity import position_scores, reinsertion_p_values

if TYPE_CHECKING:
    from shap_asv.orders import CausalOrder

NETWORKS = ("child", "insurance", "water", "mildew", "alarm")
CHAINED = ("hailfinder", "hepar2", "andes")
ASKED_RATIO = 20.0
ASKED_ORDERS = {"hailfinder": 1000, "andes": 20}
LARGEST_Z, SMALLEST_P = 5.0, 1e-3
ASKED_MIB = 1024.0


def plain_weights(order: CausalOrder) -> dict[tuple[int, int], float]:
    """Lattice and weights as one would first write them: a dict of bitmasks per level, a loop over features."""
    n = order.n_features
    needed = [sum(1 << p for p in parents) for parents in order.parents]
    levels: list[dict[int, int]] = [{0: 1}]
    for _ in range(n):
        above: dict[int, int] = {}
        for ideal, ways in levels[-1].items():
            for v in range(n):
                if not ideal >> v & 1 and ideal & needed[v] == needed[v]:
                    larger = ideal | 1 << v
                    above[larger] = above.get(larger, 0) + ways
        levels.append(above)
    full = (1 << n) - 1
    total = levels[-1][full]
    down = {full: 1}
    weights = {}
    for level in reversed(levels[:-1]):
        for ideal, ways in level.items():
            leaving = 0
            for v in range(n):
                if not ideal >> v & 1 and ideal & needed[v] == needed[v]:
                    rest = down[ideal | 1 << v]
                    leaving += rest
                    weights[ideal, v] = ways * rest / total
            down[ideal] = leaving
    return weights


def lattices(names: Sequence[str], progress: Progress) -> Table:
    """Lattice, weights and W of whole networks against the plain loop, and memory per lattice edge."""
    from shap_asv.orders import CausalOrder
    from shap_asv.orders.weights import weigh_ideals

    rows = []
    for name in progress.over(names, "lattices"):
        order = CausalOrder.from_graph(network_graph(name))
        ours = shortest(lambda order=order: weigh_ideals(order), 3)
        plain = shortest(lambda order=order: plain_weights(order), 3, enough=2.0)
        tracemalloc.start()
        weights = weigh_ideals(order)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        edges = weights.matrix.nnz // 2
        rows.append((name, weights.n_coalitions, edges, ours, plain, plain / ours, peak / 2**20, peak / edges))
    columns = (
        "network", "ideals", "lattice edges", "ours (s)", "plain loop (s)", "plain / ours", "peak (MiB)",
        "bytes per edge",
    )  # fmt: skip
    caption = "The lattice of ideals, its edge weights and the sparse matrix W, of whole networks, nothing pruned."
    return Table("lattices", columns, tuple(rows), caption)


def draws_per_second(draw: Callable[[int], object], budget: float) -> float:
    """Orders per CPU second of ``draw(n)``, compiled and warm; n is doubled until it takes a quarter of ``budget``."""
    draw(1)
    n = 1
    while True:
        taken, _ = timed(lambda n=n: draw(n))
        if taken >= budget / 4:
            return n / taken
        n *= 2


def chains(names: Sequence[str], budget: float, progress: Progress) -> Table:
    """Orders per second of the Markov chains; about ``budget`` seconds each."""
    from benchmarks.bounding_list import draw_by_bounding_list
    from shap_asv.orders import CausalOrder
    from shap_asv.orders.counting import decompose
    from shap_asv.orders.sampling import longest_chain

    rows = []
    for name in progress.over(names, "chains"):
        order = CausalOrder.from_graph(network_graph(name))
        largest = order.restricted_to(max((block.members for block in decompose(order) if not block.parts), key=len))
        speeds = [
            draws_per_second(lambda n, o=largest: draw_by_bounding_list(o, n, np.random.default_rng(1)), budget),
            draws_per_second(lambda n, o=order: o.sample_topological_orders(n, seed=1), budget),
        ]
        rows.append((name, order.n_features, longest_chain(order), *speeds, speeds[1] / speeds[0]))
    caption = (
        "Orders per CPU second, one thread, of graphs whose lattice is too large. Bounding list: perfect sampling as "
        "it was before (Huber), on the largest part alone; perfect: coupled times, exactly uniform as well."
    )
    columns = ("network", "features", "longest chain", "bounding list", "perfect", "perfect / bounding list")
    return Table("chains", columns, tuple(rows), caption)


def uniformity(lattices_of: Sequence[str], others: Sequence[str], n: int, progress: Progress) -> Table:
    """Draws of the perfect sampler against exact chances of positions, or against places between causes and effects."""
    from shap_asv.orders import CausalOrder

    rows = []
    for name in progress.over([*lattices_of, *others], "uniformity"):
        order = CausalOrder.from_graph(network_graph(name))
        draws = order.sample_topological_orders(n, seed=2, limit=1)
        if name in lattices_of:
            z = position_scores(order, draws)
            rows.append((name, n, len(z), float(abs(z).max()), float((z**2).mean()), None))
        else:
            p_values = reinsertion_p_values(order, draws, np.random.default_rng(3))
            rows.append((name, n, len(p_values), None, None, float(p_values.min() * len(p_values))))
    caption = (
        "Is the perfect sampler uniform? Where the lattice can be built: how often each feature stands at each "
        "position, in standard errors of the exact chance. Elsewhere: where each feature stands between its last cause "
        "and its first effect, Kolmogorov-Smirnov, the smallest p-value times the number of tests."
    )
    columns = ("network", "orders", "tests", "largest |z|", "mean z^2", "smallest p x tests")
    return Table("uniformity", columns, tuple(rows), caption)


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    built = lattices(NETWORKS if full else NETWORKS[:1], progress)
    drawn = chains(CHAINED if full else ("asia",), 10.0 if full else 0.2, progress)
    tested = uniformity(
        ("child", "alarm") if full else ("asia",), ("hailfinder", "andes") if full else (), 2000, progress
    )
    worst = max((cell for cell in tested.column("largest |z|") if cell is not None), default=0.0)
    rarest = min((cell for cell in tested.column("smallest p x tests") if cell is not None), default=1.0)
    last = built.rows[-1]
    per_edge = built.column("bytes per edge")
    claims = (
        Claim(
            f"lattice, weights and W of {last[0]} against a plain loop, same run",
            f"at least {ASKED_RATIO:g} times",
            f"{last[5]:.0f} times",
            last[5] >= ASKED_RATIO if full else None,
        ),
        Claim(f"memory for them on {last[0]}", f"below {ASKED_MIB:g} MiB", f"{last[6]:,.0f} MiB", last[6] < ASKED_MIB),
        Claim(
            "memory grows linearly with the lattice edges",
            "bytes per edge do not grow",
            " -> ".join(f"{cell:,.0f}" for cell in per_edge),
            per_edge[-1] <= 1.5 * per_edge[0],
        ),
        *(
            Claim(
                f"exactly uniform orders of {row[0]} ({row[1]} features), one thread",
                f"at least {ASKED_ORDERS[row[0]]:,} per second",
                f"{row[4]:,.0f} per second ({row[3]:,.1f} by the bounding list, same run)",
                row[4] >= ASKED_ORDERS[row[0]],
            )
            for row in drawn.rows
            if row[0] in ASKED_ORDERS
        ),
        Claim(
            "these orders are uniform",
            f"every |z| below {LARGEST_Z:g}, no smallest p x tests below {SMALLEST_P:g}",
            f"largest |z| {worst:.1f}, smallest p x tests {rarest:.2g}",
            worst < LARGEST_Z and rarest > SMALLEST_P,
        ),
    )
    return Result("orders", ORDERS.title, (built, drawn, tested), claims)


def draw(result: Result) -> list[Plot]:
    import matplotlib.pyplot as plt

    table = result.table("lattices")
    figure, axes = plt.subplots(figsize=(6.8, 4.2))
    edges = np.array(table.column("lattice edges"))
    axes.loglog(edges, table.column("plain loop (s)"), "s-", color="C1", label="plain loop")
    axes.loglog(edges, table.column("ours (s)"), "o-", color="C0", label="shap_asv")
    for count, taken, name in zip(edges, table.column("ours (s)"), table.column("network"), strict=True):
        axes.annotate(name, (count, taken), textcoords="offset points", xytext=(0, -14), ha="center", fontsize=8)
    axes.set(xlabel="lattice edges", ylabel="time (s)", title="Lattice, weights and W of whole networks")
    axes.margins(0.1, 0.15)
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    return [Plot("lattices", "Time to build the lattice of ideals with its weights, against a plain loop.", figure)]


ORDERS = Experiment(
    "orders",
    "Lattices of whole networks, and Markov chains",
    run,
    draw,
    "What the paper leaves open: graphs that are not trees. The lattice of ideals of whole networks against a loop as "
    "one would first write it, and samplers for graphs whose lattice is too large to build.",
)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small networks and samples only")
    size: Size = "small" if parser.parse_args(arguments).quick else "full"
    for experiment in (sampling.SAMPLING, ORDERS):
        result = experiment.run(size, Progress(False))
        print(f"\n{result.title}")
        for table in result.tables:
            print("\n" + "  ".join(table.columns))
            for row in table.rows:
                print("  ".join(map(shown, row)))
        for claim in result.claims:
            print(f"{claim.text}: {claim.measured}" + (f" (asked: {claim.asked})" if claim.asked else ""))


if __name__ == "__main__":
    main()
