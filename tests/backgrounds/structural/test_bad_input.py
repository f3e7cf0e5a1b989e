"""What cannot be done is said by name, with the way out; what can be done anyhow is documented and done."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from shap_asv.backgrounds.structural import StructuralModel
from shap_asv.errors import CausalGraphError, CausalGraphWarning, MechanismError, TableError, UnknownStateError

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"cause": RNG.normal(size=100), "effect": RNG.normal(size=100)})
GIVEN = {"a": lambda causes, u: u, "b": lambda causes, u: causes["a"] + u}


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: StructuralModel.fit(TABLE, [("cause", "efect")]), TableError, ["'efect'", "did you mean 'effect'?"]),
        (
            lambda: StructuralModel.fit(TABLE, [("cause", "z")]),
            TableError,
            ["'z'", "leave it out", "'cause', 'effect'"],
        ),
        (
            lambda: StructuralModel.fit(TABLE, [("cause", "effect"), ("effect", "cause")]),
            CausalGraphError,
            ["cycle: ", "cause", "effect", "remove"],
        ),
        (lambda: StructuralModel.fit(TABLE, nx.Graph([("cause", "effect")])), CausalGraphError, ["undirected"]),
        (lambda: StructuralModel.fit(TABLE, "cause"), CausalGraphError, ["DiGraph", "str"]),
        (lambda: StructuralModel.fit(TABLE, [("cause",)]), CausalGraphError, ["pair", "('cause',)"]),
        (lambda: StructuralModel.fit(TABLE, 3), CausalGraphError, ["DiGraph", "int"]),
        (
            lambda: StructuralModel.fit(TABLE, [("cause", "effect")], {"effekt": "linear"}),
            MechanismError,
            ["'effekt'", "did you mean 'effect'"],
        ),
        (
            lambda: StructuralModel.fit(TABLE, [("cause", "effect")], "liner"),
            MechanismError,
            ["'liner'", "'linear'", "'boosting'"],
        ),
        (
            lambda: StructuralModel.fit(TABLE.assign(d=pd.Timestamp("2020")), [("cause", "effect")]),
            TableError,
            ["'d'", "datetimes"],
        ),
        (lambda: StructuralModel.fit(TABLE.iloc[:0], [("cause", "effect")]), TableError, ["0 rows"]),
        (lambda: StructuralModel([("a", "b")], {"a": GIVEN["a"]}), MechanismError, ["'b' has no mechanism"]),
        (lambda: StructuralModel([("a", "b")], {**GIVEN, "c": GIVEN["a"]}), MechanismError, ["'c'", "not a node"]),
        (lambda: StructuralModel([("a", "b")], {**GIVEN, "b": 3}), MechanismError, ["'b'", "int", "not a function"]),
        (
            lambda: StructuralModel([("a", "b")], {**GIVEN, "b": lambda causes, u: np.log(causes["a"] - 2)}),
            MechanismError,
            ["'b' returned nan", "a = "],
        ),
        (
            lambda: StructuralModel([("a", "b")], {**GIVEN, "b": lambda causes, u: u / 0.0}),
            MechanismError,
            ["'b' returned inf"],
        ),
        (
            lambda: StructuralModel([("a", "b")], {**GIVEN, "b": lambda causes, u: np.zeros(3)}),
            MechanismError,
            ["'b'", "shape (3,)", "(4096,)"],
        ),
        (
            lambda: StructuralModel([("a", "b")], {**GIVEN, "b": lambda causes, u: 1.0}),
            MechanismError,
            ["'b'", "shape ()"],
        ),
        (
            lambda: StructuralModel([("a", "b")], {**GIVEN, "b": lambda causes, u: causes["x"]}),
            MechanismError,
            ["'b' raised KeyError", "causes a"],
        ),
        (lambda: StructuralModel([("a", "b")], GIVEN).report(), MechanismError, ["given, not fitted"]),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value", "ignore:divide by zero")
def test_errors_name_the_thing_and_the_way_out(make, error, words):
    with pytest.raises(error) as raised:
        make()
    for word in words:
        assert word in str(raised.value)


def test_a_column_without_a_node_is_independent_and_the_user_is_told():
    data = TABLE.assign(other=TABLE["cause"] * 2)
    with pytest.warns(CausalGraphWarning, match="'other' is not in the graph: taken as independent"):
        model = StructuralModel.fit(data, [("cause", "effect")], seed=0, silent=True)
    assert set(model.nodes) == {"cause", "effect", "other"}
    assert abs(model.sample(4000, seed=0).corr().loc["cause", "other"]) < 0.08


@pytest.mark.parametrize("n", [1, 2, 3, 10])
def test_a_table_of_a_few_rows(n):
    """Linear at most, and no more than the rows bear."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=n)
    data = pd.DataFrame({"x": x, "y": 3 * x + 0.1 * rng.normal(size=n), "k": np.where(x > 0, "a", "b")})
    model = StructuralModel.fit(data, [("x", "y"), ("x", "k"), ("y", "k")], seed=0, silent=True)
    sample = model.sample(200, seed=0)
    assert sample.notna().all(axis=None)
    assert set(sample["k"]) <= set(data["k"])
    if n == 10:
        assert sample["x"].corr(sample["y"]) > 0.9
    assert (model.report()["score"] >= 0).all()


def test_causes_that_do_not_help_are_not_used():
    rng = np.random.default_rng(3)
    data = pd.DataFrame(rng.normal(size=(10, 5)), columns=list("abcdy"))
    model = StructuralModel.fit(data, [(cause, "y") for cause in "abcd"], seed=0, silent=True)
    assert "y <- a, b, c, d: empirical (10 values)" in str(model)
    assert model.report()["saved"]["y"] == 0


def test_constant_columns():
    data = TABLE.assign(same=7, label="only", after=TABLE["cause"] + 1)
    edges = [("same", "after"), ("label", "after"), ("cause", "same"), ("cause", "label"), ("effect", "after")]
    model = StructuralModel.fit(data, edges, seed=0, silent=True)
    sample = model.sample(100, seed=0)
    assert set(sample["same"]) == {7}
    assert set(sample["label"]) == {"only"}
    assert "constant" in str(model)
    assert model.report()["score"]["same"] == 0
    only = StructuralModel.fit(data, [("same", "label"), ("same", "after"), ("cause", "effect")], seed=0, silent=True)
    assert "empirical" in str(only).split("after <- same: ")[1]


def test_a_column_that_is_missing_throughout():
    data = TABLE.assign(gone=np.nan)
    model = StructuralModel.fit(data, [("cause", "gone"), ("gone", "effect")], seed=0, silent=True)
    assert model.sample(20, seed=0)["gone"].isna().all()


def test_categories_unseen_in_training():
    data = pd.DataFrame({"k": ["a", "b"] * 50, "y": RNG.normal(size=100)})
    background = StructuralModel.fit(data, [("k", "y")], seed=0, silent=True).background()
    with pytest.raises(UnknownStateError, match="column 'k', row 0: 'z' is not one of its categories 'a', 'b'"):
        background.read(pd.DataFrame({"k": ["z"], "y": [0.0]}))
    # a category of the dtype that no row has can be read, and counts as the rest does
    declared = data.assign(k=pd.Categorical(data["k"], categories=["a", "b", "never"]))
    background = StructuralModel.fit(declared, [("k", "y")], seed=0, silent=True).background()
    row = background.read(pd.DataFrame({"k": ["never"], "y": [0.0]}))
    draws = background.draws(np.array([[row[0, 0], np.nan]]), RNG.random((10, background.n_uniforms)))
    assert np.isfinite(draws).all()


def test_rare_labels_of_given_mechanisms_need_a_table():
    def rare(causes, u):
        return np.where(u < 1e-6, "rare", "usual")

    background = StructuralModel([("a", "k")], {"a": GIVEN["a"], "k": rare}).background()
    with pytest.raises(UnknownStateError, match="'rare' is not one of its categories 'usual'"):
        background.draws(np.full((1, 2), np.nan), np.array([[0.5, 1e-7]]))
    like = pd.DataFrame({"a": [0.5, 0.6], "k": ["rare", "usual"]})
    background = StructuralModel([("a", "k")], {"a": GIVEN["a"], "k": rare}, like=like).background()
    assert background.inputs(background.draws(np.full((1, 2), np.nan), np.array([[0.5, 1e-7]]))[0])["k"][0] == "rare"
