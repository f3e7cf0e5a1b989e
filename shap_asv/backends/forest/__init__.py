"""The forest algorithm: exact attributions of sums of products on causal forests, in polynomial time.

Start at :mod:`~shap_asv.backends.forest.prepared`, which has the idea and the way in. Before any row: ``layout`` (the
forest and its network as flat arrays, the model's terms grouped by what they see) and ``clock`` (points in time). Per
row: by clocks, compiled, in ``kernels``; or by ``recursion``, in plain numpy, what is too small for a compiler or has
paths too long for a clock.
"""
