"""False alarms and power of ``check_graph`` on rows of known networks: ``python -m tests.discovery.rates asia 200``.

The true graph should be contradicted in at most 5% of the tables. With one edge dropped at random, what is missing
should be noticed; how often that is depends on the edge and on the number of rows.
"""

import sys

import networkx as nx
import numpy as np

from shap_asv import load_network, sample_rows
from shap_asv.discovery import check_graph


def rates(name, n_tables, n_rows, seed=0):
    """(share of tables in which the true graph is contradicted, share in which the graph without one edge is)."""
    network = load_network(name)
    graph = nx.DiGraph(network.edges())
    graph.add_nodes_from(network.nodes())
    edges = sorted(graph.edges)
    alarms, noticed = [], []
    for k in range(n_tables):
        rows = sample_rows(network, n_rows, seed=seed + k)
        alarms.append(not check_graph(rows, graph).fits)
        wrong = graph.copy()
        wrong.remove_edge(*edges[np.random.default_rng(seed + k).integers(len(edges))])
        noticed.append(not check_graph(rows, wrong).fits)
    return float(np.mean(alarms)), float(np.mean(noticed))


def main(name, n_tables):
    for n_rows in (300, 1000, 5000):
        alarms, noticed = rates(name, n_tables, n_rows)
        head = f"{name}, {n_tables} tables of {n_rows:,} rows"
        print(f"{head}: false alarms {alarms:.1%}, a dropped edge noticed {noticed:.1%}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
