"""The numba kernel of :mod:`~shap_asv.backends.ancestral.pieces.tables`."""

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
    entries : uint64 array (pieces, terms)
        Where the table of a piece starts for each term.
    mixed : bool array (pieces,)
        Whether a latent node is a parent of the piece.
    latent : int
        The members that are not features, as bits.
    """

    held: np.ndarray
    starts: np.ndarray
    pieces: np.ndarray
    entries: np.ndarray
    mixed: np.ndarray
    latent: int


class Met(NamedTuple):
    """Rows as a closure meets them, each in several copies, which differ in latent members only.

    Attributes
    ----------
    codes : int64 array (rows, members)
        Of the features; those of latent members are not read.
    dead : int64 array (rows, t)
        The members that each term sends to zero, as bits.
    at : uint64 array (pieces, rows * copies)
        Where the parents of a piece send each copy in its table.
    """

    codes: np.ndarray
    dead: np.ndarray
    at: np.ndarray


@kernel
def add_pieces(remains, tables, met, first_term, coefficients, out):  # type: ignore[no-untyped-def]
    """Add ``prod over pieces of tables[entry + at[piece, copy]]`` times the coefficients to ``out`` (rows, q, copies,
    k), for the terms ``first_term`` and on.

    Rows that agree on what is known are summed once, and so are the copies of a row where no latent member is known.
    """
    n_terms, n_outputs = coefficients.shape
    n_rows = len(met.codes)
    copies = met.at.shape[1] // n_rows
    value = np.empty(copies)
    alive = np.empty(n_terms, np.int64)
    alike = np.empty(n_rows, np.int64)
    totals = np.empty((n_rows, copies, n_outputs))
    for place in range(len(remains.held)):
        held = remains.held[place]
        first, last = remains.starts[place], remains.starts[place + 1]
        differ = copies if held & remains.latent else 1
        _find_alike(held & ~remains.latent, met.codes, alike)
        for row in range(n_rows):
            total = totals[alike[row]]
            if alike[row] == row:
                total[:differ] = 0.0
                n_alive = 0
                for term in range(n_terms):  # without a branch: which terms are alive cannot be guessed
                    alive[n_alive] = term
                    n_alive += (held & met.dead[row, term]) == 0
                start = row * copies
                for i in range(n_alive):
                    term = alive[i]
                    coefficient = coefficients[term]
                    value[:differ] = 1.0
                    same = 1.0
                    for j in range(first, last):
                        piece = remains.pieces[j]
                        entry = remains.entries[piece, first_term + term]
                        at = met.at[piece, start : start + differ]
                        if remains.mixed[piece]:
                            for z in range(differ):
                                value[z] *= tables[entry + at[z]]
                        else:
                            same *= tables[entry + at[0]]
                    for z in range(differ):
                        product = same * value[z]
                        added = total[z]
                        for output in range(n_outputs):
                            added[output] += product * coefficient[output]
            for z in range(copies):
                taken = z if differ > 1 else 0
                for output in range(n_outputs):
                    out[row, place, z, output] += total[taken, output]


@kernel
def _find_alike(held, codes, alike):  # type: ignore[no-untyped-def]
    """The first row that has the same codes at the members ``held``, for each row (rows,)."""
    n_rows, n_members = codes.shape
    size = 16
    while size < 2 * n_rows:
        size *= 2
    slots = np.full(size, -1, np.int64)
    for row in range(n_rows):
        mixed = np.int64(0)
        for v in range(n_members):
            if (held >> v) & 1:
                mixed = (mixed + codes[row, v] + 1) * 0x9E3779B1
                mixed ^= mixed >> 17
        slot = mixed & (size - 1)
        while True:
            known = slots[slot]
            if known < 0:
                slots[slot] = row
                alike[row] = row
                break
            same = True
            for v in range(n_members):
                if (held >> v) & 1 and codes[known, v] != codes[row, v]:
                    same = False
                    break
            if same:
                alike[row] = known
                break
            slot = (slot + 1) & (size - 1)
