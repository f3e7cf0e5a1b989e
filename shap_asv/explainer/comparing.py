"""SHAP and ASV of the same model, background and rows in one call."""

from typing import Any

from shap_asv.comparison import Comparison
from shap_asv.explainer.asymmetric import AsymmetricExplainer

_CALL = ("max_evals", "main_effects", "error_bounds", "batch_size", "outputs", "silent")


def compare(model: Any, masker: Any, X: Any, causal_graph: Any = None, **options: Any) -> Comparison:
    """Explain the rows of X once with and once without the causal graph.

    Parameters
    ----------
    model, masker, causal_graph
        As in :class:`~shap_asv.AsymmetricExplainer`.
    X : table
        The rows to explain.
    **options
        Further arguments of :class:`~shap_asv.AsymmetricExplainer`, and of its call (``outputs``, ``max_evals``, ...).

    Returns
    -------
    Comparison
        With ``asv`` and ``shap``, both ``shap.Explanation`` over the same background; ``print`` it, or hand it to
        ``shap_asv.plots``.

    Examples
    --------
    >>> from shap_asv import compare, load_network
    >>> result = compare(
    ...     lambda X: 1.0 * (X["Dyspnoea"] == "True"),
    ...     load_network("cancer"),
    ...     [["low", "True", "positive", "True"]],
    ...     feature_names=["Pollution", "Smoker", "Xray", "Dyspnoea"],
    ... )
    >>> result.to_frame(row=0)[["SHAP", "ASV"]].round(3).loc["Dyspnoea"].tolist()
    [0.68, 0.673]
    """
    call = {name: options.pop(name) for name in _CALL if name in options}
    return AsymmetricExplainer(model, masker, causal_graph, **options).compare(X, **call)
