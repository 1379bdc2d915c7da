"""Parts of ``lagrangian_svdd.py``: data, published figures, experiments, report."""
