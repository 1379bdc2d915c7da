"""Figures as people read them."""

import math
from collections.abc import Iterable, Sequence

from ..._util.messages import plural
from ..contents import Rate

# Keeps a unit beside its number.
_SPACE = "\N{NO-BREAK SPACE}"


def percent(share: float) -> str:
    """Write a share, with more digits where it is near 0 or 1."""
    value = 100.0 * share
    text = f"{value:.{1 if value < 9.95 or value > 99.0 else 0}f}".removesuffix(".0")
    if text in ("0", "100") and value not in (0.0, 100.0):
        return f"under 0.1{_SPACE}%" if value < 50 else f"over 99.9{_SPACE}%"
    return f"{text}{_SPACE}%"


def span(interval: Sequence[float]) -> str:
    low, high = interval
    return f"{percent(low)} to {percent(high)}"


def estimate(value: float, interval: Sequence[float] | None) -> str:
    """Write a share, and where it lies if that is known."""
    return percent(value) if interval is None else f"{percent(value)} ({span(interval)})"


def between(interval: tuple[float, float]) -> str:
    """Write a share by the ends of its interval alone."""
    low, high = interval
    return f"between {percent(low)} and {percent(high)}"


def value(rate: Rate) -> str:
    """Write the value of a ``Rate``."""
    if not rate.is_determined:
        return "not determined"
    return f"at most about {percent(rate.value)}" if rate.is_bound else percent(rate.value)


def rate(rate: Rate) -> str:
    """Write a ``Rate`` with its interval."""
    if rate.is_bound and rate.interval is not None:
        return f"{value(rate)} (90{_SPACE}% CI up to {percent(rate.interval[1])})"
    if not rate.is_determined:
        assert rate.interval is not None
        return f"not determined ({span(rate.interval)})"
    return value(rate) if rate.is_bound else estimate(rate.value, rate.interval)


def count(number: int) -> str:
    return f"{number:,}"


def rows(number: int) -> str:
    return plural(number, "row")


def of_all(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({percent(part / whole)})" if whole else f"{part:,}"


def number(value: float | str | None) -> str:
    """Write a number in about four digits; nothing for what is missing."""
    if value is None:
        return ""
    if isinstance(value, bool | str):
        return str(value)
    value = float(value)
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "infinite"
    if value == int(value) and abs(value) < 1e9:
        return f"{int(value):,}"
    if 1e-4 <= abs(value) < 1e9:
        digits = max(0, 3 - math.floor(math.log10(abs(value))))
        text = f"{value:,.{digits}f}"
        return text.rstrip("0").rstrip(".") if digits else text
    return f"{value:.3g}"


def column(values: Iterable[float]) -> list[str]:
    """Write the numbers of a column alike, so that they stand below each other."""
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    if largest and not 1e-3 <= largest < 1e6:
        return [f"{v:.3e}" for v in values]
    digits = 3 - math.floor(math.log10(largest)) if largest else 0
    return [f"{v:,.{min(max(digits, 0), 5)}f}" for v in values]


def seconds(value: float) -> str:
    if value < 10:
        return f"{value:.2g}{_SPACE}s"
    return f"{value:,.0f}{_SPACE}s" if value < 600 else f"{value / 60:,.0f}{_SPACE}min"


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def listing(names: Iterable[str]) -> str:
    names = list(names)
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
