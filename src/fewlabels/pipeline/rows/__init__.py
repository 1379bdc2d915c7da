"""Rows of a table before they are learned from: which of them belong together."""
