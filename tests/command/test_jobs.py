"""Both jobs from the words to the page: trained and given models, tables with types, networks with intervals."""

import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from shap_asv import AsymmetricExplainer, load_network
from shap_asv.__main__ import Console, main
from shap_asv.command.training import is_classification, train
from shap_asv.errors import ApproximationWarning
from tests.report.browser import Page, start_browser
from tests.report.test_payload import payload_of, unpack

INTERVALS = """network unknown {
}
variable age {
  type discrete [ 3 ] { 0-30, 31-60, 61+ };
}
variable smoker {
  type discrete [ 2 ] { yes, no };
}
variable ill {
  type discrete [ 2 ] { no, yes };
}
probability ( age ) {
  table 0.3, 0.4, 0.3;
}
probability ( smoker | age ) {
  (0-30) 0.5, 0.5;
  (31-60) 0.3, 0.7;
  (61+) 0.2, 0.8;
}
probability ( ill | age, smoker ) {
  (0-30, yes) 0.8, 0.2;
  (31-60, yes) 0.5, 0.5;
  (61+, yes) 0.2, 0.8;
  (0-30, no) 0.95, 0.05;
  (31-60, no) 0.8, 0.2;
  (61+, no) 0.6, 0.4;
}
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table: age causes smoker causes dose; ill and cost depend on all of them."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 160
    age = rng.integers(20, 80, n)
    smoker = np.where(rng.uniform(size=n) < age / 100, "yes", "no")
    dose = rng.normal(size=n) + 2 * (smoker == "yes")
    ill = np.where(dose + age / 40 + rng.normal(size=n) > 3, "yes", "no")
    cost = 10 * dose + 0.1 * age + (smoker == "yes") + rng.normal(size=n)
    table = pd.DataFrame({"age": age, "smoker": smoker, "dose": dose.round(3), "ill": ill, "cost": cost.round(3)})
    table.to_csv("table.csv", index=False)
    (tmp_path / "dag.csv").write_text("cause,effect\nage,smoker\nsmoker,dose\ndose,cost\n")
    return tmp_path


def payload(path):
    return payload_of(path.read_text("utf-8"))


def test_a_model_is_trained_and_named(folder, capsys):
    words = "explain --data table.csv --target ill --levels age smoker --rest last --drop cost --rows 3 --out page"
    assert main(words.split()) == 0
    said = capsys.readouterr().out
    assert "160 rows, 4 columns (2 numbers, 2 categories)" in said
    assert "Gradient boosting" in said
    assert "other rows (the most frequent class would be in" in said
    page = payload(folder / "page" / "index.html")
    assert page["features"] == ["age", "smoker", "dose"]
    assert page["outputs"] == ["P(ill = yes)"]
    assert [method["name"] for method in page["methods"]] == ["marginal SHAP", "ASV"]
    assert any("Gradient boosting" in note for note in page["notes"])
    assert "Plan for 3 rows" in page["methods"][1]["plan"]


def test_a_given_model_is_explained_as_python_would(folder, capsys):
    table = pd.read_csv("table.csv")
    X, y = table[["age", "smoker", "dose"]], table["cost"]
    encoder = make_column_transformer((OneHotEncoder(), ["smoker"]), remainder="passthrough")
    model = make_pipeline(encoder, LinearRegression()).fit(X, y)
    joblib.dump(model, "model.joblib")
    words = (
        "explain --data table.csv --target cost --edges dag.csv --model model.joblib --trust-model --rows 4,2 --seed 7"
    )
    assert main(words.split()) == 0
    assert "Left out, because the model does not know them: ill." in capsys.readouterr().out
    page = payload(folder / "page" / "index.html")
    explainer = AsymmetricExplainer(
        model, X, [("age", "smoker"), ("smoker", "dose")], values="conditional", seed=7,
        budget=120.0, feature_names=list(X.columns), silent=True,
    )  # fmt: skip
    expected = explainer.compare(X.iloc[[4, 2]], ["ASV"], silent=True).asv.values
    places = [list(X.columns).index(name) for name in page["features"]]
    np.testing.assert_allclose(unpack(page["methods"][1]["values"], 2, 3), expected[:, places], rtol=1e-5, atol=1e-6)
    drawn = [node["name"] for node in page["graph"]["nodes"] if node["feature"] is None]
    assert drawn == ["cost"]


def test_a_plan_and_no_more(folder, capsys):
    words = "explain --data table.csv --target ill --levels age smoker --drop cost --plan --rows 0:2"
    assert main(words.split()) == 0
    said = capsys.readouterr().out
    assert "\nASV. Plan for 2 rows, 3 features" in said
    assert "\nmarginal SHAP. Plan for 2 rows, 3 features" in said
    assert "no edges: marginal Shapley values" in said
    assert not (folder / "page").exists()


def test_a_plan_over_the_budget_is_said_before_the_work(folder, capsys):
    words = "explain --data table.csv --target ill --levels age smoker,dose --drop cost --rows 20 --budget 0.0001"
    assert main(words.split()) == 0
    said = capsys.readouterr().out
    assert ", more than --budget 0.0001: " in said
    assert said.index("more than --budget") < said.index("of the credit moves")
    assert "P(ill = yes)\n" in said


def test_our_warnings_are_lines_like_any_other(capsys):
    with warnings.catch_warnings(record=True) as others, Console().saying_warnings():
        warnings.simplefilter("always")
        warnings.warn("few orders", ApproximationWarning, stacklevel=1)
        warnings.warn("not ours", UserWarning, stacklevel=1)
    assert capsys.readouterr().out.endswith("s] Note: few orders.\n")
    assert [str(other.message) for other in others] == ["not ours"]


@pytest.mark.parametrize("classes", [False, True])
def test_a_model_that_learned_nothing_is_told(classes):
    rng = np.random.default_rng(0)
    X, noise = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"]), rng.normal(size=200)
    words = "no better than a constant: there may be nothing to explain"
    assert words in train(X, pd.Series(noise > 1.2 if classes else noise, name="y"), seed=0).notes[0]
    told = X["a"] > 0.5 if classes else X["a"]
    assert words not in train(X, told.rename("y"), seed=0).notes[0]


def test_a_rare_class_that_is_never_the_likeliest_can_be_learned():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["a", "b"])
    y = pd.Series(rng.uniform(size=2000) < np.where(X["a"] > 1, 0.35, 0.02), name="y")
    words = train(X, y, seed=0).notes[0]
    assert "right in 93% of 500 other rows (the most frequent class would be in 93%)" in words
    assert "the squared error of its probabilities is 15% below that of a constant" in words
    assert "nothing to explain" not in words


def test_a_network_with_intervals_takes_numbers(folder, capsys):
    (folder / "net.bif").write_text(INTERVALS)
    assert (
        main(
            [
                "explain",
                "--data",
                "table.csv",
                "--target",
                "ill",
                "--network",
                "net.bif",
                "--rows",
                "first:20",
                "--out",
                "page",
            ]
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "Left out, because they are not nodes of the network: dose, cost." in said
    page = payload(folder / "page" / "index.html")
    ages = pd.read_csv("table.csv")["age"][:20]
    column = page["states"][page["features"].index("age")]
    shown = [column["labels"][code] for code in column["codes"]]
    assert shown == ["0-30" if a <= 30 else "31-60" if a <= 60 else "61+" for a in ages]
    assert page["methods"][0]["error"] is page["methods"][1]["error"] is None
    network = load_network(folder / "net.bif")
    assert network.get_cpds("age").state_names["age"] == ["0-30", "31-60", "61+"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "--target ill --levels age smoker --drop cost --rows 500:",
            "there is no row 500; the table has rows 0 to 159",
        ),
        ("--target ill --levels age smoker --drop cost --rows 3,500", "there is no row 500"),
        ("--target ill --levels age smoker --drop cost --output perhaps", "'perhaps' is not predicted by the model"),
        ("--target cost --levels age smoker --output yes", "the model has no classes"),
        ("--target ill --levels age smoker --drop cost --algorithm magic", "unknown algorithm 'magic'"),
        ("--target ill --levels age smoker --model table.csv --trust-model", "cannot be loaded as a model"),
        ("--target ill --network asia", "no column of table.csv beside the target is a node of asia"),
        ("--target ill --edges cycle.csv --drop cost", "cycle"),
    ],
)
def test_what_only_the_data_tell(words, message, folder, capsys):
    (folder / "cycle.csv").write_text("age,smoker\nsmoker,dose\ndose,age\n")
    assert main(["explain", "--data", "table.csv", *words.split()]) == 2
    assert message in capsys.readouterr().err


def test_classes_and_numbers():
    assert is_classification(pd.Series(["a", "b"]))
    assert is_classification(pd.Series([True, False]))
    assert is_classification(pd.Series([0, 1] * 50))
    assert not is_classification(pd.Series(np.arange(100)))
    assert not is_classification(pd.Series([0.5, 1.5] * 10))


def test_a_plan_of_the_demo(tmp_path, capsys):
    assert main(["demo", "--network", "cancer", "--plan", "--rows", "5", "--out", str(tmp_path / "demo")]) == 0
    assert "\nASV. Plan for 5 rows, 4 features" in capsys.readouterr().out
    assert not (tmp_path / "demo").exists()


def test_demo_opens_in_a_browser(tmp_path, capsys):
    assert main(["--network", "survey", "--rows", "30", "--out", str(tmp_path / "demo")]) == 0
    said = capsys.readouterr().out
    assert "of the credit moves" in said or "tell the same story" in said
    for step in ("read the network", "drew 5,000 rows", "A decision tree of depth 5", "ASV of 30 rows", "wrote"):
        assert step in said
    driver = start_browser()
    try:
        page = Page(driver, tmp_path / "demo" / "index.html")
        assert len(page.texts("#output option")) == 3
        assert page.texts("#conclusion p")[0] in said
        latent = page.texts("#graph .node.latent")
        assert len(latent) == 1
        assert page.errors() == page.requests() == []
    finally:
        driver.quit()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--network", "nowhere"], "no network is called 'nowhere'"),
        (["--network", "asia", "--target", "Weather"], "target 'Weather' is not a node of the network"),
        (["--network", "asia", "--state", "maybe"], "'maybe' is not predicted by the model; choose from no, yes"),
        (["--network", "asia", "--target", "disp"], "not a node of the network; did you mean 'dysp'?"),
        (["--network", "asia", "--algorithm", "magic"], "unknown algorithm 'magic'"),
    ],
)
def test_wrong_words_for_the_demo(arguments, message, tmp_path, capsys):
    assert main([*arguments, "--out", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err
