"""``explain`` with its defaults on large tables: two minutes, true sentences, and ASV that more draws confirm.

``python -m tests.reliability.pages [kind ...]`` writes seeded tables of the kinds of :mod:`tests.command.pages`, 60
columns and 200,000 rows among them, and exits with 1 where one of these fails:

- the page is written within 120 CPU seconds, reading, training and fitting included;
- every sentence on it is recomputed from its arrays;
- where ASV is sampled, a run with 16 times the draws differs by no more than the standard errors explain: the root mean
  square of z is at most 1.3, and no z is past 5.5.
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from shap_asv.__main__ import main
from shap_asv.command.jobs import make_explainer, prepare, telling_output
from shap_asv.command.request import check_request, make_parser
from tests.command.pages import KINDS, check_sentences, payload_of, write_table

SIZES = {"semicolons, decimal commas": 200_000, "60 columns": 1500}
N_ROWS, SECONDS = 2400, 120.0
MORE = 16


def run(kind: str, folder: Path) -> str:
    """What is wrong with a kind of table; empty where nothing is."""
    words = write_table(kind, SIZES.get(kind, N_ROWS), folder)
    words = [str(folder / "dag.csv") if word == "dag.csv" else word for word in words]
    start = time.process_time()
    if main([*words, "--out", str(folder / "page")]) != 0:
        return "explain failed"
    seconds = time.process_time() - start
    wrong = f"took {seconds:.0f} CPU seconds" if seconds > SECONDS else ""
    try:
        check_sentences(payload_of((folder / "page" / "index.html").read_text("utf-8")))
    except AssertionError as error:
        wrong += f" a sentence is wrong: {error}"
    return wrong + more_draws(words)


def more_draws(words: list[str]) -> str:
    request = check_request(make_parser().parse_args([*words, "--rows", "20"]))
    task = prepare(request, print)
    output = telling_output(task.model, None)
    picked = {} if output is None else {"outputs": output}
    explainer = make_explainer(task, request, "conditional")
    few = explainer(task.rows, silent=True, **picked)
    if few.error_std is None or explainer.plan(len(task.rows)).exact:
        return ""
    draws = explainer._known_execution().last_plan.chosen.cost.draws
    many = explainer._derived(n_draws=MORE * draws, seed=1)(task.rows, silent=True, **picked)
    scale = np.hypot(few.error_std, many.error_std)
    z = (few.values - many.values)[scale > 0] / scale[scale > 0]
    print(f"z: root mean square {np.sqrt((z**2).mean()):.2f}, largest {np.abs(z).max():.1f}")
    off = np.sqrt((z**2).mean()) > 1.3 or np.abs(z).max() > 5.5
    return " ASV differs from that of more draws by more than its errors" if off else ""


def check_all(kinds: list[str]) -> int:
    found = {}
    for kind in kinds or list(KINDS):
        with TemporaryDirectory() as folder:
            print(f"--- {kind}")
            found[kind] = run(kind, Path(folder))
    for kind, wrong in found.items():
        print(f"{kind}: {wrong or 'holds'}")
    return int(any(found.values()))


if __name__ == "__main__":
    sys.exit(check_all(sys.argv[1:]))
