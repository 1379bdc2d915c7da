"""Loops over problems: what a model does besides solving one."""
