"""The small run of the property tests, and that the long one can be stopped, resumed and repeated."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from shap_asv import AsymmetricExplainer
from shap_asv.backends import weight_columns
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from tests.reliability import fuzz
from tests.reliability.cases import CHOICES
from tests.reliability.kinds.networks import NETWORKS
from tests.reliability.kinds.table import KINDS, kind_of
from tests.reliability.properties import check

SIMPLE_FIRST = {name: tuple(dict.fromkeys(words)) for name, words in CHOICES.items()}


WORDS = {name: st.sampled_from(words) for name, words in SIMPLE_FIRST.items()}


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.builds(NETWORKS.make, seed=st.integers(0, 2**32 - 1), **WORDS))
def test_explanations_follow_from_the_definition(case):
    with threadpool_limits(1):
        check(case)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not NETWORKS], ids=lambda kind: kind.name)
def test_the_first_cases_of_a_kind(kind):
    """Numbers that the long run tries too, under the same names."""
    with threadpool_limits(1):
        for seed in range(5):
            case = kind.case(seed)
            try:
                kind.check(case)
            except Exception as problem:
                problem.add_note(f"{kind.name}: {case}")
                raise


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_number_is_a_case(kind):
    assert kind.case(7) == kind.case(7)
    seen = [kind.case(k) for k in range(400)]
    for name, words in kind.choices.items():
        assert {getattr(case, name) for case in seen} == set(words)


def test_kinds_are_drawn_by_their_shares():
    drawn = [kind_of(k).name for k in range(4000)]
    assert len({kind.name for kind in KINDS}) == len(KINDS)
    for kind in KINDS:
        share = kind.share / sum(kind.share for kind in KINDS)
        assert abs(drawn.count(kind.name) / 4000 - share) <= 4 * (share * (1 - share) / 4000) ** 0.5


def test_every_kind_of_case_is_sound():
    """One case of each model, and of each further question, on a network that is not trivial."""
    base = replace(NETWORKS.case(0), n_nodes=4, n_latent=1, max_states=3, shape="dag", compiled=False)
    with threadpool_limits(1):
        for k, model in enumerate(SIMPLE_FIRST["model"]):
            check(replace(base, seed=k, model=model, also="nothing", encoder="ordinal", graph="own"))


@pytest.mark.parametrize("also", SIMPLE_FIRST["also"])
def test_every_further_question(also):
    """A few cases of each, in shapes that leave nothing trivial: latent nodes, several outputs, doubled rows."""
    shapes = [("dag", "own", "tree classifier"), ("forest", "sparser", "callable of many outputs"),
              ("polytree", "weighted orders", "boosting classifier")]  # fmt: skip
    with threadpool_limits(1):
        for k, (shape, graph, model) in enumerate(shapes):
            words = {"n_nodes": 5, "n_latent": k % 2, "max_states": 3, "zeros": 0.3, "shape": shape, "graph": graph,
                     "model": model, "states": "names", "container": "pgmpy", "encoder": "ordinal",
                     "model_output": "auto", "rows": "duplicated", "names": "given", "compiled": False}  # fmt: skip
            check(replace(NETWORKS.case(0), seed=100 + k, also=also, **words))


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


@pytest.fixture
def broken(monkeypatch):
    """A weight that is off by a millionth."""
    exact = weight_columns.exact_columns

    def slightly_off(weights):
        found = exact(weights)
        found.matrix.data[-1] *= 1 + 1e-6
        return found

    monkeypatch.setattr("shap_asv.backends.workload.exact_columns", slightly_off)


def test_a_wrong_weight_is_found(broken, tmp_path, capsys):
    """The run goes on past failures, names them with the command that repeats them, and remembers them."""
    spans = fuzz.run(40, tmp_path / "state.json", silent=True)
    assert 3 <= len(spans[0].failures) <= 40
    said = capsys.readouterr()
    assert f"--case {spans[0].failures[0]}" in said.out + said.err
    assert fuzz.record_of(spans).figures[2].holds is False


def seven_is_wrong(k):
    """Stands for a run of case ``k``; a function of the number alone, like the real one."""
    return "wrong" if k == 7 else None


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch):
    path, ran = tmp_path / "state.json", []

    def stops_at_25(k):
        if k == 25 and 25 not in ran:
            ran.append(k)
            raise KeyboardInterrupt
        ran.append(k)
        return seven_is_wrong(k)

    monkeypatch.setattr(fuzz, "SPAN", 10)
    with pytest.raises(KeyboardInterrupt):
        fuzz.run(40, path, silent=True, judge=stops_at_25)
    assert {span.first: span.done for span in fuzz.read_state(path).values()} == {0: 10, 10: 10, 20: 5, 30: 0}
    spans = fuzz.run(40, path, silent=True, judge=stops_at_25)
    assert ran == [*range(26), *range(25, 40)]
    assert [span.done for span in spans] == [10] * 4
    assert [k for span in spans for k in span.failures] == [7]
    fuzz.run(40, path, silent=True, judge=stops_at_25)
    assert len(ran) == 41


def test_cases_of_other_sources_are_run_again(tmp_path, monkeypatch, capsys):
    path, ran = tmp_path / "state.json", []
    monkeypatch.setattr(fuzz, "SPAN", 10)
    fuzz.run(20, path, silent=True, judge=seven_is_wrong)
    state = fuzz.read_state(path)
    state[0].sources = ["other"]
    fuzz.write_state(path, state)
    spans = fuzz.run(20, path, silent=True, judge=ran.append)
    assert ran == [*range(10)]
    assert [(span.done, span.failures, span.sources) for span in spans] == [(10, [], [fuzz.sources()])] * 2
    assert "10 cases were run with other sources" in capsys.readouterr().out


def test_a_record_is_kept_of_whole_runs_only(tmp_path, monkeypatch, capsys):
    """Fewer cases are shown. What the note counts is what the cases are drawn from."""
    stored = []
    monkeypatch.setattr(fuzz, "keep", stored.append)
    monkeypatch.setattr(fuzz, "STATE", tmp_path / "state.json")
    for asked in (5, 4):
        monkeypatch.setattr(fuzz, "ASKED", asked)
        fuzz.main(["--cases", "4", "--silent"])
        assert len(stored) == (asked <= 4)
    assert "no record is kept of fewer than 5 cases" in capsys.readouterr().out
    assert stored[0].figures[0].holds
    monkeypatch.setattr(fuzz, "ASKED", 5)
    short = fuzz.record_of([fuzz.Span(0, done=4)])
    assert short.figures[0].holds is False
    shares = {figure.what: figure.value for figure in short.figures}["kinds of cases and their shares"]
    assert [kind.name for kind in KINDS if kind.name in shares] == [kind.name for kind in KINDS]
    assert len(short.notes) == len(KINDS) + 1


def test_the_same_case_gives_the_same_numbers():
    from tests.reliability.properties import build

    with threadpool_limits(1):
        first, second = build(NETWORKS.case(11)), build(NETWORKS.case(11))
    np.testing.assert_array_equal(first.joint, second.joint)
    np.testing.assert_array_equal(first.fitted.table, second.fitted.table)
    np.testing.assert_array_equal(first.codes, second.codes)
