"""How long a model takes is measured before a plan promises anything; the clock here is turned by hand."""

from threading import Thread

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.models.calls import speed
from shap_asv.models.calls.speed import FASTEST, LARGEST_MODEL, Stopwatch, Timed
from shap_asv.models.plain import read_plain_model

NAMES = tuple(f"x{v}" for v in range(14))
COINS = DiscreteNetwork(NAMES, ((0, 1),) * 14, ((),) * 14, (np.array([0.4, 0.6]),) * 14)


class Clock:
    """A model whose call takes ``per_call + rows * per_row`` on a clock that nothing else moves."""

    def __init__(self, per_call: float, per_row: float) -> None:
        self.now, self.per_call, self.per_row = 0.0, per_call, per_row
        self.asked: list[int] = []

    def perf_counter(self) -> float:
        return self.now

    def __call__(self, X):
        self.asked.append(len(X))
        self.now += self.per_call + len(X) * self.per_row
        return np.asarray(X, dtype=float).sum(axis=1)

    def take(self, n_rows: int) -> None:
        self(np.zeros((n_rows, 1)))


def install(monkeypatch, per_call: float, per_row: float) -> Clock:
    clock = Clock(per_call, per_row)
    monkeypatch.setattr(speed.time, "perf_counter", clock.perf_counter)
    monkeypatch.setattr(speed, "kept_waiting", lambda: 0.0)
    return clock


def stopwatch(clock: Clock, n_rows: int) -> Stopwatch:
    before = clock.now
    clock.take(n_rows)
    first = Timed(n_rows, clock.now - before)
    clock.asked.clear()
    return Stopwatch(clock.take, first)


@pytest.mark.parametrize("per_call", [0.0, 1e-3, 0.1, 1.5])
@pytest.mark.parametrize("per_row", [1e-9, 1e-5, 1e-4, 3e-3])
def test_rows_are_told_from_calls(monkeypatch, per_call, per_row):
    watch = stopwatch(install(monkeypatch, per_call, per_row), 3)
    for n_rows, n_calls in ((10**6, 16), (10**5, 500)):
        true = n_calls * per_call + n_rows * max(FASTEST, per_row)
        assert true * (1 - 1e-9) <= watch.seconds(n_rows, n_calls) <= 2.1 * true + n_calls * FASTEST


def test_many_small_calls_take_as_long_as_they_do(monkeypatch):
    clock = install(monkeypatch, 0.02, 1e-6)
    watch = stopwatch(clock, 5)
    assert watch.seconds(600, 200) == pytest.approx(4.0, rel=0.01)
    assert clock.asked == []


def test_no_call_is_larger_than_those_that_are_planned(monkeypatch):
    clock = install(monkeypatch, 0.05, 1e-5)
    watch = stopwatch(clock, 2)
    watch.seconds(100_000, 1000)
    assert max(clock.asked) == 32
    watch.seconds(100_000, 1)
    assert max(clock.asked) == 512
    watch.seconds(100_000, 1, most=50)
    assert sorted(set(clock.asked)) == [2, 8, 32, 128, 512]  # and once more as few as at first


def test_a_slow_model_is_asked_only_a_little_longer(monkeypatch):
    clock = install(monkeypatch, 0.0, 1.0)
    assert 1e6 <= stopwatch(clock, 3).seconds(10**6, 1) < 2.1e6
    assert clock.asked == [6]
    clock = install(monkeypatch, 0.0, 0.01)
    stopwatch(clock, 4).seconds(10**6, 1)
    assert sum(clock.asked) < 100


def test_a_fast_model_is_asked_about_few_rows(monkeypatch):
    clock = install(monkeypatch, 1e-5, 1e-7)
    assert stopwatch(clock, 2).seconds(10**6, 1) == pytest.approx(10**6 * FASTEST, rel=1e-3)
    assert sum(clock.asked) < 500


def test_nothing_is_asked_where_nobody_would_wait(monkeypatch):
    clock = install(monkeypatch, 1e-3, 1e-3)
    assert stopwatch(clock, 2).seconds(60, 1) == pytest.approx(0.09)
    assert clock.asked == []
    assert stopwatch(clock, 2).seconds(0, 0) == pytest.approx(0.003)
    assert clock.asked == []


def test_a_small_job_asks_little(monkeypatch):
    """Draws would be many, but a model over 32 states is asked about no more than 32 rows to plan."""
    clock = install(monkeypatch, 0.05, 0.0)
    five = DiscreteNetwork(NAMES[:5], ((0, 1),) * 5, ((),) * 5, (np.array([0.4, 0.6]),) * 5)
    explainer = AsymmetricExplainer(clock, five, feature_names=list(NAMES[:5]))
    clock.asked.clear()
    assert explainer.plan(1).exact
    assert sum(clock.asked) <= 40


def test_batches_are_kept(monkeypatch):
    def model(X):
        assert len(X) <= 100
        return slow(X)

    slow = install(monkeypatch, 0.004, 1e-3)
    explainer = AsymmetricExplainer(model, COINS, feature_names=list(NAMES), algorithm="ideals x table")
    explainer(np.zeros((1, 14), dtype=int), batch_size=100)


@pytest.mark.parametrize("columns", [None, ["a", "b", "c"]])
def test_timing_hands_over_rows_as_they_come(monkeypatch, columns):
    import pandas as pd

    clock = install(monkeypatch, 0.01, 0.01)

    def model(X):
        if columns is not None:
            assert list(X.columns) == columns
            assert X.index.is_unique
        return clock(X)

    data = np.arange(60.0).reshape(20, 3)
    data = data if columns is None else pd.DataFrame(data, columns=columns)
    clock.asked.clear()
    plan = AsymmetricExplainer(model, data).plan(50)
    assert plan.chosen.estimate.seconds > 1.0
    assert max(clock.asked) > 5


def test_a_call_that_was_held_up_is_not_believed(monkeypatch):
    """The first call stood still for half a second, and 4,000 calls would take half an hour: they are timed again."""
    clock = install(monkeypatch, 1e-4, 1e-6)
    held_up = Stopwatch(clock.take, Timed(4, 0.5))
    assert held_up.seconds(10**6, 4000) < 5.0
    slow = stopwatch(install(monkeypatch, 0.5, 1e-6), 4)
    assert slow.seconds(10**6, 4000) > 2000


def test_the_same_question_has_the_same_answer(monkeypatch):
    """All is timed once more before a long wait, and held up this time: what was known before counts, and stays."""
    clock = install(monkeypatch, 1e-2, 1e-6)
    watch = stopwatch(clock, 4)
    assert watch.seconds(10, 1) < 1.0
    before = watch._seconds(10**6, 4000, 512)
    clock.per_call = 0.2
    assert before > 30
    assert watch.seconds(10**6, 4000) == watch.seconds(10**6, 4000) == before


def test_what_a_model_loads_at_first_is_not_counted(monkeypatch):
    clock = install(monkeypatch, 2.0, 1e-6)

    def model(X):
        answer = clock(X)
        clock.per_call = 1e-4
        return answer

    predictor = read_plain_model(model, probe=np.ones((5, 3)))
    assert predictor.seconds(10**6, 16) < 10


def test_matrices_are_timed_on_their_own_rows(monkeypatch):
    clock = install(monkeypatch, 0.0, 1e-3)
    predictor = read_plain_model(clock, probe=np.ones((5, 3)))
    assert 1e3 <= predictor.seconds(10**6, 10) <= 2.1e3


def test_plans_know_slow_models(monkeypatch):
    """16,384 states: seconds for a quick model, an hour for one that takes 0.2 s a row."""
    quick = AsymmetricExplainer(install(monkeypatch, 0.0, 1e-4), COINS, algorithm="auto", feature_names=list(NAMES))
    assert quick.plan(3).exact
    clock = install(monkeypatch, 0.0, 0.2)
    slow = AsymmetricExplainer(clock, COINS, algorithm="auto", n_orders=4, n_draws=4, feature_names=list(NAMES))
    plan = slow.plan(3)
    assert not plan.exact
    assert "would take about" in plan.why
    by_name = AsymmetricExplainer(clock, COINS, algorithm="ideals x table", feature_names=list(NAMES)).plan(3)
    assert by_name.chosen.estimate.seconds >= 16_384 * 0.2


def test_what_costs_as_much_as_an_exact_result_is_not_sampled(monkeypatch):
    """Past the budget either way: with sampled orders the model would be asked about every state, too."""
    ten = DiscreteNetwork(NAMES[:10], ((0, 1),) * 10, ((),) * 10, (np.array([0.4, 0.6]),) * 10)
    clock = install(monkeypatch, 0.0, 0.02)
    plan = AsymmetricExplainer(clock, ten, feature_names=list(NAMES[:10]), budget=15).plan(10)
    assert plan.exact
    assert "sampling would not take much less" in plan.why


def test_an_approximation_keeps_to_the_budget(monkeypatch):
    """A chain of 20: one order, 21 coalitions, a million states; draws are affordable, every state is not."""
    names = tuple(f"x{v}" for v in range(20))
    flip = np.array([[0.7, 0.2], [0.3, 0.8]])
    parents = ((), *((v,) for v in range(19)))
    chain = DiscreteNetwork(names, ((0, 1),) * 20, parents, (np.array([0.4, 0.6]), *(flip,) * 19))
    clock = install(monkeypatch, 0.0, 0.004)
    plan = AsymmetricExplainer(clock, chain, feature_names=list(names)).plan(1)
    assert plan.chosen.name == "ideals x monte_carlo"
    assert plan.chosen.estimate.seconds <= 600


def test_a_model_is_not_slow_because_others_keep_it_from_running(monkeypatch):
    """Every call stands in the queue for a second, and takes a millisecond for a row beside that."""
    turned = install(monkeypatch, 0.0, 1e-3)
    waited = [0.0]
    monkeypatch.setattr(speed, "kept_waiting", lambda: waited[0])

    def kept_from_running(n_rows):
        turned.take(n_rows)
        turned.now += 1.0
        waited[0] += 1.0

    watch = Stopwatch(kept_from_running, Timed(2, 0.002))
    assert watch.seconds(10_000, 10) == pytest.approx(10.0, rel=0.5)


def test_waiting_in_the_queue_is_told_in_seconds():
    before = speed.kept_waiting()
    assert 0.0 <= before <= speed.kept_waiting()


def test_memory_of_a_model_is_counted_by_the_row():
    """A layer of 1,000 numbers for every row of a call; what is there before the call does not count."""
    kept = np.zeros(10**6)

    def wide(n_rows: int) -> float:
        return float((np.ones((n_rows, 1000)) * kept[:1000]).sum())

    found = Stopwatch(wide, Timed(4, 1e-4)).memory(65_536)
    assert 65_536 * 8000 <= found <= 65_536 * 2.2 * 8000


def test_memory_is_not_watched_where_that_would_be_little_or_slow(monkeypatch):
    clock = install(monkeypatch, 0.0, 0.0)
    assert Stopwatch(clock.take, Timed(4, 1e-4)).memory(100) == 0
    assert Stopwatch(clock.take, Timed(4, 1.0)).memory(10**6) == 0
    assert clock.asked == []


@pytest.mark.parametrize(("per_call", "asked"), [(0.05, [4, 4, 16]), (0.2, [4, 4, 16]), (0.3, [4])])
def test_memory_is_watched_where_only_the_first_call_was_slow(monkeypatch, per_call, asked):
    clock = install(monkeypatch, per_call, 0.0)
    Stopwatch(clock.take, Timed(4, 0.9)).memory(10**6)
    assert clock.asked == asked


def test_memory_that_the_user_watches_is_left_alone():
    import tracemalloc

    tracemalloc.start()
    try:
        assert Stopwatch(lambda n: np.ones((n, 1000)), Timed(4, 1e-4)).memory(65_536) == 0
        assert tracemalloc.is_tracing()
    finally:
        tracemalloc.stop()


def test_a_model_that_takes_only_rows_that_occur_is_timed_on_them(monkeypatch):
    clock = install(monkeypatch, 0.01, 1e-3)
    data = np.arange(60.0).reshape(20, 3)

    def picky(X):
        if not (np.diff(X, axis=1) == 1).all():
            raise ValueError("such a row does not occur")
        return clock(X)

    predictor = read_plain_model(picky, probe=data[:5])
    assert predictor.seconds(10**6, 16) > 1000.0


def test_a_model_that_would_need_too_much_is_taken_to_work_in_chunks():
    """Few rows do not show that: a distance to each of a million points, as nearest neighbours have it."""
    found = Stopwatch(lambda n: np.ones((n, 20_000)), Timed(4, 1e-4)).memory(1_000_000)
    assert found == LARGEST_MODEL < 4 * 2**30  # the memory that explanations may take by default


def test_a_model_may_plan_another_explanation():
    def plans_another(n):
        Stopwatch(lambda n: np.ones((n, 10)), Timed(4, 1e-4)).memory(65_536)
        return np.ones((n, 100))

    asked = Thread(target=lambda: Stopwatch(plans_another, Timed(4, 1e-4)).memory(65_536), daemon=True)
    asked.start()
    asked.join(60)
    assert not asked.is_alive()
