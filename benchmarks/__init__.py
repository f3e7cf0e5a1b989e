"""Measurements that stand behind the claims of the documentation; run them with ``python -m benchmarks.<name>``."""
