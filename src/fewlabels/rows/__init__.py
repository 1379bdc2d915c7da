"""Where the rows of a fit are, and the problem of a model over them."""
