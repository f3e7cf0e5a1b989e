"""Importing the plots must not import matplotlib; drawing does."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import shap_asv.plots

FILES = sorted(Path(shap_asv.plots.__file__).parent.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_module_imports_matplotlib_or_shap_when_it_is_imported(path):
    """Only imports at the top of a module count; those for type checkers stand below an ``if``."""
    for statement in ast.parse(path.read_text()).body:
        names = []
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            names = [statement.module]
        assert not {name.split(".")[0] for name in names} & {"matplotlib", "shap"}


def test_importing_plots_brings_no_matplotlib_in():
    code = (
        "import sys, shap_asv\n"
        "before = {name for name in sys.modules if name.startswith('matplotlib')}\n"
        "from shap_asv import plots\n"
        "print(sorted({name for name in sys.modules if name.startswith('matplotlib')} - before))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
