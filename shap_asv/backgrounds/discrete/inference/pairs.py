"""One product of one-feature functions for each evidence row: expectations of pairs instead of a grid.

Where every evidence row has a question of its own, a column per distinct term would be asked of every evidence row in
vain. So the functions of the pair go where the evidence is: two pairs share a row of a bucket if evidence *and*
functions agree at and below it (``marks`` of ``compile_evidence``), and

    R_b[row] = sum over entries (w, x) of the row:  w * g_row(x) * prod over children c of R_c[child row]

is one number per row.
"""

from collections.abc import Sequence

import numpy as np

from shap_asv.backgrounds.discrete.inference.circuit import Circuit


def split_pairs(
    evidence: np.ndarray, vectors: Sequence[np.ndarray | None], terms: np.ndarray
) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """What is known already, and what remains to be asked of the network.

    The function of an observed variable is a number, and a pair with a factor 0 asks nothing more.

    Parameters
    ----------
    evidence : int array (nodes, Q)
    vectors : sequence of (float array (V_v, card(v)), or None where no pair looks)
    terms : int array (Q, nodes)

    Returns
    -------
    known : float64 array (Q,)
        The product of the functions of observed variables.
    functions : int array (nodes, Q)
        The row of the new ``vectors[v]`` that is still to be asked; 0 is the constant 1.
    vectors : list of float arrays (1 + V_v, card(v))
    """
    known = np.ones(evidence.shape[1])
    functions = np.zeros(evidence.shape, dtype=np.int64)
    with_one: list[np.ndarray] = [np.ones((1, 1))] * len(evidence)
    for v, table in enumerate(vectors):
        if table is not None:
            used, codes = np.ascontiguousarray(terms[:, v]), evidence[v]
            constant = (table == 1).all(axis=1)
            known *= np.where(codes >= 0, table[used, codes], 1.0)
            functions[v] = np.where((codes >= 0) | constant[used], 0, used + 1)
            with_one[v] = np.vstack([np.ones(table.shape[1]), table])
    functions[:, known == 0] = 0
    return known, functions, with_one


def evaluate_pairs(circuit: Circuit, vectors: Sequence[np.ndarray], functions: np.ndarray) -> np.ndarray:
    """``E[prod over v of g_v(X_v) | e]`` of every pair -> (Q,). O(entries of the circuit).

    Parameters
    ----------
    circuit : Circuit
        Compiled with ``functions`` as marks.
    vectors : sequence of float arrays (V_v, card(v))
        Row 0 is the constant 1.
    functions : int array (nodes, Q)
        The row of ``vectors[v]`` that each pair uses.
    """
    values: dict[int, np.ndarray] = {}
    looks: list[np.ndarray] = []
    for b, (bucket, rows) in enumerate(zip(circuit.plan.buckets, circuit.buckets, strict=True)):
        here = functions[bucket.node]
        looks.append(np.logical_or.reduce([here > 0, *(looks[c] for c in bucket.children)]))
        if not looks[b].any():
            continue
        product = rows.weights.copy()
        if here.any():
            product *= vectors[bucket.node][np.repeat(here[rows.met], np.diff(rows.starts)), rows.states]
        for c, child_rows in zip(bucket.children, rows.child_rows, strict=True):
            if c in values:
                product *= values.pop(c)[child_rows]
        # where a pair looks at nothing, the mean is 1, whatever rounding makes of the sum of the weights
        values[b] = np.where(looks[b][rows.met], np.add.reduceat(product, rows.starts[:-1]), 1.0)
    result = np.ones(circuit.n_evidence)
    for root, root_rows in zip(circuit.plan.roots, circuit.root_rows, strict=True):
        if root in values:
            result *= values[root][root_rows]
    return result
