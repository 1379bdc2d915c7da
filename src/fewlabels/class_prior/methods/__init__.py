"""Estimators of the class prior, one file each."""
