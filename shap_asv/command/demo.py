"""``demo``: the story on one network, from drawn rows to the report.

Rows are drawn from the network, a decision tree learns to predict one node from the others, and the tree is explained
twice, by SHAP and by ASV, over the same network. The predicted node itself is not a feature; it is summed out.
"""

from argparse import Namespace
from pathlib import Path

from shap_asv.command.checks import meant
from shap_asv.command.steps import Steps
from shap_asv.command.wording import explained_words, summary_of, telling_output
from shap_asv.errors import UnknownFeatureError

#: What the bundled networks are usually asked to predict.
TARGETS = {"cancer": "Cancer", "asia": "dysp", "child": "Disease", "insurance": "Accident", "alarm": "CVP"}
TRAINING_ROWS = 5000
ORDERS = 300  # where SHAP has to be sampled: standard errors of about a hundredth, in seconds


def run(request: Namespace, steps: Steps) -> Path:
    """Train a tree on the network's data, explain it by SHAP and ASV, write the report; returns its path.

    ``request`` is what the command line says; ``target`` and ``state`` have defaults that depend on the network.
    """
    steps.say("loading shap, scikit-learn and pgmpy")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder
    from sklearn.tree import DecisionTreeClassifier

    from shap_asv.backgrounds.pgmpy_networks import load_network, read_network
    from shap_asv.datasets import sample_rows
    from shap_asv.explainer.asymmetric import AsymmetricExplainer

    network = load_network(request.network)
    plain = read_network(network)
    target = request.target or TARGETS.get(request.network) or plain.names[-1]
    if target not in plain.names:
        raise UnknownFeatureError(
            f"target {target!r} is not a node of the network{meant(target, plain.names, 'its nodes are')}"
        )
    steps.say(f"read the network {request.network}: {len(plain.names)} nodes; {target} is to be predicted")
    drawn = sample_rows(network, TRAINING_ROWS + request.rows, request.seed)
    X, y = drawn.drop(columns=target), drawn[target].astype(str)
    X_train, X_new = X[:TRAINING_ROWS].astype(str), X[TRAINING_ROWS:].astype(str)
    steps.say(f"drew {TRAINING_ROWS:,} rows to train on and {request.rows:,} to explain")
    states = dict(zip(plain.names, plain.states, strict=True))
    encoder = OrdinalEncoder(categories=[[str(s) for s in states[name]] for name in X.columns])
    tree = DecisionTreeClassifier(max_depth=request.depth, min_samples_leaf=5, random_state=request.seed)
    model = make_pipeline(encoder, tree).fit(X_train, y[:TRAINING_ROWS])
    accuracy = float((model.predict(X_new) == y[TRAINING_ROWS:].to_numpy()).mean())
    words = (
        f"A decision tree of depth {request.depth} was trained; it is right in {accuracy:.0%} of the rows explained."
    )
    steps.say(words)
    state = telling_output(model, request.state)
    explainer = AsymmetricExplainer(
        model, network, algorithm=request.algorithm, seed=request.seed, budget=20.0, n_orders=ORDERS
    )
    comparison = explainer.compare(X_new, silent=True, **({} if state is None else {"outputs": state}))
    steps.say(f"explained {request.rows:,} rows by SHAP and by ASV, over the same network")
    explained = explained_words(target, model, state)
    page = comparison.to_html(
        request.out / "index.html",
        title=f"Why does the tree say so? {explained} in the network {request.network}",
        explained=explained,
        graph=network,
        notes=[f"Rows were drawn from the network {request.network}. {words}"],
    )
    print(f"\n{summary_of(comparison, explained)}\n")
    steps.say(f"wrote {page}; open it in a browser")
    return page
