"""Where machines that have not moved yet find their rows."""

from ..streams.rows import HeldRows, read_indices

__all__ = ["HeldRows", "read_indices"]
