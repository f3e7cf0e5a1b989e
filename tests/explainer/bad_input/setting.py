"""What the bad inputs are thrown at: the asia network, a fitted Pipeline over it, and how an entry is judged."""

import re
import signal
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

import shap_asv
from shap_asv import AsymmetricExplainer, load_network, sample_rows
from shap_asv.errors import ShapAsvError, ShapAsvWarning

PACKAGE = Path(shap_asv.__file__).parent
SECONDS = 60  # more than any refusal takes, on a loaded machine too


@dataclass(frozen=True)
class Bad:
    """A call that must fail: what is done with the setting, the exact class of the error, and what its message says."""

    action: Callable[["Setting"], Any]
    error: type[BaseException]
    says: str


class Setting:
    """Everything a bad call needs: network, model, X, names, and an explainer that works."""

    def __init__(self) -> None:
        self.network = load_network("asia")
        frame = sample_rows(self.network, 600, seed=0)
        self.X, y = frame.drop(columns="dysp"), frame["dysp"]
        self.names = list(self.X.columns)
        tree = DecisionTreeClassifier(max_depth=4, random_state=0)
        self.model = make_pipeline(OrdinalEncoder(), tree).fit(self.X, y)
        self.matrix = np.random.default_rng(0).normal(size=(20, 3))

    @cached_property
    def good(self) -> AsymmetricExplainer:
        return AsymmetricExplainer(self.model, self.network)

    @cached_property
    def numbers(self) -> DecisionTreeClassifier:
        """A model that was fitted on numbers, without an encoder."""
        return DecisionTreeClassifier(max_depth=3).fit((self.X == "yes").astype(int).to_numpy(), self.X["xray"])

    def make(self, **options: Any) -> AsymmetricExplainer:
        return AsymmetricExplainer(self.model, self.network, **options)

    def over_network(self, function: Any, **options: Any) -> AsymmetricExplainer:
        """An explainer of a function of states."""
        return AsymmetricExplainer(function, self.network, feature_names=self.names, **options)

    def over_matrix(self, function: Any, **options: Any) -> AsymmetricExplainer:
        return AsymmetricExplainer(function, self.matrix, **{"values": "marginal", **options})


def constant(table: Any) -> np.ndarray:
    return np.zeros(len(table))


def first(table: Any) -> np.ndarray:
    return table[:, 0]


class Bomb:
    """Raises as soon as numpy looks at it."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("boom")


@contextmanager
def at_most(seconds: int):
    """Raise TimeoutError in the main thread when the time is up; elsewhere time is not watched."""
    watched = hasattr(signal, "SIGALRM") and threading.current_thread() is threading.main_thread()
    if watched:

        def ring(*_: Any) -> None:
            raise TimeoutError(f"no answer within {seconds} seconds")

        before = signal.signal(signal.SIGALRM, ring)
        signal.alarm(seconds)
    try:
        yield
    finally:
        if watched:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)


def fault(entry: Bad, setting: Setting) -> str | None:
    """What is wrong with the answer to a bad input, None when it is refused as the catalogue says."""
    try:
        with warnings.catch_warnings(), at_most(SECONDS):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ShapAsvWarning)
            for category in (DeprecationWarning, FutureWarning):
                warnings.simplefilter("ignore", category)
            answer = entry.action(setting)
    except BaseException as error:
        if type(error) is not entry.error:
            return f"{type(error).__name__} instead of {entry.error.__name__}: {error}"
        if not re.search(entry.says, str(error)):
            return f"the message does not say {entry.says!r}: {error}"
        innermost = Path(traceback.extract_tb(error.__traceback__)[-1].filename)
        if not isinstance(error, ShapAsvError) and PACKAGE not in innermost.parents:
            return f"{type(error).__name__} comes from {innermost}"
        return None
    return f"no error, but {answer!r:.200}"
