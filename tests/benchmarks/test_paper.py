"""What the experiments on the paper must find whatever the machine, and the tools they measure with."""

import numpy as np
import pytest

from benchmarks import accuracy, classes
from benchmarks.experiment import Progress


@pytest.fixture(scope="module")
def counted():
    return classes.run("small", Progress(False))


def test_child_has_the_papers_counts(counted):
    child = counted.table("counts").rows[0]
    assert child[3] == 741_015_475_200
    assert child[4] == pytest.approx(2003.3)
    assert [claim.holds for claim in counted.claims[:2]] == [True, True]


def test_the_bound_holds_in_nodes_and_not_in_edges(counted):
    rows = {row[0]: row for row in counted.table("bound").rows}
    assert all(row[5] == 0 for row in rows.values() if row[1])
    assert rows["naive Bayes"][6] > 0
    assert "3 effects: 4 classes > 1^3 + 1 = 2" in rows["naive Bayes"][9]
    assert rows["isolated features"][5] > 0
    assert rows["inverted star"][5] > 0
    assert rows["isolated features"][8] == 0
    assert rows["path"][2:7] == (30, 1, 0.5, 0, 0)  # 30 paths of one class each, no bound broken
    verdicts = {claim.text.split(":")[0]: claim for claim in counted.claims}
    assert verdicts["a path"].holds
    assert verdicts["Proposition 2"].holds
    assert verdicts["Proposition 2 read with h in edges (a star has depth 1)"].holds is False


def test_sampled_values_keep_efficiency_and_come_near():
    from benchmarks.ensembles import pruned_child_network

    setting = accuracy.prepare(pruned_child_network(), "XrayReport", 3, 3)
    found = setting.sampled(2000, seed=1)
    np.testing.assert_allclose(found.sum(axis=1), setting.nu[:, -1] - setting.nu[:, 0], atol=1e-12)
    assert 0 < np.abs(found - setting.exact).max() < 0.02
