"""A million rows of the network child through a decision tree, exactly: time, memory, bar.

``python -m tests.reliability.million [rows]``; fewer than a million are shown, but no record is kept of them.
"""

import io
import sys
import time
from contextlib import redirect_stderr

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from shap_asv import AsymmetricExplainer, load_network, sample_rows
from tests.reliability.peaks import Peak
from tests.reliability.records import Figure, Record, keep, show

TARGET = "XrayReport"
ASKED = 1_000_000


def gib(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"


def main(n_rows: int) -> int:
    network = load_network("child")
    train = sample_rows(network, 5000, seed=0)
    model = make_pipeline(OrdinalEncoder(), DecisionTreeClassifier(max_depth=8, random_state=0))
    model.fit(train.drop(columns=TARGET), train[TARGET])
    explainer = AsymmetricExplainer(model, network)
    rows = sample_rows(network, n_rows, seed=1).drop(columns=TARGET)
    distinct = len(rows.drop_duplicates())
    small = explainer(rows[:1000], silent=True)
    predicted = explainer.plan(n_rows)
    shown = io.StringIO()
    start = time.perf_counter()
    with redirect_stderr(shown), Peak() as peak:
        explanation = explainer(rows)
    seconds = time.perf_counter() - start
    used = peak.used
    sums = explanation.values.sum(axis=1) + explanation.base_values
    probabilities = model.predict_proba(rows)
    gap = float(np.abs(sums - probabilities).max())
    moves = shown.getvalue().count("\r")
    bar = shown.getvalue().rsplit("\r", 1)[-1]
    same = bool(np.array_equal(explanation.values[:1000], small.values))
    record = Record(
        "million",
        "A million rows",
        "make limits",
        [
            Figure("rows of child explained, 19 features, 5 outputs", f"{n_rows:,}", f"{ASKED:,}", n_rows >= ASKED),
            Figure("backend", explainer.plan(n_rows).chosen.name),
            Figure("distinct rows, each computed once", f"{distinct:,}"),
            Figure(
                "time of the call",
                f"planned {predicted.seconds:,.0f} s; taken {seconds:,.0f} s",
                "planned: at least a third of the time taken",
                predicted.seconds >= seconds / 3,
            ),
            Figure("rows per second", f"{n_rows / seconds:,.0f}"),
            Figure("distinct rows per second", f"{distinct / seconds:,.0f}"),
            Figure(
                "memory that the call took",
                gib(used),
                f"at most {gib(predicted.memory)}, as planned",
                used <= predicted.memory,
            ),
            Figure("of which the result", gib(explanation.values.nbytes)),
            Figure("times the bar moved", f"{moves:,}", "often", moves > 50),
            Figure("the bar ends at its total", "yes" if "100%" in bar else "no", "yes", "100%" in bar),
            Figure("largest gap between attributions and prediction", f"{gap:.0e}", "1e-9", gap < 1e-9),
            Figure("the first 1,000 rows explained alone", "same bits" if same else "differ", "same bits", same),
        ],
    )
    if n_rows < ASKED:
        show(record)
        print(f"no record is kept of fewer than {ASKED:,} rows")
    else:
        keep(record)
    return 0 if record.holds else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else ASKED))
