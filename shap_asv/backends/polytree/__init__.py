"""The polytree algorithm: exact attributions of sums of products on causal polytrees, in polynomial time.

Start at :mod:`~shap_asv.backends.polytree.prepared`, which has the idea and the way in. ``layout`` is the polytree with
its network, ``times`` when neighbours arrive, ``messages`` what they tell each other about one term and one row.
"""
