"""Settings chosen without (or with few) labels."""
