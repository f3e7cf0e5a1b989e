"""What calls of a model will take, by its first call and at most one more."""

import pytest

from shap_asv.models import calls as speed
from shap_asv.models.calls import Stopwatch


class Model:
    """Takes so long for a call, and for a row, on a clock that nothing else moves."""

    def __init__(self, monkeypatch, per_call, per_row):
        self.now, self.asked, self.per_call, self.per_row = 0.0, [], per_call, per_row
        monkeypatch.setattr(speed.time, "perf_counter", lambda: self.now)

    def __call__(self, n_rows):
        self.asked.append(n_rows)
        self.now += self.per_call + n_rows * self.per_row

    def stopwatch(self, n_rows=4):
        return Stopwatch(n_rows, self.per_call + n_rows * self.per_row)


@pytest.mark.parametrize(
    ("per_call", "per_row", "n_rows", "n_calls", "calls_to_time"),
    [
        (1e-3, 2e-5, 10**6, 20, 2),  # vectorised: time goes by calls and rows
        (1e-3, 0.0, 10**6, 20, 2),  # all by calls
        (0.0, 1e-2, 10**4, 100, 2),  # all by rows
        (1e-3, 2e-5, 100, 1, 0),  # done at once, whatever a row takes
        (0.3, 0.2, 10_000, 100, 0),  # so slow that it is not called once more
        (1e-3, 1e-5, 800, 100, 0),  # calls hardly larger than the first
    ],
)
def test_seconds_of_many_calls(monkeypatch, per_call, per_row, n_rows, n_calls, calls_to_time):
    model = Model(monkeypatch, per_call, per_row)
    stopwatch = model.stopwatch()
    planned, taken = stopwatch.seconds(model, n_rows, n_calls), n_calls * per_call + n_rows * per_row
    assert 0.99 * taken <= planned <= max(0.1, 2.5 * taken, n_rows * speed.FASTEST * 3)
    assert len(model.asked) == calls_to_time
    assert stopwatch.seconds(model, n_rows, n_calls) == planned
    assert len(model.asked) == calls_to_time, "timed once"
    assert max(model.asked, default=0) <= n_rows / n_calls


def test_a_first_call_that_loads_something_is_made_again(monkeypatch):
    model = Model(monkeypatch, 1e-4, 1e-6)
    slow = Stopwatch(4, 0.2)
    assert slow.seconds(model, 10**6, 20) == pytest.approx(model.stopwatch().seconds(model, 10**6, 20))
