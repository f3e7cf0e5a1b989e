"""Tables as they come: separators, indexes, dates, ids; and which of their rows are explained."""

import numpy as np
import pandas as pd
import pytest

from shap_asv.command import tables
from shap_asv.command.files import read_layout
from shap_asv.command.request import read_rows_choice
from shap_asv.command.rows import choose_rows, strata_of, systematic
from shap_asv.errors import RowsError, TableError, UnknownStateError

TABLE = pd.DataFrame({"x": [1.5, 2.5, 0.5], "word": ["low", "high", "medium"], "n": [1, 2, 3]})


def read(path, **options):
    return tables.read_table(read_layout(path, **options))


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (lambda path: TABLE.to_csv(path, index=False), []),
        (lambda path: TABLE.to_csv(path, index=False, sep=";"), ["separated by semicolons."]),
        (
            lambda path: TABLE.to_csv(path, index=False, sep=";", decimal=","),
            ["by semicolons, decimals written with a comma"],
        ),
        (lambda path: TABLE.to_csv(path, index=False, sep="\t"), ["separated by tabs"]),
        (lambda path: TABLE.to_csv(path), ["The first column has no name: taken for an index and left out"]),
        (lambda path: TABLE.to_csv(path, encoding="utf-16", index=False), []),
        (
            lambda path: path.write_text("x word n\n1 1.5 low 1\n2 2.5 high 2\n3 0.5 medium 3\n".replace(" ", "\t")),
            ["separated by tabs", "taken for an index"],
        ),
        (lambda path: path.write_text('"x", "word", "n"\n1.5, low, 1\n\n2.5, high, 2\n0.5, medium, 3\n'), []),
    ],
    ids=["commas", "semicolons", "decimal commas", "tabs", "index", "utf-16", "names of rows", "spaces and quotes"],
)
def test_ways_to_write_one_table(write, said, tmp_path):
    path = tmp_path / "table.csv"
    write(path)
    frame, _, notes = read(path)
    pd.testing.assert_frame_equal(frame, TABLE, check_dtype=False)
    assert len(notes) == len(said)
    assert all(words in note for words, note in zip(said, notes, strict=True))


@pytest.mark.parametrize("index", [True, False])
def test_excel(tmp_path, index):
    pytest.importorskip("openpyxl")
    path, dated = tmp_path / "table.xlsx", TABLE.assign(day=pd.to_datetime(["2024-01-01", "2024-01-05", "2024-02-01"]))
    dated.assign(x=[1.5, None, 0.5]).to_excel(path, index=index)
    found = read(path)
    assert any("taken for an index and left out" in note for note in found.notes) == index
    expected = TABLE.assign(x=[1.5, None, 0.5], day=[0.0, 4.0, 31.0])
    pd.testing.assert_frame_equal(found.frame, expected, check_dtype=False)


@pytest.mark.parametrize(("suffix", "package"), [(".xlsx", "openpyxl"), (".xls", "xlrd"), (".parquet", "pyarrow")])
def test_a_package_that_is_missing_is_named(tmp_path, monkeypatch, suffix, package):
    def refuse(path, **options):
        raise ImportError("no module to read it with")

    monkeypatch.setattr(pd, "read_excel", refuse)
    monkeypatch.setattr(pd, "read_parquet", refuse)
    path = tmp_path / f"table{suffix}"
    path.write_bytes(b"")
    with pytest.raises(TableError, match=f"pip install {package}, or write the table as CSV"):
        read(path)


def test_parquet_old_encodings_and_indexes(tmp_path):
    TABLE.to_parquet(tmp_path / "table.parquet")
    pd.testing.assert_frame_equal(read(tmp_path / "table.parquet").frame, TABLE, check_dtype=False)
    path = tmp_path / "old.csv"
    path.write_bytes("r\xe9gion,x\nIle-de-France,1\nPays Basqu\xe9,2\n".encode("latin-1"))
    frame, _, notes = read(path)
    assert list(frame.columns) == ["r\xe9gion", "x"]
    assert "read as Windows-1252" in notes[0]
    assert list(read(path, index="x").frame.columns) == ["r\xe9gion"]
    TABLE.to_csv(path)
    assert list(read(path, index="none").frame.columns) == ["column 1", "x", "word", "n"]
    path.write_text("a,a\n1,2\n")
    with pytest.raises(TableError, match="column 'a' twice"):
        read_layout(path)


@pytest.mark.parametrize(
    ("entries", "days", "words"),
    [
        (["2007-11-11", "2007-11-13", "2008-11-11"], [0, 2, 366], "since 2007-11-11."),
        (["11.11.2007", "13.11.2007", "11.11.2008"], [0, 2, 366], "since 2007-11-11."),
        (["11/11/07", "11/13/07", ""], [0, 2, np.nan], "since 2007-11-11."),
        (["01/02/2020", "02/02/2020", "03/02/2020"], [0, 31, 60], "2020-01-02, with the month first, as in 01/02/2020"),
        (["2020-01-01 12:00", "2020-01-01 18:00", "2020-01-02 00:00"], [0.5, 0.75, 1.0], "since 2020-01-01."),
    ],
)
def test_dates_become_days(entries, days, words, tmp_path):
    path = tmp_path / "dates.csv"
    path.write_text("when,x\n" + "".join(f"{entry},1\n" for entry in entries))
    table = read(path)
    np.testing.assert_allclose(table.frame["when"].to_numpy(dtype=float), days)
    assert words in table.notes[0]
    again = tables.read_rows(path, table, ["when"])
    np.testing.assert_allclose(again["when"].to_numpy(dtype=float), days)


def test_thousands_with_commas_are_numbers(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('price,place\n"1,250",1;2\n980,"1,2"\n"-2,000,000.5",x\n,y\n')
    frame, _, notes = read(path)
    np.testing.assert_allclose(frame["price"], [1250, 980, -2000000.5, np.nan])
    assert notes == ["price holds numbers with commas between the thousands: read as numbers."]
    assert frame["place"].dtype.kind not in "iuf"


def test_what_is_no_date(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("code,phone,when\n1-2-3,555-12-3456,2020-01-01\n99-99-99,1,soon\n")
    assert [dtype.kind in "iuf" for dtype in read(path).frame.dtypes] == [False, False, False]


def test_typed_columns(tmp_path):
    path = tmp_path / "typed.csv"
    path.write_text("n,x,flag,word,gap\n1,1.5,True,low,\n2,2.5,False,high,3\n3,0.5,True,medium,4\n")
    frame = read(path).frame
    assert [dtype.kind for dtype in frame.dtypes[:3]] == ["i", "f", "b"]
    assert tables.describe(frame) == "3 rows, 5 columns (3 numbers, 1 truth values, 1 categories), 1 rows with gaps"
    assert list(tables.with_categories(frame)["word"].cat.categories) == ["low", "medium", "high"]


def test_columns_that_say_nothing_are_left_out_and_said():
    n = 100
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "count": np.arange(1, n + 1),
            "person id": rng.permutation(n) + 1000,
            "name": [f"patient {k}" for k in range(n)],
            "place": ["here"] * n,
            "nothing": [np.nan] * n,
            "x": rng.normal(size=n),
        }
    )
    out, notes = tables.useless_columns(frame, set())
    assert set(out) == {"count", "name", "place", "nothing"}
    assert notes[-1] == (
        'person id is another whole number in every row: if it only names the rows, --drop "person id".'
    )
    assert "Left out, because they count the rows: count." in notes
    out, _ = tables.useless_columns(frame, {"name", "count", "place"})
    assert out == ["nothing"]
    with pytest.raises(TableError, match="--drop name"):
        tables.check_labels(frame)


def test_rows_of_a_file_get_the_types_of_the_table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("word,x,n\nlow,1,2\n")
    table = tables.TypedTable(TABLE, {}, [])
    rows = tables.read_rows(path, table, ["x", "word"])
    assert list(rows.columns) == ["x", "word"]
    assert rows["x"].dtype == float
    path.write_text("word,x,n\nlow,many,2\n")
    with pytest.raises(RowsError, match="column 'x' is not float64"):
        tables.read_rows(path, table, ["x"])


# --- which rows ---------------------------------------------------------------------------------------------------


def sorted_table(n=1000, rare=50):
    """Sorted by class, as files are: the last rows are of a rare one."""
    rng = np.random.default_rng(0)
    target = pd.Series(["no"] * (n - rare) + ["yes"] * rare)
    predicted = np.where(target == "yes", 0.6, 0.1) + 0.2 * rng.uniform(size=n)
    frame = pd.DataFrame({"age": rng.integers(20, 80, n), "y": target})
    dates = {"day": tables.Dates("%d.%m.%Y", pd.Timestamp("2020-01-01", tz="UTC"))}
    return (
        tables.TypedTable(frame.assign(day=np.arange(n)), dates, []),
        strata_of(target, np.column_stack([1 - predicted, predicted])),
        predicted,
    )


def test_a_sample_has_its_share_of_every_class_and_of_every_prediction():
    table, strata, predicted = sorted_table()
    held_out = np.arange(1000) % 4 == 0
    rows = choose_rows(read_rows_choice("100", []), table, strata, held_out, seed=3)
    assert (table.frame["y"][rows.places] == "yes").sum() == 5
    quantiles = np.quantile(predicted[:950], [0.2, 0.4, 0.6, 0.8])
    counts = np.bincount(np.digitize(predicted[rows.places[:95]], quantiles))
    assert counts.min() >= 18
    assert abs(predicted[rows.places].mean() - predicted.mean()) < 0.003  # a tenth of a sample without strata
    fresh = held_out[rows.places].sum()
    assert rows.words == (
        "100 of the 1,000 rows of the table, drawn at random, spread evenly over what is predicted; the model was "
        f"trained on {100 - fresh} of them."
    )
    again = choose_rows(read_rows_choice("100", []), table, strata, held_out, seed=3)
    np.testing.assert_array_equal(rows.places, again.places)


def test_every_row_is_as_likely_as_any_other():
    strata = np.random.default_rng(0).normal(size=(23, 2))
    counts = np.zeros(23)
    for seed in range(3000):
        chosen = systematic(strata, 7, np.random.default_rng(seed))
        assert len(set(chosen)) == 7
        counts[chosen] += 1
    np.testing.assert_allclose(counts / 3000, 7 / 23, atol=5 * np.sqrt(7 / 23 * 16 / 23 / 3000))


@pytest.mark.parametrize(
    ("text", "expected", "words"),
    [
        ("first:2", [0, 1], "The first 2 rows of the 1,000 rows of the table; the model was trained on 1 of them."),
        ("3,17", [3, 17], "The 2 rows that --rows names, of 1,000; the model was trained on 2 of them."),
        ("996:", [996, 997, 998, 999], "The 4 rows that --rows names, of 1,000; the model was trained on 3 of them."),
    ],
)
def test_rows_by_their_places(text, expected, words):
    table, strata, _ = sorted_table()
    held_out = np.arange(1000) % 4 == 0
    assert choose_rows(read_rows_choice(text, []), table, strata, held_out, 0).places.tolist() == expected
    assert choose_rows(read_rows_choice(text, []), table, strata, held_out, 0).words == words


def test_rows_by_what_they_are():
    table, strata, _ = sorted_table()
    frame = table.frame
    held_out = np.arange(1000) % 4 == 0

    def chosen(text, known=held_out):
        return choose_rows(read_rows_choice(text, list(frame.columns)), table, strata, known, 0)

    rows = chosen("y=yes:20")
    assert len(rows.places) == 20
    assert (frame["y"][rows.places] == "yes").all()
    assert rows.words.startswith("20 of the 50 of 1,000 rows with y = yes, drawn at random")
    assert chosen("age<21").places.tolist() == np.flatnonzero(frame["age"] == 20).tolist()
    assert chosen("day<04.01.2020").places.tolist() == [0, 1, 2]
    with pytest.raises(RowsError, match="day holds dates, and '2020-01-04' is none: dates in the format of the table"):
        chosen("day<2020-01-04")
    assert held_out[chosen("held-out").places].all()
    assert chosen("held-out").words.startswith("100 of the 250 rows that the model was not trained on, drawn")
    assert len(chosen("all").places) == 1000
    assert chosen("all", None).words == (
        "All of the 1,000 rows of the table; whether the model was trained on them is not known here."
    )
    with pytest.raises(RowsError, match="held-out: which rows the model"):
        chosen("held-out", None)
    with pytest.raises(RowsError, match="no row has age > 100; it goes from 20 to 79"):
        chosen("age>100")
    with pytest.raises(RowsError, match="holds no numbers"):
        chosen("y>no")
    with pytest.raises(RowsError, match="no row 1000"):
        chosen("1000:")


# --- states of a network ------------------------------------------------------------------------------------------


def test_numbers_become_states():
    states = {"age": ("<30", "30-60", ">=61"), "dose": ("0", "1")}
    table = pd.DataFrame({"age": [29.5, 30, 61], "dose": [0.0, 1.0, 1.0]})
    assert tables.to_states(table, states).values.tolist() == [["<30", "0"], ["30-60", "1"], [">=61", "1"]]
    with pytest.raises(UnknownStateError, match=r"60\.5 of 'age' lies in none of its states"):
        tables.to_states(pd.DataFrame({"age": [60.5], "dose": [0]}), states)
    with pytest.raises(UnknownStateError, match="'2' is not a state of 'dose'"):
        tables.to_states(pd.DataFrame({"age": [1], "dose": [2]}), states)
    with pytest.raises(RowsError, match="row 0 has no value"):
        tables.to_states(pd.DataFrame({"age": [np.nan], "dose": [2]}), states)
