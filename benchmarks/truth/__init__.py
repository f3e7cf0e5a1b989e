"""Problems whose exact attributions are known, and a scorer for any package: see README.md in this folder.

Nothing here imports shap_asv, but for the peer that is this package (``peers/run_shap_asv.py``).
"""
