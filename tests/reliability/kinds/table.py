"""The table of kinds: a new kind of cases is one file beside this one and one row here.

>>> kind_of(7).name == kind_of(7).name
True
"""

from itertools import accumulate
from typing import Any

import numpy as np

from tests.reliability.kinds.asking import Kind
from tests.reliability.kinds.copulas import COPULAS
from tests.reliability.kinds.donors import DONORS
from tests.reliability.kinds.fitted import FITTED
from tests.reliability.kinds.gaussians import GAUSSIANS
from tests.reliability.kinds.questions import MATRIX
from tests.reliability.kinds.structural import STRUCTURAL
from tests.reliability.kinds.time import TIME
from tests.reliability.kinds.trees import TREES
from tests.reliability.properties import NETWORKS

KINDS: tuple[Kind, ...] = (
    NETWORKS,
    GAUSSIANS,
    COPULAS,
    STRUCTURAL,
    DONORS,
    FITTED,
    TREES,
    TIME,
    MATRIX,
)


def kind_of(k: int) -> Kind:
    """The kind of case ``k``, drawn by the shares: a function of the number (and of the table) alone."""
    ends = list(accumulate(kind.share for kind in KINDS))
    place = int(np.random.default_rng([k, 20]).integers(ends[-1]))
    return KINDS[sum(place >= end for end in ends)]


def case_of(k: int) -> Any:
    """Case number ``k``."""
    return kind_of(k).case(k)


def check(k: int) -> None:
    """Raise AssertionError (or whatever went wrong) unless case ``k`` comes out right."""
    kind = kind_of(k)
    kind.check(kind.case(k))
