"""Learn from positives and unlabelled rows: PUSVM, PUEnsemble, propensities."""
