"""The speed of the machine is measured once, kept on disk, and every planned second is multiplied with it."""

import json

import numpy as np
import pytest

from shap_asv import AsymmetricExplainer, GaussianModel, machine
from shap_asv.backends.contract import Settings
from shap_asv.planning import WORTH_KNOWING, make_plan

ROWS = np.random.default_rng(0).normal(size=(200, 10))


@pytest.fixture
def unknown(monkeypatch, tmp_path):
    """A machine that nobody has measured; counts how often somebody does, and finds it twice as slow."""
    measured = []
    forget(monkeypatch)
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(machine, "measure", lambda: measured.append(1) or 2.0)
    return measured


def forget(monkeypatch):
    """As in another process."""
    monkeypatch.setattr(machine, "_known", None)
    monkeypatch.setattr(machine, "_looked_up", False)


def test_measured_once_where_it_is_worth_it(unknown, monkeypatch):
    assert machine.slowness(worth_measuring=False) == 1.0
    assert not unknown
    assert not machine._file().exists()
    assert machine.slowness(worth_measuring=True) == machine.slowness(worth_measuring=True) == 2.0
    forget(monkeypatch)
    assert machine.slowness(worth_measuring=False) == 2.0
    assert len(unknown) == 1


def test_all_who_share_the_folder_may_read_it(unknown):
    machine.slowness(worth_measuring=True)
    other = machine._file().with_name("other")
    other.write_text("")
    assert machine._file().stat().st_mode == other.stat().st_mode
    assert len(list(other.parent.iterdir())) == 2  # no draft is left


@pytest.mark.parametrize("content", ["", "[]", "{}", "7", '{"another machine": 3.0}', "nan"])
def test_a_file_that_says_nothing_of_this_machine(unknown, monkeypatch, content):
    machine._file().parent.mkdir()
    machine._file().write_text(content)
    assert machine.slowness(worth_measuring=True) == 2.0
    forget(monkeypatch)
    assert machine.slowness(worth_measuring=False) == 2.0
    assert content != '{"another machine": 3.0}' or json.loads(machine._file().read_text())["another machine"] == 3.0


@pytest.mark.parametrize("wrong", [0.0, -1.0, 1e9, float("nan"), "fast", None])
def test_an_impossible_figure_is_not_believed(unknown, wrong):
    machine._file().parent.mkdir()
    machine._file().write_text(json.dumps({machine._machine(): wrong}))
    assert machine.slowness(worth_measuring=False) == 1.0


def test_a_folder_that_cannot_be_written_to(unknown, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file"))
    assert machine.slowness(worth_measuring=True) == 2.0
    assert (tmp_path / "file").read_text() == ""


def test_a_machine_is_as_fast_as_its_loops(monkeypatch):
    monkeypatch.setattr(machine, "_fastest", {loop: 3 * there for loop, there in machine._LOOPS}.__getitem__)
    assert machine.measure() == pytest.approx(3.0, rel=0.1)
    monkeypatch.setattr(machine, "_fastest", lambda loop: 1e6)
    assert machine.measure() == machine._MOST


def sines(X):
    return np.sin(np.asarray(X)).sum(axis=1)


def plan(n_rows, **options):
    return AsymmetricExplainer(sines, GaussianModel.fit(ROWS), [], seed=0, **options).plan(n_rows)


def test_small_plans_do_not_measure_and_large_ones_do(unknown):
    assert plan(1, n_draws=4).seconds < WORTH_KNOWING
    assert not unknown
    assert plan(1000).seconds > WORTH_KNOWING
    assert len(unknown) == 1


def test_our_work_is_multiplied_and_the_models_is_not(monkeypatch):
    asv = AsymmetricExplainer(sines, GaussianModel.fit(ROWS), [], seed=0)
    problem, settings = asv._known_execution().problem, Settings(seed=0)
    for slowness in (1.0, 4.0):
        monkeypatch.setattr(machine, "_known", slowness)
        found = make_plan(problem, settings, 1000, "ideals x monte_carlo")
        alone = found.backend.estimate(problem, settings, 1000)
        assert alone.asking > 0
        assert alone.seconds > 0
        assert found.seconds == pytest.approx(slowness * alone.seconds + alone.asking)


def test_a_slow_machine_runs_over_the_budget(monkeypatch):
    monkeypatch.setattr(machine, "_known", 1.0)
    asked = {"n_draws": 64, "budget": 2 * plan(500, n_draws=64).seconds}
    assert not plan(500, **asked).backend.samples_orders
    monkeypatch.setattr(machine, "_known", 16.0)
    assert plan(500, **asked).backend.samples_orders
