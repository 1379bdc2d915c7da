"""What the benchmarks of positive-unlabelled learning share."""
