"""Every partly directed graph of a few nodes against the definition: ``python -m tests.orders.uncertain.all_graphs 5``.

With five nodes there are 765,664 graphs, which takes about eight minutes; the suite does all up to four.
"""

import sys

from shap_asv.errors import CausalGraphError
from shap_asv.orders.uncertain import PartialGraph
from tests.oracles.partly_directed import consistent_extensions, partly_directed_graphs


def check(n, directed, undirected):
    """Count and list of one graph; returns how many extensions it has."""
    wanted = consistent_extensions(directed, undirected)
    graph = PartialGraph(range(n), directed, undirected)
    try:
        count = graph.count()
    except CausalGraphError as error:
        if wanted or "no consistent extension" not in str(error):
            raise
        return 0
    listed = [frozenset(dag.edges) for dag in graph]
    assert count == len(listed) == len(wanted), (directed, undirected)
    assert set(listed) == wanted, (directed, undirected)
    return count


def main(n):
    counts = [check(n, *graph) for graph in partly_directed_graphs(n)]
    print(f"{n} nodes: {len(counts):,} graphs, {sum(map(bool, counts)):,} with extensions, {sum(counts):,} extensions")


def equivalence_class_of(dag):
    """The CPDAG of a DAG (all DAGs that imply the same independences): its v-structures, and what follows from them."""
    near = {frozenset(edge) for edge in dag.edges}
    colliding = {
        (a, c) for c in dag for a in dag.pred[c] for b in dag.pred[c] if a != b and frozenset((a, b)) not in near
    }
    return PartialGraph(list(dag), colliding, set(dag.edges) - colliding).oriented()


if __name__ == "__main__":
    main(int(sys.argv[1]))
