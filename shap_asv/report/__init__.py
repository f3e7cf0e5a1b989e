"""A comparison as one HTML file that reacts: pick a row, an output, methods; everything on the page follows.

Three steps. ``reading.py`` brings the explanations into one block of arrays, features causes first. ``sentences.py``
says in words what the block shows, ``layout.py`` places the causal graph. ``page.py`` packs both with the arrays as
JSON and puts that, with the style sheet and the scripts of ``static/``, into one file which needs nothing else: no
network, no server, no library.

The scripts compute nothing that is not arithmetic on the payload, so whatever stands on the page can be found in the
explanations.
"""

from shap_asv.report.page import write_report

__all__ = ["write_report"]
