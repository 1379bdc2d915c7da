"""Parts of every estimator with a kernel, one for each responsibility."""
