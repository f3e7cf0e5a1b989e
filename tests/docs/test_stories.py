"""Stories: page and notebook are what the script makes, and the text quotes what they show.

That the notebooks print what they show is checked by ``make docs``, which runs them.
"""

import json
import re

import pytest

from docs import stories
from docs.stories import Cell, Output

#: Numbers of the text with more than one digit; what stands between backticks is code.
FIGURE = re.compile(r"(?<![\w.])\d[\d,.]*\d")
END = "what neither does"


@pytest.mark.parametrize("name", stories.NAMES)
def test_page_and_notebook_are_made_from_the_script(name):
    cells = stories.cells_of(name)
    outputs = stories.kept_outputs(name, cells)
    page = (stories.PAGES / f"{name}.md").read_text("utf-8")
    assert page == stories.page_of(name, cells, outputs), "run: python docs/stories.py pages"
    notebook = (stories.NOTEBOOKS / f"{name}.ipynb").read_text("utf-8")
    assert notebook == stories.notebook_text(stories.notebook_of(name, cells, outputs)), (
        "run: python docs/stories.py pages"
    )
    assert len(notebook) < 200_000


@pytest.mark.parametrize("name", stories.NAMES)
def test_figures_of_the_text_are_printed_by_the_code(name):
    cells = stories.cells_of(name)
    shown = "".join(output.printed for output in stories.kept_outputs(name, cells))
    code = "".join(cell.source for cell in cells if not cell.is_text)
    known = [figure.replace(",", "") for figure in FIGURE.findall(shown + code)]
    known += [str(year) for year in range(1960, 2031)]
    text = re.sub(r"`[^`]*`|CC BY 4.0", "", "\n".join(cell.source for cell in cells if cell.is_text))
    assert [figure for figure in FIGURE.findall(text) if not is_one_of(figure.replace(",", ""), known)] == []


def is_one_of(figure, known):
    """Whether one of the numbers is this one, or rounds to it."""
    digits = len(figure.partition(".")[2])
    return any(figure == each or round(float(each), digits) == float(figure) for each in known if each.count(".") < 2)


def test_figures_are_known_or_not():
    assert is_one_of("0.17", ["0.166"])
    assert not is_one_of("0.17", ["0.164", "17"])


@pytest.mark.parametrize("name", stories.NAMES)
def test_each_story_ends_with_what_was_learned(name):
    text = "\n".join(cell.source for cell in stories.cells_of(name) if cell.is_text)
    conclusion = text.partition(END)[2]
    assert all(f"- **{who}**" in conclusion for who in ("SHAP", "ASV", "Neither"))


SCRIPT = '''"""For readers of the script."""

# %% [markdown]
# # Title
#
# See [the page](../page.md).

# %% A line that rises
print(0.123)
'''


def test_cells_become_a_page_and_a_notebook(monkeypatch, tmp_path):
    cells = stories.read_cells(SCRIPT)
    assert cells == [
        Cell(True, "", "# Title\n\nSee [the page](../page.md)."),
        Cell(False, "A line that rises", "print(0.123)"),
    ]
    monkeypatch.setattr(stories, "FIGURES", tmp_path)
    (tmp_path / "toy_1.png").write_bytes(b"picture")
    outputs = [Output(), Output("0.123\n", True)]
    stories.write_outputs("toy", outputs)
    assert stories.kept_outputs("toy", cells) == outputs

    page = stories.page_of("toy", cells, outputs)
    assert "```python\nprint(0.123)\n```\n\n```text\n0.123\n```" in page
    assert ":alt: A line that rises" in page
    notebook = json.loads(stories.notebook_text(stories.notebook_of("toy", cells, outputs)))
    text, code = notebook["cells"]
    assert "".join(text["source"]) == "# Title\n\nSee the page."
    assert [output["output_type"] for output in code["outputs"]] == ["stream", "display_data"]
    assert code["outputs"][1]["data"]["image/png"] == "cGljdHVyZQ=="


@pytest.mark.parametrize(
    ("line", "shown", "equal"),
    [("day 1460", "day 1461", True), ("day 1460", "day 1470", False), ("8.7%", "8.6%", True), ("8.7%", "8.4%", False)],
)
def test_numbers_may_differ_in_rounding(line, shown, equal):
    assert stories.same_line(line, shown) is equal


def test_a_failing_cell_is_noticed(monkeypatch, tmp_path):
    monkeypatch.setattr(stories, "ROOT", tmp_path)
    with pytest.raises(ZeroDivisionError):
        stories.run_cells([Cell(False, "", "1 / 0")], tmp_path)
