"""How long uniform topological orders of the pruned Child network take, beside the paper's table.

The paper draws them by counting recursively, sharing the recursion between samples. A rooted tree needs none: the times
``T_v = T_parent(v) + Exp(subtree size of v)``, sorted, are a uniform order, and all samples are drawn at once. A lower
bound on any such method is to sort as many random numbers, which is timed in the same run.
"""

import numpy as np

from benchmarks.experiment import AGAINST_PAPER, Claim, Experiment, Plot, Progress, Result, Size, Table
from benchmarks.graphs import pruned_child
from benchmarks.timing import shortest, timed

PAPER_SECONDS = {100: 0.927, 1000: 1.117, 10_000: 4.717, 20_000: 7.717, 30_000: 10.8387}
ASKED_RATIO = 5.0


def run(size: Size, progress: Progress) -> Result:
    from shap_asv.orders import CausalOrder

    counts = tuple(PAPER_SECONDS) if size == "full" else (100, 1000)
    repeats = 15 if size == "full" else 2
    order = CausalOrder.from_graph(pruned_child())
    rng = np.random.default_rng(0)
    first, _ = timed(lambda: order.sample_topological_orders(1, seed=0))
    rows = []
    for n in progress.over(counts, "sampling"):
        ours = shortest(lambda n=n: order.sample_topological_orders(n, seed=1), repeats)
        sorting = shortest(lambda n=n: np.argsort(rng.random((n, order.n_features)), axis=1), repeats)
        rows.append((n, PAPER_SECONDS[n], ours, sorting, ours / sorting, 1e6 * ours / n))
    columns = ("orders", "paper (s)", "ours (s)", "sorting alone (s)", "ours / sorting", "ours per order (us)")
    times = Table("times", columns, tuple(rows), "Seconds to draw uniform topological orders of the pruned Child.")
    paper = Table(
        "against_paper",
        AGAINST_PAPER,
        tuple((f"drawing {row[0]:,} orders of child", "s", row[1], row[2], row[1] / row[2]) for row in rows),
    )
    ratio = rows[-1][4]
    each, ratios = [row[5] for row in rows], [row[4] for row in rows]
    return Result(
        "sampling",
        SAMPLING.title,
        (times, paper),
        (
            *(
                Claim(
                    f"drawing {n:,} orders of child is faster than in the paper (another machine)",
                    f"less than {paper_seconds:g} s",
                    f"{ours:.2g} s, {paper_seconds / ours:,.0f} times faster",
                    ours < paper_seconds,
                )
                for n, paper_seconds, ours, *_ in rows
            ),
            Claim(
                f"drawing {rows[-1][0]:,} orders against sorting as many random numbers, same run",
                f"at most {ASKED_RATIO:g} times",
                f"{ratio:.2f} times",
                ratio <= ASKED_RATIO,
            ),
        ),
        (
            f"Before the first sample, subtree sizes are counted once: {1e3 * first:.1f} ms with the first draw.",
            "The paper notes that its time is not linear in the number of orders, because recursive calls are shared; "
            f"here an order takes {min(each):.2g} to {max(each):.2g} us in every row, {min(ratios):.1f} to "
            f"{max(ratios):.1f} times what sorting takes.",
        ),
    )


def draw(result: Result) -> list[Plot]:
    import matplotlib.pyplot as plt

    table = result.table("times")
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    counts = table.column("orders")
    for column, label, marker in (
        ("paper (s)", "paper (its machine)", "s"),
        ("ours (s)", "shap_asv", "o"),
        ("sorting alone (s)", "sorting random numbers alone", "^"),
    ):
        axes.loglog(counts, table.column(column), marker=marker, label=label)
    axes.set(xlabel="topological orders drawn", ylabel="time (s)", title="Sampling orders of the pruned Child network")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    return [Plot("times", "Time to draw uniform topological orders of the pruned Child network.", figure)]


SAMPLING = Experiment(
    "sampling",
    "Sampling topological orders",
    run,
    draw,
    "The paper's table of sampling times on the Child network pruned to a tree, beside ours; and ours beside the time "
    "to sort as many random numbers, in the same run.",
)
