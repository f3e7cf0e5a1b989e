"""Exact values of trees on a discrete network, closure by closure. Start at ``attributor``, which has the equation.

A coalition is completed by the causes that it lacks (``attributor``). What a term sees of the result is an ideal of the
term's own ancestral closure, and what remains of the closure falls into small components, whose values are filled where
rows and living leaves ask for them (``on_demand``, compiled in ``kernels``). ``backend`` has the rows of the table.
"""
