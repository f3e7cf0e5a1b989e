"""Unrelated pairs of evidence and term: the diagonal of the grid, and of the sums over the full joint."""

import numpy as np
import pytest

from shap_asv.backgrounds.discrete.inference import engine
from shap_asv.backgrounds.discrete.inference.engine import Inference
from shap_asv.errors import ImpossibleEvidenceError, ShapAsvError
from tests.backgrounds.problems import Problem


def pairs(problem, count=60):
    """Random pairs (coalition, term), some of them twice."""
    rows = problem.rng.integers(len(problem.coalitions), size=count)
    asked = problem.rng.integers(len(problem.terms), size=count)
    return rows, asked


@pytest.fixture(params=["numpy", "compiled"])
def path(request, monkeypatch):
    """Force one of the two implementations of the numbering."""
    monkeypatch.setattr(Inference, "uses_kernels", lambda self, work: request.param == "compiled")


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["dag", "forest", "edgeless", "chain"])
def test_equal_to_the_full_joint(kind, zeros, path):
    for seed in range(6):
        problem = Problem(seed, kind, n=2 + seed % 5, zeros=zeros)
        rows, asked = pairs(problem)
        got = problem.background.paired_expectations(problem.evidence()[rows], problem.vectors, problem.terms[asked])
        np.testing.assert_allclose(got, problem.expected()[rows, asked], rtol=0, atol=1e-9)


def test_blocks_and_kernels_change_no_bit(monkeypatch):
    problem = Problem(3, n=6, n_terms=30, latent=False)
    rows, asked = pairs(problem, 200)
    results = []
    for compiled in (False, True):
        monkeypatch.setattr(Inference, "uses_kernels", lambda self, work, compiled=compiled: compiled)
        for limit in (1 << 20, 40):
            monkeypatch.setattr(engine, "ENTRY_LIMIT", limit)
            arguments = problem.evidence()[rows], problem.vectors, problem.terms[asked]
            results.append(problem.background.paired_expectations(*arguments))
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_impossible_evidence_raises_or_is_relaxed_as_in_the_grid():
    seen = 0
    for seed in range(30):
        problem = Problem(seed, n=5, zeros=0.4, impossible="relax")
        impossible = np.argwhere(problem.p_features == 0)
        if not len(impossible):
            continue
        seen += 1
        rows, asked = pairs(problem, 20)
        rows[0] = len(problem.coalitions) - 1
        evidence = problem.evidence(impossible[0])[rows]
        grid = problem.background.expectations(evidence, problem.vectors, problem.terms)[np.arange(20), asked]
        got = problem.background.paired_expectations(evidence, problem.vectors, problem.terms[asked])
        np.testing.assert_allclose(got, grid, rtol=0, atol=1e-12)
        problem.background.impossible = "raise"
        with pytest.raises(ImpossibleEvidenceError, match="evidence row 0 is impossible"):
            problem.background.paired_expectations(evidence, problem.vectors, problem.terms[asked])
    assert seen > 5


def test_numbers_of_rows_and_terms_must_agree():
    problem = Problem(0)
    with pytest.raises(ShapAsvError, match="2 evidence rows cannot be paired with 3 terms"):
        problem.background.paired_expectations(np.full((2, len(problem.nodes)), -1), problem.vectors, problem.terms[:3])
