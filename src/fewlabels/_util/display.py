"""Results with arrays, as a console prints them."""

import dataclasses
from typing import Any

# Values of an array that are printed; of a longer one only its shape.
_MAX_SHOWN_VALUES = 12


def short_repr(result: Any) -> str:
    """Return the fields of a dataclass or named tuple, with long arrays by their shapes."""
    names = getattr(result, "_fields", None)
    if names is None:
        names = [field.name for field in dataclasses.fields(result)]
    fields = [f"{name}={_show(getattr(result, name))}" for name in names]
    return f"{type(result).__name__}({', '.join(fields)})"


def _show(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    shape = getattr(value, "shape", None)
    if shape is None:
        return repr(value)
    if hasattr(value, "columns") or value.size > _MAX_SHOWN_VALUES:
        sizes = " x ".join(str(size) for size in shape)
        return f"<{type(value).__name__} of {sizes}>"
    return " ".join(str(value).split())
