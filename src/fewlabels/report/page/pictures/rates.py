"""Rates and shares as bars with intervals, on a scale from 0 to 100 %."""

from collections.abc import Sequence

from ...contents import ClassFindings, Rate
from .. import words
from ..elements import Html, tag
from .drawing import (
    TICK_HEIGHT,
    Scale,
    draw_bar,
    draw_dot,
    draw_label,
    draw_line,
    draw_svg,
)

# Height in pixels of a bar with its interval.
_HEIGHT = 22
_CLASS_HEIGHT = 17
# Classes of one picture.
_MAX_CLASSES = 12


def draw_interval(
    value: float | None,
    ends: tuple[float, float] | None,
    low: float = 0.0,
    high: float = 1.0,
    is_own: bool = True,
    name: str = "",
) -> Html:
    """Draw a value with its interval, if there are any, on a scale from low to high.

    ``is_own`` says whether it is this model's, ``name`` what it shows for those who cannot see
    it.
    """
    across = Scale(low, high)
    parts = [draw_line(0.0, 11, 100.0, 11, "axis")]
    parts += [draw_line(x, 7, x, 15, "axis") for x in (0.0, 50.0, 100.0)]
    if ends is not None:
        parts.append(draw_line(across.at(ends[0]), 11, across.at(ends[1]), 11, "range"))
    if value is not None:
        parts.append(draw_dot(across.at(value), 11, 5, "dot"))
    return draw_svg(_HEIGHT, name, tag("g", *parts, class_=None if is_own else "other"))


def draw_shares(low: float, high: float, ends: tuple[float, float], name: str) -> Html:
    """Draw two shares of rows as a bar with a part between them, and an interval as a line."""
    parts = [
        draw_bar(100.0 * start, 100.0 * end, 4, 18, class_)
        for start, end, class_ in ((0.0, low, "above"), (low, high, "open"), (high, 1.0, "below"))
        if end > start
    ]
    description = (
        f"{name}: {words.percent(low)} always positive, {words.percent(high - low)} undecided"
    )
    return draw_svg(_HEIGHT, description, *parts, *_draw_limits(ends, 1, 21))


def draw_class_overview(classes: Sequence[ClassFindings]) -> Html:
    """Draw expected share, precision and recall of each class as bars with their intervals.

    Of many classes those with the most predicted rows are drawn.
    """
    shown = sorted(classes, key=lambda c: -c.predicted)[:_MAX_CLASSES]
    shown = [c for c in classes if c in shown]
    lines, sentences = [_draw_class_heads()], []
    for c in shown:
        cells, figures = [], []
        for term, rate in zip(_TERMS, c.rates, strict=True):
            text = "unknown" if rate is None else words.rate(rate)
            figures.append(f"{term} {text}")
            cells.append(_draw_class_rate(rate, f"{c.name}: {term} {text}"))
        lines.append(tag("div", tag("p", tag("strong", c.name)), *cells, class_="bars"))
        sentences.append(f"{c.name}: {', '.join(figures)}.")
    about = "With 90 % confidence intervals. An interval alone: the data don't determine the rate."
    if len(shown) < len(classes):
        about += (
            f" The {len(shown)} classes with the most predicted rows; the table of the classes "
            f"has all {len(classes)}."
        )
    return tag(
        "figure",
        *lines,
        tag("figcaption", about.replace(" %", "\N{NO-BREAK SPACE}%")),
        class_="overview",
        role="group",
        aria_label="Expected share of the unlabelled rows, precision and recall of each class. "
        + " ".join(sentences),
    )


_TERMS = ("expected share", "precision", "recall")


def _draw_class_heads() -> Html:
    """Draw the names of the rates, each with its scale."""
    heads = []
    for term in _TERMS:
        parts = [draw_label(words.percent(x / 100.0), x, 13) for x in (0.0, 100.0)]
        scale = draw_svg(TICK_HEIGHT - 2, f"Scale of the {term}", *parts)
        heads.append(tag("div", tag("span", term), scale))
    return tag("div", tag("p"), *heads, class_="bars heads")


def _draw_class_rate(rate: Rate | None, name: str) -> Html:
    """Draw a bar for a rate, or the interval alone, above the figure."""
    if rate is None:
        return tag("div", tag("span", "unknown"))
    parts = [draw_line(x, 0, x, _CLASS_HEIGHT, "axis") for x in (0.0, 50.0, 100.0)]
    if rate.is_determined:
        parts.append(draw_bar(0.0, 100.0 * rate.value, 0, 8, "above"))
    if rate.interval is not None:
        parts += _draw_limits(rate.interval, 10, 16)
    text = words.percent(rate.value) if rate.is_determined else words.span(rate.interval or ())
    return tag("div", draw_svg(_CLASS_HEIGHT, name, *parts), tag("span", text))


def _draw_limits(ends: tuple[float, float], top: float, bottom: float) -> list[Html]:
    """Draw an interval as a line between two ends."""
    low, high = (100.0 * end for end in ends)
    middle = (top + bottom) / 2
    return [
        *(draw_line(x, top, x, bottom, "limit") for x in (low, high)),
        draw_line(low, middle, high, middle, "limit"),
    ]
