"""The forest algorithm: exact attributions of sums of products on causal forests, in polynomial time.

Start at :mod:`~shap_asv.backends.forest.prepared`, which has the idea and the way in. Before any row: ``layout`` (the
forest and its network as flat arrays), ``terms`` (the model's terms, grouped by what they see) and ``clock`` (points in
time). Per row: ``small`` in plain numpy, or compiled ``threads`` -> ``kernels`` -> ``patterns`` and ``passes``, with
``recursion`` for long paths.
"""
