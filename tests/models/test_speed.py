"""How long a model takes is measured before a plan promises anything; the clock here is turned by hand."""

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer
from shap_asv.backgrounds.network import DiscreteNetwork
from shap_asv.models import speed
from shap_asv.models.predictor import read_model, read_plain_model
from shap_asv.models.speed import FASTEST, Timed, seconds_per_row

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
    return clock


@pytest.mark.parametrize("per_call", [0.0, 1e-3, 0.1])
@pytest.mark.parametrize("per_row", [1e-9, 1e-5, 1e-4, 3e-3])
def test_rows_are_told_from_calls(monkeypatch, per_call, per_row):
    clock = install(monkeypatch, per_call, per_row)
    clock.take(3)
    found = seconds_per_row(clock.take, Timed(3, clock.now))
    assert max(FASTEST, per_row * (1 - 1e-9)) <= found <= max(FASTEST, 2.001 * per_row)


def test_a_model_that_takes_seconds_is_not_asked_again(monkeypatch):
    clock = install(monkeypatch, 0.0, 1.0)
    assert 1.0 <= seconds_per_row(clock.take, Timed(3, 3.0)) < 2.1
    assert clock.asked == []


def test_no_call_is_much_longer_than_patience(monkeypatch):
    clock = install(monkeypatch, 0.0, 0.01)
    clock.take(4)
    seconds_per_row(clock.take, Timed(4, clock.now))
    assert clock.now < 2.0


def test_a_fast_first_call_settles_it(monkeypatch):
    clock = install(monkeypatch, 0.0, 1e-7)
    predictor = read_model(clock, NAMES, COINS.states)
    before = len(clock.asked)
    assert predictor.seconds(10**6) == pytest.approx(10**6 * FASTEST)
    assert len(clock.asked) == before


def test_matrices_are_timed_on_their_own_rows(monkeypatch):
    clock = install(monkeypatch, 0.0, 1e-3)
    predictor = read_plain_model(clock, probe=np.ones((5, 3)))
    assert 1e3 <= predictor.seconds(10**6) <= 2.1e3


def test_plans_know_slow_models(monkeypatch):
    """16,384 states: half a minute at most for any quick model, weeks for one that takes minutes a row."""
    quick = AsymmetricExplainer(install(monkeypatch, 0.0, 1e-4), COINS, algorithm="auto", feature_names=list(NAMES))
    assert quick.plan(3).exact
    clock = install(monkeypatch, 0.0, 0.2)
    slow = AsymmetricExplainer(clock, COINS, algorithm="auto", n_orders=10, n_draws=10, feature_names=list(NAMES))
    plan = slow.plan(3)
    assert not plan.exact
    assert "would take about" in plan.why
    by_name = AsymmetricExplainer(clock, COINS, algorithm="ideals x table", feature_names=list(NAMES)).plan(3)
    assert by_name.chosen.estimate.seconds >= 16_384 * 0.2


def test_a_fast_model_is_asked_about_few_rows(monkeypatch):
    clock = install(monkeypatch, 1e-4, 1e-7)
    clock.take(2)
    assert seconds_per_row(clock.take, Timed(2, clock.now)) == FASTEST
    assert sum(clock.asked) < 500
