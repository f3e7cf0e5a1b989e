"""Stand-ins for graphs of causal-learn, faithful to version 0.1.4.8, for where it is not installed.

``matrix[i, j]`` is the mark at node i of the edge between i and j: -1 tail, 1 arrow, 2 circle.
"""

from enum import Enum

import numpy as np


class Endpoint(Enum):
    TAIL = -1
    NULL = 0
    ARROW = 1
    CIRCLE = 2

    def __str__(self):
        return self.name


class Node:
    def __init__(self, name):
        self.name = name

    def get_name(self):
        return self.name


class Edge:
    def __init__(self, node1, node2, end1, end2):
        self.parts = (node1, node2, end1, end2)

    def get_node1(self):
        return self.parts[0]

    def get_node2(self):
        return self.parts[1]

    def get_endpoint1(self):
        return self.parts[2]

    def get_endpoint2(self):
        return self.parts[3]


class GeneralGraph:
    def __init__(self, names, matrix):
        self.nodes = [Node(name) for name in names]
        self.graph = np.array(matrix)

    def get_nodes(self):
        return self.nodes

    def get_graph_edges(self):
        return [
            Edge(self.nodes[i], self.nodes[j], Endpoint(self.graph[i, j]), Endpoint(self.graph[j, i]))
            for i in range(len(self.nodes))
            for j in range(i + 1, len(self.nodes))
            if self.graph[j, i]
        ]


class CausalGraph:
    """What causal-learn's PC returns."""

    def __init__(self, graph):
        self.G = graph
