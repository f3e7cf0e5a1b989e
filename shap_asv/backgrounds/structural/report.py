"""How well each mechanism of a structural model does, as a table to print, to keep and to plot."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shap_asv.backgrounds.structural.mechanisms.scores import miscalibration

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class NodeReport:
    """One node: its mechanism, its score and that of its marginal (both smaller is better), and its PIT values."""

    name: str
    causes: tuple[str, ...]
    mechanism: str
    measure: str
    score: float
    marginal: float
    pit: np.ndarray

    @property
    def improvement(self) -> float:
        """Share of the marginal's score that knowing the causes saves; 0 for roots."""
        return 1 - self.score / self.marginal if self.marginal > 0 else 0.0

    @property
    def miscalibration(self) -> float:
        """Largest distance of the PIT's distribution function from the diagonal."""
        return miscalibration(self.pit)

    @property
    def calibrated(self) -> bool:
        """Whether that distance is within what chance gives in 99 of 100 tables (Kolmogorov's bound)."""
        return self.miscalibration <= 1.63 / np.sqrt(len(self.pit))


@dataclass(frozen=True, eq=False)
class MechanismReport:
    """The nodes of a fitted structural model, causes first; print it, take :meth:`to_frame`, or draw it with
    :func:`shap_asv.plots.mechanisms`.

    Scores are of held-out rows: CRPS for numbers (in the units of the column), log score for categories. ``PIT`` is the
    largest distance between the distribution of the place of each held-out value in its predicted distribution and the
    uniform one: up to about ``1.6 / sqrt(rows)`` is chance, and a star marks what is more.
    """

    nodes: tuple[NodeReport, ...]

    def __getitem__(self, name: str) -> NodeReport:
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def to_frame(self) -> "pd.DataFrame":
        """One row per node."""
        import pandas as pd

        names = ("mechanism", "measure", "score", "marginal", "improvement", "miscalibration", "calibrated")
        columns = {name: [getattr(node, name) for node in self.nodes] for name in names}
        return pd.DataFrame(
            {"causes": [", ".join(node.causes) for node in self.nodes], **columns},
            index=pd.Index([node.name for node in self.nodes], name="node"),
        )

    def __str__(self) -> str:
        head = ("node", "causes", "mechanism", "measure", "score", "marginal", "saved", "PIT")
        lines = [head]
        for node in self.nodes:
            star = "" if node.calibrated else " *"
            saved = f"{100 * node.improvement:.0f}%" if node.causes else "-"
            numbers = (f"{node.score:.4g}", f"{node.marginal:.4g}", saved, f"{node.miscalibration:.3f}{star}")
            lines.append((node.name, ", ".join(node.causes) or "-", node.mechanism, node.measure, *numbers))
        widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
        rows = [
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        return "\n".join([rows[0], "  ".join("-" * width for width in widths), *rows[1:]])
