"""Importing the plots must not import matplotlib; drawing does."""

import ast
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
