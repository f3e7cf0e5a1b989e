"""A network counted in a table, with pseudo-rows, entry by entry. Imports nothing of ours."""

import itertools

import numpy as np


def counted_tables(codes, cards, parents, smoothing):
    """``P(v | causes)`` (cards[v], *cards of causes) for every column of integer codes (r, n)."""
    n_rows, tables = len(codes), []
    for v, causes in enumerate(parents):
        own = [(sum(codes[:, v] == s) + smoothing / cards[v]) / (n_rows + smoothing) for s in range(cards[v])]
        table = np.zeros((cards[v], *(cards[p] for p in causes)))
        for given in itertools.product(*(range(cards[p]) for p in causes)):
            alike = np.ones(n_rows, dtype=bool)
            for p, state in zip(causes, given, strict=True):
                alike &= codes[:, p] == state
            for s in range(cards[v]):
                together = np.sum(alike & (codes[:, v] == s))
                if not causes or alike.sum() + smoothing == 0:
                    table[(s, *given)] = own[s]
                else:
                    table[(s, *given)] = (together + smoothing * own[s]) / (alike.sum() + smoothing)
        tables.append(table)
    return tables
