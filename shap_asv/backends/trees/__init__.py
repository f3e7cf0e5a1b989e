"""Tree ensembles without a network: shap's own two distributions under any causal order.

A leaf with value c looks at the features D on its path. For a row let ``p_j`` say whether the row satisfies the leaf's
conditions on j. Both of shap's distributions give the leaf a game of one form,

    v(S) = c * [p_j for all j in D and S] * F(D - S)

- *path-dependent* (cover counts): ``F(Q)`` is the product over Q of ``b_j``, the cover ratios of the splits on j;
- *background rows*: ``F(Q)`` is the share of rows that satisfy the leaf's conditions on all of Q.

With ``w_D(i, B)`` = the probability that exactly B of D precede i in a random order,

    phi_i = c * sum over B inside {j : p_j} of  w_D(i, B) * (p_i F(D - B - i) - F(D - B))

so that a row matters to a leaf through d bits only. The files follow that sentence: ``leaves`` turns numbers into bits,
:mod:`shap_asv.orders.restricted` gives ``w_D``, ``attributor`` tabulates phi over the patterns of a leaf and adds up
for rows; ``kernels`` is their compiled code, and ``cost`` is what it all takes.
"""
