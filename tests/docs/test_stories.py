"""Stories: page and notebook are what the script makes, and the text quotes what they show.

That the notebooks print what they show is checked by ``make docs``, which runs them.
"""

import re

import pytest

from docs import stories

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


@pytest.mark.parametrize("name", stories.NAMES)
def test_each_story_ends_with_what_was_learned(name):
    text = "\n".join(cell.source for cell in stories.cells_of(name) if cell.is_text)
    conclusion = text.partition(END)[2]
    assert all(f"- **{who}**" in conclusion for who in ("SHAP", "ASV", "Neither"))
