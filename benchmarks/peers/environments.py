"""Virtual environments of the peers whose versions collide with ours, made on demand under ``benchmarks/.peers/``.

A peer that cannot be installed is left out, and the reason is part of the result. Nothing is installed when the
environment variable ``BENCHMARKS_NO_INSTALL`` is set, or in a small run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".peers"


@dataclass(frozen=True)
class Environment:
    """What to install, on which versions of Python ("" = the one that runs this); ``why`` explains the choice."""

    name: str
    requirements: tuple[str, ...]
    python: str = ""
    why: str = ""


@dataclass(frozen=True)
class Missing:
    """A participant that does not take part, and why."""

    reason: str


def same_version(*names: str) -> str:
    """The requirement for a package as it is installed here, under the first of its names that is."""
    for name in names:
        try:
            return f"{name}=={version(name)}"
        except PackageNotFoundError:
            continue
    return names[0]


ENVIRONMENTS = {
    environment.name: environment
    for environment in (
        Environment(
            "causasv",
            ("causasv==0.8.9", "numpy"),
            python="3.9",
            why="its wheels are built for CPython 3.9 alone; for any other version pip compiles the Rust source, which "
            "needs a Rust compiler and the registry of its crates",
        ),
        Environment(
            "pyagrum",
            ("pyagrum==3.3.1", "ipython", "pandas"),
            why="its module `explain` imports IPython, which it does not ask for",
        ),
        Environment(
            "woodelf",
            ("woodelf_explainer==0.4.8", same_version("scikit-learn"), same_version("xgboost", "xgboost-cpu")),
            why="it reads models that were fitted here, so that their libraries must be of the same version",
        ),
        Environment(
            "dowhy",
            ("dowhy==0.14", same_version("xgboost", "xgboost-cpu")),
            why="it is no dependency of ours, and asks for an older scipy; XGBoost's models are read back",
        ),
        Environment(
            "shapiq",
            ("shapiq==1.8.0", "pandas<3", same_version("xgboost", "xgboost-cpu")),
            python="3.12",
            why="it is no dependency of ours, and its newest versions need Python 3.12; one of its imputers needs "
            "XGBoost, and with pandas 3 it cannot read XGBoost's trees",
        ),
    )
}


def installing_allowed() -> bool:
    return not os.environ.get("BENCHMARKS_NO_INSTALL")


def prepare(environment: Environment, install: bool = True, cache: Path = CACHE) -> Path | Missing:
    """The interpreter of an environment, made if need be and allowed; or why there is none."""
    folder = cache / environment.name
    interpreter = folder / "bin" / "python"
    ready = folder / "installed.txt"
    wanted = "\n".join(environment.requirements)
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return interpreter
    if not install:
        return Missing("not installed, and this run installs nothing")
    base = find_python(environment.python)
    if base is None:
        return Missing(f"there is no Python {environment.python} here ({environment.why})")
    shutil.rmtree(folder, ignore_errors=True)
    for command in (
        [base, "-m", "venv", str(folder)],
        [str(interpreter), "-m", "pip", "install", "--quiet", "--only-binary=:all:", *environment.requirements],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return Missing(f"installing it failed: {last_error(done.stderr)}")
    ready.write_text(wanted, encoding="utf-8")
    return interpreter


def find_python(version: str) -> str | None:
    """An interpreter of that version that runs: this one, one on the path, or one of pyenv's."""
    if not version:
        return sys.executable
    for candidate in _candidates(version):
        told = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True
        )
        if told.returncode == 0 and told.stdout.strip() == version:
            return candidate
    return None


def last_error(text: str) -> str:
    """The line that says what went wrong, without addresses."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith("error")] or lines or ["no message"]
    return re.sub(r"\w+://\S+", "...", errors[-1])


def _candidates(version: str) -> Iterator[str]:
    yield sys.executable
    on_path = shutil.which(f"python{version}")
    if on_path:
        yield on_path
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from (str(path) for path in sorted(versions.glob(f"{version}.*/bin/python")))
