"""Networks whose states are intervals are read from BIF, in every spelling, and no other network is touched."""

import numpy as np
import pytest

from shap_asv import load_network
from shap_asv.backgrounds.bif_text import hide_intervals, split_states
from shap_asv.backgrounds.pgmpy_networks import read_network
from shap_asv.errors import NetworkError

TEXT = """network unknown {{
}}
variable age {{
  type discrete [ 3 ] {{ {0}, {1}, {2} }};
}}
variable dose {{
  type discrete [ 2 ] {{ 0, 1 }};
}}
variable ill {{
  type discrete [ 2 ] {{ no, yes }};
}}
probability ( age ) {{
  table 0.3, 0.4, 0.3;
}}
probability ( dose ) {{
  table 0.5, 0.5;
}}
probability ( ill | dose, age ) {{
  (0, {0}) 0.9, 0.1;
  (1, {0}) 0.8, 0.2;
  (0, {1}) 0.7, 0.3;
  (1, {1}) 0.6, 0.4;
  (0, {2}) 0.5, 0.5;
  (1, {2}) 0.4, 0.6;
}}
"""
SPELLINGS = [
    ("(0,30]", "(30,60]", "(60,inf)"),
    ("[0, 30)", "[30, 60)", "[60, inf)"),
    ('"(0, 30]"', '"(30, 60]"', '"(60, inf)"'),
    ("(0,1)", "(0,2)", "(0,3)"),  # rows such as (0, (0,1)) have states of the other cause that look the same
    ("<30", "30-60", ">=60"),
    ("young", "old", "very_old"),
]


@pytest.mark.parametrize("states", SPELLINGS, ids=str)
def test_states_and_tables_survive(states, tmp_path):
    path = tmp_path / "net.bif"
    path.write_text(TEXT.format(*states))
    plain = read_network(load_network(path))
    known = dict(zip(plain.names, plain.states, strict=True))
    assert known["age"] == tuple(state.strip('"') for state in states)
    assert known["ill"] == ("no", "yes")
    ill = plain.names.index("ill")
    axes = [plain.names[p] for p in plain.parents[ill]]
    table = plain.tables[ill] if axes == ["age", "dose"] else np.moveaxis(plain.tables[ill], 2, 1)
    np.testing.assert_allclose(table[1], [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])


def test_text_without_intervals_is_left_alone():
    text = TEXT.format("young", "old", "very_old")
    assert hide_intervals(text) == (text, {})


def test_a_row_with_an_unknown_state_is_named(tmp_path):
    path = tmp_path / "net.bif"
    path.write_text(TEXT.format(*SPELLINGS[0]).replace("(1, (30,60])", "(1, (30,61])"))
    with pytest.raises(NetworkError, match="does not begin with a state of 'age'"):
        load_network(path)


def test_splitting():
    assert split_states("a,b , c") == ["a", "b", "c"]
    assert split_states("<5, 5-12, 12+") == ["<5", "5-12", "12+"]
    assert split_states("]0;1], ]1;2]") == ["]0;1]", "]1;2]"]
