"""What ``pyproject.toml`` declares: packages and their lowest versions, which are the oldest ones that are tested."""

import ast
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]

#: Modules of packages that are not called like them.
MODULES = {"scikit-learn": {"sklearn"}, "dask": {"dask", "distributed"}}

#: Extras that the tests have no use for.
UNTESTED = ("docs",)


def project(root: Path = ROOT) -> dict:
    """The ``[project]`` table."""
    return tomllib.loads((root / "pyproject.toml").read_text())["project"]


def extras(root: Path = ROOT) -> list[str]:
    """The extras that are installed for a run of the tests."""
    return [name for name in project(root).get("optional-dependencies", {}) if name not in UNTESTED]


def lower_bounds(requirements: Iterable[str]) -> dict[str, str]:
    """``{"numpy": "2.0"}`` of ``["numpy>=2.0"]``; requirements for other platforms are left out.

    >>> lower_bounds(["numpy>=2.0", "xgboost>=3; sys_platform == 'nowhere'"])
    {'numpy': '2.0'}
    """
    bounds = {}
    for text in requirements:
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        if requirement.name.replace("_", "-") == "shap-asv":  # an extra made of other extras
            continue
        lowest = [bound.version for bound in requirement.specifier if bound.operator == ">="]
        if len(lowest) != 1:
            raise ValueError(f"{text!r} declares no lower bound; write {requirement.name}>=...")
        bounds[requirement.name] = lowest[0]
    return bounds


def runtime_bounds(root: Path = ROOT) -> dict[str, str]:
    """Lower bounds of what every user gets."""
    return lower_bounds(project(root)["dependencies"])


def suite_bounds(root: Path = ROOT) -> dict[str, str]:
    """Lower bounds of all that is installed for the tests."""
    optional = project(root).get("optional-dependencies", {})
    return runtime_bounds(root) | lower_bounds(text for extra in extras(root) for text in optional[extra])


def modules_of(packages: Iterable[str]) -> set[str]:
    """The modules that packages of the index bring along.

    >>> sorted(modules_of(["numpy", "scikit-learn"]))
    ['numpy', 'sklearn']
    """
    return {module for package in packages for module in MODULES.get(package, {package})}


def optional_packages(root: Path = ROOT) -> set[str]:
    """What a user may install beside: the extras that are not for developers."""
    declared = project(root).get("optional-dependencies", {})
    return {name for extra in declared if extra not in ("dev", *UNTESTED) for name in lower_bounds(declared[extra])}


def imported_packages(folder: Path) -> set[str]:
    """Top-level names that the files below ``folder`` import, the standard library left out."""
    names: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names)


def listed(versions: dict[str, str]) -> str:
    """``numpy 2.0, scipy 1.14``."""
    return ", ".join(f"{package} {version}" for package, version in versions.items())


def unlisted(text: str) -> dict[str, str]:
    """What :func:`listed` was made of.

    >>> unlisted(listed({"numpy": "2.0", "scipy": "1.14"}))
    {'numpy': '2.0', 'scipy': '1.14'}
    """
    return dict(entry.split(" ") for entry in text.split(", "))
