"""A table goes into rows of floats and comes back exactly; what cannot is refused by name."""

import numpy as np
import pandas as pd
import pytest

from shap_asv import ConditionalTable
from shap_asv.backgrounds.tables.codec import NamedArray, TableCodec
from shap_asv.errors import RowsError, TableError, UnknownFeatureError, UnknownStateError


def every_kind() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "float": [0.5, np.nan, -1e300, 3.0],
            "float32": np.array([0.1, 0.2, np.nan, 7], dtype=np.float32),
            "int": [3, -1, 2**53, 0],
            "uint8": np.array([0, 255, 7, 8], dtype=np.uint8),
            "Int64": pd.array([1, None, -5, 2**40], dtype="Int64"),
            "Float64": pd.array([1.5, None, -5, 2], dtype="Float64"),
            "bool": [True, False, False, True],
            "boolean": pd.array([True, None, False, True], dtype="boolean"),
            "category": pd.Categorical(["b", "a", None, "b"], categories=["c", "b", "a"]),
            "ordered": pd.Categorical([3, 1, 3, 2], categories=[3, 2, 1], ordered=True),
            "cut": pd.cut([0.1, 0.6, 0.2, 0.9], [0, 0.5, 1]),
            "str": ["x", "y", "x", None],
            "string": pd.array(["x", None, "y", ""], dtype="string"),
            "object": np.array([1, "a", None, ("t", 2)], dtype=object),
            "sparse": pd.arrays.SparseArray([0.0, 0.0, 1.0, 2.0]),
            7: [1.0, 2.0, 3.0, 4.0],
        }
    )


def test_what_goes_in_comes_out_dtype_by_dtype():
    table = every_kind()
    codec = TableCodec.learn(table)
    pd.testing.assert_frame_equal(codec.inputs(codec.read(table)), table, check_exact=True)


def test_array_in_array_out():
    for dtype in (np.float64, np.float32, np.int64):
        array = np.arange(6).reshape(3, 2).astype(dtype)
        codec = TableCodec.learn(array)
        back = codec.inputs(codec.read(array))
        assert codec.names == ("Feature 0", "Feature 1")
        assert isinstance(back, np.ndarray)
        assert back.dtype == dtype
        assert np.array_equal(back, array)
    gaps = np.array([[1.0, np.nan]])
    codec = TableCodec.learn(NamedArray(gaps, ("a", "b")))
    assert np.array_equal(codec.inputs(codec.read(gaps)), gaps, equal_nan=True)
    assert codec.read(pd.DataFrame({"b": [2.0], "a": [1.0]})).tolist() == [[1.0, 2.0]]


def test_codes_are_as_documented():
    table = every_kind()
    codec = TableCodec.learn(table)
    rows = dict(zip(codec.names, codec.read(table).T.tolist(), strict=True))
    assert rows["float"] == [0.5, np.inf, -1e300, 3.0]
    assert rows["bool"] == [1, 0, 0, 1]
    assert rows["boolean"] == [1, 2, 0, 1]
    assert rows["category"] == [1, 2, 3, 1]
    assert rows["ordered"] == [0, 2, 0, 1]
    assert rows["str"] == [0, 1, 0, 2]
    kinds = dict(zip(codec.names, codec.kinds, strict=True))
    assert (kinds["category"].category, kinds["category"].n_codes, kinds["category"].missing) == (True, 4, True)
    assert (kinds["bool"].category, kinds["bool"].n_codes) == (True, 2)
    assert (kinds["int"].category, kinds["int"].whole) == (False, True)
    assert not kinds["float"].whole


def test_columns_are_found_by_name_and_values_read_by_label():
    table = pd.DataFrame({"n": [1, 2], "c": ["u", "v"], "b": [True, False]})
    codec = TableCodec.learn(table)
    turned = pd.DataFrame({"b": [1, 0], "c": pd.Categorical(["v", "u"]), "n": [2.0, 1.0]})
    assert codec.read(turned).tolist() == [[2, 1, 1], [1, 0, 0]]
    assert codec.read(np.array([[2, "v", True]], dtype=object)).tolist() == [[2, 1, 1]]
    assert codec.read(table.iloc[1]).tolist() == [[2, 1, 0]]
    assert codec.labels(codec.read(turned)).tolist() == [[2, "v", True], [1, "u", False]]
    assert TableCodec.learn(pd.DataFrame({"x": [0.5]})).labels(np.array([[0.5]])) is None
    assert codec.only(["b", "n"]).read(turned[["n", "b"]]).tolist() == [[1, 2], [0, 1]]


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"c": ["u", "w"]}, UnknownStateError, ["'c'", "row 1", "'w'", "'u', 'v'"]),
        ({"n": [1.0, 2.5]}, RowsError, ["'n'", "row 1", "2.5", "whole"]),
        ({"x": [1.0, np.nan]}, RowsError, ["'x'", "row 1", "missing", "no gaps"]),
        ({"x": [1.0, np.inf]}, RowsError, ["'x'", "row 1", "inf"]),
        ({"x": [1.0, "many"]}, RowsError, ["'x'", "row 1", "'many'"]),
        ({"b": [True, None]}, RowsError, ["'b'", "row 1", "missing"]),
        ({"b": [1, 2]}, UnknownStateError, ["'b'", "row 1", "2", "False, True"]),
        ({"c": [["u"], ["v"]]}, RowsError, ["'c'", "hashable"]),
    ],
)
def test_rows_that_do_not_fit_are_refused_by_name(change, error, words):
    table = pd.DataFrame({"n": [1, 2], "x": [0.5, 0.6], "c": ["u", "v"], "b": [True, False]})
    codec = TableCodec.learn(table)
    rows = table.drop(columns=[key for key, value in change.items() if value is None])
    for key, value in change.items():
        if value is not None:
            rows[key] = pd.Series(value, dtype=object)
    with pytest.raises(error) as raised:
        codec.read(rows)
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.DataFrame({"d": pd.to_datetime(["2020-01-01"])}), ["'d'", "datetimes", ".dt.month"]),
        (pd.DataFrame({"d": pd.to_timedelta(["1 day"])}), ["'d'", "datetimes"]),
        (pd.DataFrame({"d": pd.array(pd.period_range("2020", periods=1))}), ["'d'", "datetimes"]),
        (pd.DataFrame({"d": pd.Series([pd.Timestamp("2020").date()], dtype=object)}), ["'d'", "datetimes"]),
        (pd.DataFrame({"z": [1j]}), ["'z'", "complex"]),
        (pd.DataFrame({"z": [[1], [2]]}), ["'z'", "hashable"]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ["2 columns called 'a'"]),
    ],
)
def test_tables_that_cannot_be_learned_are_refused_by_name(table, words):
    with pytest.raises(TableError) as raised:
        TableCodec.learn(table)
    for word in words:
        assert word in str(raised.value)


def test_an_infinity_is_refused_when_the_table_is_learned():
    with pytest.raises(RowsError, match="'x', row 1: inf"):
        TableCodec.learn(pd.DataFrame({"x": [0.0, np.inf]}))


def test_rows_of_another_width_and_unknown_columns():
    codec = TableCodec.learn(pd.DataFrame({"x": [0.5], "c": ["u"]}))
    with pytest.raises(RowsError, match="do not fit 2 features"):
        codec.read(np.array([[0.5]]))
    with pytest.raises(UnknownFeatureError, match="did you mean 'x'"):
        codec.only(["xx"])


def test_gaps_are_shown_as_gaps():
    table = pd.DataFrame({"x": [0.5, np.nan, 1.5], "y": [1.0, 2.0, 4.0]})
    background = ConditionalTable(table)
    np.testing.assert_array_equal(background.shown_numbers(background.read(table)), table)
