"""The fenced code blocks of Markdown pages."""

import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted(path for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)]

FENCE = re.compile(
    r"^(?P<fence>```+)(?P<language>\S*)(?P<needs>[^\n]*)\n(?P<code>.*?)^(?P=fence)\s*$", re.MULTILINE | re.DOTALL
)

#: The scikit-learn whose models the figures of the pages are of: older ones fit other models to the same rows.
FITTED_BY = (1, 9)
FIGURES_HOLD = tuple(int(part) for part in version("scikit-learn").split(".")[:2]) >= FITTED_BY


@dataclass(frozen=True)
class Block:
    """One block; ``line`` is where its first line of code stands in the page.

    Packages that it ``needs`` beside those of the tests are named behind the language.
    """

    language: str
    code: str
    line: int
    needs: tuple[str, ...] = ()


def blocks_of(text: str) -> list[Block]:
    return [
        Block(
            match["language"],
            match["code"],
            text.count("\n", 0, match.start("code")) + 1,
            tuple(re.findall(r"\w+", match["needs"])) if match["language"] == "python" else (),
        )
        for match in FENCE.finditer(text)
    ]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))
