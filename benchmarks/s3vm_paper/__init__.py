"""Parts of the S3VM benchmarks: published tables, data, counts, methods, certificate, reports."""
