"""The numba kernel of :mod:`~shap_asv.backends.ancestral.pieces`."""

from typing import NamedTuple

import numpy as np

from shap_asv.kernels import kernel


class Remains(NamedTuple):
    """What remains of a closure at each ideal.

    Attributes
    ----------
    held : int64 array (q,)
        The members that are known, as bits.
    starts, pieces : int64 arrays (q + 1,) and (all pieces,)
        Ideal p leaves the pieces ``pieces[starts[p] : starts[p + 1]]``.
    entries : int64 array (pieces, terms)
        Where the table of a piece starts for each term.
    """

    held: np.ndarray
    starts: np.ndarray
    pieces: np.ndarray
    entries: np.ndarray


@kernel
def add_pieces(remains, tables, first_term, dead, at, coefficients, out):  # type: ignore[no-untyped-def]
    """Add ``prod over pieces of tables[entry + at[piece, row]]`` times the coefficients to ``out`` (q, rows, k).

    ``dead`` (rows / copies, t) are the members that each term sends to zero, as bits: terms ``first_term`` and on.
    """
    n_terms, n_outputs = coefficients.shape
    n_rows = at.shape[1]
    copies = n_rows // len(dead)
    value = np.empty(copies)
    alive = np.empty(n_terms, np.int64)
    total = np.empty((copies, n_outputs))
    for place in range(len(remains.held)):
        held = remains.held[place]
        first, last = remains.starts[place], remains.starts[place + 1]
        for row in range(len(dead)):
            n_alive = 0
            for term in range(n_terms):  # without a branch: which terms are alive cannot be guessed
                alive[n_alive] = term
                n_alive += (held & dead[row, term]) == 0
            if n_alive == 0:
                continue
            start = row * copies
            total[:] = 0.0
            for i in range(n_alive):
                term = alive[i]
                value[:] = 1.0
                for j in range(first, last):
                    piece = remains.pieces[j]
                    entry = remains.entries[piece, first_term + term]
                    for z in range(copies):
                        value[z] *= tables[entry + at[piece, start + z]]
                for z in range(copies):
                    for output in range(n_outputs):
                        total[z, output] += value[z] * coefficients[term, output]
            for z in range(copies):
                for output in range(n_outputs):
                    out[place, start + z, output] += total[z, output]
