"""All statistical tests with their false-alarm rates: ``python -m tests.reliability.statistics`` runs and lists them.

The seeds of these tests are fixed: each fails always or never. Its false-alarm rate is the chance that a right program
would fail it under another seed, so that a failure after a change is evidence, and how much.
"""

import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.reliability.records import Figure, Record, keep

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Statistical:
    """A test function, what it looks at, and the false-alarm rate of each of its cases."""

    test: str
    what: str
    rate: float


def outside(window: float, scatter: float) -> float:
    """The chance that a share which scatters normally, both in percentage points, leaves a window about its mean.

    >>> round(outside(2.0, 1.0), 3)
    0.046
    """
    return math.erfc(window / scatter / math.sqrt(2))


ORDERS, SAMPLED = "tests/orders/test_sampling.py", "tests/explainer/test_sampling.py"
DRAWS, STRATA, UNBIASED = "tests/backgrounds/test_draws.py", "tests/test_strata.py", "tests/statistics/test_unbiased.py"
SOBOL, TABLES = "tests/statistics/test_sobol_backgrounds.py", "tests/statistics/test_tables.py"
TESTS = (
    Statistical(
        f"{ORDERS}::test_draws_are_uniform",
        "each order sampler (forest, polytree, ideals, mcmc, perfect, auto) against all topological orders: chi-square",
        1e-4,
    ),
    Statistical(
        f"{ORDERS}::test_orders_of_groups_are_uniform_one_by_one",
        "orders spread within groups, one of each group: chi-square",
        1e-4,
    ),
    Statistical(
        f"{ORDERS}::test_positions_agree_between_methods",
        "mean positions of up to 7 features by up to 5 samplers within 5 standard errors",
        2e-5,
    ),
    Statistical(
        f"{ORDERS}::test_child_is_drawn_with_the_weights_of_its_lattice",
        "20 positions on the child network against exact probabilities: chi-square, 1e-5 each",
        2e-4,
    ),
    Statistical(
        f"{ORDERS}::test_a_large_polytree_is_drawn_by_its_counts",
        "60 positions twice within 5 standard errors",
        7e-5,
    ),
    Statistical(
        f"{ORDERS}::test_interleaving_components_is_uniform", "interleavings of two components: chi-square", 1e-4
    ),
    Statistical(
        f"{STRATA}::test_each_number_is_uniform_and_coordinates_are_independent",
        "spread uniform numbers: 12 chi-square tests, 1e-4 each",
        1.2e-3,
    ),
    Statistical(
        f"{DRAWS}::test_draws_follow_the_conditional", "draws of X given evidence: chi-square, Bonferroni", 1e-4
    ),
    Statistical(
        f"{DRAWS}::test_both_kinds_of_evidence_are_covered",
        "ancestral and other evidence: chi-square, Bonferroni",
        2e-4,
    ),
    Statistical(
        f"{UNBIASED}::test_sampled_values_are_unbiased_and_their_errors_calibrated",
        "bias (Student's t, Bonferroni) and calibration of standard errors, sampled orders and Monte Carlo",
        2e-4,
    ),
    Statistical(
        f"{UNBIASED}::test_intervals_cover",
        "95% intervals, 150 seeds: sampled orders, Monte Carlo, both (Student's t over seeds), and calibration again",
        3e-4,
    ),
    Statistical(
        f"{SAMPLED}::test_intervals_from_sampled_orders_cover", "95% intervals, sampled orders, 200 seeds", 1e-3
    ),
    Statistical(
        f"{STRATA}::test_sobol_means_are_unbiased_and_groups_independent",
        "scrambled Sobol groups of any size: bias and correlation within 5 standard errors, spread within 4 of its own",
        1e-4,
    ),
    Statistical(
        f"{SOBOL}::test_scrambled_groups_are_unbiased",
        "scrambled Sobol groups under Gaussians, donors, copulas, mechanisms and confounded levels: bias (Student's t, "
        "Bonferroni) and calibration of standard errors, from below",
        2e-4,
    ),
    Statistical(
        f"{SOBOL}::test_intervals_cover_with_a_stated_rate",
        "95% intervals under the same five, 150 seeds (Student's t over seeds)",
        2e-4,
    ),
    Statistical(
        f"{TABLES}::test_intervals_cover[Gaussian]",
        "95% intervals under a Gaussian, 300 seeds, window of 2 points where the share scatters by 0.7",
        outside(2.0, 0.7),
    ),
    Statistical(
        f"{TABLES}::test_intervals_cover[donors]",
        "95% intervals under donors, 100 seeds, window of 2 points where the share scatters by 1.1",
        outside(2.0, 1.1),
    ),
    Statistical(
        "tests/backgrounds/structural/test_known_mechanisms.py::test_intervals_cover",
        "95% intervals under given mechanisms, 100 seeds, window of 3 points where the share scatters by 1",
        outside(3.0, 1.0),
    ),
    Statistical(
        "tests/values/test_sobol_groups.py::test_intervals_cover",
        "95% intervals of one coalition, 600 seeds, window of 2 points where the share scatters by 0.9",
        outside(2.0, 0.9),
    ),
    Statistical(
        "tests/values/test_coverage.py::test_many_draws_cover",
        "95% intervals on a network with rare states, 60 seeds, window of 2 points where the share scatters by 1",
        outside(2.0, 1.0),
    ),
)


def run(test: str) -> tuple[int, bool]:
    """The number of cases of a test function, and whether all pass."""
    command = [sys.executable, "-m", "pytest", "-q", "--no-header", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    last = done.stdout.strip().splitlines()[-1]
    cases = sum(int(number) for number, word in zip(last.split(), last.split()[1:], strict=False)
                if word.rstrip(",") in ("passed", "failed"))  # fmt: skip
    return cases, done.returncode == 0


def main() -> int:
    figures, expected, all_pass = [], 0.0, True
    for statistical in TESTS:
        cases, passed = run(statistical.test)
        expected += cases * statistical.rate
        all_pass &= passed
        value = f"{cases} cases {'pass' if passed else 'DO NOT PASS'}"
        figures.append(Figure(statistical.what, value, f"false alarm at most {statistical.rate:.2g} each", passed))
    figures.append(Figure("false alarms to expect if every seed were drawn anew", f"{expected:.3f}"))
    notes = [
        "Seeds are fixed, so each test passes always or never. Rates of windows are those of an interval that covers "
        "95%; they are wide because they watch for large mistakes in few seeds, and are most of the sum in the last "
        "row. Further tests (`tests/explainer/test_sampling.py`, `tests/values/test_values.py`) watch windows of a few "
        "percentage points without a stated rate.",
        "Each kind was seen to fail: random Kahn orders, clocks without subtree sizes, bent uniform numbers (to the "
        "power of 1.05 under the newer backgrounds), halved standard errors (see the mutation check).",
    ]
    keep(Record("statistics", "Statistical tests", "python -m tests.reliability.statistics", figures, notes))
    return 0 if all_pass else 1


if __name__ == "__main__":
    sys.exit(main())
