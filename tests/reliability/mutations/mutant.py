"""What a mutant is: one wrong line, and the tests that have to notice it."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Mutant:
    """``old`` becomes ``new`` in ``shap_asv/<file>``; ``tests`` are node ids, by default the neighbours of the file."""

    what: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        return self.tests or neighbours(self.file)


def neighbours(file: str, root: Path = ROOT) -> tuple[str, ...]:
    """Test files beside ``shap_asv/<file>``, in the same room: those that import it or are called like it, and the
    contract tests. A row in a table is tested by these, whichever file it comes from; so nothing has to be listed.

    >>> neighbours("backgrounds/discrete/states/border.py")
    ('tests/backgrounds/test_contract.py', 'tests/backgrounds/test_encoding.py')
    """
    path = Path(file)
    module = ".".join(("shap_asv", *path.with_suffix("").parts)).removesuffix(".__init__")
    named = ("test_contract.py", f"test_{path.name}")
    inside = len(path.parts) > 1
    beside = (root / "tests" / path.parts[0]).rglob("test_*.py") if inside else (root / "tests").glob("test_*.py")
    found = [test for test in beside if test.name in named or module in imported_modules(test)]
    return tuple(sorted(test.relative_to(root).as_posix() for test in found))


@cache
def imported_modules(path: Path) -> frozenset[str]:
    """Modules and names that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(names)
