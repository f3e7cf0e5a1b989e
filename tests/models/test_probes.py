import numpy as np
import pytest

from shap_asv.models.inputs import cover_rows, one_at_a_time, probe_rows


@pytest.mark.parametrize("cards", [(2,), (1,), (3, 3, 3), (2, 2), (5, 2, 1, 7), (4, 4, 4, 4)])
def test_cover_rows_hold_every_state_and_are_never_as_many_as_features(cards):
    rows = cover_rows(cards)
    assert len(rows) >= 2
    assert len(rows) != len(cards)
    for v, card in enumerate(cards):
        assert set(rows[:, v]) == set(range(card))


def test_one_at_a_time_changes_one_feature_in_each_block():
    base = np.array([1, 2, 0])
    rows, starts = one_at_a_time(base, (2, 4, 3))
    assert starts.tolist() == [0, 2, 6, 9]
    for v, card in enumerate((2, 4, 3)):
        block = rows[starts[v] : starts[v + 1]]
        assert block[:, v].tolist() == list(range(card))
        assert (np.delete(block, v, axis=1) == np.delete(base, v)).all()


def test_probe_rows_are_the_same_every_time_and_hold_every_state():
    rows = probe_rows((2, 5, 3))
    np.testing.assert_array_equal(rows, probe_rows((2, 5, 3)))
    assert [set(column) for column in rows.T] == [set(range(c)) for c in (2, 5, 3)]
