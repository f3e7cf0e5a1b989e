"""Every plot test draws on a canvas without a screen and leaves no figure behind."""

import matplotlib
import pytest

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _no_figures_left():
    import matplotlib.pyplot as plt

    plt.close("all")
    yield
    plt.close("all")
