"""Parts of ``usmo_tables.py``: published tables, protocol, certificate, report."""
