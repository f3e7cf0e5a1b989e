"""From a case to what a user would hold in hand: a network, a causal graph, a fitted model, rows.

Beside each thing stands what the oracle needs of it, as plain arrays and made without our package: the joint table, the
orders, the model's outputs at every combination of states. The model's outputs are asked for the way a user would ask
(labels -> the user's encoder -> ``predict_proba``), so that a wrong reading of states or columns cannot hide.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from sklearn import ensemble, linear_model, neighbors, tree
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from shap_asv import CausalOrder
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from tests.oracles import brute_force
from tests.oracles.random_problems import random_edges, random_network
from tests.reliability.cases import Case

NODE_NAMES = ("age", "a b", "Ünder", "x.1", "7", "p(q)")
MOST_STATES = 600  # joint states of all nodes: what a brute-force table may hold
N_TRAINING = 60  # rows a model is fitted on beside one of each combination of states


# --- the network ------------------------------------------------------------------------------------------------


@dataclass
class Net:
    """A network as plain arrays: nodes in topological order, labels, tables, and which nodes are features."""

    names: list[str]
    labels: list[list[Any]]
    parents: list[tuple[int, ...]]
    tables: list[np.ndarray]
    feature_nodes: list[int]

    @property
    def features(self) -> list[str]:
        return [self.names[v] for v in self.feature_nodes]

    @property
    def states(self) -> list[list[Any]]:
        return [self.labels[v] for v in self.feature_nodes]

    @property
    def cards(self) -> list[int]:
        return [len(labels) for labels in self.states]

    def joint(self) -> np.ndarray:
        """P over the features, latent nodes summed out."""
        joint = brute_force.joint_table([len(labels) for labels in self.labels], self.parents, self.tables)
        return brute_force.feature_joint(joint, self.feature_nodes)

    def ancestors(self) -> list[set[int]]:
        above: list[set[int]] = []
        for parents in self.parents:
            above.append(set(parents).union(*(above[p] for p in parents)))
        return above

    def precedence(self) -> list[tuple[int, int]]:
        """The network's own causal order of the features, handed on through latent nodes: pairs of positions."""
        position = {node: i for i, node in enumerate(self.feature_nodes)}
        above = self.ancestors()
        return [(position[u], position[v]) for v in self.feature_nodes for u in sorted(above[v]) if u in position]


def labels_of(kind: str, count: int, rng: np.random.Generator) -> list[Any]:
    """``count`` states of one kind, in an order that is neither sorted nor the order of their numbers."""
    if kind == "mixed":
        kind = str(rng.choice(["names", "digits", "integers", "floats"]))
    if kind == "booleans" and count > 2:
        kind = "integers"
    pool: list[Any] = {
        "names": ["yes", "no", "maybe?", "Ünk"],
        "digits": ["10", "9", "2", "1"],
        "integers": [0, 1, 5, -3],
        "floats": [0.5, 0.25, -2.0, 1e-3],
        "booleans": [True, False],
    }[kind]
    return [pool[i] for i in rng.permutation(len(pool))[:count]]


def build_net(case: Case, rng: np.random.Generator) -> Net:
    n = case.n_nodes
    cards = [int(c) for c in rng.integers(1, case.max_states + 1, size=n)]
    while np.prod(cards) > MOST_STATES:
        cards[int(np.argmax(cards))] -= 1
    edges = random_edges(rng, n, case.shape)
    _, parents, _ = random_network(rng, n, edges)
    tables = []
    for v in range(n):
        table = rng.exponential(size=(cards[v], *(cards[p] for p in parents[v])))
        table = np.where(rng.random(table.shape) < case.zeros, 0.0, table)
        table[int(rng.integers(cards[v]))] += table.sum(axis=0) == 0
        tables.append(table / table.sum(axis=0))
    hidden = set(rng.choice(n, size=min(case.n_latent, n - 1), replace=False).tolist())
    feature_nodes = [int(v) for v in rng.permutation(n) if v not in hidden]
    names = [NODE_NAMES[i] for i in rng.permutation(len(NODE_NAMES))[:n]]
    labels = [labels_of(case.states, card, rng) for card in cards]
    return Net(names, labels, parents, tables, feature_nodes)


def build_container(net: Net, kind: str, rng: np.random.Generator) -> Any:
    """The network as the user hands it over: pgmpy's class (nodes in any order), or plain arrays."""
    if kind == "arrays":
        states = tuple(tuple(labels) for labels in net.labels)
        return DiscreteNetwork(tuple(net.names), states, tuple(net.parents), tuple(net.tables))
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    network = DiscreteBayesianNetwork()
    network.add_nodes_from([net.names[v] for v in rng.permutation(len(net.names))])
    for v, parents in enumerate(net.parents):
        network.add_edges_from((net.names[p], net.names[v]) for p in parents)
    for v, parents in enumerate(net.parents):
        evidence = [net.names[p] for p in parents]
        cards = [len(net.labels[p]) for p in parents]
        table = net.tables[v].reshape(len(net.labels[v]), -1)
        names = {net.names[u]: list(net.labels[u]) for u in (v, *parents)}
        cpd = TabularCPD(
            net.names[v], len(net.labels[v]), table, evidence=evidence or None, evidence_card=cards or None,
            state_names=names,
        )  # fmt: skip
        network.add_cpds(cpd)
    return network


# --- the causal graph ---------------------------------------------------------------------------------------------


@dataclass
class Graph:
    """The argument for the explainer, and the orders it stands for as positions of features, with their weights."""

    arguments: dict[str, Any]
    orders: list[tuple[int, ...]]
    weights: np.ndarray | None = None
    warns: bool = False


def build_graph(case: Case, net: Net, rng: np.random.Generator) -> Graph:
    n = len(net.features)
    own = net.precedence()
    shuffled = [int(i) for i in rng.permutation(n)]
    if case.graph == "own":
        return Graph({}, brute_force.topological_orders(n, own))
    if case.graph in ("orders", "weighted orders"):
        orders = [tuple(int(i) for i in rng.permutation(n)) for _ in range(int(rng.integers(1, 4)))]
        weights = rng.random(len(orders)) + 0.1 if case.graph == "weighted orders" else None
        named = [[net.features[i] for i in order] for order in orders]
        chains = [CausalOrder.from_edges(list(itertools.pairwise(names)), features=names) for names in named]
        graphs = chains if weights is None else list(zip(chains, (3.0 * weights).tolist(), strict=True))
        return Graph({"causal_graph": graphs}, orders, weights)
    if case.graph == "levels":
        cuts = [0, *sorted(int(c) for c in rng.integers(0, n + 1, size=2)), n]
        levels = [shuffled[a:b] for a, b in itertools.pairwise(cuts) if b > a]
        edges = [(a, b) for low, high in itertools.combinations(range(len(levels)), 2)
                 for a in levels[low] for b in levels[high]]  # fmt: skip
        named = [[net.features[i] for i in level] for level in levels]
        return Graph({"causal_graph": CausalOrder.from_levels(named)}, brute_force.topological_orders(n, edges))
    edges = {
        "sparser": [edge for edge in own if rng.random() < 0.5],
        "denser": own + [(shuffled[i], shuffled[j]) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.5],
        "contradicting": [(b, a) for a, b in own],
        "unrelated": [(shuffled[i], shuffled[j]) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.4],
        "edgeless": [],
        "extra nodes": own,
        "missing nodes": own,
    }[case.graph]
    if case.graph == "denser":  # along a topological order of the network, so that no cycle arises
        order = brute_force.topological_orders(n, own)[0]
        edges = own + [(order[i], order[j]) for i in range(n) for j in range(i + 1, n) if rng.random() < 0.5]
    return named_graph(case, net, edges, rng)


def named_graph(case: Case, net: Net, edges: list[tuple[int, int]], rng: np.random.Generator) -> Graph:
    """Edges between positions as an argument that speaks of names, sometimes with more or fewer nodes than features."""
    n = len(net.features)
    graph = nx.DiGraph()
    graph.add_nodes_from(net.features)
    graph.add_edges_from((net.features[a], net.features[b]) for a, b in edges)
    warns = False
    if case.graph == "extra nodes":  # a -> surplus -> b hands precedence on
        a, b = (int(i) for i in rng.permutation(n)[:2]) if n > 1 else (0, 0)
        if a != b and not nx.has_path(graph, net.features[b], net.features[a]):
            graph.add_edges_from([(net.features[a], "surplus!"), ("surplus!", net.features[b])])
            edges = [*edges, (a, b)]
        else:
            graph.add_node("surplus!")
        warns = True
    if case.graph == "missing nodes" and n > 1:
        gone = int(rng.integers(n))
        graph.remove_node(net.features[gone])
        edges = [edge for edge in edges if gone not in edge]
        warns = True
    orders = brute_force.topological_orders(n, edges)
    form: Any = graph
    if case.graph_form == "edges" and graph.number_of_edges() and not list(nx.isolates(graph)):
        form = list(graph.edges)
    elif case.graph_form == "order" and case.graph not in ("extra nodes", "missing nodes"):
        form = CausalOrder.from_edges(list(graph.edges), features=net.features)
    elif case.graph_form == "pgmpy":
        from pgmpy.base import DAG

        form = DAG()
        form.add_nodes_from(graph.nodes)
        form.add_edges_from(graph.edges)
    return Graph({"causal_graph": form}, orders, warns=warns)


# --- the model ----------------------------------------------------------------------------------------------------


@dataclass
class Fitted:
    """A model with the arguments it needs, and its outputs at every combination of states (*cards, k)."""

    model: Any
    arguments: dict[str, Any]
    table: np.ndarray
    tolerance: float
    knows_names: bool


def all_codes(cards: list[int]) -> np.ndarray:
    return np.array(list(itertools.product(*(range(c) for c in cards))), dtype=int).reshape(-1, len(cards))


def frame_of(net: Net, codes: np.ndarray) -> pd.DataFrame:
    """Labels as a user's DataFrame holds them: whole numbers as int64, truth values as bool, names as objects."""
    columns = {
        name: pd.Series([labels[code] for code in codes[:, j]], dtype=object).infer_objects()
        for j, (name, labels) in enumerate(zip(net.features, net.states, strict=True))
    }
    return pd.DataFrame(columns, columns=net.features)


def estimators(seed: int, depth: int) -> dict[str, Callable[[], Any]]:
    import lightgbm
    import xgboost

    light = {"n_estimators": 4, "min_child_samples": 2, "n_jobs": 1, "verbose": -1, "random_state": seed}
    extreme = {"n_estimators": 4, "max_depth": depth, "n_jobs": 1, "random_state": seed}
    grown = {"max_depth": depth, "random_state": seed}
    boosted = {"n_estimators": 4, "max_depth": depth, "random_state": seed}
    binned = {"max_iter": 4, "min_samples_leaf": 2, "max_depth": depth, "random_state": seed}
    return {
        "tree": lambda: tree.DecisionTreeRegressor(**grown),
        "tree classifier": lambda: tree.DecisionTreeClassifier(**grown),
        "tree of many outputs": lambda: tree.DecisionTreeRegressor(**grown),
        "forest": lambda: ensemble.RandomForestRegressor(3, **grown),
        "forest classifier": lambda: ensemble.RandomForestClassifier(3, **grown),
        "extra trees": lambda: ensemble.ExtraTreesRegressor(3, **grown),
        "boosting": lambda: ensemble.GradientBoostingRegressor(**boosted),
        "boosting classifier": lambda: ensemble.GradientBoostingClassifier(**boosted),
        "histogram boosting": lambda: ensemble.HistGradientBoostingRegressor(**binned),
        "histogram boosting classifier": lambda: ensemble.HistGradientBoostingClassifier(**binned),
        "xgboost": lambda: xgboost.XGBRegressor(**extreme),
        "xgboost classifier": lambda: xgboost.XGBClassifier(**extreme),
        "lightgbm": lambda: lightgbm.LGBMRegressor(**light),
        "lightgbm classifier": lambda: lightgbm.LGBMClassifier(**light),
        "linear": linear_model.LinearRegression,
        "logistic": lambda: linear_model.LogisticRegression(max_iter=300),
        "neighbours": lambda: neighbors.KNeighborsRegressor(2),
    }


def outputs_of(model: Any, final: Any, inputs: Any, model_output: str) -> np.ndarray:
    """What the user would look at: probabilities of a classifier or its margin, else predictions."""
    if not hasattr(model, "predict_proba"):
        return np.asarray(model.predict(inputs), dtype=float)
    averaging = isinstance(final, tree.DecisionTreeClassifier | ensemble.RandomForestClassifier)
    if model_output == "auto" or averaging:
        return np.asarray(model.predict_proba(inputs), dtype=float)
    kind = type(final).__name__
    if kind == "XGBClassifier":
        return np.asarray(model.predict(inputs, output_margin=True), dtype=float)
    if kind == "LGBMClassifier":
        return np.asarray(model.predict(inputs, raw_score=True), dtype=float)
    return np.asarray(model.decision_function(inputs), dtype=float)


def build_model(case: Case, net: Net, rng: np.random.Generator) -> Fitted:
    codes = all_codes(net.cards)
    if "callable" in case.model:
        return build_callable(case.model, net, codes, rng)
    training = codes[np.concatenate([np.arange(len(codes)), rng.integers(len(codes), size=N_TRAINING)])]
    classifier = case.model.endswith("classifier") or case.model == "logistic"
    if classifier:
        y: np.ndarray = rng.integers(int(rng.integers(2, 4)), size=len(training))
        y[: y.max() + 1] = np.arange(y.max() + 1)
    else:
        y = rng.normal(size=len(training)) + training @ rng.normal(size=training.shape[1])
    if case.model == "tree of many outputs":
        y = np.stack([y, -(y**2), rng.normal(size=len(y))], axis=1)
    final = estimators(case.seed % 1000, int(rng.integers(1, 5)))[case.model]()
    arguments: dict[str, Any] = {}
    if case.model_output == "raw":
        arguments["model_output"] = "raw"
    tolerance = 3e-6 if case.model.startswith("xgboost") else 1e-9  # XGBoost adds up in float32
    model, encode, knows_names = encoded_model(case, net, final, training, y, arguments, rng)
    table = outputs_of(model, final, encode(codes), case.model_output)
    return Fitted(model, arguments, table.reshape(*net.cards, -1), tolerance, knows_names)


def encoded_model(
    case: Case,
    net: Net,
    final: Any,
    training: np.ndarray,
    y: np.ndarray,
    arguments: dict[str, Any],
    rng: np.random.Generator,
) -> tuple[Any, Callable[[np.ndarray], Any], bool]:
    """Fit behind the encoder of the case; returns the model, codes -> its input, and whether it knows column names."""
    numeric = all(not isinstance(label, str) for labels in net.states for label in labels)
    encoder = case.encoder if case.encoder != "none" or numeric else "ordinal"
    boosted_elsewhere = case.model.startswith(("xgboost", "lightgbm"))
    if boosted_elsewhere and encoder in ("one-hot", "columns") and case.model_output == "raw":
        encoder = "mapping"  # their margins are arguments of predict, which a Pipeline does not hand on
    if encoder == "none":
        as_frame = bool(rng.random() < 0.5) and not boosted_elsewhere

        def plain(codes: np.ndarray) -> Any:
            frame = frame_of(net, codes).astype(float)
            return frame if as_frame else frame.to_numpy()

        return final.fit(plain(training), y), plain, as_frame
    if encoder == "mapping":
        numbers = {
            name: {label: float(number) for label, number in zip(labels, rng.permutation(len(labels)), strict=True)}
            for name, labels in zip(net.features, net.states, strict=True)
        }
        arguments["encoder"] = numbers

        def mapped(codes: np.ndarray) -> np.ndarray:
            lookup = [np.array([numbers[name][label] for label in labels])
                      for name, labels in zip(net.features, net.states, strict=True)]  # fmt: skip
            return np.stack([values[codes[:, j]] for j, values in enumerate(lookup)], axis=1)

        return final.fit(mapped(training), y), mapped, False
    categories = [sorted(labels) for labels in net.states]
    hot = OneHotEncoder(categories=categories, sparse_output=False, drop=[None, "first"][int(rng.integers(2))])
    if encoder == "one-hot" and all(len(labels) == 1 for labels in categories):
        hot = OneHotEncoder(categories=categories, sparse_output=False)
    ordinal = OrdinalEncoder(categories=categories)
    transformer: Any = {"ordinal": ordinal, "one-hot": hot}.get(encoder)
    if transformer is None:
        cut = int(rng.integers(1, len(categories) + 1))
        parts = [("o", OrdinalEncoder(categories=categories[:cut]), net.features[:cut])]
        if cut < len(categories):
            rest = OneHotEncoder(categories=categories[cut:], sparse_output=False)
            parts.insert(0, ("h", rest, net.features[cut:]))
        transformer = ColumnTransformer(parts)
    if encoder == "ordinal" and boosted_elsewhere and case.model_output == "raw":
        transformer.fit(frame_of(net, training))
        arguments["encoder"] = transformer

        def transformed(codes: np.ndarray) -> Any:
            return transformer.transform(frame_of(net, codes))

        return final.fit(transformed(training), y), transformed, True
    model = make_pipeline(transformer, final).fit(frame_of(net, training), y)
    return model, lambda codes: frame_of(net, codes), True


def build_callable(kind: str, net: Net, codes: np.ndarray, rng: np.random.Generator) -> Fitted:
    """A function of a table of labels, looked up: as far from a sum of products as can be."""
    width = 3 if kind == "callable of many outputs" else 1
    outputs = rng.normal(size=(*net.cards, width))
    if kind == "constant callable":
        outputs[:] = 3.5
    code_of = [{label: i for i, label in enumerate(labels)} for labels in net.states]
    features = list(net.features)

    def model(table: Any) -> np.ndarray:
        values = table[features].to_numpy(dtype=object) if hasattr(table, "columns") else np.asarray(table, object)
        places = tuple(np.array([code_of[j][value] for value in values[:, j]], dtype=int) for j in range(len(features)))
        answer = outputs[places]
        return answer if width > 1 else answer[:, 0]

    return Fitted(model, {}, outputs, 1e-9, False)


# --- rows ---------------------------------------------------------------------------------------------------------


def build_rows(case: Case, net: Net, joint: np.ndarray, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """X in the form of the case, and the codes of its rows in the order of the features."""
    possible = np.argwhere(joint > 0).reshape(-1, joint.ndim)
    count = 1 if case.rows == "single" else 3
    codes = possible[rng.integers(len(possible), size=count)]
    if case.rows == "duplicated":
        codes = np.concatenate([codes, codes[::-1], codes[:1]])
    return dressed_rows(case, net, codes, rng), codes


def dressed_rows(case: Case, net: Net, codes: np.ndarray, rng: np.random.Generator) -> Any:
    frame = frame_of(net, codes)
    frame.index = pd.Index(rng.integers(-5, 5, size=len(frame)))  # an index means nothing, doubled labels neither
    if case.rows == "array":
        return frame.to_numpy()
    if case.rows == "list":
        return [[net.states[j][code] for j, code in enumerate(row)] for row in codes]
    if case.rows == "dictionaries":
        return [{net.features[j]: net.states[j][row[j]] for j in rng.permutation(len(net.features))} for row in codes]
    if case.rows == "permuted":
        return frame[[net.features[j] for j in rng.permutation(len(net.features))]]
    if case.rows == "single":
        return [net.states[j][code] for j, code in enumerate(codes[0])]
    return frame
