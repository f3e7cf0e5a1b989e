"""Make every picture and every table of the documentation: ``python docs/make_figures.py``.

Runs the scripts in ``examples/``, the stories (``docs/stories.py``), and the code of ``README.md`` and of other pages
with pictures. What they print and
some of their pictures (with few colours, so that the files stay small) are kept in ``docs/figures/``. The tests compare
what the examples print with what is kept.
"""

import contextlib
import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import matplotlib as mpl
import stories

mpl.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "docs" / "figures"
PICTURES = {
    "cancer": ["comparison_waterfall"],
    "child": ["causal_graph"],
    "admissions": ["fair", "blind"],
    "large_graph": ["intervals"],
}
#: Pages whose code draws pictures: what these are called, in the order in which they are drawn; None is not kept.
PAGES = {
    "quickstart": [None, "causal_graph", None],
    "howto/your_own_table": ["waterfall", "comparison"],
    "howto/which_values": ["conditional", "causal", "marginal", "methods", "effects"],
}


def run_example(name: str, out: Path) -> str:
    """What an example prints, apart from where it put its pictures."""
    command = [sys.executable, str(ROOT / "examples" / f"{name}.py"), "--out", str(out)]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("pictures in"))


def shrink(source: Path, target: Path) -> None:
    Image.open(source).convert("RGB").quantize(128).save(target, optimize=True)


def run_readme(out: Path) -> str:
    """The code of the README: what it prints, and its first figure."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)
    printed = io.StringIO()
    # what is drawn next does not go into the same figure
    on_show = mock.patch.object(plt, "show", side_effect=lambda *arguments, **options: plt.figure())
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(printed), on_show:
        exec(compile(blocks[0], "README.md", "exec"), {})
    plt.figure(plt.get_fignums()[0]).savefig(out, dpi=100, bbox_inches="tight")
    plt.close("all")
    return printed.getvalue()


def run_page(page: str, out: Path) -> None:
    """All code of a page, from the root of the repository, and its figures under their names."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    code = "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S))
    with contextlib.chdir(ROOT), contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, f"{page}.md", "exec"), {})
    for number, picture in zip(plt.get_fignums(), PAGES[page], strict=True):
        if picture is not None:
            plt.figure(number).savefig(out / f"{Path(page).name}_{picture}.png", dpi=100, bbox_inches="tight")
    plt.close("all")


def main() -> None:
    FIGURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (FIGURES / "readme.txt").write_text(run_readme(work / "readme.png"), encoding="utf-8")
        shrink(work / "readme.png", FIGURES / "readme.png")
        for page, pictures in PAGES.items():
            run_page(page, work)
            name = Path(page).name
            for picture in filter(None, pictures):
                shrink(work / f"{name}_{picture}.png", FIGURES / f"{name}_{picture}.png")
        for name, pictures in PICTURES.items():
            (FIGURES / f"{name}.txt").write_text(run_example(name, work / name), encoding="utf-8")
            for picture in pictures:
                shrink(work / name / f"{picture}.png", FIGURES / f"{name}_{picture}.png")
            print(f"{name}: {', '.join(pictures)}")
    for name in stories.NAMES:
        stories.make(name)
        print(f"{name}: page, notebook and pictures")


if __name__ == "__main__":
    main()
