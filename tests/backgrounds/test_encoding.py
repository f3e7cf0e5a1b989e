"""Labels to codes and back: by name, by position, whatever the container; and every way it can go wrong."""

import numpy as np
import pandas as pd
import pytest

from shap_asv.backgrounds.discrete.background import DiscreteBackground
from shap_asv.backgrounds.discrete.border import match_state
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.errors import RowsError, UnknownStateError

STATES = (("low", "mid", "high"), ("no", "yes"), ("0", "1"), (0, 1, 2), ("True", "False"))
NAMES = ("level", "smoker", "flag", "count", "alarm")


@pytest.fixture
def background():
    names = (*NAMES, "target")
    states = (*STATES, ("a", "b"))
    tables = tuple(np.full(len(s), 1 / len(s)) for s in states)
    network = DiscreteNetwork(names, states, ((),) * 6, tables)
    return DiscreteBackground(network, NAMES)


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "level": ["high", "low", "mid"],
            "smoker": ["no", "yes", "no"],
            "flag": ["1", "0", "1"],
            "count": [2, 0, 1],
            "alarm": ["False", "True", "True"],
        }
    )


CODES = [[2, 0, 1, 2, 1], [0, 1, 0, 0, 0], [1, 0, 1, 1, 0]]


def test_containers(background, frame):
    wide = frame.astype({"level": "category", "smoker": "category", "count": "category"})
    shuffled = wide[["alarm", "count", "level", "flag", "smoker"]]
    arrow = frame.astype({"level": "string", "smoker": "string"})
    for rows in (
        frame,
        wide,
        shuffled,
        arrow,
        frame.to_numpy(),
        frame.to_numpy().tolist(),
        tuple(map(tuple, frame.to_numpy())),
    ):
        codes = background.read(rows)
        assert codes.tolist() == CODES
        assert codes.dtype.kind == "i"
    assert background.read(frame.iloc[1]).tolist() == [CODES[1]]
    assert background.read(frame.iloc[1].to_list()).tolist() == [CODES[1]]
    assert background.read(frame.iloc[1].to_numpy()).tolist() == [CODES[1]]
    assert background.read(frame.iloc[:0]).shape == (0, 5)
    assert background.read(frame.set_index(pd.Index(["x", "x", "y"]))).tolist() == CODES


def test_decode_is_the_inverse(background, frame):
    labels = background.labels(background.read(frame))
    assert labels.dtype == object
    assert labels.tolist() == frame.to_numpy().tolist()


def test_numbers_and_booleans_match_what_reads_the_same(background, frame):
    other = frame.assign(flag=[1, 0, 1], count=["2", "0", "1"], alarm=[False, True, True])
    assert background.read(other).tolist() == CODES
    other = frame.assign(flag=[1.0, 0.0, 1.0], count=[2.0, 0.0, 1.0], alarm=np.array([False, True, True], dtype=object))
    assert background.read(other).tolist() == CODES
    numeric = DiscreteBackground(
        DiscreteNetwork(("u", "v"), ((0, 1), (10, 20)), ((), ()), (np.full(2, 0.5), np.full(2, 0.5)))
    )
    assert numeric.read(np.array([[1, 10], [0, 20]])).tolist() == [[1, 0], [0, 1]]
    assert numeric.read(np.array([[1.0, 10.0]], dtype=np.float32)).tolist() == [[1, 0]]


def test_nothing_is_guessed():
    assert match_state(1, ("1", "1.0")) == 0  # reads "1"
    assert match_state(1.5, ("1", "2")) is None
    assert match_state("01", ("1", "1.0")) is None  # two labels are that number
    assert match_state("YES", ("yes", "no")) is None
    assert match_state(1, (1, "1")) == 0
    assert match_state("1", (1, "1")) == 1
    assert match_state(True, (True, 1.5)) == 0
    assert match_state(np.str_("b"), ("a", "b")) == 1


def test_unknown_state(background, frame):
    with pytest.raises(UnknownStateError) as caught:
        background.read(frame.assign(smoker=["no", "yes", "sometimes"]))
    assert str(caught.value) == "row 2: 'sometimes' is not a state of feature 'smoker'; known states: 'no', 'yes'"
    with pytest.raises(UnknownStateError, match="row 0: 7 is not a state of feature 'count'; known states: 0, 1, 2"):
        background.read(frame.assign(count=[7, 1, 1]))
    # an unused category is not a value
    spare = frame.assign(smoker=pd.Categorical(frame.smoker, categories=["maybe", "yes", "no"]))
    assert background.read(spare).tolist() == CODES


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_values(background, frame, missing):
    rows = frame.astype(object)
    rows.loc[1, "level"] = missing
    for container in (rows, rows.to_numpy()):
        with pytest.raises(RowsError, match=r"row 1 has no value \(NaN\) for feature 'level'"):
            background.read(container)
    with pytest.raises(RowsError, match=r"row 2 .* 'smoker'"):
        background.read(frame.assign(smoker=pd.Categorical(["no", "yes", None])))
