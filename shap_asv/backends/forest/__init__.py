"""The forest algorithm: exact attributions of sums of products on causal forests, in polynomial time.

Start at :mod:`~shap_asv.backends.forest.backend`, which has the idea and the way in. ``layout`` has the forest and its
network as flat arrays, and the model's terms grouped by what they see; ``clock`` points in time; ``kernels`` what is
compiled.
"""
