"""Do the tests notice? ``python -m tests.reliability.mutants`` (``make mutants``) breaks the code in known ways.

Each mutant is one wrong line, written into a copy of the tree in a temporary folder, never into the tree itself. The
tests named beside it run there and have to fail, or, where none are named, the neighbours of its file: the tests that
import it, and the contract tests of its room. Before that, the copy without a mutant has to pass them all. A mutant
that survives means that a test is missing. If the line that a mutant breaks no longer occurs exactly once, the run
stops: the list has to follow the code.
"""

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tqdm import tqdm

from tests.reliability.records import Figure, Record, keep

ROOT = Path(__file__).parents[2]
COPIED = ("shap_asv", "tests", "benchmarks", "pyproject.toml")
UNIFORM = "tests/orders/test_sampling.py::test_draws_are_uniform"
QUESTION = "tests/reliability/test_properties.py::test_every_further_question"
EXACT = "tests/explainer/test_exact.py"
COVER = "tests/explainer/test_sampling.py"
TREES = "tests/backends/test_trees_exact.py"
DO = "tests/explainer/test_causal_values.py"
NUMBERS = "tests/explainer/test_causal_numbers.py"
EFFECTS = "tests/explainer/test_effects.py"


@dataclass(frozen=True)
class Mutant:
    """``old`` becomes ``new`` in ``shap_asv/<file>``; ``tests`` are node ids, by default the neighbours of the file."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        return self.tests or neighbours(self.file)


def neighbours(file: str, root: Path = ROOT) -> tuple[str, ...]:
    """Test files beside ``shap_asv/<file>``, in the same room: those that import it or are called like it, and the
    contract tests. A row in a table is tested by these, whichever file it comes from; so nothing has to be listed.

    >>> neighbours("backgrounds/discrete/states/encoding.py")
    ('tests/backgrounds/test_contract.py', 'tests/backgrounds/test_encoding.py')
    """
    path = Path(file)
    module = ".".join(("shap_asv", *path.with_suffix("").parts)).removesuffix(".__init__")
    named = ("test_contract.py", f"test_{path.name}")
    inside = len(path.parts) > 1
    beside = (root / "tests" / path.parts[0]).rglob("test_*.py") if inside else (root / "tests").glob("test_*.py")
    found = [test for test in beside if test.name in named or module in _imported(test)]
    return tuple(sorted(test.relative_to(root).as_posix() for test in found))


@cache
def _imported(path: Path) -> frozenset[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)


MUTANTS = (
    Mutant(
        "a weight off by a millionth",
        "orders/weights.py",
        "    return arriving - leaving",
        "    return arriving - 0.999999 * leaving",
        ("tests/orders/test_weights.py::test_exact_weights_give_the_mean_over_all_orders",),
    ),
    Mutant(
        "a sign",
        "orders/weights.py",
        "np.concatenate([weight, -weight])",
        "np.concatenate([weight, weight])",
        ("tests/orders/test_weights.py::test_weights_of_given_orders",),
    ),
    Mutant(
        "off by one at a threshold",
        "models/trees/regions.py",
        "tables[column] <= threshold)",
        "tables[column] < threshold)",
    ),
    Mutant(
        "a region that keeps the states it should lose",
        "models/trees/regions.py",
        "members & ~left_sets[s])",
        "members)",
    ),
    Mutant(
        "a latent node maximised instead of summed out",
        "backgrounds/discrete/joint.py",
        "product.sum(axis=0)",
        "product.max(axis=0)",
        ("tests/values/test_values.py::test_exact_methods_match_the_full_joint",),
    ),
    Mutant(
        "latent nodes that hand no precedence on",
        "explainer/reading/causality.py",
        "from_graph(background.graph, features=list(background.features))",
        "from_graph(background.graph.subgraph(background.features), features=list(background.features))",
        ("tests/reliability/test_properties.py::test_latent_causes_hand_precedence_on",),
    ),
    Mutant(
        "forest sampler: clocks without subtree sizes",
        "orders/topological/draws.py",
        "    times /= np.array(subtree_sizes(order), dtype=float)[sequence][:, None]\n",
        "",
        (f"{UNIFORM}[tree-forest]",),
    ),
    Mutant(
        "polytree sampler: positions counted from the wrong end",
        "orders/topological/draws.py",
        "ways = ways_before(counts, follows=True)[:s]",
        "ways = ways_before(counts[::-1], follows=True)[:s]",
        (f"{UNIFORM}[polytree-polytree]",),
    ),
    Mutant(
        "ideal sampler: the next feature uniform among those available",
        "orders/topological/draws.py",
        "leaving = down[lattice.edge_target[edges]]",
        "leaving = np.ones(edges.stop - edges.start)",
        (f"{UNIFORM}[crown-ideals]",),
    ),
    Mutant(
        "Markov chain: not run for its mixing time",
        "orders/topological/chains.py",
        "return ceil((n**3 - n) / 6 * log(",
        "return ceil((n**3 - n) / 60 * log(",
        (f"{UNIFORM}[crown-mcmc]", "tests/orders/test_chains.py"),
    ),
    Mutant(
        "Markov chain: swaps are taken more readily one way than the other",
        "orders/topological/chains_kernel.py",
        "swap = (word & np.uint64(1) != np.uint64(0)) & (not precedes[a, b])",
        "swap = ((word & np.uint64(1) != np.uint64(0)) | (a > b)) & (not precedes[a, b])",
        (f"{UNIFORM}[crown-mcmc]",),
    ),
    Mutant(
        "perfect sampler: the same coin for list and bound",
        "orders/topological/chains_kernel.py",
        "swap = (coin != (u == b)) & (not precedes[u, v])",
        "swap = coin & (not precedes[u, v])",
        (f"{UNIFORM}[crown-perfect]", "tests/orders/test_chains.py"),
    ),
    Mutant(
        "standard error of sampled orders: half",
        "backends/weight_columns.py",
        "return phi, np.sqrt(spread / (n_groups - 1))",
        "return phi, np.sqrt(spread / (n_groups - 1)) / 2",
        (f"{COVER}::test_intervals_from_sampled_orders_cover",),
    ),
    Mutant(
        "standard error of draws: a fifth too large",
        "backends/coalitionwise.py",
        "variance = (deviations**2).sum(axis=0) / (n_groups * (n_groups - 1))",
        "variance = 1.44 * (deviations**2).sum(axis=0) / (n_groups * (n_groups - 1))",
        ("tests/statistics/test_unbiased.py::test_intervals_cover",),
    ),
    Mutant(
        "the link left out",
        "backends/coalitionwise.py",
        "            linked = self.link(nu)",
        "            linked = nu",
        ("tests/explainer/test_interface.py::test_link_is_applied_to_the_expectation",),
    ),
    Mutant(
        "the axes of a CPT: parents in the table's own order",
        "backgrounds/pgmpy_networks.py",
        "np.transpose(values, [cpd.variables.index(variable) for variable in (node, *causes)])",
        "values",
    ),
    Mutant(
        "the states of a CPT: by position instead of by name",
        "backgrounds/pgmpy_networks.py",
        "[named.index(state) for state in states[variable]]",
        "list(range(len(named)))",
    ),
    Mutant(
        "equal rows: results handed to the wrong rows",
        "explainer/running/execution.py",
        "return self.order[first : first + int(counts.sum())], np.repeat",
        "return np.sort(self.order)[first : first + int(counts.sum())], np.repeat",
        ("tests/explainer/test_interface.py::test_row_order_is_kept_and_equal_rows_agree", f"{QUESTION}[nothing]"),
    ),
    Mutant(
        "weights of explicit orders dropped",
        "explainer/reading/causality.py",
        "    return w / w.sum()",
        "    return np.full(k, 1 / k)",
        (f"{EXACT}::test_explicit_orders_with_weights",),
    ),
    Mutant(
        "trees, lattice: equal shadows are not added up",
        "backends/trees/kernels/weights.py",
        "cells[shadow[order.edge_source[e]]] += order.edge_weight[e]",
        "cells[shadow[order.edge_source[e]]] = order.edge_weight[e]",
        (
            f"{TREES}::test_equal_to_all_orders",
            "tests/backends/test_trees_kernels.py::test_steps_are_the_distribution_of_restricted_orders",
        ),
    ),
    Mutant(
        "trees, forest: clocks without subtree sizes",
        "backends/trees/orderings.py",
        "size[parent[v]] += size[v]",
        "size[parent[v]] += 0",
        (f"{TREES}::test_equal_to_all_orders",),
    ),
    Mutant(
        "trees, levels: later levels forgotten on long paths",
        "backends/trees/kernels/deep.py",
        "phi[shift + j] *= later * (p - ratio[first + j])",
        "phi[shift + j] *= p - ratio[first + j]",
        (f"{TREES}::test_paths_through_fourteen_features",),
    ),
    Mutant(
        "trees: a background row counted on the wrong side of a threshold",
        "backends/trees/kernels/ground.py",
        "if low > 0 and rows[low - 1] >= 0:",
        "if low > 1 and rows[low - 1] >= 0:",
        (f"{TREES}::test_equal_to_all_orders",),
    ),
    Mutant(
        "trees: missing values go left at every node",
        "backends/trees/kernels/leaves.py",
        "if nodes.nan_left[parent] != is_left:",
        "if not is_left:",
        (f"{TREES}::test_equal_to_all_orders",),
    ),
    Mutant(
        "forest algorithm: subtree size off by one",
        "backends/forest/recursion.py",
        "phi[v] = (inside[v] + 1) * gain(v)",
        "phi[v] = inside[v] * gain(v)",
        (f"{EXACT}::test_every_exact_backend_by_name",),
    ),
    Mutant(
        "forest kernel: the last sibling left out",
        "backends/forest/passes.py",
        "                weight[s, q, lane] *= running[q, lane]\n",
        "                weight[s, q, lane] *= 1.0\n",
        ("tests/backends/test_forest.py::test_equals_jump_chain_and_recursion",),
    ),
    Mutant(
        "forest kernel: a chain at too few points in time",
        "backends/forest/passes.py",
        "    n = dial.n_panels * dial.n_points\n    source",
        "    n = dial.n_panels // dial.n_points\n    source",
        ("tests/backends/test_forest.py::test_equals_jump_chain_and_recursion",),
    ),
    Mutant(
        "polytree algorithm: causes and effects confused",
        "backends/polytree/times.py",
        "        if effect:\n            sums",
        "        if not effect:\n            sums",
        ("tests/backends/test_polytree.py::test_equals_the_definition",),
    ),
    Mutant(
        "ancestral kernel: the table of the wrong ideal",
        "backends/ancestral/kernel.py",
        "            next_ideal[t] = _find(masks, by_mask, mask | (np.int64(1) << v))",
        "            next_ideal[t] = _find(masks, by_mask, everything)",
        (f"{EXACT}::test_every_exact_backend_by_name",),
    ),
    Mutant(
        "relaxation: nothing is dropped",
        "backgrounds/discrete/states/impossible.py",
        "        possible = ~np.isneginf(log_probability(trial))",
        "        possible = np.ones(len(trial), dtype=bool)",
    ),
    Mutant(
        "encoding: the first of several matches is taken",
        "backgrounds/discrete/states/encoding.py",
        "        if len(found) == 1:",
        "        if found:",
    ),
    Mutant(
        "donors that all count alike",
        "values/weighted.py",
        "(own[:, None] * out).sum(axis=0)",
        "out.mean(axis=0)",
        ("tests/values/test_weighted.py",),
    ),
    Mutant(
        "Monte Carlo: other numbers for every batch",
        "values/monte_carlo.py",
        "draws(evidence[open_], self._uniforms[piece])",
        "draws(evidence[open_], (self._uniforms[piece] + 0.01 * len(evidence)) % 1.0)",
        ("tests/values/test_values.py::test_monte_carlo_is_the_same_in_any_batches",),
    ),
    Mutant(
        "Monte Carlo: draws that forget which row of a CPT they are in",
        "backgrounds/discrete/drawing.py",
        "rows = rows * cards[p] + draws[p, free]",
        "rows = rows + draws[p, free]",
    ),
    Mutant(
        "spread draws: every number in the middle of its interval",
        "strata.py",
        "spread = (intervals + rng.random((n_coordinates, n_draws)))",
        "spread = (intervals + 0.5)",
    ),
    Mutant(
        "the seed is not saved",
        "explainer/asymmetric.py",
        'arguments["seed"] = self._entropy',
        'arguments["seed"] = None',
        ("tests/explainer/test_interface.py::test_save_and_load",),
    ),
    Mutant(
        "rows rarer than doubles: not scaled",
        "values/table.py",
        "p = np.exp(log_p - log_p.max())",
        "p = np.exp(log_p)",
        ("tests/reliability/test_extremes.py::test_rare_rows_and_common_rows_together",),
    ),
    Mutant(
        "interventions: what is set keeps its own factor",
        "backgrounds/discrete/inference/circuit.py",
        "        left_out = cut[w][layout.met]",
        "        left_out = np.zeros_like(cut[w][layout.met])",
        (DO,),
    ),
    Mutant(
        "interventions: rows that differ in what is cut are taken for one",
        "backgrounds/discrete/inference/circuit.py",
        "        marks = _number_cuts(plan, cut)",
        "        marks = None",
        (DO,),
    ),
    Mutant(
        "interventions: nodes above what is set count as idle",
        "backgrounds/discrete/inference/engine.py",
        "            reached = active[v] & (evidence[v] < 0)",
        "            reached = active[v] & (evidence[v] < -1)",
        (DO,),
    ),
    Mutant(
        "interventions: requisite evidence ends at the parents",
        "backgrounds/discrete/inference/requisite.py",
        "            upward = reached[v] & ~self._observed[v]",
        "            upward = reached[v] & ~self._observed[v] if v in asked else reached[v] & self._observed[v]",
        (f"{DO}::test_definition",),
    ),
    Mutant(
        "interventions: a joint keeps the tables of what is set",
        "backgrounds/discrete/joint.py",
        "    kept = [v for v in range(network.n_nodes) if v not in cut]",
        "    kept = list(range(network.n_nodes))",
        (DO,),
    ),
    Mutant(
        "interventions: a feature that is shown reaches its effects",
        "backgrounds/discrete/interventions.py",
        "            names=(*network.names[:node], hidden, *network.names[node + 1 :], name),",
        "            names=(*network.names, hidden),",
        (EFFECTS,),
    ),
    Mutant(
        "levels: a confounded level is drawn given its own members",
        "backgrounds/gaussian/interventions.py",
        "            held = [] if number in self.confounded else [v for v in level if members[v]]",
        "            held = [v for v in level if members[v]]",
        (NUMBERS,),
    ),
    Mutant(
        "levels: draws of a confounded level know its own members",
        "backgrounds/level_by_level.py",
        "            given = earlier if number in self.confounded else [*earlier, *columns]",
        "            given = [*earlier, *columns]",
        (NUMBERS,),
    ),
    Mutant(
        "linear Gaussian networks: edges into what is set are not cut",
        "backgrounds/gaussian/interventions.py",
        "        slopes[at[known]], intercepts[at[known]], deviations[at[known]] = 0.0, 0.0, 0.0",
        "        intercepts[at[known]], deviations[at[known]] = 0.0, 0.0",
        (NUMBERS,),
    ),
    Mutant(
        "meaning: causal values count as conditional whatever the order",
        "explainer/reading/meaning.py",
        "        if is_ancestral(problem):",
        "        if problem.background.graph is not None:",
        (DO,),
    ),
    Mutant(
        "sensitivity: other graphs get the conditional shortcut of causal values",
        "explainer/questions/sensitivities.py",
        "    problem = replace(execution.problem.for_any_coalition(), order=mixture",
        "    problem = replace(execution.problem, order=mixture",
        (DO,),
    ),
    Mutant(
        "effects: shown features are counted with the wrong sign of the weights",
        "explainer/questions/effects.py",
        "    keys = entries.row * np.int64(p + 1) + np.where(inside, player + 1, 0)",
        "    keys = entries.row * np.int64(p + 1) + np.where(inside, 0, 0)",
        (EFFECTS,),
    ),
    Mutant(
        "requisite evidence: common effects are not looked through",
        "backgrounds/discrete/inference/requisite.py",
        "upward = (from_below[v] & hidden[v]) | (from_above[v] & observed[v])",
        "upward = from_below[v] & hidden[v]",
    ),
    Mutant(
        "agreement: a feature that is not summed over",
        "values/agreement.py",
        "        for axis in range(1, n + 1):\n            without, with_it",
        "        for axis in range(1, n):\n            without, with_it",
        ("tests/values/test_values.py::test_exact_methods_match_the_full_joint",),
    ),
    Mutant(
        "main effects: the empty coalition not subtracted",
        "backends/weight_columns.py",
        "sp.csr_array(-np.ones((1, n)))",
        "sp.csr_array(np.zeros((1, n)))",
        (f"{EXACT}::test_main_effects",),
    ),
    Mutant(
        "independent columns: draws that forget the evidence",
        "backgrounds/independent.py",
        "np.where(np.isnan(evidence)[:, None, :], drawn, evidence[:, None, :])",
        "np.broadcast_to(drawn, (len(evidence), *drawn.shape))",
    ),
    Mutant(
        "independent columns: the largest value of a column is never drawn",
        "backgrounds/independent.py",
        "places = (uniforms * len(self._sorted))",
        "places = (uniforms * (len(self._sorted) - 1))",
    ),
    Mutant(
        "background rows: a column loses its type on the way to the model",
        "backgrounds/matrix.py",
        "if self.dtypes is None or all(dtype == rows.dtype for dtype in self.dtypes):",
        "if self.dtypes is None or any(dtype == rows.dtype for dtype in self.dtypes):",
    ),
    Mutant(
        "Monte Carlo: the sample does not grow",
        "values/monte_carlo.py",
        'grows_with="n_draws")',
        "grows_with=None)",
        ("tests/values/test_contract.py::test_a_method_of_another_name_meets_a_tolerance",),
    ),
    Mutant(
        "symmetric: the causal graph kept",
        "explainer/questions/asking.py",
        'arguments["causal_graph"] = edgeless_order(problem.names, levels_of(self.causal_graph))',
        'arguments["causal_graph"] = self.causal_graph',
        (f"{EXACT}::test_symmetric_is_ordinary_shapley",),
    ),
)


def environment(copy: Path, cache: Path) -> dict[str, str]:
    """Python finds the copy first; kernels are compiled into a folder of their own."""
    return {**os.environ, "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1"}


def run_tests(copy: Path, tests: list[str], cache: Path) -> tuple[bool, str]:
    """Whether the tests pass in the copy, and the end of what they said."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=copy, env=environment(copy, cache), capture_output=True, text=True)
    if done.returncode not in (0, 1):  # nothing collected, or an error of usage: says nothing about the mutant
        raise SystemExit(f"pytest could not run {' '.join(tests)}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0, done.stdout[-1500:]


def make_copy(folder: Path) -> Path:
    """The tree without what was generated; checked that Python imports it and not the original."""
    copy = folder / "tree"
    copy.mkdir()
    ignore = shutil.ignore_patterns("__pycache__", ".peers", "results", "*.nbi", "*.nbc")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=ignore)
        else:
            shutil.copy2(source, copy / name)
    code = "import shap_asv, tests; print(shap_asv.__file__); print(tests.__file__)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        cwd=copy,
        env=environment(copy, folder),
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    if not all(Path(path).resolve().is_relative_to(copy.resolve()) for path in found):
        raise SystemExit(f"Python imports {found}, not the copy in {copy}")
    return copy


def place_of(copy: Path, mutant: Mutant) -> tuple[Path, str]:
    """The file that a mutant breaks and its text; an error unless the line is there once."""
    path = copy / "shap_asv" / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise SystemExit(
            f"{mutant.what}: the text {mutant.old!r} occurs {text.count(mutant.old)} times in shap_asv/{mutant.file}; "
            "mend the list of mutants"
        )
    return path, text


def is_caught(copy: Path, mutant: Mutant, folder: Path) -> bool:
    """Break the copy, run the mutant's tests, mend the copy again."""
    path, text = place_of(copy, mutant)
    path.write_text(text.replace(mutant.old, mutant.new))
    try:
        passed, _ = run_tests(copy, list(mutant.asked), folder / "cache")
    finally:
        path.write_text(text)
    return not passed


def check(mutants: list[Mutant], number: int, folder: Path, bar: tqdm) -> list[Mutant]:
    """One worker with a copy of its own: the copy passes all tests, then each mutant; returns those that survive."""
    folder = folder / f"worker{number}"
    folder.mkdir()
    copy = make_copy(folder)
    for mutant in mutants:
        place_of(copy, mutant)
    tests = sorted({test for mutant in mutants for test in mutant.asked})
    passed, said = run_tests(copy, tests, folder / "cache")
    if not passed:
        raise SystemExit(f"the tests fail without any mutant:\n{said}")
    survivors = []
    for mutant in mutants:
        caught = is_caught(copy, mutant, folder)
        bar.write(f"{'caught  ' if caught else 'SURVIVES'}  {mutant.what}")
        bar.update()
        if not caught:
            survivors.append(mutant)
    return survivors


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="run the mutants whose description holds this text; keeps no record")
    parser.add_argument(
        "--jobs", type=int, default=min(4, os.cpu_count() or 1), help="copies that are broken at a time"
    )
    parser.add_argument("--silent", action="store_true", help="no progress bar")
    options = parser.parse_args(arguments)
    chosen = [mutant for mutant in MUTANTS if options.only in mutant.what]
    if not chosen:
        raise SystemExit(f"no mutant is described by {options.only!r}")
    started = time.monotonic()
    shares = [chosen[number :: options.jobs] for number in range(min(options.jobs, len(chosen)))]
    bar = tqdm(total=len(chosen), unit="mutant", disable=options.silent)
    with tempfile.TemporaryDirectory(prefix="mutants") as name, ThreadPoolExecutor(len(shares)) as pool:
        running = [pool.submit(check, share, number, Path(name), bar) for number, share in enumerate(shares)]
        survivors = [mutant for work in running for mutant in work.result()]
    bar.close()
    if not options.only:
        keep(record_of(survivors, time.monotonic() - started))
    return 1 if survivors else 0


def record_of(survivors: list[Mutant], seconds: float) -> Record:
    figures = [
        Figure("ways in which the code was broken", str(len(MUTANTS)), "20", len(MUTANTS) >= 20),
        Figure("noticed by the tests", str(len(MUTANTS) - len(survivors)), str(len(MUTANTS)), not survivors),
        Figure("time in all", f"{seconds / 60:.1f} minutes"),
    ]
    notes = [
        "One wrong line at a time in a copy of the tree; the tests beside it have to fail, and pass without it. "
        "Broken were: "
        + "; ".join(mutant.what + (" (survives)" if mutant in survivors else "") for mutant in MUTANTS)
        + "."
    ]
    return Record("mutants", "Mutation check", "make mutants", figures, notes)


if __name__ == "__main__":
    sys.exit(main())
