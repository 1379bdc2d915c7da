"""Training rows that come and go, and the solution that follows them."""
