"""Elements of pictures: scales, ticks, lines, bars, dots, curves, labels and legends.

Lengths across are in percent and lengths down in pixels, so that letters keep their size.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...._typing import FloatArray
from .. import words
from ..elements import Html, join, tag

# Height in pixels of the labels below a picture.
TICK_HEIGHT = 20
# A label nearer to an end, in percent, is aligned with this end.
_MAX_FROM_END = 4.0
# Width in pixels of the narrowest picture, of a letter at most, and of the gap between labels.
_NARROWEST = 320.0
_LETTER_WIDTH = 7.5
_MIN_GAP = 5.0


@dataclass(frozen=True)
class Scale:
    """A scale of values from ``low`` to ``high`` along a length; values beyond lie at its ends.

    Shares ``before`` and ``after`` of the span stay free.
    """

    low: float
    high: float
    is_log: bool = False
    before: float = 0.0
    after: float = 0.0

    @classmethod
    def from_values(
        cls, values: FloatArray, is_log: bool = False, before: float = 0.0, after: float = 0.0
    ) -> "Scale":
        """Return the scale that holds all values."""
        return cls(float(values.min()), float(values.max()), is_log, before, after)

    def at(self, value: float) -> float:
        """Return where a value lies, in percent."""
        transform = math.log10 if self.is_log else float
        start, end = transform(self.low), transform(self.high)
        span = end - start or 1.0
        share = ((transform(value) - start) / span + self.before) / (1 + self.before + self.after)
        return 100.0 * min(max(share, 0.0), 1.0)

    def ticks(self, most: int = 5) -> list[float]:
        """Return round values on the scale."""
        steps = _powers if self.is_log else _steps
        return steps(self.low, self.high, most)


def _powers(low: float, high: float, most: int) -> list[float]:
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        ticks = [f * 10.0**k for k in exponents for f in factors if low <= f * 10.0**k <= high]
        if len(ticks) >= 3:
            return ticks[:: -(-len(ticks) // most)]
    return ticks or [low]


def _steps(low: float, high: float, most: int) -> list[float]:
    if high <= low:
        return [low]
    rough = (high - low) / most
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * m for m in (1, 2, 5, 10) if size * m >= rough)
    return [k * step for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


# -- marks ---------------------------------------------------------------------------------------


def draw_line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    """Draw a line between points in percent across and pixels down."""
    return tag("line", x1=_percent(x1), y1=f"{y1:g}", x2=_percent(x2), y2=f"{y2:g}", class_=class_)


def draw_bar(left: float, right: float, top: float, bottom: float, class_: str) -> Html:
    """Draw a filled rectangle."""
    return tag(
        "rect",
        x=_percent(left),
        y=f"{top:.1f}",
        width=_percent(right - left),
        height=f"{bottom - top:.1f}",
        class_=class_,
    )


def draw_dot(x: float, y: float, radius: int, class_: str) -> Html:
    return tag("circle", cx=_percent(x), cy=f"{y:.1f}", r=str(radius), class_=class_)


def draw_label(text: str, x: float, y: float, anchor: str | None = None) -> Html:
    """Draw words at a point; without an ``anchor`` they stay inside the picture."""
    return tag("text", text, x=_percent(x), y=f"{y:.1f}", text_anchor=anchor or _anchor(x))


def _anchor(x: float) -> str:
    near_end = "end" if x > 100.0 - _MAX_FROM_END else "middle"
    return "start" if x < _MAX_FROM_END else near_end


def draw_curve(points: Iterable[tuple[float, float]], height: int, series: int) -> Html:
    """Draw a line through points in percent across and up."""
    path = " L".join(f"{x:.3f} {100.0 - y:.3f}" for x, y in points)
    return tag(
        "svg",
        tag("path", d=f"M{path}", class_=f"curve series-{series}"),
        x="0",
        y="0",
        width="100%",
        height=str(height),
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )


def draw_histogram(
    counts: Sequence[int],
    ends: Iterable[tuple[float, float, str]],
    bottom: float,
    height: float,
    tallest: float,
) -> Iterator[Html]:
    """Draw a bar per count; ``ends`` are its left end, right end (in percent) and class."""
    for count, (left, right, class_) in zip(counts, ends, strict=True):
        if count:
            top = bottom - max(1.5, height * count / tallest)
            yield draw_bar(left, left + 0.9 * (right - left), top, bottom, class_)


# -- axes ----------------------------------------------------------------------------------------


def draw_axis_below(scale: Scale, height: float) -> Iterator[Html]:
    """Draw an axis below a picture of this height, with ticks and their numbers."""
    yield draw_line(0.0, height, 100.0, height, "axis")
    for value in _ticks_with_room(scale):
        x = scale.at(value)
        yield draw_line(x, height, x, height + 4, "axis")
        yield draw_label(words.number(value), x, height + 17)


def _ticks_with_room(scale: Scale) -> list[float]:
    """Return as many ticks as have room for their numbers on a phone."""
    for most in (5, 4, 3, 2):
        ticks = scale.ticks(most)
        ends = [_label_ends(words.number(value), scale.at(value)) for value in ticks]
        if all(a[1] + _MIN_GAP <= b[0] for a, b in itertools.pairwise(ends)):
            return ticks
    return ticks[:1]


def _label_ends(text: str, x: float) -> tuple[float, float]:
    """Return where a label begins and ends in the narrowest picture, in pixels."""
    width = _LETTER_WIDTH * len(text)
    start = _NARROWEST * x / 100.0 - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[_anchor(x)]
    return start, start + width


def draw_levels(
    values: Iterable[float],
    scale: Scale,
    height: float,
    write: Callable[[float], str] = words.number,
) -> Iterator[Html]:
    """Draw a line across the picture at each value of the scale up, with its number above."""
    for value in values:
        y = height * (1.0 - scale.at(value) / 100.0)
        yield draw_line(0.0, y, 100.0, y, "axis")
        yield draw_label(write(value), 0.0, max(y - 3, 9))


# -- around a picture ----------------------------------------------------------------------------


def draw_svg(height: float, name: str, *parts: Html) -> Html:
    """Render a picture; ``name`` says what it shows to people who can't see it."""
    return tag(
        "svg",
        tag("title", name),
        *parts,
        height=f"{height:g}",
        role="img",
        aria_label=name,
        xmlns="http://www.w3.org/2000/svg",
    )


def draw_legend(*keys: tuple[str, str]) -> Html:
    """Render a legend of colours: pairs of a class and words; no class is no colour."""
    spans = [
        tag("span", tag("span", class_=f"key {class_}", aria_hidden="true"), text)
        if class_
        else tag("span", text)
        for class_, text in keys
    ]
    return tag("p", join(spans, " "), class_="legend")


def draw_figure(picture: Html, caption: str, legend: Html | None = None) -> Html:
    return tag("figure", picture, legend, tag("figcaption", caption))


def _percent(value: float) -> str:
    return f"{value:.3f}%"
