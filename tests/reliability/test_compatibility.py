"""What is declared is what is imported and what was tested; importing stays light."""

import subprocess
import sys
from pathlib import Path

import shap_asv
from tests.reliability.declared import (
    ROOT,
    imported_packages,
    modules_of,
    optional_packages,
    runtime_bounds,
    suite_bounds,
    unlisted,
)
from tests.reliability.records import kept

#: Declared since the last run of the suite with the oldest versions: their lower bounds are not tried.
NOT_TRIED_YET = {"selenium", "threadpoolctl", "narwhals", "polars", "pyarrow", "openpyxl"}


def recorded_bounds() -> dict[str, str]:
    """The lower bounds of the last run of the suite with the oldest versions."""
    (record,) = [record for record in kept() if record.name == "compatibility"]
    (figure,) = [figure for figure in record.figures if figure.what == "declared lower bounds"]
    return unlisted(figure.value)


def test_smoke_outside_of_the_source_tree(tmp_path):
    """pgmpy is imported with the first network and not before; the script asserts it."""
    smoke = (ROOT / "tests" / "reliability" / "smoke.py").read_text()
    done = subprocess.run([sys.executable, "-c", smoke], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == Path(shap_asv.__file__)


def test_everything_imported_is_declared():
    imported = imported_packages(Path(shap_asv.__file__).parent) - {"shap_asv"}
    assert imported - modules_of(optional_packages()) == modules_of(runtime_bounds())


def test_declared_lower_bounds_are_the_tested_ones():
    """After a change of bounds, run make compatibility."""
    # XGBoost goes by another name where the record was not taken
    recorded, declared = (
        {name.removesuffix("-cpu"): version for name, version in bounds.items()}
        for bounds in (recorded_bounds(), suite_bounds())
    )
    untried = NOT_TRIED_YET - set(recorded)  # a run of make compatibility finds a record of its own
    assert recorded == {name: bound for name, bound in declared.items() if name not in untried}
