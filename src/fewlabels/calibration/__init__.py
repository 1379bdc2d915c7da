"""From scores to thresholds, p-values and probabilities."""
