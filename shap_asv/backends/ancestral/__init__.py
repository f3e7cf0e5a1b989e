"""Term by term where every ideal contains the network ancestors of its members, whatever the shape of the order.

Start at :mod:`~shap_asv.backends.ancestral.closures`: what a term sees, and its ideals as tables. ``kernel`` is what is
compiled: fill the tables, walk them for each row.

Under graphs that differ from the network, ideals lack causes of their members. ``completed`` says how they are
completed, ``completed_values`` computes their values with the same tables, and ``completed_backend`` has the rows of
the table of backends.
"""
