"""Limits: Ctrl-C, memory that is predicted and bounded, a progress bar that tells the truth."""

import tracemalloc

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer
from shap_asv.backends.pace import SECONDS_PER_CALL, paced
from shap_asv.errors import BudgetExceededError, MethodNotApplicableError
from shap_asv.explainer import asymmetric, progress
from shap_asv.explainer.blocks import BLOCK_LIMIT, cut_rows
from shap_asv.explainer.execution import find_equal_rows
from shap_asv.planning import result_bytes
from tests.reliability.jobs import JOBS, ensemble, network, rows_for
from tests.reliability.limits import interrupted

# --- Ctrl-C ---------------------------------------------------------------------------------------------------------


# A compiled kernel, and the loop over draws; all backends, and two processes, in ``make limits``.
STOPPED = ("forest", "monte_carlo")


def test_ctrl_c_stops_within_a_second_and_leaves_the_explainer_usable():
    for result in interrupted(1, STOPPED):
        assert result["seconds"] is not None, f"{result['job']} ended before it could be interrupted"
        assert result["seconds"] < 1.0, result
        assert result["usable"], result


def test_pieces_shrink_when_they_take_long(monkeypatch):
    clock = iter(np.arange(100) * 10 * SECONDS_PER_CALL)  # whatever it is, it takes ten times too long
    monkeypatch.setattr("shap_asv.backends.pace.perf_counter", lambda: next(clock))
    sizes = [piece.stop - piece.start for piece in paced(100, first=64)]
    assert sizes == [64, 6, *[1] * 30]


# --- memory ---------------------------------------------------------------------------------------------------------


def test_memory_past_the_limit_is_an_error_that_says_so():
    explainer = AsymmetricExplainer(ensemble("dag", 10, 2), network("dag", 10), memory_limit=2**10)
    with pytest.raises(MethodNotApplicableError, match=r"needs \d+ MiB, the limit is less than 1 MiB: raise"):
        explainer(rows_for(explainer, 10))


def test_rows_and_processes_count_in_the_plan():
    def memory(n_rows, n_jobs=1):
        explainer = JOBS["ideals x closures"](n_jobs=n_jobs, memory_limit=2**50)
        return explainer.plan(n_rows).memory

    grown = memory(2_000_000) - memory(1_000_000)
    assert grown == result_bytes(1_000_000, 16, 1, exact=True)
    assert memory(1000, n_jobs=3) > 2.5 * memory(1000)


def test_rows_are_not_even_read_where_there_is_no_room(monkeypatch):
    """Reading them would take the memory: the error has to come before, whatever the backend."""
    explainer = JOBS["ideals x closures"](memory_limit=2**27)
    rows = rows_for(explainer, 10)
    many = rows.iloc[np.zeros(500_000, dtype=int)]
    monkeypatch.setattr(asymmetric, "fit_rows", None)
    with pytest.raises(BudgetExceededError, match=r"500,000 rows .* at least .* MiB \(raise memory_limit=\)"):
        explainer(many)


def test_memory_in_use_does_not_grow_with_the_rows_but_for_the_result():
    explainer = JOBS["ideals x closures"]()
    rows = rows_for(explainer, 4000)
    explainer(rows[:100], silent=True)

    def peak(n_rows):
        tracemalloc.start()
        explainer(rows[:n_rows], silent=True)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    grown = peak(4000) - peak(2000)
    assert grown < 2 * result_bytes(2000, 16, 1, exact=True)


def test_blocks_are_bounded_by_the_size_of_the_result():
    cuts = cut_rows(100_000, 2048, n_numbers=100_000, rowwise=True, jobs=1)
    assert max(block.stop - block.start for block in cuts) * 100_000 <= BLOCK_LIMIT
    assert [block.start for block in cuts[1:]] == [block.stop for block in cuts[:-1]]


def test_equal_rows_are_found_wherever_they_are():
    rng = np.random.default_rng(0)
    for rows in (rng.integers(0, 3, size=(500, 4)), rng.integers(-2, 2, size=(500, 3)).astype(float)):
        alike = find_equal_rows(rows)
        assert len(np.unique(alike.distinct, axis=0)) == len(alike.distinct) == len(np.unique(rows, axis=0))
        again = np.empty_like(rows)
        for block in cut_rows(len(alike.distinct), 7, 1, rowwise=True, jobs=1):
            places, source = alike.places(block)
            again[places] = alike.distinct[block][source]
        np.testing.assert_array_equal(again, rows)


def test_equal_rows_are_explained_once_over_all_blocks():
    asked = []

    def model(X):
        asked.append(len(X))
        return np.ones(len(X))

    explainer = AsymmetricExplainer(model, np.zeros((1, 3)), algorithm="ideals x marginal")
    rows = np.repeat(np.arange(5.0), 1000)[:, None] * np.ones(3)
    explainer(rows[:5], silent=True)
    asked.clear()
    values = explainer(rows, silent=True).values
    assert sum(asked) < 5 * 2**3 + 2 * len(asked)
    assert values.shape == (5000, 3)


# --- the progress bar -----------------------------------------------------------------------------------------------


def test_the_bar_counts_rows_moves_within_blocks_and_ends_at_its_total(monkeypatch, capsys):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    shown = []
    original = progress.ProgressBar.reach

    def recorded(self, n_rows):
        original(self, n_rows)
        shown.append((self._bar.n, self._bar.total))

    monkeypatch.setattr(progress.ProgressBar, "reach", recorded)
    explainer = JOBS["ideals x closures"]()
    rows = rows_for(explainer, 2500)
    explainer(rows)
    counts = [n for n, _ in shown]
    assert {total for _, total in shown} == {2500}
    assert counts == sorted(counts)
    assert counts[-1] == 2500
    assert len(set(counts)) > 8  # blocks of rows
    assert "2.50k/2.50k" in capsys.readouterr().err


@pytest.mark.parametrize(("silent", "delay"), [(True, 0.0), (False, progress.DELAY)])
def test_silent_means_silent_and_short_calls_show_no_bar(silent, delay, monkeypatch, capsys):
    monkeypatch.setattr(progress, "DELAY", delay)
    explainer = JOBS["ideals x table"]()
    explainer(rows_for(explainer, 10), silent=silent)
    assert capsys.readouterr().err == ""
