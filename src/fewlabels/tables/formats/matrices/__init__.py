"""Formats of matrices, whose columns have no names: a file each; see ``registry.py``."""
