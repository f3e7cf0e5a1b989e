"""Exact values of trees on a discrete network, closure by closure. Start at ``missing_causes``, which has the equation.

A coalition is completed by the causes that it lacks (``missing_causes``). What a term sees of the result is an ideal of
the term's own ancestral closure (``ancestral_sets``), and what remains of the closure falls into small components
(``components``), whose values are filled where rows and living leaves ask for them (``on_demand``, compiled in
``kernels``). ``attributor`` multiplies by the weights, ``backend`` has the rows of the table of backends.
"""
