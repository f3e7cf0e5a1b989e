"""Closures of terms against the definition: orders of any kind, latent nodes, limits; and their parts by hand."""

import itertools

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from sklearn.tree import DecisionTreeRegressor

from shap_asv import AsymmetricExplainer, CausalOrder, GraphMixture, errors
from shap_asv.backends import termwise
from shap_asv.backends.closures import attributor, kernels, on_demand
from shap_asv.backends.closures.attributor import group_by_missing
from shap_asv.backends.closures.on_demand import find_sequence, list_components, restrict
from shap_asv.backends.contract import Settings
from shap_asv.backends.workload import IDEALS, expected_output, network_and_terms
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from tests.explainer.test_exact import make_model, oracle, predict_codes
from tests.oracles import brute_force
from tests.problems import make_problem


def random_order(rng, n, share=0.5):
    rank = rng.permutation(n)
    return [(a, b) for a in range(n) for b in range(n) if rank[a] < rank[b] and rng.random() < share]


def over(problem, model, encoder, graph, **options):
    return AsymmetricExplainer(
        model, problem.network(), graph, feature_names=problem.features, encoder=encoder, **options
    )


def named(problem, edges):
    return CausalOrder.from_edges([(problem.features[a], problem.features[b]) for a, b in edges], problem.features)


def forest(problem, codes, n_trees, seed=0):
    """A forest of two outputs on labels, of any number of leaves."""
    target = np.random.default_rng(seed).normal(size=(len(codes), 2)) + codes.sum(axis=1)[:, None]
    states = [[f"s{i}" for i in range(card)] for card in problem.feature_cards]
    model = make_pipeline(
        OrdinalEncoder(categories=states), RandomForestRegressor(n_trees, max_depth=6, random_state=0)
    )
    return model.fit(problem.labels(codes), target)


def latent_in_the_middle(seed, n=7):
    """A random problem whose latent node has causes and effects among the features."""
    problems = (make_problem(number, n=n, latent=1, zeros=0.1) for number in itertools.count(100 * seed))
    return next(problem for problem in problems if stands_between(problem.network(), problem.features))


def stands_between(network, features):
    hidden = next(v for v, name in enumerate(network.names) if name not in features)
    return len(network.parents[hidden]) > 0 and sum(hidden in parents for parents in network.parents) > 1


def explained(problem, seed, name="ideals x closures"):
    rng = np.random.default_rng(seed)
    model, encoder = make_model("forest", problem, rng)
    return over(problem, model, encoder, None, algorithm=name), problem.rows(rng, 5)


def made(explainer):
    problem = explainer._execution.problem
    return attributor.closures_attributor(*network_and_terms(problem), IDEALS.columns(problem, Settings()))


CASES = {
    "the network's order": lambda rng, problem: problem.projected_edges(),
    "any order": lambda rng, problem: random_order(rng, len(problem.features)),
    "against the network": lambda rng, problem: [(b, a) for a, b in problem.projected_edges()],
    "no order": lambda rng, problem: [],
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["forest", "boosted"])
@pytest.mark.parametrize("latent", [0, 1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_against_the_definition(case, kind, latent, seed):
    rng = np.random.default_rng(100 * seed + latent)
    problem = make_problem(seed, n=5 + latent, latent=latent, zeros=0.1)
    edges = CASES[case](rng, problem)
    model, encoder = make_model(kind, problem, rng)
    explainer = over(problem, model, encoder, named(problem, edges), algorithm="ideals x closures")
    rows = problem.rows(rng, 4)
    found = explainer(problem.labels(rows), silent=True)
    expected = oracle(problem, predict_codes(explainer), rows, edges)
    np.testing.assert_allclose(found.values.reshape(expected.shape), expected, rtol=0, atol=1e-9)
    total = found.base_values.reshape(4, -1) + found.values.reshape(expected.shape).sum(axis=1)
    np.testing.assert_allclose(total, predict_codes(explainer)(rows), atol=1e-9)


@pytest.mark.parametrize("algorithm", ["ideals x closures", "ideals x terms"])
@pytest.mark.parametrize("seed", range(3))
def test_several_graphs_together_and_apart(seed, algorithm):
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, n=6, latent=1)
    model, encoder = make_model("forest", problem, rng)
    graphs = [random_order(rng, 5, 0.4) for _ in range(4)]
    weights = rng.uniform(0.2, 1, size=4)
    orders = [named(problem, edges) for edges in graphs]
    rows = problem.rows(rng, 4)
    explainer = over(problem, model, encoder, GraphMixture(orders, weights), algorithm=algorithm)
    found = explainer(problem.labels(rows), silent=True).values
    each = [oracle(problem, predict_codes(explainer), rows, edges) for edges in graphs]
    np.testing.assert_allclose(found, np.average(each, axis=0, weights=weights), rtol=0, atol=1e-9)
    apart = explainer.sensitivity(problem.labels(rows), orders[:2], silent=True).values
    np.testing.assert_allclose(apart, each[:2], rtol=0, atol=1e-9)


def test_sampled_orders_have_the_values_of_other_backends():
    rng = np.random.default_rng(5)
    problem = make_problem(5, n=6)
    model, encoder = make_model("forest", problem, rng)
    labels = problem.labels(problem.rows(rng, 4))
    order = named(problem, random_order(rng, 6, 0.3))
    found = [
        over(problem, model, encoder, order, algorithm=name, seed=1, n_orders=300)(labels, silent=True)
        for name in ("orders x closures", "orders x trees")
    ]
    np.testing.assert_allclose(found[0].values, found[1].values, atol=1e-12, rtol=0)
    np.testing.assert_allclose(found[0].error_std, found[1].error_std, atol=1e-10, rtol=0)


@pytest.mark.parametrize("in_the_middle", [False, True])
def test_a_row_has_the_same_bits_whatever_rows_come_with_it(in_the_middle):
    problem = latent_in_the_middle(5) if in_the_middle else make_problem(8, n=7, zeros=0.1)
    explainer, _ = explained(problem, 5)
    rows = problem.rows(np.random.default_rng(1), 70)
    found = made(explainer)
    assert found.rowwise
    whole = found.attribute(rows).phi
    for cut in (1, 33, 64):
        parts = [found.attribute(rows[:cut]).phi, found.attribute(rows[cut:]).phi]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize(
    ("where", "name", "limit", "all_here"),
    [
        (attributor, "STATE_LIMIT", 1, False),
        (attributor, "MOST_GROUPS", 1, False),
        (attributor, "NU_LIMIT", 1, True),
        (on_demand, "VALUE_LIMIT", 1, True),
        (on_demand, "TERMS_AT_ONCE", 1, True),
        (termwise, "FEW_TERMS", 0, True),
        (on_demand, "_ROOM", 1, True),
    ],
)
def test_limits_change_the_way_and_not_the_values(where, name, limit, all_here, monkeypatch):
    problem = latent_in_the_middle(3)
    explainer, rows = explained(problem, 3)
    before = explainer(problem.labels(rows), silent=True)
    monkeypatch.setattr(where, name, limit)
    again, _ = explained(problem, 3)
    assert made(again).rowwise == all_here
    found = again(problem.labels(rows), silent=True)
    np.testing.assert_allclose(found.values, before.values, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.base_values, before.base_values, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_trees", "least"), [(2, 30), (12, 125), (40, 250)])
@pytest.mark.parametrize("at_once", [on_demand.TERMS_AT_ONCE, 40])
def test_more_terms_than_bits_against_the_definition(n_trees, least, at_once, monkeypatch):
    monkeypatch.setattr(on_demand, "TERMS_AT_ONCE", at_once)
    problem = make_problem(11, n=6, zeros=0.1)
    codes = problem.rows(np.random.default_rng(0), 400)
    model = forest(problem, codes, n_trees)
    explainer = over(problem, model, None, None, algorithm="ideals x closures")
    assert network_and_terms(explainer._execution.problem)[1].n_terms >= least
    found = explainer(problem.labels(codes[:4]), silent=True)
    expected = oracle(problem, predict_codes(explainer), codes[:4], problem.projected_edges())
    np.testing.assert_allclose(found.values, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_base_value_is_that_of_the_empty_ideal(monkeypatch, seed):
    """Closures know it, without an elimination of the whole network. It is the same to the bit, whatever the rows."""
    explainer, rows = explained(latent_in_the_middle(seed), seed)
    whole = expected_output(*network_and_terms(explainer._execution.problem))
    monkeypatch.setattr(attributor, "expected_output", None)
    together = made(explainer).attribute(rows)
    np.testing.assert_allclose(together.base, whole, rtol=0, atol=1e-12)
    for row in rows:
        np.testing.assert_array_equal(made(explainer).attribute(row[None]).base, together.base)


def test_progress_grows_to_one():
    explainer, rows = explained(latent_in_the_middle(5), 5)
    said = []
    made(explainer).attribute(rows, said.append)
    assert said == sorted(said)
    assert said[-1] == pytest.approx(1.0)


def test_impossible_rows_raise():
    """x1 copies x0; a row in which they differ has probability 0."""
    names, copy = ("x0", "x1", "x2"), np.eye(2)
    tables = (np.array([0.4, 0.6]), copy, np.array([[0.3, 0.8], [0.7, 0.2]]))
    network = DiscreteNetwork(names, ((0, 1),) * 3, ((), (0,), (1,)), tables)
    grid = np.array(list(itertools.product(range(2), repeat=3)))
    tree = DecisionTreeRegressor(random_state=0).fit(grid, np.arange(8.0) ** 1.5)
    rows = np.array([[0, 0, 1], [0, 1, 1]])
    options = {"feature_names": names, "causal_graph": [("x2", "x1"), ("x1", "x0")]}
    with pytest.raises(errors.ImpossibleEvidenceError, match="x0"):
        AsymmetricExplainer(tree, network, algorithm="ideals x closures", **options)(rows, silent=True)


def chain(n, card):
    table = np.full((card, card), 1 / card)
    states = (tuple(range(card)),) * n
    names = tuple(f"x{v}" for v in range(n))
    return DiscreteNetwork(names, states, ((), *((v,) for v in range(n - 1))), (table[0], *[table] * (n - 1)))


@pytest.mark.parametrize(
    ("n", "card", "last", "obstacle"),
    [
        (63, 2, 62, "the model depends on 63 nodes"),
        (63, 2, 61, None),
        (32, 4, 31, "take 64 bits"),
        (31, 4, 30, None),
    ],
)
def test_what_has_no_room_in_one_word_is_refused_in_words(n, card, last, obstacle):
    """A tree of one test on a late node of a chain depends on all nodes above."""
    network = chain(n, card)
    codes = np.zeros((2, n))
    codes[1, last] = 1
    tree = DecisionTreeRegressor().fit(codes, [0.0, 1.0])
    explainer = AsymmetricExplainer(tree, network, feature_names=list(network.names))
    found = {candidate.name: candidate.obstacle for candidate in explainer.plan(3).candidates}["ideals x closures"]
    assert (found is None) == (obstacle is None)
    if obstacle:
        assert obstacle in found
    else:
        values = [
            AsymmetricExplainer(tree, network, feature_names=list(network.names), algorithm=name)(codes).values
            for name in ("ideals x closures", "ideals x terms")
        ]
        np.testing.assert_allclose(*values, rtol=0, atol=1e-12)


def test_models_that_are_not_trees_are_refused_in_words():
    problem = make_problem(2, n=5)
    model, encoder = make_model("linear", problem, np.random.default_rng(2))
    found = {candidate.name: candidate.obstacle for candidate in over(problem, model, encoder, None).plan(3).candidates}
    assert "not made of trees" in found["ideals x closures"]


# --- the parts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("latent", [0, 2])
@pytest.mark.parametrize("seed", range(3))
def test_posteriors_of_missing_causes(seed, latent):
    """Every coalition of features: what it lacks, and its probability given the coalition, from the full joint."""
    problem = make_problem(seed, n=6, latent=latent, zeros=0.1)
    network, nodes = problem.network(), np.array(problem.feature_nodes)
    coalitions = np.array(list(itertools.product((False, True), repeat=len(nodes))))
    groups, left = group_by_missing(network, nodes, coalitions, np.ones(6, dtype=bool))
    assert not len(left)
    codes = np.full((3, 6), -1)
    codes[:, nodes] = problem.rows(np.random.default_rng(seed), 3)
    joint = brute_force.joint_table(problem.cards, problem.parents, problem.tables)
    for group in groups:
        posteriors, possible = group.posteriors(network, codes)
        assert possible.all()
        for place, s in enumerate(group.coalitions):
            held = nodes[coalitions[s]].tolist()
            closed = set(held)
            for v in reversed(range(6)):
                closed |= set(network.parents[v]) if v in closed else set()
            assert np.flatnonzero(group.closed[place]).tolist() == sorted(closed)
            assert group.missing.tolist() == sorted(closed - set(held))
            for r, row in enumerate(codes):
                given = joint[tuple(slice(row[v], row[v] + 1) if v in held else slice(None) for v in range(6))]
                rest = tuple(v for v in range(6) if v not in group.missing.tolist())
                expected = (given.sum(axis=rest) / given.sum()).reshape(-1)
                np.testing.assert_allclose(posteriors[group.of_factors[place], r], expected, rtol=0, atol=1e-12)
    assert sorted(s for group in groups for s in group.coalitions.tolist()) == list(range(len(coalitions)))


def test_what_is_missing_where_no_term_depends_on_it_does_not_count():
    problem = make_problem(0, n=6)
    coalitions = np.array(list(itertools.product((False, True), repeat=6)))
    groups, _ = group_by_missing(
        problem.network(), np.array(problem.feature_nodes), coalitions, np.zeros(6, dtype=bool)
    )
    assert len(groups) == 1
    assert len(groups[0].missing) == 0


def flat(network):
    """What components are found from: families and states of all nodes."""
    families = np.array([sum(1 << u for u in (v, *parents)) for v, parents in enumerate(network.parents)])
    cards, nothing = np.array(network.cardinalities), np.zeros(0)
    fields = np.int64(1) << np.arange(len(cards))
    return kernels.FlatNetwork(nothing, nothing, nothing, families, cards, np.arange(len(cards)), fields)


def fall_apart(nodes, families):
    """Components of a set of nodes: two are in one component if the table of a member holds both."""
    left, found = set(nodes), []
    while left:
        component = {min(left)}
        while True:
            touched = {u for v in left if families[v] & component for u in families[v] & left}
            if touched <= component:
                break
            component |= touched
        found.append(frozenset(component))
        left -= component
    return found


@pytest.mark.parametrize("seed", range(6))
def test_components_are_taken_apart_as_by_hand(seed):
    network = make_problem(seed, n=9).network()
    families = [{v, *parents} for v, parents in enumerate(network.parents)]
    seeds = np.array([2**9 - 1, 2**8, 0b101100000])
    seeds = np.unique([sum(1 << v for v in c) for s in seeds.tolist()
                       for c in fall_apart([v for v in range(9) if s >> v & 1], families)])  # fmt: skip
    sequence = find_sequence(flat(network), seeds)
    every = list_components(flat(network), seeds)
    some, places = restrict(every, seeds[:1])
    assert some.masks[places].tolist() == seeds[:1].tolist()
    for components, own in ((every, seeds), (some, seeds[:1])):
        sets = [frozenset(v for v in range(9) if (mask >> v) & 1) for mask in components.masks.tolist()]
        assert len(set(sets)) == len(sets)
        met = set()
        for i, component in enumerate(sets):
            root = next(v for v in sequence.tolist() if v in component)
            assert components.roots[i] == root
            around = {u for v in component for u in network.parents[v]} - component
            assert components.known[i] == sum(1 << u for u in around)
            parts = components.parts[components.part_starts[i] : components.part_starts[i + 1]].tolist()
            assert {sets[part] for part in parts} == set(fall_apart(component - {root}, families))
            for place, part in enumerate(parts):
                links = range(components.whole_starts[part], components.whole_starts[part + 1])
                assert (i, place) in {(components.wholes[link], components.which[link]) for link in links}
            met |= {sets[part] for part in parts}
        assert set(sets) == met | {frozenset(v for v in range(9) if (mask >> v) & 1) for mask in own.tolist()}


def cost_by_hand(network, components, sequence):
    total = 0
    for mask in components.tolist():
        inside = [v for v in range(network.n_nodes) if (mask >> v) & 1]
        around = {p for v in inside for p in network.parents[v]} - set(inside)
        root = min(sequence.index(v) for v in inside)
        total += np.prod([network.cardinalities[u] for u in around if sequence.index(u) < root], dtype=float)
    return total


@pytest.mark.parametrize("seed", range(5))
def test_the_sequence_has_causes_first_and_no_single_move_is_better(seed):
    network = make_problem(seed, n=8).network()
    components = np.random.default_rng(seed).integers(1, 2**8, 30)
    sequence = find_sequence(flat(network), components).tolist()
    assert sorted(sequence) == list(range(8))
    assert all(sequence.index(p) < sequence.index(v) for v in range(8) for p in network.parents[v])
    cost = cost_by_hand(network, components, sequence)
    assert cost <= cost_by_hand(network, components, list(range(8)))
    for v, place in itertools.product(range(8), range(8)):
        moved = [u for u in sequence if u != v]
        moved.insert(place, v)
        if all(moved.index(p) < moved.index(u) for u in range(8) for p in network.parents[u]):
            assert cost_by_hand(network, components, moved) >= 0.998 * cost
