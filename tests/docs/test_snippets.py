"""Every code block of the README and of the documentation runs, from top to bottom of its page.

``python`` blocks are executed; ``pycon`` blocks are executed and their output is compared.
"""

import doctest
import re
import shutil
import warnings

import matplotlib as mpl
import pytest

from docs.stories import NAMES
from tests.docs.pages import FIGURES_HOLD, PAGES, README, ROOT, Block, blocks_of, name_of

RUNNABLE = ("python", "pycon")
#: Pages that are made from a script, which ``test_stories.py`` runs.
STORIES = {ROOT / "docs" / "tutorials" / f"{name}.md" for name in NAMES}
PAGES_WITH_CODE = [
    page
    for page in PAGES
    if page not in STORIES and any(b.language in RUNNABLE for b in blocks_of(page.read_text("utf-8")))
]


def run(block: Block, page: str, namespace: dict) -> None:
    """Execute one block in the namespace of its page; the page and its lines appear in tracebacks."""
    if block.language == "python":
        exec(compile("\n" * (block.line - 1) + block.code, page, "exec"), namespace)
        return
    test = doctest.DocTestParser().get_doctest(block.code, namespace, page, page, block.line - 1)
    test.globs = namespace  # the parser made a copy; later blocks want the names
    report: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    results = doctest.DocTestRunner(optionflags=flags).run(test, out=report.append, clear_globs=False)
    assert results.failed == 0, "".join(report)
    assert results.attempted > 0, f"{page}:{block.line}: a pycon block without prompts"


@pytest.mark.parametrize("page", PAGES_WITH_CODE, ids=name_of)
def test_code_of_a_page_runs(page, tmp_path, monkeypatch):
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    shutil.copytree(ROOT / "examples" / "data", tmp_path / "examples" / "data")
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: None)
    namespace: dict = {"__name__": "page"}
    try:
        for block in blocks_of(page.read_text("utf-8")):
            if block.language in RUNNABLE and not block.needs:
                run(block, name_of(page), namespace)
    finally:
        plt.close("all")


@pytest.mark.parametrize(
    ("page", "place"),
    [
        (page, place)
        for page in PAGES_WITH_CODE
        for place, block in enumerate(blocks_of(page.read_text("utf-8")))
        if block.needs
    ],
    ids=lambda told: name_of(told) if hasattr(told, "parent") else str(told),
)
def test_code_that_needs_another_package_runs(page, place, tmp_path, monkeypatch):
    """After the blocks of its page that need none."""
    blocks = blocks_of(page.read_text("utf-8"))
    for package in blocks[place].needs:
        pytest.importorskip(package)
    monkeypatch.chdir(tmp_path)
    namespace: dict = {"__name__": "page"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the other packages
        for block in (*(block for block in blocks[:place] if not block.needs), blocks[place]):
            if block.language in RUNNABLE:
                run(block, name_of(page), namespace)


def test_links_of_the_readme_lead_somewhere():
    links = re.findall(r"\]\(([^)#]+)", README.read_text("utf-8"))
    inside = [link for link in links if "://" not in link]
    assert inside
    assert [link for link in inside if not (ROOT / link).exists()] == []


def test_commands_of_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"\bmake (\w+)", " ".join(re.findall(r"`[^`]*`", README.read_text("utf-8")))))
    targets |= set(re.findall(r"^make (\w+)", README.read_text("utf-8"), re.MULTILINE))
    assert {"demo", "test", "docs"} <= targets
    assert [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)] == []


def test_the_readme_prints_what_is_kept(capsys, monkeypatch):
    """Its first block, to a rental: that is what its words and its picture are made of."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(ROOT)
    block = next(block for block in blocks_of(README.read_text("utf-8")) if block.language == "python")
    run(block, "README.md", {"__name__": "page"})
    plt.close("all")
    kept = (ROOT / "docs" / "figures" / "readme.txt").read_text("utf-8")
    number = re.compile(r"-?\d+\.\d+")
    printed, expected = (number.findall(text) for text in (capsys.readouterr().out, kept))
    assert len(printed) == len(expected)
    if FIGURES_HOLD:
        numbers = [float(found) for found in printed]
        assert numbers == pytest.approx([float(found) for found in expected], rel=0, abs=1.0)


def test_numbers_of_the_readme_come_from_scripts():
    """Numbers in the section 'Why', and of its picture, are printed by its code, apart from years."""
    text = README.read_text("utf-8")
    why = text[text.index("![") : text.index("## Install")].partition("```")[0]
    numbers = set(re.findall(r"\d{3,}", why)) - {"2012", "2020"}
    assert len(numbers) >= 4
    printed = (ROOT / "docs" / "figures" / "readme.txt").read_text("utf-8")
    assert numbers - set(re.findall(r"\d{3,}", printed)) == set()
