"""Fits of rows that are not in memory: in files that are mapped, or wherever a Place is."""
