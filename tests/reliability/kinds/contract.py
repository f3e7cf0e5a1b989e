"""What a kind of random cases is: the words that a case may be made of, and the check that has to pass."""

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Kind:
    """One kind of cases.

    Parameters
    ----------
    name : str
        Printed beside its share of the cases.
    share : int
        How often the kind is drawn, beside the shares of the others.
    choices : dict of str to tuple
        The words that each field of a case may hold, the simplest first: hypothesis falls back on it. A word that
        stands twice is drawn twice as often.
    check : callable
        Takes a case; raises unless what the package says is what an oracle of ``tests/oracles`` says.
    note : str
        What a case is and what it is compared with, a sentence or two for the record.
    make : callable
        ``make(seed=..., **words)`` is the case; ``seed`` fixes every number that the words leave open.
    """

    name: str
    share: int
    choices: dict[str, tuple]
    check: Callable[[Any], None]
    note: str
    make: Callable[..., Any] = SimpleNamespace

    def case(self, seed: int) -> Any:
        """The case that a number stands for: a function of the number alone."""
        rng = np.random.default_rng(seed)
        return self.make(
            seed=seed, **{name: words[int(rng.integers(len(words)))] for name, words in self.choices.items()}
        )
