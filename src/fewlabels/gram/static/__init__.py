"""Kernel matrices over rows that stay."""
