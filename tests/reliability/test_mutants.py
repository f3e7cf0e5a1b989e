"""The list of mutants follows the code: every line that is broken is there once, every test beside it exists."""

import inspect
from pathlib import Path

import pytest

from shap_asv.backgrounds.registry import BACKGROUNDS
from shap_asv.values.registry import VALUE_METHODS
from tests.reliability.mutants import MUTANTS, ROOT, neighbours, place_of


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_the_line_is_there_once_and_the_tests_exist(mutant):
    path, text = place_of(ROOT, mutant)
    assert path.suffix == ".py"
    assert mutant.new not in (mutant.old, text)
    assert mutant.asked
    for test in mutant.asked:
        file, _, name = test.partition("::")
        source = (ROOT / file).read_text()
        assert not name or f"def {name.partition('[')[0]}(" in source


def declared_files():
    """Where the rows of the tables come from."""
    rows = [kind.read for kind in BACKGROUNDS]
    rows += [method.build for method in VALUE_METHODS]
    return sorted(
        {Path(inspect.getfile(inspect.unwrap(row))).relative_to(ROOT / "shap_asv").as_posix() for row in rows}
    )


@pytest.mark.parametrize("file", declared_files())
def test_whatever_is_in_a_table_has_its_contract_tests_for_neighbours(file):
    assert f"tests/{file.split('/')[0]}/test_contract.py" in neighbours(file)
