"""Choose settings of models of few labels, and compare them."""
