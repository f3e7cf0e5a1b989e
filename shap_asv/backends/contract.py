"""What every backend takes and gives.

A backend turns a :class:`Problem` into something that maps rows to attributions. All of them compute the same linear
map

    phi = nu @ W

and differ in which coalitions carry weight (all ideals, or the prefixes of sampled orders) and in whether ``nu`` is
ever written down.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from shap_asv.backends.pace import Report, keep_silent
from shap_asv.backends.weight_columns import Columns
from shap_asv.backgrounds.contract import Background
from shap_asv.costs import Cost
from shap_asv.models.predictor import Predictor
from shap_asv.orders import CausalOrder
from shap_asv.orders.players import Players
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.values.contract import ValueMethod, ValueOptions


@dataclass(frozen=True, eq=False)
class Problem:
    """A model, a background and a causal order that speak of the same features.

    Attributes
    ----------
    background : Background
    predictor : Predictor
    order : CausalOrder or GraphMixture
    link : callable or None
        None stands for the identity.
    values : str
        The word for what nu(S) means under the background; "auto" where only the model knows.
    apart : Background or None
        Causal values that are computed as conditional ones, because they are the same on every coalition that the order
        asks for: the background under interventions, for questions about other coalitions.
    players : Players or None
        Groups of features that move together; the order is then of groups.
    """

    background: Background
    predictor: Predictor
    order: CausalOrder | GraphMixture
    link: Callable[[np.ndarray], np.ndarray] | None = None
    linearize_link: bool = True
    players: Players | None = None
    values: str = "conditional"
    apart: Background | None = None

    def for_any_coalition(self) -> "Problem":
        """The problem without a shortcut that holds of the order's own coalitions alone."""
        return self if self.apart is None else replace(self, background=self.apart, apart=None)

    @property
    def n_outputs(self) -> int:
        return self.predictor.n_outputs

    @property
    def n_features(self) -> int:
        return len(self.background.features)

    @property
    def names(self) -> tuple[str, ...]:
        """The players: groups where there are any, else the features."""
        return tuple(self.background.features) if self.players is None else self.players.names

    @property
    def n_players(self) -> int:
        return len(self.names)

    @property
    def groups(self) -> Players | None:
        """The players where a group has several members; None where players are features, whatever their names."""
        return None if self.players is None or self.players.all_single else self.players


@dataclass(frozen=True)
class Settings:
    """What a call may change without changing the problem.

    ``n_draws`` None: as many as each row needs, ``most_draws`` at most.
    """

    n_orders: int = 1000
    n_draws: int | None = None
    seed: int | None = None
    batch_size: int = 65_536
    ideal_limit: int = 1_000_000
    most_draws: int = 4096
    silent: bool = field(default=True, compare=False)

    def value_options(self, problem: Problem) -> ValueOptions:
        n_draws = ValueOptions.n_draws if self.n_draws is None else self.n_draws
        return ValueOptions(n_draws, self.seed, self.batch_size, problem.link, problem.linearize_link, self.silent)


@dataclass(frozen=True, eq=False)
class Attribution:
    """phi (r, n, k), the value of the empty coalition (k,), and the standard error of phi where it was sampled.

    ``draws`` (r,): how many each row got, where rows differ.
    """

    phi: np.ndarray
    base: np.ndarray
    error: np.ndarray | None = None
    draws: np.ndarray | None = None


class Attributor(Protocol):
    """A problem made ready: everything that does not depend on the row is done. Can be pickled to other processes.

    Where it is ``rowwise`` a row has the same bits whatever rows come with it. Where it is ``compiled`` nearly all of
    its time is spent in kernels, which other threads run beside.
    """

    @property
    def rowwise(self) -> bool: ...

    @property
    def compiled(self) -> bool: ...

    def attribute(self, rows: np.ndarray, report: Report = keep_silent) -> Attribution:
        """Codes (or model inputs, for a matrix background) (r, n) -> Attribution; ``report`` hears how far it is."""
        ...


class TooLarge(str):
    """An obstacle that is a matter of size: a larger limit, or a smaller problem, would lift it."""


@dataclass(frozen=True)
class Backend:
    """A row of the table of backends.

    Attributes
    ----------
    name : str
    samples_orders : bool
        The orders are a sample.
    method : ValueMethod or None
        Computes the values; None where they are never written down.
    obstacle : callable (problem, settings) -> str or None
        Why the backend cannot run, as a sentence; None where it can.
    cost : callable (problem, settings, n_rows) -> Cost
        The operations for so many distinct rows, counted in closed form (:mod:`shap_asv.costs`).
    prepare : callable (problem, settings) -> Attributor
    row_block : int
        Distinct rows explained at a time. It bounds the memory, and is fixed so that results do not depend on how many
        processes share the work.
    alone : callable (problem, settings) -> Attributor, optional
        ``nu({i}) - nu({})``, where no value method can tell it.
    over : callable (problem, settings, columns) -> Attributor, optional
        Other weights than those of the problem's order, where the backend is quicker at that than its value method.
    by_coalitions : bool
        The backend visits coalitions one by one, so that it may be asked for by name where they have other weights.
    """

    name: str
    samples_orders: bool
    method: ValueMethod | None
    obstacle: Callable[[Problem, Settings], str | None] = field(repr=False)
    cost: Callable[[Problem, Settings, int], Cost] = field(repr=False)
    prepare: Callable[[Problem, Settings], Attributor] = field(repr=False)
    row_block: int
    alone: Callable[[Problem, Settings], Attributor] | None = field(default=None, repr=False)
    over: Callable[[Problem, Settings, Columns], Attributor] | None = field(default=None, repr=False)
    by_coalitions: bool = False

    @property
    def exact(self) -> bool:
        """Both the orders and the values are."""
        return not self.samples_orders and not self.samples_values

    @property
    def samples_values(self) -> bool:
        return self.method is not None and not self.method.exact

    @property
    def grows_with(self) -> tuple[str, ...]:
        """The settings that make the sample larger."""
        of_values = self.method.grows_with if self.method is not None else None
        return (("n_orders",) if self.samples_orders else ()) + ((of_values,) if of_values else ())
