"""Figures as lines of text have them, in the terminal and where a notebook prints a fit."""

from typing import overload

from .._util.messages import quoted


@overload
def number(value: float) -> str: ...
@overload
def number(value: None) -> None: ...
@overload
def number(value: float | None) -> str | None: ...
def number(value: float | None) -> str | None:
    """Shorten a number to four digits; None stays None."""
    return None if value is None else f"{value:.4g}"


@overload
def gap(value: float) -> str: ...
@overload
def gap(value: None) -> None: ...
@overload
def gap(value: float | None) -> str | None: ...
def gap(value: float | None) -> str | None:
    """Shorten a duality gap; what rounding pushed below 0 is 0."""
    return number(None if value is None else max(0.0, value))


def percent(share: float) -> str:
    return f"{100 * share:g} %"


def interval(low: float, high: float) -> str:
    return f"{low:.3g} to {high:.3g}"


def mark(value: str | None) -> str:
    return f"marked {quoted(value)}" if value else "blank"


def counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {quoted(name)}" for name, count in counts.items())


def share(part: int, whole: int) -> str:
    return f"{part:,} ({100 * part / whole:.1f} %)" if whole else f"{part:,}"


def size(n_bytes: float) -> str:
    units = ["bytes", "kB", "MB", "GB"]
    while n_bytes >= 1000 and len(units) > 1:
        n_bytes /= 1000
        units.pop(0)
    return f"{n_bytes:,.3g} {units[0]}"
