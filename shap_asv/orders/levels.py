"""Levels of features, causes first, and which of them are confounded.

Levels say more than an order where something is *set*: the features of a level either influence one another, or share
causes that were not measured (the level is *confounded*). Under ``do(X_S = e_S)`` (Heskes, Sijben, Bucur and Claassen,
2020) each level is drawn given all earlier ones, and

- not confounded: given also its own members in S, which bear on the others;
- confounded: without them; setting a feature tells nothing of what it shares a hidden cause with.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from shap_asv.errors import CausalGraphError


@dataclass(frozen=True)
class Levels:
    """Names level by level, and the positions of the levels that are confounded, ascending.

    Examples
    --------
    >>> Levels((("age", "sex"), ("income",)), (0,)).among(["income", "age"])
    (((1,), (0,)), (0,))
    """

    names: tuple[tuple[Hashable, ...], ...]
    confounded: tuple[int, ...] = ()

    def among(self, features: Sequence[Hashable]) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        """Positions in ``features`` level by level, without levels that hold none of them, and which are confounded."""
        place = {name: i for i, name in enumerate(features)}
        known = {name for level in self.names for name in level}
        missing = [name for name in features if name not in known]
        if missing:
            raise CausalGraphError(
                f"feature {missing[0]!r} is in no level; under interventions every feature needs one: put it into "
                "CausalOrder.from_levels([...])"
            )
        found = [tuple(place[name] for name in level if name in place) for level in self.names]
        kept = [k for k, level in enumerate(found) if level]
        return tuple(found[k] for k in kept), tuple(i for i, k in enumerate(kept) if k in self.confounded)

    def renamed(self, name: Callable[[Hashable], Hashable]) -> "Levels":
        """The same levels with other names."""
        return Levels(tuple(tuple(map(name, level)) for level in self.names), self.confounded)


def read_confounded(confounded: Any, n_levels: int) -> tuple[int, ...]:
    """Positions of levels, or a CausalGraphError that names the one that does not exist."""
    if isinstance(confounded, str | bytes) or not isinstance(confounded, Iterable):
        raise CausalGraphError(
            f"confounded={confounded!r:.80} must be a list of positions of levels, such as [0, 2] for the first and "
            "the third"
        )
    found: set[int] = set()
    for position in confounded:
        whole = hasattr(position, "__index__") and not isinstance(position, bool)
        if not whole or not 0 <= int(position) < n_levels:
            raise CausalGraphError(
                f"confounded={position!r:.80} is not a level; there are {n_levels}, the positions are 0 to "
                f"{n_levels - 1}"
            )
        found.add(int(position))
    return tuple(sorted(found))
