"""Choose settings of models of positive and unlabelled rows, compare them, test assumptions."""
