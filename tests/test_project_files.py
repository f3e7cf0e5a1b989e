"""Files for the world agree with the package: one version, the same Pythons everywhere, data that are packed."""

import re
import tomllib
from pathlib import Path

import shap_asv

ROOT = Path(shap_asv.__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_one_version():
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)[1]
    assert PROJECT["project"]["version"] == shap_asv.__version__ == citation


def test_pythons_of_the_workflow_are_those_declared():
    matrix = re.search(r"python: \[(.*)\]", (ROOT / ".github/workflows/tests.yml").read_text("utf-8"))[1]
    tested = re.findall(r"3\.\d+", matrix)
    declared = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["project"]["classifiers"]))
    assert tested == declared
    assert PROJECT["project"]["requires-python"] == f">={declared[0]}"


def test_files_of_the_report_are_packed():
    from shap_asv.report.page import SCRIPTS

    assert PROJECT["tool"]["setuptools"]["package-data"]["shap_asv.report"] == ["static/*"]
    present = {path.name for path in (ROOT / "shap_asv" / "report" / "static").iterdir()}
    assert present == {*SCRIPTS, "page.html", "page.css"}


def test_links_of_the_pages_for_contributors_lead_somewhere():
    for name in ("CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"):
        text = (ROOT / name).read_text("utf-8")
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (ROOT / target).exists(), f"{name}: {target}"


def test_make_demo_needs_the_package_alone():
    text = (ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"^demo: \$\(PACKAGE_READY\)$", text, re.MULTILINE)
    rule = text.split("$(PACKAGE_READY): pyproject.toml")[1].split("\n\n")[0]
    assert "--editable ." in rule
    assert "[dev]" not in rule


def test_make_check_runs_all_contracts():
    text = (ROOT / "Makefile").read_text("utf-8")
    checked = set(re.findall(r"tests/\S+\.py", re.search(r"^CHECKED :=(.*?)\n\n", text, re.MULTILINE | re.DOTALL)[1]))
    assert all((ROOT / test).exists() for test in checked)
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_contract.py")} <= checked
