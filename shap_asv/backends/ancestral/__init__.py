"""Term by term where every ideal contains the network ancestors of its members, whatever the shape of the order.

Start at :mod:`~shap_asv.backends.ancestral.closures`: what a term sees, and its ideals as tables. ``kernel`` is what is
compiled: fill the tables, walk them for each row.
"""
