"""A story is a script of text and code; its page, its notebook and its pictures are made from it.

Scripts stand in ``examples/stories/``, in the percent format that editors know: ``# %% [markdown]`` starts a cell of
text (comments), ``# %%`` one of code, followed by a description of its picture if it draws one. What the cells print is
kept in ``docs/figures/``, together with the pictures. Pages (``docs/tutorials/``) and notebooks
(``examples/notebooks/``) follow from the script and from what is kept: the tests make them again and compare.

    python docs/stories.py make [NAME ...]   run the scripts, and write outputs, pictures, pages and notebooks
    python docs/stories.py pages [NAME ...]  write pages and notebooks again, from the outputs that are kept
    python docs/stories.py check [NAME ...]  execute the notebooks as Jupyter does; they have to print what they show
"""

import base64
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS, NOTEBOOKS = ROOT / "examples" / "stories", ROOT / "examples" / "notebooks"
PAGES, FIGURES = ROOT / "docs" / "tutorials", ROOT / "docs" / "figures"
NAMES = sorted(path.stem for path in SCRIPTS.glob("*.py"))

MARKER = re.compile(r"^# %%(?P<text> \[markdown\])?(?P<title>.*)\n", re.MULTILINE)
NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Cell:
    """Text or code; ``title`` describes the picture that the code draws."""

    is_text: bool
    title: str
    source: str


@dataclass(frozen=True)
class Output:
    """What a cell printed, and whether it drew a picture."""

    printed: str = ""
    drew: bool = False


def read_cells(script: str) -> list[Cell]:
    """The cells of a script, in sequence; what stands before the first one is for whoever opens the script."""
    marks = list(MARKER.finditer(script))
    ends = [mark.start() for mark in marks[1:]] + [len(script)]
    cells = []
    for mark, end in zip(marks, ends, strict=True):
        source = script[mark.end() : end].strip("\n")
        if mark["text"]:
            source = re.sub(r"^# ?", "", source, flags=re.MULTILINE)
        cells.append(Cell(bool(mark["text"]), mark["title"].strip(), source))
    return cells


def cells_of(name: str) -> list[Cell]:
    return read_cells((SCRIPTS / f"{name}.py").read_text("utf-8"))


def picture_of(name: str, number: int) -> Path:
    return FIGURES / f"{name}_{number}.png"


def run_cells(cells: list[Cell], folder: Path) -> list[Output]:
    """Execute the code, from the root of the repository; the picture of cell 3 becomes ``3.png``."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    plt.show = lambda *args, **kwargs: None
    namespace: dict = {"__name__": "__main__"}
    outputs = []
    for number, cell in enumerate(cells):
        printed = io.StringIO()
        if not cell.is_text:
            with contextlib.chdir(ROOT), contextlib.redirect_stdout(printed):
                exec(compile(cell.source, f"cell {number}", "exec"), namespace)
        figures = plt.get_fignums()
        if len(figures) > 1 or (figures and not cell.title):
            raise ValueError(f"cell {number} drew {len(figures)} pictures; one is allowed, described after '# %%'")
        if figures:
            plt.gcf().savefig(folder / f"{number}.png", dpi=90, bbox_inches="tight")
            plt.close("all")
        outputs.append(Output(printed.getvalue(), bool(figures)))
    return outputs


def run_story(name: str, folder: Path) -> list[Output]:
    """The outputs of a script in a process of its own, whose sets of strings have the same sequence every time."""
    command = [sys.executable, str(Path(__file__)), "run", name, str(folder)]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if run.returncode:
        raise RuntimeError(f"the story {name!r} failed:\n{run.stderr}")
    return [Output(**each) for each in json.loads((folder / "outputs.json").read_text("utf-8"))]


def write_outputs(name: str, outputs: list[Output]) -> None:
    parts = [
        f"%% {number}{', a picture' if output.drew else ''}\n{output.printed}"
        for number, output in enumerate(outputs)
        if output.printed or output.drew
    ]
    (FIGURES / f"{name}.txt").write_text("".join(parts), "utf-8")


def kept_outputs(name: str, cells: list[Cell]) -> list[Output]:
    text = (FIGURES / f"{name}.txt").read_text("utf-8")
    parts = re.split(r"^%% (\d+)(, a picture)?\n", text, flags=re.MULTILINE)[1:]
    kept = {int(n): Output(printed, drew is not None) for n, drew, printed in zip(*[iter(parts)] * 3, strict=True)}
    return [kept.get(number, Output()) for number in range(len(cells))]


def page_of(name: str, cells: list[Cell], outputs: list[Output]) -> str:
    """The tutorial: text as it is, code, what it prints and draws."""
    parts = [f"<!-- Made from examples/stories/{name}.py by docs/stories.py: edit the script. -->"]
    for number, (cell, output) in enumerate(zip(cells, outputs, strict=True)):
        parts.append(cell.source if cell.is_text else f"```python\n{cell.source}\n```")
        if number == 0:
            parts.append(
                f"This page is a script, `examples/stories/{name}.py`, and a notebook: "
                f"{{download}}`{name}.ipynb <../../examples/notebooks/{name}.ipynb>`."
            )
        if output.printed:
            parts.append(f"```text\n{output.printed.rstrip()}\n```")
        if output.drew:
            parts.append(f"```{{figure}} ../figures/{name}_{number}.png\n:alt: {cell.title}\n\n{cell.title}\n```")
    return "\n\n".join(parts) + "\n"


def notebook_of(name: str, cells: list[Cell], outputs: list[Output]) -> dict:
    """The notebook with its outputs, as JSON. Links lead to the pages beside it, so they are made plain text."""
    made = []
    count = 0
    for number, (cell, output) in enumerate(zip(cells, outputs, strict=True)):
        identity = {"id": f"{name}-{number}", "metadata": {}}
        if cell.is_text:
            text = re.sub(r"\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", cell.source)
            made.append({"cell_type": "markdown", **identity, "source": text.splitlines(keepends=True)})
            continue
        count += 1
        shown: list[dict] = []
        if output.printed:
            stream = {"output_type": "stream", "name": "stdout", "text": output.printed.splitlines(keepends=True)}
            shown.append(stream)
        if output.drew:
            picture = base64.b64encode(picture_of(name, number).read_bytes()).decode("ascii")
            data = {"image/png": picture, "text/plain": [cell.title]}
            shown.append({"output_type": "display_data", "data": data, "metadata": {}})
        source = cell.source.splitlines(keepends=True)
        made.append(
            {"cell_type": "code", **identity, "execution_count": count, "source": source, "outputs": shown},
        )
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def notebook_text(notebook: dict) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def write_page_and_notebook(name: str) -> None:
    cells = cells_of(name)
    outputs = kept_outputs(name, cells)
    (PAGES / f"{name}.md").write_text(page_of(name, cells, outputs), "utf-8")
    (NOTEBOOKS / f"{name}.ipynb").write_text(notebook_text(notebook_of(name, cells, outputs)), "utf-8")


def make(name: str) -> None:
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        outputs = run_story(name, Path(folder))
        for picture in FIGURES.glob(f"{name}_[0-9]*.png"):
            picture.unlink()
        for picture in Path(folder).glob("*.png"):
            few_colours = Image.open(picture).convert("RGB").quantize(96)
            few_colours.save(picture_of(name, int(picture.stem)), optimize=True)
    write_outputs(name, outputs)
    write_page_and_notebook(name)


def check(name: str) -> None:
    """Execute the notebook with Jupyter's kernel, and compare what it prints."""
    import nbformat
    from nbclient import NotebookClient

    os.environ["PYTHONHASHSEED"] = "0"
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    shown = [printed_by(cell) for cell in notebook.cells]
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    for cell, expected in zip(notebook.cells, shown, strict=True):
        for line, other in zip(printed_by(cell), expected, strict=True):
            if not same_line(line, other):
                raise SystemExit(f"{name}.ipynb shows {other!r}, and its code printed {line!r}")


def printed_by(cell: dict) -> list[str]:
    texts = [
        output["text"]
        for output in cell.get("outputs", [])
        if output["output_type"] == "stream" and output["name"] == "stdout"
    ]
    return "".join(texts).splitlines()


def same_line(line: str, shown: str, tolerance: float = 2e-3) -> bool:
    """Equal words, and numbers that differ in rounding at most."""
    if NUMBER.sub("#", line).split() != NUMBER.sub("#", shown).split():
        return False
    return all(
        abs(float(a) - float(b)) <= max(tolerance, tolerance * abs(float(b)), 1.1 * _last_digit(b))
        for a, b in zip(NUMBER.findall(line), NUMBER.findall(shown), strict=True)
    )


def _last_digit(number: str) -> float:
    """What one unit of the last digit is worth, where there are digits after the point."""
    _, point, digits = number.partition(".")
    return 10.0 ** -len(digits) if point else 0.0


def main() -> None:
    job, *names = sys.argv[1:] or ["help"]
    if job == "run":
        outputs = run_cells(cells_of(names[0]), Path(names[1]))
        (Path(names[1]) / "outputs.json").write_text(json.dumps([vars(output) for output in outputs]), "utf-8")
        return
    jobs = {"make": make, "pages": write_page_and_notebook, "check": check}
    if job not in jobs:
        raise SystemExit(__doc__)
    for name in names or NAMES:
        jobs[job](name)
        print(f"{job}: {name}", flush=True)


if __name__ == "__main__":
    main()
