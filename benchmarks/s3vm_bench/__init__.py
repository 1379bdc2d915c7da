"""Semi-supervised benchmarks: sets with their label splits, methods, what is said of them."""
