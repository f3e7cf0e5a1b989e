"""The command line: ``python -m shap_asv demo`` and ``python -m shap_asv explain``.

Words and files are checked before anything heavy is imported (``request.py``: the standard library only), so that a
wrong file name is answered at once. ``tables.py`` reads a CSV file with types, ``training.py`` fits a model where none
was given, ``jobs.py`` has the two jobs; both end in a report.
"""
