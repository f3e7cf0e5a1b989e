"""Explanations of the same rows side by side: where does credit move when causes come first?"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from shap_asv.errors import ExplanationError, ShapAsvWarning, UnknownMethodError, warn_user
from shap_asv.explanation import checked_output, checked_row
from shap_asv.notebook import frame_html
from shap_asv.orders import CausalOrder
from shap_asv.orders.uncertain import GraphMixture
from shap_asv.report import write_report
from shap_asv.saving import read_results, write_results


@dataclass(frozen=True, eq=False)
class Comparison:
    """Named explanations of the same rows, with the causal order they are read in.

    Attributes
    ----------
    explanations : dict of str to shap.Explanation
        By the names of their methods, then what was added.
    order : CausalOrder, GraphMixture or None
        Features are listed causes first.
    backgrounds : dict of str to str
        What the distribution behind an explanation is, where it is known.
    plans : dict of str to str
        How an explanation was computed, as ``print(explainer.plan(X))`` tells it, where it is known.
    conditional : set of str
        The methods whose values are expectations given what is known, where known features tell of others: a report
        says of these why credit moves to causes.
    credit_error : dict of str to array (n,) or (n, outputs)
        Standard errors of the mean of |value| over the rows, where they are known; elsewhere they are at most the
        means of ``error_std``.

    Examples
    --------
    >>> from shap_asv import compare, load_network
    >>> def model(X):
    ...     return 1.0 * (X["Xray"] == "positive")
    >>> rows = [["low", "True", "positive", "True"], ["high", "False", "negative", "False"]]
    >>> names = ["Pollution", "Smoker", "Xray", "Dyspnoea"]
    >>> result = compare(model, load_network("cancer"), rows, feature_names=names)
    >>> result
    SHAP and ASV of 2 rows: mean |value| per feature, causes first
                SHAP    ASV ASV - SHAP
    Pollution 0.0030 0.0067    +0.0037
    Smoker    0.0061 0.0102    +0.0041
    Xray      0.4922 0.4890    -0.0031
    Dyspnoea  0.0047 0.0075    +0.0028
    """

    explanations: Mapping[str, Any]
    order: CausalOrder | GraphMixture | None = None
    backgrounds: Mapping[str, str] = field(default_factory=dict)
    plans: Mapping[str, str] = field(default_factory=dict)
    conditional: Set[str] = frozenset()
    credit_error: Mapping[str, np.ndarray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.explanations:
            raise ExplanationError("a comparison needs at least one explanation, by the name of its method")
        if not isinstance(self.explanations, Mapping):
            raise ExplanationError(
                f"explanations come as a dict by the names of their methods, not a {type(self.explanations).__name__}"
            )
        for name, explanation in self.explanations.items():
            if not hasattr(explanation, "values") or not hasattr(explanation, "feature_names"):
                raise ExplanationError(f"{name!r} must be a shap.Explanation, not a {type(explanation).__name__}")
            if np.shape(explanation.values) != np.shape(self._first.values):
                raise self._misfit(name, np.shape(explanation.values))

    def _misfit(self, name: str, shape: tuple[int, ...]) -> ExplanationError:
        return ExplanationError(
            f"explanation {name!r} has values of shape {shape}, the others {np.shape(self._first.values)}; "
            "explain the same rows, and pick the same output with e[..., k]"
        )

    def _named(self, name: str) -> Any:
        if name not in self.explanations:
            raise ExplanationError(
                f"this comparison has no explanation called {name!r}; it has {', '.join(self.explanations)}"
            )
        return self.explanations[name]

    @property
    def pair(self) -> tuple[str, str] | None:
        """The names of the two whose difference is shown: SHAP and ASV with the same adjective, the plain ones first;
        else marginal SHAP and ASV.

        None where there is no such pair.
        """
        for name in sorted(self.explanations, key=len):
            if name.endswith("ASV") and f"{name[:-3]}SHAP" in self.explanations:
                return f"{name[:-3]}SHAP", name
        both = ("marginal SHAP", "ASV")
        return both if set(both) <= set(self.explanations) else None

    @property
    def asv(self) -> Any:
        """The asymmetric Shapley values, a ``shap.Explanation``: "ASV", or those with an adjective where it is not
        there.
        """
        return self._named("ASV" if self.pair is None or "ASV" in self.explanations else self.pair[1])

    @property
    def shap(self) -> Any:
        """What ASV are compared with, a ``shap.Explanation``: symmetric Shapley values over the same background, or
        marginal SHAP."""
        return self._named("SHAP" if self.pair is None or "SHAP" in self.explanations else self.pair[0])

    @property
    def difference(self) -> np.ndarray:
        """ASV minus SHAP, in the shape of the values."""
        return np.asarray(self.asv.values) - np.asarray(self.shap.values)

    @property
    def _first(self) -> Any:
        """Where rows, features and outputs are looked up: they are the same for all."""
        return next(iter(self.explanations.values()))

    @property
    def features(self) -> list[str]:
        """Features, causes first."""
        names = [str(name) for name in self._first.feature_names]
        if self.order is None:
            return names
        return [str(self.order.features[i]) for i in self.order.topological_indices]

    def add(self, name: str, explanation: Any) -> "Comparison":
        """The comparison with one more explanation of the same rows, for example another explainer's.

        Features are aligned by name; the number of rows and outputs has to be the same.
        """
        if name in self.explanations:
            raise ExplanationError(f"there is an explanation called {name!r} already; choose another name")
        if not hasattr(explanation, "feature_names"):
            raise ExplanationError(f"{name!r} must be a shap.Explanation, not a {type(explanation).__name__}")
        if explanation.feature_names is None:
            raise ExplanationError(f"explanation {name!r} has no feature_names; set them, features are aligned by name")
        names = [str(feature) for feature in explanation.feature_names]
        missing = [feature for feature in self.features if feature not in names]
        if missing:
            raise ExplanationError(f"explanation {name!r} has no feature {missing[0]!r}; it has {names}")
        shape = np.shape(explanation.values)
        places = [names.index(str(feature)) for feature in self._first.feature_names]
        if (shape[0], len(places), *shape[2:]) != np.shape(self._first.values):
            raise self._misfit(name, shape)
        if places != list(range(len(names))):
            explanation = explanation[:, places]
        _check_same_prediction(name, explanation, *next(iter(self.explanations.items())))
        return replace(self, explanations={**self.explanations, name: explanation})

    def output(self, which: int | str) -> "Comparison":
        """The comparison of one output, by position or name."""
        if np.ndim(self._first.values) == 2:
            raise UnknownMethodError("the model has one output; there is none to choose")
        place = checked_output(which, self._first.output_names, np.shape(self._first.values)[2])
        explanations = {name: e[..., place] for name, e in self.explanations.items()}
        credit_error = {name: error[..., place] for name, error in self.credit_error.items()}
        return replace(self, explanations=explanations, credit_error=credit_error)

    def to_frame(self, row: int | None = None) -> pd.DataFrame:
        """One line per feature, causes first: the mean of |value| over all rows, or the values of one row.

        Several outputs are averaged (``output`` picks one); a single row of several outputs needs one to be picked.
        """
        row = None if row is None else checked_row(row, len(np.asarray(self._first.values)))
        columns = {name: self._column(explanation, row) for name, explanation in self.explanations.items()}
        frame = pd.DataFrame(columns, index=pd.Index([str(name) for name in self._first.feature_names], name="feature"))
        if self.pair is not None:
            frame[_difference(self.pair)] = frame[self.pair[1]] - frame[self.pair[0]]
        if row is not None:
            shown = self._first.display_data if self._first.display_data is not None else self._first.data
            frame.insert(0, "value", [str(value) for value in np.asarray(shown, dtype=object)[row]])
        return frame.loc[self.features]

    def to_html(
        self,
        path: str | Path,
        title: str | None = None,
        explained: str | None = None,
        graph: Any = None,
        sensitivity: Any = None,
        notes: Sequence[str] = (),
        max_rows: int = 500,
        sample: str = "",
        row_numbers: Sequence[int] | None = None,
    ) -> Path:
        """Write an interactive report: one HTML file that needs neither a server nor the network.

        It opens with a conclusion in words, shows the causal graph with the values of all methods, and lets the reader
        pick rows, outputs and methods. About 11 bytes for each row, feature, output and method (twice that for sampled
        ones).

        Parameters
        ----------
        path : str or Path
            Ends in ``.html``; folders are made.
        title : str, optional
            The heading.
        explained : str, optional
            What the output is, such as ``"P(disease = yes)"``; of several outputs what they are states of.
        graph : optional
            What to draw instead of ``order``, for example a network with its latent nodes; anything that
            ``plots.causal_graph`` takes.
        sensitivity : Sensitivity, optional
            Of the same rows and outputs: bars then show the range over its graphs.
        notes : list of str
            Sentences for the end of the page: where the data come from, which model it is.
        max_rows : int
            Rows that the page holds; more are thinned out evenly, while means stay those over all rows.
        sample : str
            Which rows these are: ``"100 of 2,380 rows, drawn at random."``
        row_numbers : sequence of int, optional
            What the rows are called, such as their positions in the table; by default 0, 1, ...

        Returns
        -------
        Path

        Examples
        --------
        >>> import tempfile
        >>> from shap_asv import compare, load_network
        >>> rows = [["low", "True", "positive", "True"], ["high", "False", "negative", "False"]]
        >>> names = ["Pollution", "Smoker", "Xray", "Dyspnoea"]
        >>> score = lambda X: 1.0 * (X["Xray"] == "positive")
        >>> result = compare(score, load_network("cancer"), rows, feature_names=names)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = result.to_html(f"{folder}/report.html", explained="a positive X-ray").read_text("utf-8")
        >>> page.startswith("<!doctype html>")
        True
        """
        return write_report(self, path, title, explained, graph, sensitivity, notes, max_rows, sample, row_numbers)

    def save(self, path: str | Path) -> None:
        """Write everything to a JSON file, which later versions read, too; loading it runs no code.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np, shap
        >>> one = shap.Explanation(np.array([[0.5]]), np.zeros(1), data=np.array([[1.0]]), feature_names=["age"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Comparison({"ASV": one}, plans={"ASV": "by hand"}).save(f"{folder}/asv.json")
        ...     again = Comparison.load(f"{folder}/asv.json")
        >>> again.asv.values.tolist(), again.plans
        ([[0.5]], {'ASV': 'by hand'})
        """
        words: dict[str, Any] = {"backgrounds": dict(self.backgrounds), "plans": dict(self.plans)}
        errors = {name: error.tolist() for name, error in self.credit_error.items()}
        words |= {"conditional": sorted(self.conditional), "credit_error": errors}
        write_results(path, self.explanations, self.order, words)

    @classmethod
    def load(cls, path: str | Path) -> "Comparison":
        """Read what :meth:`save` wrote."""
        explanations, order, words = read_results(path)
        errors = {name: np.array(error) for name, error in words.get("credit_error", {}).items()}
        return cls(explanations, order, words["backgrounds"], words["plans"], set(words["conditional"]), errors)

    def _column(self, explanation: Any, row: int | None) -> np.ndarray:
        values = np.asarray(explanation.values)
        if row is None:
            return np.abs(values).mean(axis=0).reshape(values.shape[1], -1).mean(axis=1)
        if values.ndim == 3:
            raise UnknownMethodError(
                f"the model has {values.shape[2]} outputs; pick one first: comparison.output({values.shape[2] - 1})"
            )
        return values[row]

    def __repr__(self) -> str:
        title, frame, formats, notes = self._told()
        return "\n".join([title, frame.to_string(formatters=formats), *notes])

    def _repr_html_(self) -> str:
        return frame_html(*self._told())

    def _told(self) -> tuple[str, pd.DataFrame, dict[str, Any], list[str]]:
        """Title, table, how its columns are written, and remarks."""
        n_rows = len(np.asarray(self._first.values))
        names = list(self.explanations)
        listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
        title = f"{listed} of {n_rows} row{'s' if n_rows != 1 else ''}: mean |value| per feature, causes first"
        formats: dict[str, Any] = dict.fromkeys(names, "{:.4f}".format)
        if self.pair is not None:
            formats[_difference(self.pair)] = "{:+.4f}".format
        frame = self.to_frame().round(4) + 0.0  # no -0.0000
        frame.index.name = None
        sampled = [name for name, e in self.explanations.items() if getattr(e, "error_std", None) is not None]
        notes = []
        if sampled:
            largest = max(float(np.max(self.explanations[name].error_std)) for name in sampled)
            notes.append(f"{' and '.join(sampled)} sampled: the largest standard error of a value is {largest:.2g}")
        if len(set(self.backgrounds.values())) > 1:
            notes += [f"{name} over: {words}" for name, words in self.backgrounds.items()]
        return title, frame, formats, notes


def _difference(pair: tuple[str, str]) -> str:
    return f"{pair[1]} - {pair[0]}"


def _check_same_prediction(name: str, other: Any, known: str, first: Any) -> None:
    """Base value plus values is what is explained; warn where the added explanation is of something else."""
    totals = [np.asarray(e.base_values) + np.asarray(e.values).sum(axis=1) for e in (other, first)]
    if totals[0].shape != totals[1].shape:
        return
    gap = np.abs(totals[0] - totals[1])
    row = int(gap.reshape(len(gap), -1).max(axis=1).argmax())
    if gap.max() > 1e-3 * (1 + np.abs(totals[1]).max()):
        warn_user(
            f"explanation {name!r} adds up to {np.ravel(totals[0][row])[0]:.4g} in row {row}, {known} to "
            f"{np.ravel(totals[1][row])[0]:.4g}: another output, or log-odds against probabilities "
            "(model_output='raw' explains the margin)?",
            ShapAsvWarning,
        )
