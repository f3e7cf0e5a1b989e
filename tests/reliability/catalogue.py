"""Throw every bad input of the catalogue at the package, and count them: ``python -m tests.reliability.catalogue``."""

import sys

from tests.explainer.bad_input import CATALOGUE
from tests.explainer.bad_input.setting import Setting, fault
from tests.reliability.records import Figure, Record, keep

ASKED = 400


def run() -> Record:
    """Every entry once; a figure for each group, and one for all."""
    setting = Setting()
    figures, faults = [], []
    for group, entries in CATALOGUE.items():
        wrong = [f"{name}: {found}" for name, entry in entries.items() if (found := fault(entry, setting))]
        refused = len(entries) - len(wrong)
        figures.append(Figure(group, f"{refused} of {len(entries)} get the catalogued error", "all", not wrong))
        faults += [f"{group}, {text}" for text in wrong]
    total = sum(len(entries) for entries in CATALOGUE.values())
    classes = {entry.error.__name__ for entries in CATALOGUE.values() for entry in entries.values()}
    figures.append(Figure("bad inputs in all", str(total), f"at least {ASKED}", total >= ASKED))
    figures.append(Figure("classes of errors among them", str(len(classes))))
    notes = [
        "Each entry names the exact class and a part of the message. An entry fails when nothing is raised (a number "
        "comes back, NaN or not), when another error or a warning of another library comes up, when an error that is "
        "not of this package's own classes is raised outside of its files, or when there is no answer within a minute.",
        *faults,
    ]
    return Record("catalogue", "Bad input", "python -m tests.reliability.catalogue", figures, notes)


def main() -> int:
    record = run()
    return keep(record)


if __name__ == "__main__":
    sys.exit(main())
