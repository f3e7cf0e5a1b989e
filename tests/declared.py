"""What the tables declare, for tests: every kind of background with an example, and what can be computed under it."""

from functools import cache

from shap_asv.backends.registry import BACKENDS
from shap_asv.backgrounds.discrete.network import DiscreteNetwork
from shap_asv.backgrounds.registry import BACKGROUNDS, kind_of
from shap_asv.values.registry import VALUE_METHODS


@cache
def example_background(kind):
    """A small background over x0, x1, x2 of the kind (a row of the table)."""
    import shap

    given = kind.example()
    masker = shap.maskers.Independent(given) if hasattr(given, "iloc") else given
    return kind.read(given, masker).background(("x0", "x1", "x2"), "raise")


def methods_under(kind):
    """The value methods that the kind has what it takes for, whatever the model."""
    return [method for method in VALUE_METHODS if method.needs.obstacle(example_background(kind)) is None]


def backends_under(kind):
    """The backends that the kind has what it takes for, whatever the model and the order."""
    from shap_asv.backgrounds.contract import TERMS

    background = example_background(kind)
    return [
        backend
        for backend in BACKENDS
        if (TERMS if backend.method is None else backend.method.needs).obstacle(background) is None
    ]


NETWORKS = kind_of(DiscreteNetwork((), (), (), ()))
PAIRS = [(kind, method) for kind in BACKGROUNDS for method in methods_under(kind)]
