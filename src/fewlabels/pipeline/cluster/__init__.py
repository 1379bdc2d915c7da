"""Tables of many files, read by the workers of a Dask cluster."""
