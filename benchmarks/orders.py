"""How fast causal orders are counted, weighed and sampled: ``python -m benchmarks.orders``.

Every claim is a ratio of two times taken in the same run. The paper's own figures come from another machine and stand
beside ours for orientation only.
"""

import argparse
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from benchmarks.graphs import network_graph, pruned_child
from shap_asv.orders import CausalOrder
from shap_asv.orders.weights import weigh_ideals

PAPER_SECONDS = {100: 0.927, 1000: 1.117, 10_000: 4.717, 20_000: 7.717, 30_000: 10.839}


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """The shortest of several runs: what the work takes when nothing disturbs it."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


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


def sampling_a_forest(sizes: tuple[int, ...] = tuple(PAPER_SECONDS)) -> float:
    """Uniform orders of the pruned Child, against sorting as many random numbers; the last ratio."""
    order = CausalOrder.from_graph(pruned_child())
    rng = np.random.default_rng(0)
    ratio = 0.0
    print(
        f"\nUniform orders of the pruned Child ({order.n_features} features, e = {order.count_topological_orders():,})"
    )
    print(f"{'orders':>8} {'ours':>10} {'argsort':>10} {'ratio':>6}   the paper's machine")
    for n in sizes:
        shape = (n, order.n_features)
        ours = seconds(lambda n=n: order.sample_topological_orders(n, seed=1), 11)
        base = seconds(lambda shape=shape: np.argsort(rng.random(shape), axis=1), 11)
        ratio = ours / base
        print(
            f"{n:8,} {ours * 1e3:8.2f}ms {base * 1e3:8.2f}ms {ratio:6.2f}   {PAPER_SECONDS.get(n, float('nan')):.3f} s"
        )
    print("asked for: at most 5 at 30,000 orders")
    return ratio


def building_lattices(names: tuple[str, ...] = ("child", "insurance", "water", "mildew", "alarm")) -> float:
    """Lattice, weights and W against the plain loop, and memory per lattice edge; the last ratio of times."""
    print("\nLattice of ideals, edge weights and sparse matrix W")
    columns = f"{'network':>12} {'ideals':>8} {'edges':>10} {'ours':>9} {'plain':>9}"
    print(f"{columns} {'ratio':>6} {'peak':>9} {'bytes/edge':>10}")
    ratio = 0.0
    for name in names:
        order = CausalOrder.from_graph(network_graph(name))
        ours = seconds(lambda order=order: weigh_ideals(order), 3)
        plain = seconds(lambda order=order: plain_weights(order), 3)
        tracemalloc.start()
        weights = weigh_ideals(order)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        ratio, edges = plain / ours, weights.matrix.nnz // 2
        print(
            f"{name:>12} {weights.n_coalitions:8,} {edges:10,} {ours * 1e3:7.1f}ms {plain * 1e3:7.0f}ms {ratio:6.1f} "
            f"{peak / 2**20:6.0f}MiB {peak / edges:10.0f}"
        )
    print("asked for: at least 20 on alarm, below 1024 MiB, memory growing linearly with the edges")
    return ratio


def running_chains(names: tuple[str, ...] = ("hailfinder", "hepar2", "andes"), budget: float = 10.0) -> None:
    """Samples per second of the two Markov chains, compiled and warm, for about ``budget`` seconds each."""
    print("\nMarkov chains, orders per second (mcmc: total variation 0.01; perfect: exactly uniform)")
    for name in names:
        order = CausalOrder.from_graph(network_graph(name))
        for method in ("perfect", "mcmc"):
            order.sample_topological_orders(1, seed=0, method=method)
            n, taken = 1, 0.0
            while taken < budget / 4:
                n = 2 * n if taken else n
                taken = seconds(lambda n=n, o=order, m=method: o.sample_topological_orders(n, seed=1, method=m), 1)
            print(f"{name:>12} ({order.n_features:3} features) {method:>8}: {n / taken:8.2f} per second")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small networks and samples only")
    quick = parser.parse_args(arguments).quick
    if quick:
        sampling_a_forest((100, 1000))
        building_lattices(("child",))
        running_chains(("asia",), budget=0.2)
    else:
        sampling_a_forest()
        building_lattices()
        running_chains()


if __name__ == "__main__":
    main()
