"""The frame of the benchmarks: tables, storage, page, command line."""

from benchmarks.experiment import Claim, Experiment, Plot, Result, Table
from benchmarks.markdown import as_markdown, shown
from benchmarks.page import page, paper_claim
from benchmarks.storage import Places, keep, read, read_all


def example(tables=None, **options):
    tables = tables or (Table("times", ("n", "s"), ((1, 0.5), (10**30, None))),)
    claims = (Claim("fast", "2", "3", True), Claim("small", "2", "5 | 6", False), Claim("blue", "", "no", None))
    return Result("made_up", "Made up", tables, claims, ("A note.",), **options)


def drawn(result):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    axes.plot(result.table("times").column("n")[:1], [1])
    return [Plot("line", "A caption.", figure)]


def test_what_is_kept_is_read_again(tmp_path):
    places = Places.under(tmp_path)
    stored = keep(example(), drawn(example()), "small", 1.23, places)
    assert read(places.results / "made_up.json") == stored
    assert stored.result == example()
    assert (places.results / "made_up_times.csv").read_text() == f"n,s\n1,0.5\n{10**30},\n"
    assert (places.figures / "made_up_line.png").exists()


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


def test_numbers_are_shown_for_readers():
    cells = (741_015_475_200, 10**30, 0.123456, 12345.6, 1e12, True, None, "a|b")
    assert [shown(cell) for cell in cells] == [
        "741,015,475,200", "1.000e+30", "0.1235", "12,346", "1e+12", "yes", "", "a\\|b"
    ]  # fmt: skip
    assert as_markdown(("a", "b"), (("x", 1), ("y", None))).splitlines()[1] == "|---|---:|"
