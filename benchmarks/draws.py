"""What draws cost and save: ``python -m benchmarks draws``.

How many independent draws a draw of a Sobol set is worth; what drawing costs beside the model's own prediction; ASV in
four levels against the plain way, 1,000 independent draws per coalition through the model; what a fit costs; and how
much memory a large job takes. Times are processor seconds of one thread, ratios are of the same run.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.experiment import Claim, Experiment, Progress, Result, Size, Table
from benchmarks.tables import attributions, graph_of

ASKED_DRAW_RATIO = 1.3
ASKED_FIT_SECONDS = 30.0
ASKED_SAVING = 6.0
ASKED_TIME = 0.2
#: Bytes beside the rows themselves: 1,000 rows x 200 coalitions x 500 draws x 8 features would be 6.4 GB.
ASKED_MEMORY = 500e6
N_PLAIN = 1000


# --- draws saved --------------------------------------------------------------------------------------------


def variance_ratio(attribute: Any, n_uniforms: int, n_draws: int, n_groups: int, repeats: int) -> float:
    """Variance of ``attribute(uniforms)`` with independent numbers over that with Sobol groups, as many draws."""
    from shap_asv.strata import sobol_uniforms

    plain, sets = [], []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        plain.append(attribute(rng.random((n_draws, n_uniforms))))
        sets.append(attribute(sobol_uniforms(rng, n_uniforms, n_draws, n_groups).T))
    return float(np.var(plain, axis=0).mean() / np.var(sets, axis=0).mean())


def savings(full: bool, progress: Progress) -> list[tuple]:
    """(model, draws, groups, independent draws that one of them is worth) for structural models and networks."""
    from shap_asv import load_network
    from shap_asv.backgrounds.discrete.background import DiscreteBackground
    from shap_asv.backgrounds.pgmpy_networks import read_network
    from shap_asv.backgrounds.structural import StructuralModel
    from shap_asv.values.monte_carlo import _groups
    from tests.oracles.structural_models import KINDS

    repeats, sizes = (30, (512, 1024)) if full else (3, (32,))
    found: list[tuple] = []
    for kind, asked in progress.over([(kind, asked) for kind in KINDS for asked in sizes], "savings"):
        model = KINDS[kind](0)
        table, rows = model.sample(500, 1), model.sample(2 if full else 1, 777)
        background = StructuralModel(graph_of(model), model.mechanisms, like=table).background()
        n_groups, size = _groups(asked, finite=False)

        def attribute(uniforms: np.ndarray, model: Any = model, background: Any = background, rows: Any = rows) -> Any:
            return attributions(model, background, rows, uniforms)[0]

        ratio = variance_ratio(attribute, background.n_uniforms, n_groups * size, n_groups, repeats)
        found.append((kind, n_groups * size, n_groups, ratio))
    for name in progress.over(NETWORKS if full else NETWORKS[:1], "networks"):
        features = NETWORK_FEATURES[name]
        background = DiscreteBackground(read_network(load_network(name)), features)
        n_groups, size = _groups(sizes[-1], finite=True)
        ratio = variance_ratio(
            network_attribution(background), background.n_uniforms, n_groups * size, n_groups, repeats
        )
        found.append((f"network {name}", n_groups * size, n_groups, ratio))
    return found


NETWORK_FEATURES = {
    "asia": ["asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp"],
    "child": ["BirthAsphyxia", "Disease", "Sick", "LungParench", "LungFlow", "HypDistrib", "Grunting", "CO2"],
}
NETWORKS = list(NETWORK_FEATURES)


def network_attribution(background: Any) -> Any:
    """uniforms -> ASV (1, n) of a curved function of the codes."""
    from shap_asv.orders import CausalOrder
    from shap_asv.orders.weights import weigh_ideals

    n = len(background.features)
    weights = weigh_ideals(CausalOrder.from_graph(background.graph, features=list(background.features)))
    slopes = np.random.default_rng(0).normal(size=n)
    nothing = np.full((1, n), -1)
    row = background.draws(nothing, np.random.default_rng(5).random((1, background.n_uniforms)))[0, 0]

    def attribute(uniforms: np.ndarray) -> np.ndarray:
        draws = background.draws(np.where(weights.coalitions, row, -1), uniforms)
        total = draws @ slopes
        return (np.tanh(total) + 0.3 * total**2).mean(axis=1) @ weights.matrix

    return attribute


# --- levels through XGBoost ---------------------------------------------------------------------------------


def plain_values(predict: Any, data: np.ndarray, rows: np.ndarray, coalitions: np.ndarray, seed: int) -> np.ndarray:
    """nu (r, m) the plain way: independent draws from the conditional Gaussian of every row and coalition."""
    rng = np.random.default_rng(seed)
    mean, covariance = data.mean(axis=0), np.cov(data.T)
    nu = np.empty((len(rows), len(coalitions)))
    for s, held in enumerate(coalitions):
        free = ~held
        inputs = np.repeat(rows[:, None, :], N_PLAIN if free.any() else 1, axis=1)
        if free.any():
            slopes = np.linalg.solve(covariance[np.ix_(held, held)], covariance[np.ix_(held, free)])
            spread = np.linalg.cholesky(covariance[np.ix_(free, free)] - covariance[np.ix_(free, held)] @ slopes)
            centre = mean[free] + (rows[:, held] - mean[held]) @ slopes
            inputs[:, :, free] = centre[:, None] + rng.normal(size=(len(rows), N_PLAIN, int(free.sum()))) @ spread.T
        nu[:, s] = predict(inputs.reshape(-1, rows.shape[1])).reshape(len(rows), -1).mean(axis=1)
    return nu


def level_times(width: int, full: bool) -> tuple:
    """(features, coalitions, draws, our error, plain error, our seconds, plain seconds): 20 rows, four levels.

    Ours takes as many draws (a power of two) as the plain error asks for.
    """
    import xgboost

    from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel
    from shap_asv.orders.weights import weigh_ideals

    rng = np.random.default_rng(width)
    root = np.tril(rng.normal(size=(width, width))) / np.sqrt(width) + 0.6 * np.eye(width)
    data = rng.normal(size=(2000 if full else 200, width)) @ root.T
    target = (data[:, 0] > 0) * data[:, 1] + data @ rng.normal(size=width) + 2 * (data[:, 3] * data[:, 4] > 0.2)
    trees = xgboost.XGBRegressor(n_estimators=100, max_depth=6, n_jobs=1).fit(data, target)
    background = GaussianModel.fit(data)
    names, size = list(background.features), width // 4
    order = CausalOrder.from_levels([names[size * k : size * (k + 1)] for k in range(4)])
    weights = weigh_ideals(order)
    rows = data[: 20 if full else 2]

    def ours(n_draws: int, seed: int) -> tuple[np.ndarray, float]:
        start = time.process_time()
        explainer = AsymmetricExplainer(
            trees.predict, background, order, seed=seed, n_draws=n_draws, algorithm="monte_carlo"
        )
        return explainer(rows, silent=True).values, time.process_time() - start

    truth = ours(2**13 if full else 256, 99)[0]

    def plain(seed: int) -> tuple[np.ndarray, float]:
        start = time.process_time()
        values = plain_values(trees.predict, data, rows, weights.coalitions, seed) @ weights.matrix
        return values, time.process_time() - start

    def summed_up(runs: list[tuple[np.ndarray, float]]) -> tuple[float, float]:
        return float(np.sqrt(np.mean([(values - truth) ** 2 for values, _ in runs]))), min(run[1] for run in runs)

    plain_error, plain_seconds = summed_up([plain(seed) for seed in range(3 if full else 1)])
    for n_draws in (32, 64, 128, 256, 512, 1024):
        error, seconds = summed_up([ours(n_draws, seed) for seed in range(5 if full else 1)])
        if error <= plain_error or not full:
            break
    return width, len(weights.coalitions), n_draws, error, plain_error, seconds, plain_seconds


# --- costs --------------------------------------------------------------------------------------------------


def draw_costs(full: bool) -> tuple[float, float]:
    """Seconds to draw and seconds to predict the same rows: XGBoost on a mixed table of eight features."""
    import xgboost

    from shap_asv.backgrounds.structural import StructuralModel
    from shap_asv.orders import CausalOrder
    from shap_asv.orders.weights import weigh_ideals
    from tests.oracles.structural_models import mixed

    model = mixed(0)
    table = model.sample(2000 if full else 150, 1).astype({"x0": "category", "x4": "category"})
    target = model.explained(table.astype({"x0": str, "x4": str}))
    trees = xgboost.XGBRegressor(n_estimators=100, max_depth=6, enable_categorical=True, n_jobs=1).fit(table, target)
    background = StructuralModel.fit(table, graph_of(model), seed=0, silent=True).background()
    coalitions = weigh_ideals(CausalOrder.from_edges(model.edges, features=list(background.features))).coalitions
    rows = background.read(table.iloc[: 20 if full else 2])
    evidence = np.where(coalitions[None], rows[:, None, :], np.nan).reshape(-1, rows.shape[1])
    uniforms = np.random.default_rng(0).random((500 if full else 20, background.n_uniforms))
    drawing, predicting = [], []
    for _ in range(3):
        start = time.process_time()
        inputs = background.inputs(background.draws(evidence, uniforms).reshape(-1, rows.shape[1]))
        drawing.append(time.process_time() - start)
        start = time.process_time()
        trees.predict(inputs)
        predicting.append(time.process_time() - start)
    return min(drawing), min(predicting)


def wide_table(full: bool) -> tuple[Any, list[tuple[str, str]]]:
    """10,000 rows of 20 features, every fifth a category, and the edges among them."""
    import pandas as pd

    rng = np.random.default_rng(0)
    n, width = (10_000, 20) if full else (200, 5)
    columns: dict[str, Any] = {}
    edges = []
    for k in range(width):
        causes = [f"x{p}" for p in rng.choice(k, min(k, int(rng.integers(1, 4))), replace=False)]
        edges += [(cause, f"x{k}") for cause in causes]
        signal = sum((np.sin(1.5 * columns[c]) + rng.normal() * columns[c] for c in causes), np.zeros(n))
        columns[f"x{k}"] = signal / (1 + len(causes)) + rng.normal(size=n) * (0.6 + 0.3 * (signal > 0))
    table = pd.DataFrame(columns)
    for k in range(3, width, 5):
        table[f"x{k}"] = pd.qcut(table[f"x{k}"], 4, labels=list("abcd")).astype(str)
    return table, edges


def fit_seconds(full: bool) -> float:
    """Processor seconds to fit 10,000 rows of 20 features, on one core."""
    import networkx as nx

    from shap_asv.backgrounds.structural import StructuralModel

    table, edges = wide_table(full)
    graph = nx.DiGraph(edges)
    graph.add_nodes_from(table.columns)
    start = time.process_time()
    StructuralModel.fit(table, graph, seed=0, n_jobs=1, silent=True)
    return time.process_time() - start


def peak_memory(full: bool) -> tuple[int, int, float]:
    """(coalitions, draws, bytes at the peak beside the rows) of 1,000 rows with 500 draws over 200 coalitions."""
    import tracemalloc

    from shap_asv import AsymmetricExplainer, CausalOrder, GaussianModel
    from shap_asv.orders.weights import weigh_ideals

    n = 8
    rng = np.random.default_rng(0)
    data = rng.normal(size=(1000 if full else 20, n)) @ rng.normal(size=(n, n))
    background = GaussianModel.fit(data)
    names = list(background.features)
    # one edge takes a quarter of the 256 subsets away
    order = CausalOrder.from_edges([(names[0], names[1])], features=names)
    n_coalitions = len(weigh_ideals(order).coalitions)
    explainer = AsymmetricExplainer(
        lambda X: np.maximum(np.asarray(X)[:, 0], np.asarray(X)[:, 3]),
        background,
        order,
        seed=0,
        n_draws=500 if full else 20,
        algorithm="monte_carlo",
    )
    explainer(data[:1], silent=True)  # what is imported and compiled once is not the job's
    tracemalloc.start()
    explainer(data, silent=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return n_coalitions, 500 if full else 20, float(peak)


def run(size: Size, progress: Progress) -> Result:
    full = size == "full"
    saved = savings(full, progress)
    levels = [level_times(width, full) for width in progress.over((12, 16), "levels")]
    drawing, predicting = draw_costs(full)
    seconds = fit_seconds(full)
    n_coalitions, n_draws, peak = peak_memory(full)
    n_saving = max(row[1] for row in saved if not row[0].startswith("network"))
    structural = sorted(row[3] for row in saved if not row[0].startswith("network") and row[1] == n_saving)
    networks = min(row[3] for row in saved if row[0].startswith("network"))
    claims = [
        Claim(
            f"independent draws that one of {n_saving:,} draws in Sobol sets is worth, third best of four structural "
            "models",
            f"at least {ASKED_SAVING:g}",
            f"{structural[1]:.1f} (of all: {', '.join(f'{ratio:.1f}' for ratio in structural)})",
            structural[1] >= ASKED_SAVING if full else None,
        ),
        Claim(
            "the same for discrete networks, least",
            "more than 1",
            f"{networks:.1f}",
            networks > 1 if full else None,
        ),
        Claim(
            "drawing against XGBoost's own prediction of the same rows (100 trees, eight features)",
            f"at most {ASKED_DRAW_RATIO:g} times",
            f"{drawing / predicting:.2f} times",
            drawing / predicting <= ASKED_DRAW_RATIO if full else None,
        ),
        Claim(
            "fit of 10,000 rows x 20 features on one core",
            f"at most {ASKED_FIT_SECONDS:g} s",
            f"{seconds:.1f} s",
            seconds <= ASKED_FIT_SECONDS if full else None,
        ),
        Claim(
            f"1,000 rows with {n_draws} draws over {n_coalitions} coalitions: memory at the peak",
            f"at most {ASKED_MEMORY / 1e6:.0f} MB",
            f"{peak / 1e6:.0f} MB",
            peak <= ASKED_MEMORY if full else None,
        ),
    ]
    for width, _, n_own, error, plain_error, own, plain in levels:
        claims.append(
            Claim(
                f"20 rows, {width} features in four levels, XGBoost, Gaussian: time for the error of {N_PLAIN:,} "
                "independent draws, against these",
                f"at most {ASKED_TIME:g} times",
                f"{own / plain:.2f} times ({own:.2f} s, {n_own} draws, error {error:.3f}; {plain:.2f} s, "
                f"{plain_error:.3f})",
                own / plain <= ASKED_TIME and error <= plain_error if full else None,
            )
        )
    tables = (
        Table(
            "savings",
            ("model", "draws", "groups", "variance ratio"),
            tuple(saved),
            "Variance of ASV with independent draws over that with as many in Sobol sets.",
        ),
        Table(
            "levels",
            (
                "features",
                "coalitions",
                "draws",
                "error",
                f"error, {N_PLAIN:,} plain draws",
                "seconds",
                "seconds, plain",
            ),
            tuple(levels),
            "Errors are root mean squares over 20 rows and all features, against 8,192 draws.",
        ),
    )
    return Result("draws", DRAWS.title, tables, tuple(claims))


DRAWS = Experiment(
    "draws",
    "What draws cost and save",
    run,
    about="Scrambled Sobol sets against independent draws, on known structural models with jumps and on discrete "
    "networks; drawing against predicting; ASV in levels against the plain way; fits and memory. CPU seconds of one "
    "thread.",
)
