"""False alarms and power of ``check_graph`` on rows of known networks: ``python -m tests.discovery.rates``.

The true graph should be contradicted in at most 5% of the tables. With one edge dropped at random, what is missing
should be noticed; how often that is depends on the edge and on the number of rows. All networks together are kept as a
record; ``python -m tests.discovery.rates asia 200`` measures one of them, at three numbers of rows.
"""

import sys

import networkx as nx
import numpy as np
from scipy.stats import binom

from shap_asv import load_network, sample_rows
from shap_asv.discovery import check_graph
from tests.reliability.records import Figure, Record, keep

ALPHA = 0.05
#: Tables of each network, and rows of each table, in the record.
N_TABLES, N_ROWS = 40, 1000
#: Networks, and the share of dropped edges that is asked to be noticed; the edges of cancer are weak.
NETWORKS = {"asia": 0.8, "cancer": 0.4, "sachs": 0.8, "child": 0.8}


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


def figures_of(name, alarms, noticed, n_tables=N_TABLES, n_rows=N_ROWS):
    """What was measured on one network; false alarms may exceed 5% by what chance does once in a thousand runs."""
    most = float(binom.ppf(0.999, n_tables, ALPHA)) / n_tables
    head = f"{name}, {n_tables} tables of {n_rows:,} rows"
    return [
        Figure(f"{head}: the true graph contradicted", f"{alarms:.0%}", f"5%; {most:.0%} by chance", alarms <= most),
        Figure(
            f"{head}: one edge dropped, noticed", f"{noticed:.0%}", f"{NETWORKS[name]:.0%}", noticed >= NETWORKS[name]
        ),
    ]


def record_of(figures):
    notes = [
        "Rows are drawn from the network. The graph that is checked is the true one, and the true one without one "
        f"edge, drawn at random for each table; alpha = {ALPHA:g}, with Holm's correction for the number of "
        "independences."
    ]
    return Record("graph_checks", "check_graph on known networks", "python -m tests.discovery.rates", figures, notes)


def main(arguments):
    if not arguments:
        figures = []
        for name in NETWORKS:
            figures += figures_of(name, *rates(name, N_TABLES, N_ROWS))
            print(figures[-2].value, figures[-1].value, name, flush=True)
        keep(record_of(figures))
        return
    name, n_tables = arguments[0], int(arguments[1])
    for n_rows in (300, 1000, 5000):
        alarms, noticed = rates(name, n_tables, n_rows)
        head = f"{name}, {n_tables} tables of {n_rows:,} rows"
        print(f"{head}: false alarms {alarms:.1%}, a dropped edge noticed {noticed:.1%}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
