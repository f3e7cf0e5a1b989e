"""Structural models of other libraries, read by their methods: dowhy.gcm, and the networks of pgmpy.

dowhy is not imported, only spoken to: ``scm.graph``, ``scm.causal_mechanism(node)``, and of the mechanisms
``draw_samples(n)`` for roots, ``draw_noise_samples(n)`` and ``evaluate(parents, noise)`` for the others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shap_asv.backgrounds.discrete.drawing import distribution_function
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.gaussian.networks import is_linear_gaussian, read_linear_gaussian
from shap_asv.backgrounds.pgmpy_networks import read_network
from shap_asv.backgrounds.structural.graph import Dag
from shap_asv.backgrounds.structural.mechanisms import Named
from shap_asv.backgrounds.structural.model import StructuralModel
from shap_asv.backgrounds.tables.border import quantile_between, rowwise_product
from shap_asv.backgrounds.tables.codec import TableCodec
from shap_asv.errors import MechanismError

# --- dowhy --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DrawnQuantiles:
    """The quantile function of a noise that can only be drawn: that of many draws of it.

    Noise of several columns is not ordered; a draw is then one of the drawn rows.
    """

    drawn: np.ndarray
    between: bool

    @classmethod
    def of(cls, drawn: Any) -> "DrawnQuantiles":
        rows = np.asarray(drawn)
        rows = rows.reshape(len(rows), -1)
        numbers = rows.dtype.kind in "iuf"
        if rows.shape[1] == 1:
            rows = np.sort(rows, axis=0)
        # noise that repeats itself is discrete, or was resampled: nothing lies between its values
        repeated = len(np.unique(rows[:, 0])) < 0.9 * len(rows)
        return cls(rows, bool(numbers and rows.dtype.kind == "f" and rows.shape[1] == 1 and not repeated))

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        if self.between:
            return quantile_between(self.drawn[:, 0], uniforms)[:, None]
        return self.drawn[np.minimum((uniforms * len(self.drawn)).astype(np.intp), len(self.drawn) - 1)]


@dataclass(frozen=True, eq=False)
class ScipyQuantiles:
    """The quantile function of one of scipy's distributions."""

    distribution: Any
    parameters: dict[str, float]

    def __call__(self, uniforms: np.ndarray) -> np.ndarray:
        return np.asarray(self.distribution.ppf(uniforms, **self.parameters))[:, None]


def _quantiles_of(model: Any, draw: Callable[[int], Any], n_noise: int) -> Callable[[np.ndarray], np.ndarray]:
    """Of a StochasticModel of dowhy (or None), or of whatever ``draw`` draws."""
    distribution = getattr(model, "scipy_distribution", None)
    if distribution is not None and hasattr(distribution, "ppf"):
        return ScipyQuantiles(distribution, dict(getattr(model, "parameters", {})))
    return DrawnQuantiles.of(draw(n_noise))


@dataclass(frozen=True, eq=False)
class DowhyRoot:
    """A root of dowhy: a function of noise alone."""

    quantiles: Callable[[np.ndarray], np.ndarray]

    def __call__(self, parents: dict[str, Any], noise: np.ndarray) -> Any:
        return self.quantiles(noise)[:, 0]


@dataclass(frozen=True, eq=False)
class DowhyMechanism:
    """A functional causal model of dowhy: ``evaluate(parents, noise)``."""

    model: Any
    quantiles: Callable[[np.ndarray], np.ndarray]
    order: tuple[str, ...]

    def __call__(self, parents: dict[str, Any], noise: np.ndarray) -> Any:
        columns = [np.asarray(parents[name]) for name in self.order]
        mixed = any(column.dtype.kind not in "biuf" for column in columns)
        samples = np.empty((len(noise), len(columns)), dtype=object if mixed else float)
        for j, column in enumerate(columns):
            samples[:, j] = column
        return np.asarray(self.model.evaluate(samples, self.quantiles(noise))).reshape(-1)


def read_dowhy(scm: Any, n_noise: int, seed: int | None) -> StructuralModel:
    """See :meth:`StructuralModel.from_dowhy`."""
    if not hasattr(scm, "graph") or not hasattr(scm, "causal_mechanism"):
        raise MechanismError(
            f"a fitted dowhy.gcm model is needed (graph and causal_mechanism), not {type(scm).__name__}"
        )
    dag = Dag.read(scm.graph)
    nodes = {str(node): node for node in scm.graph.nodes}
    functions: dict[str, Callable] = {}
    # dowhy draws from numpy's global generator: it is seeded for the draws of noise, and put back
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(np.random.SeedSequence(seed).generate_state(1)[0])  # noqa: NPY002
    try:
        for name in dag.names:
            functions[name] = _dowhy_function(scm, nodes[name], name, n_noise)
    finally:
        np.random.set_state(state)  # noqa: NPY002
    return StructuralModel(scm.graph, functions)


def _dowhy_function(scm: Any, node: Any, name: str, n_noise: int) -> Callable:
    model = scm.causal_mechanism(node)
    # dowhy hands the causes over sorted by name
    order = tuple(str(cause) for cause in sorted(scm.graph.predecessors(node)))
    try:
        if not order:
            return DowhyRoot(_quantiles_of(model, model.draw_samples, n_noise))
        if not hasattr(model, "evaluate") or not hasattr(model, "draw_noise_samples"):
            raise MechanismError(
                f"the mechanism of {name!r}, {type(model).__name__}, has no evaluate(parents, noise): it cannot be "
                "drawn again under the same noise; use a FunctionalCausalModel (AdditiveNoiseModel, ClassifierFCM)"
            )
        if hasattr(model, "estimate_probabilities"):  # its noise is uniform, and a number of ours is one already
            return DowhyMechanism(model, _as_column, order)
        noise = getattr(model, "noise_model", None)
        return DowhyMechanism(model, _quantiles_of(noise, model.draw_noise_samples, n_noise), order)
    except MechanismError:
        raise
    except Exception as error:
        raise MechanismError(
            f"noise of the mechanism of {name!r} could not be drawn: {type(error).__name__}: {error}; is the model "
            "fitted?"
        ) from error


def _as_column(noise: np.ndarray) -> np.ndarray:
    return noise[:, None]


# --- pgmpy --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GaussianMechanism(Named):
    """``x = a + b' parents + s z``, z standard normal."""

    constant: float
    slopes: np.ndarray
    deviation: float
    name = "linear Gaussian"
    n_uniforms = 1

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri

        noise = np.clip(uniforms[:, :, 0], 2.0**-54, 1 - 2.0**-53)
        return self.constant + rowwise_product(parents, self.slopes[:, None]) + self.deviation * ndtri(noise)


@dataclass(frozen=True, eq=False)
class TableMechanism:
    """A conditional probability table: ``bounds`` (joint codes of parents, codes - 1) are distribution functions."""

    bounds: np.ndarray
    cards: tuple[int, ...]
    n_uniforms = 1

    @classmethod
    def of(cls, table: np.ndarray) -> "TableMechanism":
        flat = np.moveaxis(table, 0, -1).reshape(-1, table.shape[0])
        return cls(distribution_function(flat)[:, :-1], table.shape[1:])

    def draw(self, parents: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        joint = np.zeros(len(parents), dtype=np.intp)
        for j, card in enumerate(self.cards):
            joint = joint * card + parents[:, j].astype(np.intp)
        codes = np.zeros(uniforms.shape[:2])
        for k in range(self.bounds.shape[1]):
            codes += uniforms[:, :, 0] >= self.bounds[joint, k][:, None]
        return codes

    def describe(self) -> str:
        return f"table of {len(self.bounds)} x {self.bounds.shape[1] + 1}"


def read_network_model(network: Any) -> StructuralModel:
    """See :meth:`StructuralModel.from_network`."""
    if is_linear_gaussian(network):
        return _read_linear_gaussian(network)
    return _read_discrete(read_network(network))


def _read_linear_gaussian(network: Any) -> StructuralModel:
    import pandas as pd

    plain, dag = read_linear_gaussian(network), Dag.read(network)
    assert plain.names == dag.names  # of the nodes that may come next, both take the one that was named first
    mechanisms = [
        GaussianMechanism(float(plain.intercepts[v]), plain.slopes[v, list(causes)], float(plain.deviations[v]))
        for v, causes in enumerate(dag.parents)
    ]
    codec = TableCodec.learn(pd.DataFrame({str(node): [0.0] for node in network.nodes}))
    return StructuralModel.assembled(dag, mechanisms, codec)


def _read_discrete(network: DiscreteNetwork) -> StructuralModel:
    import pandas as pd

    mechanisms = [TableMechanism.of(table) for table in network.tables]
    table = pd.DataFrame(
        {
            name: pd.Categorical.from_codes([0], categories=list(states))
            for name, states in zip(network.names, network.states, strict=True)
        }
    )
    return StructuralModel.assembled(Dag(network.names, network.parents), mechanisms, TableCodec.learn(table))
