"""Choose settings of models of one class, and compare them."""
