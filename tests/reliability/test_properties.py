"""The small run of the property tests, and that the long one can be stopped, resumed and repeated."""

from collections import Counter

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from shap_asv import AsymmetricExplainer
from shap_asv.backends import weight_columns
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from tests.reliability import fuzz
from tests.reliability.kinds.table import KINDS, kind_of
from tests.reliability.properties import NETWORKS, build

#: The fields that say what a case is asked.
QUESTIONS = ("also", "causal_also", "ask")


def covering(kind):
    """The first cases of a kind, as the long run has them, in which every word is met, and every question twice."""
    met = Counter()
    for case in map(kind.case, range(2000)):
        words = [(name, getattr(case, name)) for name in kind.choices]
        if any(met[word] < (2 if word[0] in QUESTIONS else 1) for word in words):
            met.update(words)
            yield case
    assert all(met[name, word] for name, words in kind.choices.items() for word in words)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_question_of_a_kind(kind):
    with threadpool_limits(1):
        for case in covering(kind):
            try:
                kind.check(case)
            except Exception as problem:
                problem.add_note(f"{kind.name}: {case}")
                raise


def test_kinds_are_drawn_by_their_shares():
    drawn = [kind_of(k).name for k in range(4000)]
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        share = kind.share / sum(kind.share for kind in KINDS)
        assert abs(drawn.count(kind.name) / 4000 - share) <= 4 * (share * (1 - share) / 4000) ** 0.5


def test_the_same_case_gives_the_same_numbers():
    with threadpool_limits(1):
        first, second = build(NETWORKS.case(11)), build(NETWORKS.case(11))
    for name in ("joint", "codes"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    np.testing.assert_array_equal(first.fitted.table, second.fitted.table)


def test_latent_causes_hand_precedence_on():
    """a -> hidden -> b, without the hidden one: a still comes before b, and takes what it causes."""
    keep = np.array([[0.9, 0.2], [0.1, 0.8]])
    states = ((0, 1),) * 3
    network = DiscreteNetwork(("a", "hidden", "b"), states, ((), (0,), (1,)), (np.array([0.5, 0.5]), keep, keep))
    explainer = AsymmetricExplainer(lambda X: X["b"] * 1.0, network, feature_names=["a", "b"])
    assert explainer.causal_order.edges == (("a", "b"),)
    b_given_a = (keep @ keep)[1, 1]
    base = 0.5 * (keep @ keep)[1].sum()
    np.testing.assert_allclose(explainer([[1, 1]]).values[0], [b_given_a - base, 1 - b_given_a], atol=1e-12)


def test_a_wrong_weight_is_found(monkeypatch, tmp_path, capsys):
    """The run goes on past failures, names them with the command that repeats them, and remembers them."""
    exact = weight_columns.exact_columns

    def off_by_a_millionth(weights):
        found = exact(weights)
        found.matrix.data[-1] *= 1 + 1e-6
        return found

    monkeypatch.setattr("shap_asv.backends.workload.exact_columns", off_by_a_millionth)
    progress = fuzz.run(40, tmp_path / "state.json", silent=True)
    assert 3 <= len(progress.failures) <= 40
    said = capsys.readouterr()
    assert f"--case {progress.failures[0]}" in said.out + said.err
    assert fuzz.record_of(progress).figures[2].holds is False


def seven_is_wrong(k):
    """Stands for a run of case ``k``; a function of the number alone, like the real one."""
    return "wrong" if k == 7 else None


def test_a_run_goes_on_where_it_stopped(tmp_path, capsys):
    path, ran = tmp_path / "state.json", []

    def stops_at_25(k):
        ran.append(k)
        if ran.count(25) == 1 and k == 25:
            raise KeyboardInterrupt
        return seven_is_wrong(k)

    with pytest.raises(KeyboardInterrupt):
        fuzz.run(40, path, silent=True, judge=stops_at_25)
    for _ in range(2):
        progress = fuzz.run(40, path, silent=True, judge=stops_at_25)
        assert ran == [*range(26), *range(25, 40)]
        assert (progress.done, progress.failures) == (40, [7])
    progress.sources = "other"
    fuzz.write_state(path, progress)
    assert fuzz.run(10, path, silent=True, judge=ran.append).done == 10
    assert ran[-10:] == [*range(10)]
    assert "40 cases were run with other sources" in capsys.readouterr().out


def test_a_record_is_kept_of_whole_runs_only(tmp_path, monkeypatch):
    stored = []
    monkeypatch.setattr(fuzz, "keep", lambda record, fewer_than: stored.append((record, fewer_than)))
    monkeypatch.setattr(fuzz, "STATE", tmp_path / "state.json")
    for asked in (5, 4):
        monkeypatch.setattr(fuzz, "ASKED", asked)
        fuzz.main(["--cases", "4", "--silent"])
    (few, fewer_than), (whole, nothing) = stored
    assert (fewer_than, nothing) == ("5 cases", "")
    assert (few.figures[0].holds, whole.figures[0].holds) == (False, True)
    assert len(whole.notes) == len(KINDS) + 1
