"""Figures that README, changelog and docs state are those that a stored run holds.

A figure is a number with a unit of measurement (seconds, times, per cent, bytes) in the text of a page. It has to be
in a result of ``benchmarks/results``, in a record of ``tests/reliability/records``, or in what a script of the docs
printed (``docs/figures/*.txt``), with that unit; where its paragraph names a benchmark, in the result of that one. What
is no measurement stands in ``NOT_MEASURED`` with a reason. Pages that are made of records (benchmarks, reliability) and
the stories, whose figures are compared with what their own code prints, have other tests.
"""

import json
import random
import re
from dataclasses import dataclass

import pytest

from tests.docs.pages import FENCE, PAGES, ROOT, name_of

MADE = {"docs/benchmarks.md", "docs/reliability.md", "docs/changelog.md"}
STORIES = {f"docs/tutorials/{path.stem}.md" for path in (ROOT / "examples" / "stories").glob("*.py")}
STATING = [page for page in [*PAGES, ROOT / "CHANGELOG.md"] if name_of(page) not in MADE | STORIES]

#: page -> figures that nothing measured, and what they are instead.
NOT_MEASURED = {
    "docs/howto/backends.md": {"95 times": "the nominal share of intervals that cover, in 100"},
    "docs/howto/many_rows.md": {
        "4 GiB": "the default of memory_limit=",
    },
    "docs/howto/your_own_table.md": {"1%": "an example: the probability of an event, in advice on n_draws="},
}

NUMBER = r"\d[\d,]*(?:\.\d+)?"
UNIT = r"(?:s|ms|seconds?|minutes?|hours?|times|MB|GB|KiB|MiB|GiB|per cent|percent|x)\b|%"
FIGURE = re.compile(rf"(?<![\w.^$-])((?:{NUMBER}(?:,| and| to| or) )*{NUMBER}) ?({UNIT})")
#: "1.04 ms in place of 3.59": the second number has the unit of the first.
COMPARED = re.compile(rf"{NUMBER} ?({UNIT}) (?:in place of|instead of|against) ({NUMBER})")


@dataclass(frozen=True)
class Stated:
    """A number with its unit, and the benchmark that its paragraph names, if any."""

    number: str
    unit: str
    run: str = ""

    def __str__(self) -> str:
        return f"{self.number}{'' if self.unit == '%' else ' '}{self.unit}"


def figures_of(text: str) -> list[Stated]:
    """Of the text between code, formulas and options of directives, paragraph by paragraph."""
    found = []
    for paragraph in re.split(r"\n\s*\n|\n(?=- )", FENCE.sub("", text)):
        run = re.search(r"`python -m benchmarks (\w+)`", paragraph)
        name = run[1] if run else ""
        plain = re.sub(r"`[^`\n]*`|\$[^$]*\$|^\s*:[\w-]+:.*$", " ", paragraph, flags=re.MULTILINE)
        plain = re.sub(r"\s+", " ", plain)
        for match in FIGURE.finditer(plain):
            found += [Stated(number, match[2], name) for number in re.findall(NUMBER, match[1])]
        found += [Stated(match[2], match[1], name) for match in COMPARED.finditer(plain)]
    return found


#: What is in a column, by its name: (words of the name, unit, what a cell is multiplied with).
COLUMNS = (
    (r"\(ms\)", "ms", 1.0),
    (r"\(us\)", "ms", 1e-3),
    (r"\bs\b|seconds", "s", 1.0),
    (r"\bs\b|seconds", "ms", 1e3),
    (r"\btimes\b|ratio| / ", "times", 1.0),
    (r"\((MB|MiB)\)", "MB", 1.0),
    (r"\((MB|MiB)\)", "MiB", 1.0),
    (r"coverage", "%", 100.0),
)
SAME = {"x": "times", "second": "s", "seconds": "s", "per cent": "%", "percent": "%"}


@dataclass(frozen=True)
class Run:
    """What a stored run says, and the numbers in its tables, each with the unit of its column."""

    said: str
    cells: frozenset[tuple[str, float]]

    def holds(self, figure: Stated) -> bool:
        """In these digits with this unit, or as a cell of a column with this unit, rounded to them.

        A number without a unit of its own would be found somewhere, whatever it says: of "7.3 s", two in three.
        """
        number, unit = re.escape(figure.number), SAME.get(figure.unit, figure.unit)
        words = "|".join(re.escape(word) for word in {unit, *(w for w, meant in SAME.items() if meant == unit)})
        if re.search(rf"(?<![\d.,]){number} ?(?:{words})(?!\w)", self.said):
            return True
        digits = len(figure.number.partition(".")[2])
        value = float(figure.number.replace(",", ""))
        # whole numbers would be found among thousands of cells whatever they say
        return digits > 0 and any(round(cell, digits) == value for kind, cell in self.cells if kind == unit)


def run_of(thing: object) -> Run:
    said: list[str] = []
    cells: set[tuple[str, float]] = set()

    def collect(thing: object) -> None:
        if isinstance(thing, dict) and {"columns", "rows"} <= set(thing):
            for name, *column in zip(thing["columns"], *thing["rows"], strict=True):
                for words, unit, scale in COLUMNS:
                    if re.search(words, name):
                        cells.update((unit, scale * cell) for cell in column if isinstance(cell, (int, float)))
        if isinstance(thing, (dict, list)):
            for value in thing.values() if isinstance(thing, dict) else thing:
                collect(value)
        elif isinstance(thing, str):
            said.append(thing)

    collect(thing)
    return Run("\n".join(said), frozenset(cells))


def stored_runs() -> dict[str, Run]:
    """By name; that of a benchmark is the word of its command."""
    folders = ("tests/reliability/records", "benchmarks/results")
    paths = [path for folder in folders for path in sorted((ROOT / folder).glob("*.json"))]
    found = {path.stem: run_of(json.loads(path.read_text("utf-8"))) for path in paths}
    printed = [path.read_text("utf-8") for path in sorted((ROOT / "docs" / "figures").glob("*.txt"))]
    return {**found, "printed by scripts of the docs": run_of(printed)}


RUNS = stored_runs()


def is_held(figure: Stated) -> bool:
    return any(run.holds(figure) for name, run in RUNS.items() if figure.run in ("", name))


@pytest.mark.parametrize("page", STATING, ids=name_of)
def test_figures_of_a_page_are_held_by_a_run(page):
    excused = NOT_MEASURED.get(name_of(page), {})
    stated = figures_of(page.read_text("utf-8"))
    assert [str(one) for one in stated if not is_held(one) and str(one) not in excused] == []


def test_excuses_are_needed():
    """A figure that is gone needs no excuse; one that some run holds by chance keeps its own."""
    for name, excused in NOT_MEASURED.items():
        stated = {str(one) for one in figures_of((ROOT / name).read_text("utf-8"))}
        assert set(excused) <= stated


def test_few_invented_figures_are_held_by_chance():
    """Of those whose paragraph names its run, hardly any."""
    rng = random.Random(0)
    invented = [f"{20 * rng.random():.2f}" for _ in range(60)]
    for unit in ("s", "ms", "times", "%", "GiB"):
        assert sum(is_held(Stated(number, unit)) for number in invented) <= 9, unit
        assert sum(is_held(Stated(number, unit, "small")) for number in invented) <= 2, unit
