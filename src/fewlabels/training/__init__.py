"""Loops over problems: what a machine does besides solving one."""
