"""Learn from a few labels: S3VM."""
