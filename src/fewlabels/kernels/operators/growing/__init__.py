"""Kernel matrices over rows that come and go."""
