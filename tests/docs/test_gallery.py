"""The gallery has every plot, and every picture that it shows is there; its code runs with the other snippets."""

import re

from shap_asv import plots
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "gallery.md").read_text("utf-8")


def test_every_plot_is_in_the_gallery():
    functions = [name for name in plots.__all__ if name[0].islower()]
    assert len(functions) > 5
    missing = [name for name in functions if f"plots.{name}(" not in TEXT]
    assert missing == []


def test_every_picture_is_there_and_no_other():
    shown = set(re.findall(r"\]\(figures/gallery/([^)]+)\)", TEXT))
    kept = {path.name for path in (ROOT / "docs" / "figures" / "gallery").iterdir()}
    assert shown == kept


def test_every_plot_has_its_picture_in_the_reference():
    reference = (ROOT / "docs" / "reference" / "plots.md").read_text("utf-8")
    functions = re.findall(r"autofunction:: (\w+)", reference)
    assert len(functions) > 5
    assert re.findall(r"gallery/(\w+)\.png", reference) == functions
