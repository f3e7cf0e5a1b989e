"""The same work done by other packages, each one in a process of its own. See :mod:`benchmarks.peers.comparison`."""
