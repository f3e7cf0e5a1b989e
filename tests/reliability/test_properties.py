"""The small run of the property tests, and that the long one can be stopped, resumed and repeated."""

from collections import Counter

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from shap_asv import AsymmetricExplainer
from shap_asv.backends import weight_columns
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from tests.reliability import fuzz
from tests.reliability.kinds.table import KINDS
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
