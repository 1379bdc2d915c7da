"""Shapley values: exact for kernels that are products, sampled for the others."""
