"""The frame of the benchmarks: tables, storage, page, command line."""

import json
import subprocess

import numpy as np
import pytest

from benchmarks.__main__ import main, perform, report
from benchmarks.experiment import Claim, Experiment, Plot, Progress, Result, Table
from benchmarks.markdown import as_markdown, shown
from benchmarks.page import page, paper_claim
from benchmarks.registry import EXPERIMENTS
from benchmarks.storage import ROOT, Places, commit_of_code, keep, read, read_all


def example(tables=None, **options):
    tables = tables or (Table("times", ("n", "s"), ((1, 0.5), (10**30, None))),)
    claims = (Claim("fast", "2", "3", True), Claim("small", "2", "5 | 6", False), Claim("blue", "", "no", None))
    return Result("made_up", "Made up", tables, claims, ("A note.",), **options)


def drawn(result):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot(result.table("times").column("n")[:1], [1])
    return [Plot("line", "A caption.", figure)]


def test_rows_must_fit_the_columns():
    with pytest.raises(ValueError, match="2 cells"):
        Table("t", ("a",), ((1, 2),))


def test_cells_are_plain():
    table = Table("t", ("a", "b", "c"), ((np.int64(3), np.float64(0.25), np.bool_(True)),))
    assert [type(cell) for cell in table.rows[0]] == [int, float, bool]
    assert json.loads(json.dumps(table.rows)) == [[3, 0.25, True]]
    with pytest.raises(TypeError, match="list"):
        Table("t", ("a",), (([1],),))


def test_what_is_kept_is_read_again(tmp_path):
    places = Places.under(tmp_path)
    stored = keep(example(), drawn(example()), "small", 1.23, places)
    assert read(places.results / "made_up.json") == stored
    assert stored.result == example()
    assert (places.results / "made_up_times.csv").read_text() == f"n,s\n1,0.5\n{10**30},\n"
    assert (places.figures / "made_up_line.png").exists()


def test_files_of_an_earlier_run_go(tmp_path):
    places = Places.under(tmp_path)
    keep(example(), drawn(example()), "small", 1.0, places)
    keep(example((Table("other", ("a",), ((1,),)),)), [], "small", 1.0, places)
    assert sorted(path.name for path in places.results.iterdir()) == ["made_up.json", "made_up_other.csv"]
    assert list(places.figures.iterdir()) == []


def test_the_page_shows_verdicts_and_gathers_the_paper(tmp_path):
    paper = Table("against_paper", ("what", "unit", "paper", "ours", "times better"), (("a row", "s", 2.0, 0.5, 4.0),))
    hidden = Table("long", ("secret column",), ((1,),), on_page=False)
    places = Places.under(tmp_path)
    keep(example((*example().tables, paper, hidden)), drawn(example()), "small", 1.0, places)
    about = Experiment("made_up", "Made up", lambda size, progress: example(), about="What it is about.")
    text = page(read_all(places.results), "figures", [about])
    assert "| small | 2 | 5 \\| 6 | **no** |" in text
    assert "| fast | 2 | 3 | yes |" in text
    assert text.count("| a row | s | 2 | 0.5 | 4 |") == 1
    assert "Of 3 claims with a verdict, 2 hold." in text  # the two above, and the paper's table as a whole
    assert "- does not hold: small (Made up)" in text
    assert "What it is about." in text
    assert "{figure} figures/made_up_line.png" in text
    assert "secret column" not in text


def test_the_papers_table_is_judged_as_a_whole():
    def judged(*cells):
        return paper_claim([(f"row {i}", "s", 1.0, 1.0, cell) for i, cell in enumerate(cells)])

    good = judged(3.0, 1.5, 1.0, "the same", "up to 1,640")
    assert good.holds
    assert good.asked == "0 of 5 rows worse"
    assert good.measured.startswith("2 better, 2 the same, 1 within")
    for worse in (0.9, "up to 0.9", "another count"):
        bad = judged(3.0, worse)
        assert bad.holds is False
        assert bad.measured.endswith("1 worse: row 1")


def test_a_paper_that_wins_is_said(tmp_path):
    paper = Table("against_paper", ("what", "unit", "paper", "ours", "times better"), (("a row", "s", 2.0, 4.0, 0.5),))
    places = Places.under(tmp_path)
    keep(example((*example().tables, paper)), [], "small", 1.0, places)
    text = page(read_all(places.results), "figures", [])
    assert "Of 3 claims with a verdict, 1 hold." in text
    assert "1 worse: a row | **no** |" in text
    assert "- does not hold: no row is worse" in text


def git(folder, *arguments):
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


def test_the_commit_of_the_code(tmp_path):
    for name in ("shap_asv/a.py", "benchmarks/b.py", "benchmarks/results/c.json", "docs/d.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("1")
    git(tmp_path, "init")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "all")
    clean = commit_of_code(tmp_path)
    assert len(clean) >= 7
    assert "-" not in clean
    for name in ("benchmarks/results/c.json", "docs/d.md"):  # what runs write is not a change of the code
        (tmp_path / name).write_text("2")
    assert commit_of_code(tmp_path) == clean
    (tmp_path / "shap_asv" / "a.py").write_text("2")
    assert commit_of_code(tmp_path) == f"{clean}-dirty"


def test_no_git_no_commit(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit_of_code(tmp_path) == ""
    monkeypatch.setenv("PATH", "")
    assert commit_of_code(ROOT) == ""


def test_the_commit_is_on_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.__main__.commit_of_code", lambda: "abc1234-dirty")
    places = Places.under(tmp_path)
    experiment = Experiment("made_up", "Made up", lambda size, progress: example())
    assert perform(experiment, "small", places, Progress(False)).commit == "abc1234-dirty"
    assert "0 s; commit abc1234-dirty; python " in page(read_all(places.results), "figures", [])


def test_results_without_a_commit_are_read(tmp_path):
    places = Places.under(tmp_path)
    keep(example(), [], "small", 1.0, places)
    path = places.results / "made_up.json"
    older = json.loads(path.read_text())
    del older["commit"]
    path.write_text(json.dumps(older))
    assert read(path).commit == ""
    assert "commit" not in page(read_all(places.results), "figures", [])


def test_numbers_are_shown_for_readers():
    cells = (741_015_475_200, 10**30, 0.123456, 12345.6, 1e12, True, None, "a|b")
    assert [shown(cell) for cell in cells] == [
        "741,015,475,200", "1.000e+30", "0.1235", "12,346", "1e+12", "yes", "", "a\\|b"
    ]  # fmt: skip
    assert as_markdown(("a", "b"), (("x", 1), ("y", None))).splitlines()[1] == "|---|---:|"


def test_a_run_prints_each_claim(tmp_path, capsys):
    experiment = Experiment("made_up", "Made up", lambda size, progress: example(), drawn)
    perform(experiment, "small", Places.under(tmp_path), Progress(False))
    printed = capsys.readouterr().out
    assert "fast (asked: 2): 3 - holds" in printed
    assert "DOES NOT HOLD" in printed
    assert report(Claim("blue", "", "no")).endswith("blue: no - no verdict")


def test_list_and_unknown_names(capsys):
    main(["--list"])
    printed = capsys.readouterr().out
    assert all(experiment.title in printed for experiment in EXPERIMENTS)
    with pytest.raises(SystemExit):
        main(["no_such_experiment"])
    assert "there are: " in capsys.readouterr().err
