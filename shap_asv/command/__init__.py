"""The command line: ``shap-asv demo``, ``explain`` and ``check``, also as ``python -m shap_asv``.

Words and files are checked before anything heavy is imported (``request.py`` and ``files.py``: the standard library
only), so that a wrong file name is answered at once. ``tables.py`` reads a table as it comes, ``rows.py`` chooses rows,
``training.py`` fits a model where none was given, ``worth.py`` says what a fit is worth, ``jobs.py`` has the jobs.
"""
