"""Sensitivity: every number by a loop over graphs, rows and features; ties and rounding; bad input."""

import numpy as np
import pytest

from shap_asv.errors import UnknownMethodError
from shap_asv.sensitivity import Sensitivity

NAMES = ["a", "b", "c", "d"]


def random_result(seed=0, outputs=False, reference=False, edges=False):
    rng = np.random.default_rng(seed)
    shape = (6, 5, 4, 2) if outputs else (6, 5, 4)
    return Sensitivity(
        rng.normal(size=shape),
        NAMES,
        [f"change {k}" for k in range(6)],
        rng.random(6) + 0.1,
        reference=rng.normal(size=shape[1:]) if reference else None,
        edges=[[("a", "b")] if k % 2 else [("b", "a"), ("c", "d")] for k in range(6)] if edges else None,
    )


@pytest.mark.parametrize("reference", [False, True])
@pytest.mark.parametrize("outputs", [False, True])
def test_numbers_by_definition(outputs, reference):
    result = random_result(outputs=outputs, reference=reference)
    weights = result.weights
    assert weights.sum() == pytest.approx(1, abs=1e-15)
    values = result.values.reshape(6, 5, 4, -1)
    centre = (result.mean if result.reference is None else result.reference).reshape(5, 4, -1)
    for row in range(5):
        for out in range(values.shape[3]):
            for f in range(4):
                mine = values[:, row, f, out]
                where = (row, f, out) if outputs else (row, f)
                assert result.mean[where] == pytest.approx(sum(w * v for w, v in zip(weights, mine, strict=True)))
                assert (result.low[where], result.high[where]) == (min(mine), max(mine))
                signs = sum(w for w, v in zip(weights, mine, strict=True) if v * centre[row, f, out] < 0)
                assert result.sign_changes[where] == pytest.approx(signs)


def test_rounding_is_no_change():
    values = np.array([[[0.1, 0.1, 0.0, 1.0]], [[0.1 + 1e-15, 0.1 - 1e-15, -1e-16, 1.0]]])
    result = Sensitivity(values, NAMES, reference=values[0])
    assert not result.sign_changes.any()
    assert "matters most" not in repr(result)


def test_each_change_of_one_edge():
    result = random_result(reference=True)
    effects = result.edge_effects()
    assert list(effects.columns) == ["effect", "feature", "by"]
    for k in range(6):
        moved = np.abs(result.values[k] - result.reference)
        line = effects.loc[f"change {k}"]
        assert line["effect"] == pytest.approx(moved.mean())
        assert line["by"] == pytest.approx(moved.mean(axis=0).max())
        assert line["feature"] == NAMES[moved.mean(axis=0).argmax()]
    assert (np.diff(effects["effect"]) <= 0).all()
    assert f"{effects.index[0]} matters most" in repr(result)


def test_edges_of_any_graphs():
    result = random_result(edges=True)
    effects = result.edge_effects()
    assert set(effects.index) == {"a -> b", "b -> a", "c -> d"}
    odd = np.arange(6) % 2 == 1
    means = [np.average(result.values[part], axis=0, weights=result.weights[part]) for part in (odd, ~odd)]
    assert effects.loc["a -> b", "effect"] == pytest.approx(np.abs(means[0] - means[1]).mean())
    assert effects.loc["c -> d", "effect"] == pytest.approx(effects.loc["b -> a", "effect"])
    same = Sensitivity(result.values, NAMES, edges=[[("a", "b")]] * 6)
    assert len(same.edge_effects()) == 0  # an edge that all graphs have


@pytest.mark.parametrize("edges", [False, True])
@pytest.mark.parametrize("outputs", [False, True])
def test_the_edges_of_one_row(outputs, edges):
    result = random_result(outputs=outputs, reference=True, edges=edges)
    odd = np.arange(6) % 2 == 1
    for row in range(5):
        values = result.values[:, row].reshape(6, 4, -1)
        if edges:
            means = [np.average(values[part], axis=0, weights=result.weights[part]) for part in (odd, ~odd)]
            moved = dict.fromkeys(["a -> b", "b -> a", "c -> d"], np.abs(means[0] - means[1]))
        else:
            moved = {f"change {k}": np.abs(values[k] - result.reference[row].reshape(4, -1)) for k in range(6)}
        alone = result.edge_effects(row=row)
        assert {label: pytest.approx(size.mean()) for label, size in moved.items()} == alone["effect"].to_dict()
        by = [float(np.mean(moved[alone.index[0]][f])) for f in range(4)]
        assert (alone["feature"].iloc[0], alone["by"].iloc[0]) == (NAMES[by.index(max(by))], pytest.approx(max(by)))


def test_tables():
    result = random_result()
    frame = result.to_frame(row=2)
    np.testing.assert_allclose(frame["mean"], result.mean[2])
    np.testing.assert_allclose(frame["lowest"], result.values[:, 2].min(axis=0))
    np.testing.assert_allclose(frame["highest"], result.values[:, 2].max(axis=0))
    np.testing.assert_allclose(frame["sign changes"], result.sign_changes[2])
    whole = result.to_frame()
    sizes = np.abs(result.values).mean(axis=1)
    np.testing.assert_allclose(whole["mean"], result.weights @ sizes)
    np.testing.assert_allclose(whole["lowest"], sizes.min(axis=0))
    np.testing.assert_allclose(whole["sign changes"], result.sign_changes.mean(axis=0))
    assert list(whole.index) == NAMES


def test_outputs():
    result = random_result(outputs=True, reference=True)
    second = result.output(1)
    np.testing.assert_array_equal(second.values, result.values[..., 1])
    np.testing.assert_array_equal(second.reference, result.reference[..., 1])
    np.testing.assert_array_equal(result.output(-1).low, second.low)
    named = Sensitivity(result.values, NAMES, output_names=["no", "yes"])
    np.testing.assert_array_equal(named.output("yes").values, second.values)
    with pytest.raises(UnknownMethodError, match=r"2 outputs; pick one first: sensitivity.output\(1\)"):
        result.to_frame(row=0)
    with pytest.raises(UnknownMethodError, match=r"no output 'maybe'; the 2 outputs are \['no', 'yes'\]"):
        named.output("maybe")
    with pytest.raises(UnknownMethodError, match="one output"):
        second.output(0)
