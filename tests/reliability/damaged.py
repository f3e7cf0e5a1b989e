"""Files that are not a saved explainer, or no longer: truncated, with flipped bits, of other programs.

``python -m tests.reliability.damaged`` loads hundreds of them.
"""

import io
import pickle
import sys
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass, field

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import shap
from sklearn.linear_model import LinearRegression

from shap_asv import AsymmetricExplainer
from shap_asv.errors import PersistenceError
from tests.reliability.jobs import ensemble, network, rows_for
from tests.reliability.records import Figure, Record, keep

#: The first bytes of a file, in which the class, the format, the versions and the digest are.
HEAD = 600


def make_explainer() -> AsymmetricExplainer:
    return AsymmetricExplainer(ensemble("dag", 10, 2), network("dag", 10), link=shap.links.identity, seed=1)


def save(explainer: shap.Explainer) -> bytes:
    stream = io.BytesIO()
    explainer.save(stream)
    return stream.getvalue()


def read(content: bytes) -> AsymmetricExplainer:
    return AsymmetricExplainer.load(io.BytesIO(content))


def truncated(saved: bytes, count: int) -> list[bytes]:
    """So many beginnings of a file: half of them within its first bytes, where everything has its place."""
    short = np.linspace(0, HEAD, count // 2).astype(int)
    lengths = {*short.tolist(), *np.linspace(HEAD + 1, len(saved) - 1, count - len(short)).astype(int).tolist()}
    return [saved[:length] for length in sorted(lengths)]


def flipped(saved: bytes, count: int, start: int = 0, stop: int | None = None) -> list[bytes]:
    """So many files with one bit turned, at random between two places."""
    rng = np.random.default_rng(0)
    places = rng.integers(start, len(saved) if stop is None else stop, size=count)
    found = []
    for place, bit in zip(places, rng.integers(8, size=count), strict=True):
        broken = bytearray(saved)
        broken[place] ^= 1 << int(bit)
        found.append(bytes(broken))
    return found


def foreign() -> dict[str, bytes]:
    """Files of other programs, and of other classes of these."""
    matrix = np.random.default_rng(0).normal(size=(20, 3))
    model = LinearRegression().fit(matrix, matrix[:, 0])
    dumped, archive, arrays = io.BytesIO(), io.BytesIO(), io.BytesIO()
    joblib.dump(model, dumped)
    np.savez(arrays, matrix)
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr("model", b"weights")
    return {
        "empty": b"",
        "text": b"a,b\n1,2\n",
        "bytes": bytes(range(256)) * 4,
        "zeros": bytes(1000),
        "header of a pickle": b"\x80\x04",
        "pickled dict": pickle.dumps({"weights": [1, 2]}),
        "pickled class": pickle.dumps(int),
        "pickled model": pickle.dumps(model),
        "pickled frame": pickle.dumps(pd.DataFrame(matrix)),
        "model of joblib": dumped.getvalue(),
        "arrays of NumPy": arrays.getvalue(),
        "zip archive": archive.getvalue(),
        "another explainer of shap": save(shap.LinearExplainer(model, matrix)),
        "class of a saved explainer alone": pickle.dumps(AsymmetricExplainer),
        "class and another dict": pickle.dumps(AsymmetricExplainer) + pickle.dumps({"format": "other"}),
        "explainer that was pickled, not saved": cloudpickle.dumps(make_explainer()),
    }


@dataclass
class Outcome:
    """What became of files: refused as they should be, read as what they were, or worse."""

    refused: int = 0
    harmless: int = 0
    worse: list[str] = field(default_factory=list)

    @property
    def total(self) -> int:
        return self.refused + self.harmless + len(self.worse)


def load_all(contents: Iterable[bytes], explainer: AsymmetricExplainer) -> Outcome:
    """Load each; what loads must explain rows as ``explainer`` does, bit by bit."""
    rows = rows_for(explainer, 3)
    expected = explainer(rows, silent=True)
    outcome = Outcome()
    for content in contents:
        try:
            found = read(content)(rows, silent=True)
        except PersistenceError:
            outcome.refused += 1
        except Exception as error:
            outcome.worse.append(f"{type(error).__name__}: {error}")
        else:
            same = np.array_equal(found.values, expected.values)
            same &= np.array_equal(found.base_values, expected.base_values)
            if same:
                outcome.harmless += 1
            else:
                outcome.worse.append("another explainer was loaded")
    return outcome


def main() -> int:
    explainer = make_explainer()
    saved = save(explainer)
    cases = {
        "truncated files": truncated(saved, 200),
        "files with a flipped bit, anywhere": flipped(saved, 200),
        f"files with a flipped bit, in the first {HEAD} bytes": flipped(saved, 200, stop=HEAD),
        "foreign files": list(foreign().values()),
    }
    figures = []
    wrong: list[str] = []
    for what, contents in cases.items():
        outcome = load_all(contents, explainer)
        may_load = "flipped" in what
        value = f"{outcome.refused} of {outcome.total} are a PersistenceError"
        if may_load:
            value += f", {outcome.harmless} give the same bits as before"
        holds = not outcome.worse and (may_load or outcome.refused == outcome.total)
        figures.append(Figure(what, value, "all, or the same bits" if may_load else "all", holds))
        wrong += outcome.worse
    figures.append(Figure("files that loaded another explainer, or failed otherwise", str(len(wrong)), "0", not wrong))
    notes = [
        f"A saved explainer of {len(saved):,} bytes. The flipped bits that do no harm are in the notes of versions and "
        "in the bookkeeping of the pickle.",
        *wrong[:5],
    ]
    command = "python -m tests.reliability.damaged"
    return keep(Record("damaged", "Damaged and foreign files", command, figures, notes))


if __name__ == "__main__":
    sys.exit(main())
