"""Kernel values evaluated on tiles of rows that stay in cache."""
