"""What an S3VM does besides ``fit``, in parts."""
