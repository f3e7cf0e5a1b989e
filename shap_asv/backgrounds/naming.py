"""What the user handed in as background, and who its features are: the user says it, the model or X."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from shap_asv.backgrounds.contract import Background
from shap_asv.errors import RowsError, UnknownFeatureError, did_you_mean


class Distribution(Protocol):
    """What the user handed in, before it is known which of its variables are features.

    Attributes
    ----------
    named : bool
        Whether the variables have names. Where they have none, whole numbers in a causal graph are columns.
    of_model : bool
        There is no distribution but what the model itself remembers; then the model also knows what a row is.
    """

    @property
    def named(self) -> bool: ...
    @property
    def of_model(self) -> bool: ...

    def known_features(self, given: Sequence[str] | None, known: Sequence[str] | None) -> list[str] | None:
        """The features: ``given`` by the user, or ``known`` to the model; None where only X can tell."""
        ...

    def features_in(self, columns: Sequence[str] | None, n_columns: int) -> list[str]:
        """The features as X tells them."""
        ...

    def unnamed_features(self, n_columns: int | None) -> list[str] | None:
        """What the features are called where nobody names them; None where somebody has to.

        ``n_columns`` is how many the model takes, where it says so.
        """
        ...

    def background(self, features: Sequence[str]) -> Background: ...

    def stored(self) -> Any:
        """What goes into a file in place of what the user handed in."""
        ...


@dataclass(frozen=True, eq=False)
class NamedDistribution:
    """A :class:`Distribution` over ``names``.

    Attributes
    ----------
    names : tuple of str
    build : callable (features) -> Background
    words : (str, str)
        What a name is the name of, such as ``("a node of the network", "its nodes are")``.
    stored_as : object
        What goes into a file in place of what the user handed in.
    features_by_default : tuple of str or None
        The features where nobody names any; None where X has to tell.
    renamable : bool
        The names are only numbers of columns: as many names, given or known to the model, are taken instead.
    """

    names: tuple[str, ...]
    build: Callable[[Sequence[str]], Background]
    words: tuple[str, str]
    stored_as: Any
    features_by_default: tuple[str, ...] | None = None
    renamable: bool = False

    named: ClassVar[bool] = True
    of_model: ClassVar[bool] = False

    def known_features(self, given: Sequence[str] | None, known: Sequence[str] | None) -> list[str] | None:
        """In the order ``given``, or that of the model's columns; variables that are not among them are latent."""
        if self.renamable:
            for names in (given, known):
                if names is not None and len(names) == len(self.names):
                    return [str(name) for name in names]
        if given is None:
            if known is not None and all(name in self.names for name in known):
                return list(known)
            return None if self.features_by_default is None else list(self.features_by_default)
        names = [str(name) for name in given]
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise UnknownFeatureError(f"feature {unknown[0]!r} is not {self._listed(unknown[0])}")
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise UnknownFeatureError(f"feature {twice[0]!r} is named twice in feature_names")
        return names

    def features_in(self, columns: Sequence[str] | None, n_columns: int) -> list[str]:
        """The column names of X, or all variables when there are as many columns."""
        if columns is None:
            if n_columns == len(self.names):
                return list(self.names)
            raise RowsError(
                f"X has {n_columns} columns without names, and {self.words[1]} {len(self.names)}; "
                "pass feature_names=[...] to the explainer, or X as a DataFrame"
            )
        unknown = [column for column in columns if column not in self.names]
        if unknown:
            raise RowsError(f"column {unknown[0]!r} of X is not {self._listed(unknown[0])}")
        return list(columns)

    def unnamed_features(self, n_columns: int | None) -> None:
        """Every variable has a name."""

    def background(self, features: Sequence[str]) -> Background:
        return self.build(features)

    def stored(self) -> Any:
        return self.stored_as

    def _listed(self, unknown: str) -> str:
        known = f"{self.words[1]} {', '.join(map(repr, self.names))}"
        return f"{self.words[0]}; {did_you_mean(unknown, self.names, known)}"
