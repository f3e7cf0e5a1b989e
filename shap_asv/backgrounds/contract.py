"""What every background is, and what it may be asked for.

A background is the distribution of the features. It owns its border: what a row is inside of the house (codes of
states, numbers, whatever it likes), how a table is read into rows, what the model is called with, what a plot shows,
and what a free entry of evidence looks like. Everyone else asks for a *capability*, never for a class: a value method
says which ones it needs, and the sentence that says why it cannot run is made from that.

Evidence is an array (E, n): the row's entry where a coalition holds the feature, :attr:`Background.free` elsewhere.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

import networkx as nx
import numpy as np

from shap_asv.costs import Cost

Conditions = Literal["any", "ancestral"]


class Background(Protocol):
    """The distribution of the features.

    Attributes
    ----------
    features : tuple of str
        The players, in the order of the columns of rows.
    latent : tuple of str
        Variables of the distribution that are not features: summed out, never dropped.
    graph : networkx.DiGraph or None
        Causes and effects among features and latent variables, where the distribution knows them.
    conditions_on : {"any", "ancestral"}
        The coalitions whose values can be known: all of them, or those that hold, with each member, its causes in
        :attr:`graph`.
    dependent : bool
        Whether what is known of some features tells of the others; not where they are replaced whatever is known.
    free : numpy scalar
        What a free entry of evidence looks like; its type is the type of evidence.
    """

    @property
    def features(self) -> tuple[str, ...]: ...
    @property
    def latent(self) -> tuple[str, ...]: ...
    @property
    def graph(self) -> nx.DiGraph | None: ...
    @property
    def conditions_on(self) -> Conditions: ...
    @property
    def dependent(self) -> bool: ...
    @property
    def free(self) -> Any: ...

    def __hash__(self) -> int: ...

    def describe(self) -> str:
        """One line for the plan: what the numbers are an expectation over."""
        ...

    def read(self, table: Any) -> np.ndarray:
        """A DataFrame (columns by name, in any order) or an array in feature order -> rows (r, n)."""
        ...

    def check(self, rows: np.ndarray) -> None:
        """Raise where a row cannot be conditioned on."""
        ...

    def inputs(self, rows: np.ndarray) -> Any:
        """Rows (r, n) -> what the model is called with."""
        ...

    def labels(self, rows: np.ndarray) -> np.ndarray | None:
        """Rows (r, n) -> what a plot writes beside them, object (r, n); None where they speak for themselves."""
        ...

    def shown_numbers(self, rows: np.ndarray) -> np.ndarray:
        """Rows (r, n) -> what a plot draws: numbers as they are, categories by position, gaps as NaN."""
        ...


# --- capabilities ---------------------------------------------------------------------------------------------


@runtime_checkable
class DrawsGivenEvidence(Protocol):
    """Draws of ``X | X_S = e_S``."""

    @property
    def n_uniforms(self) -> int:
        """Uniform numbers that a draw needs."""
        ...

    def draws(self, evidence: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
        """Evidence (E, n) and uniforms (D, n_uniforms) in [0, 1), the same for all evidence -> rows (E, D, n)."""
        ...


@runtime_checkable
class CountsDraws(Protocol):
    """What draws take, where they take much more than a few numbers: operations of :mod:`shap_asv.costs`."""

    def drawing_cost(self, n_coalitions: int, n_rows: int, n_draws: int, ancestral: bool) -> Cost:
        """``n_draws`` draws (or donors) for each of ``n_rows`` rows given each coalition; ``ancestral``: these hold
        the causes of their members.
        """
        ...


@runtime_checkable
class WeightedRows(Protocol):
    """``X | X_S = e_S`` as a table of rows with weights."""

    @property
    def free(self) -> Any: ...
    @property
    def n_weighted(self) -> int: ...

    def weighted(self, evidence: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Evidence (E, n) -> rows (E, K, n) that agree with it, and weights (E, K) that sum to one."""
        ...


@runtime_checkable
class Probed(Protocol):
    """Rows that the model can be tried on."""

    def probe(self) -> np.ndarray | None:
        """A few rows; None where only the user has some."""
        ...


@runtime_checkable
class Moments(Protocol):
    """``E[X | X_S = e_S]`` in closed form."""

    def means(self, evidence: np.ndarray) -> np.ndarray:
        """Evidence (E, n) -> float64 (E, n)."""
        ...


@dataclass(frozen=True, eq=False)
class StateValues:
    """What a model is shown for each state of each feature.

    Attributes
    ----------
    arrays : tuple of 1-D arrays (card(v),)
        Numpy or pandas arrays of the types that the model was fitted with.
    keys : tuple or None
        Labels of the columns of a DataFrame; None where models take plain arrays.
    """

    arrays: tuple[Any, ...]
    keys: tuple[Hashable, ...] | None


@runtime_checkable
class FiniteStates(Protocol):
    """Rows are codes: positions in the tuple of states of each feature."""

    @property
    def states(self) -> tuple[tuple[Hashable, ...], ...]: ...
    @property
    def cardinalities(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def values(self) -> StateValues | None:
        """What a model is shown for the states; None where these are only names."""
        ...


@runtime_checkable
class Terms(Background, FiniteStates, Protocol):
    """Expectations of sums of products of one-feature functions; a network stands behind them."""

    @property
    def network(self) -> Any: ...
    @property
    def nodes(self) -> np.ndarray: ...
    @property
    def inference(self) -> Any:
        """Answers questions about nodes of the network, and knows what they take."""
        ...

    def expected_sums(
        self, evidence: np.ndarray, vectors: Sequence[np.ndarray], terms: np.ndarray, coefficients: np.ndarray
    ) -> np.ndarray:
        """``sum over t of coefficients[t] * E[term t | evidence]`` (E, k).

        ``terms`` (T, n) name rows of ``vectors``, the functions of each feature, of which row 0 is all ones.
        """
        ...

    def requisite(self, coalitions: np.ndarray) -> Any:
        """Coalitions (m, n) -> an object whose ``of(features)`` bool (n,) says which members an answer about these
        features can depend on, bool (m, n).
        """
        ...


@runtime_checkable
class ConditionedTerms(Terms, Protocol):
    """A network that is conditioned on: evidence may be impossible, and tells of causes."""

    def log_probability(self, evidence: np.ndarray) -> np.ndarray: ...


@runtime_checkable
class JointTable(Background, FiniteStates, Protocol):
    """The probability of every joint state of the features."""

    def joint_obstacle(self) -> tuple[int, str | None]:
        """Entries of the largest table on the way to the joint, and why it cannot be had (None where it can)."""
        ...

    def feature_joint(self) -> np.ndarray: ...

    def log_probability(self, evidence: np.ndarray) -> np.ndarray: ...


@runtime_checkable
class IntervenedJoint(Background, FiniteStates, Protocol):
    """The probability of every joint state of the features when some of them are set."""

    def joint_obstacle(self) -> tuple[int, str | None]: ...

    def intervened_joint(self, members: np.ndarray) -> np.ndarray:
        """``P(x_rest | do(x_S))`` for S bool (n,), one axis per feature, length 1 where nothing depends on it."""
        ...


@runtime_checkable
class KnowsInterventions(Protocol):
    """What happens to the other features when some are set, from what the distribution knows of causes."""

    def intervened(self) -> Background | None:
        """The features under ``do(X_S = e_S)`` for every set S; None where nothing is known of causes."""
        ...


@runtime_checkable
class LeveledInterventions(Protocol):
    """The same from the outside: levels of features, causes first."""

    def intervened_by_levels(self, levels: Sequence[Sequence[int]], confounded: Sequence[int]) -> Background:
        """Features under ``do(X_S = e_S)``, level by level; what is said of a level holds of its features together.

        A level is drawn given all earlier ones, and given its own members in S unless it is ``confounded``.
        """
        ...


@runtime_checkable
class CutLoose(Protocol):
    """Every feature by itself."""

    def cut_loose(self) -> Background:
        """The features with their own distributions, independent of one another."""
        ...


@runtime_checkable
class Showing(Protocol):
    """Evidence that is for the model alone."""

    def showing(self, feature: int) -> Background:
        """The same where evidence about ``feature`` is shown to the model and reaches no other feature."""
        ...


@runtime_checkable
class MaskedInputs(Protocol):
    """shap's masking: hidden features are replaced by those of background rows."""

    @property
    def n_samples(self) -> int: ...

    def masked_inputs(self, coalitions: np.ndarray, row: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows for each coalition (m, n), stacked, and how many belong to each."""
        ...


@runtime_checkable
class RowsInParts(MaskedInputs, Protocol):
    """Background rows of which some can be taken for themselves, so that their spread tells what more would change."""

    def parts(self, count: int) -> Sequence[Background]:
        """The background over each of ``count`` disjoint parts of the rows, in their order."""
        ...


@runtime_checkable
class CodedColumns(Protocol):
    """Rows of floats: numbers, ``+inf`` where missing, and codes of categories."""

    @property
    def n_codes(self) -> tuple[int, ...]:
        """How many codes each feature has; 0 where it holds numbers."""
        ...


@runtime_checkable
class TreeGround(Protocol):
    """What stands behind the nodes of trees that ask for a hidden feature."""

    def ground(self) -> np.ndarray | None:
        """Background rows (m, n); None where the cover counts of the trees are the distribution."""
        ...


class Coding(Protocol):
    """How a model turns a table into the numbers that its trees compare, and back."""

    def shown(self, numbers: np.ndarray) -> np.ndarray | None: ...

    def code(self, table: Any) -> np.ndarray: ...

    def decode(self, numbers: np.ndarray) -> Any: ...


@runtime_checkable
class CodedByModel(Background, Protocol):
    """A background without rows of its own: what a row is, the model knows.

    ``counted`` are rows whose cover counts the trees are to have; None for those of their training.
    """

    @property
    def counted(self) -> Any: ...

    def coded(self, coding: Coding) -> Background:
        """The same background over the model's own numbers."""
        ...


_OFFERED: dict[tuple[type, type], bool] = {}


@dataclass(frozen=True)
class Capability:
    """Something that a background can be asked for; ``what`` completes the sentence "needs a background with ..."."""

    protocol: type
    what: str

    def obstacle(self, background: Background) -> str | None:
        # a matter of the class, and asked many times for a plan; before Python 3.12 the answer takes long
        asked = type(background), self.protocol
        if asked not in _OFFERED:
            _OFFERED[asked] = isinstance(background, self.protocol)
        return None if _OFFERED[asked] else f"needs a background with {self.what}"


DRAWS = Capability(DrawsGivenEvidence, "draws given evidence")
WEIGHTED = Capability(WeightedRows, "weighted rows given evidence (donors)")
MOMENTS = Capability(Moments, "conditional means in closed form")
TERMS = Capability(Terms, "finitely many states and a network (a discrete Bayesian network)")
CONDITIONED_TERMS = Capability(ConditionedTerms, "a network that is conditioned on (values='conditional')")
JOINT = Capability(
    JointTable, "a joint table of its states (a discrete Bayesian network, not under do(): 'cut table' is for that)"
)
CUT_JOINT = Capability(IntervenedJoint, "joint tables of its states under interventions (values='causal' on a network)")
MASKED = Capability(MaskedInputs, "background rows (a matrix, a DataFrame or a shap masker)")
GROUND = Capability(TreeGround, "background rows, or no background at all (the cover counts of the trees)")


def is_free(evidence: np.ndarray, free: Any) -> np.ndarray:
    """bool (E, n): which entries are free. A free entry that is not a number equals nothing, itself included."""
    return np.isnan(evidence) if free != free else evidence == free
