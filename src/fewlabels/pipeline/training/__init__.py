"""What a training does, step by step."""
