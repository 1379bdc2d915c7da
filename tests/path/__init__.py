"""Path following."""
