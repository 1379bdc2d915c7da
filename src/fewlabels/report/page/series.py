"""Small pictures of a watch as SVG: a line over rows, bars of p-values, a feature twice."""

from collections.abc import Iterable, Sequence

import numpy as np

from ..._typing import FloatArray
from . import words
from .elements import Html, join, tag

# Heights in pixels: of a line, a histogram, each of a pair of histograms, and the tick labels.
_LINE_HEIGHT = 200
_BARS_HEIGHT = 80
_PAIR_HEIGHT = 56
_TICK_HEIGHT = 20


def draw_line(
    x: FloatArray, y: FloatArray, threshold: float, marks: Iterable[tuple[float, str]], name: str
) -> Html:
    """Draw values over rows with a dashed threshold; ``marks`` are rows with a word."""
    low, high = min(0.0, float(np.min(y))), max(threshold, float(np.max(y)))
    span, last = (high - low) or 1.0, float(np.max(x))

    def y_of(value: float) -> float:
        return _LINE_HEIGHT * (0.06 + 0.88 * (high - value) / span)

    def x_of(row: float) -> float:
        return 8.0 + 91.0 * row / last

    path = " L".join(
        f"{x_of(a):.3f} {100 * y_of(b) / _LINE_HEIGHT:.3f}" for a, b in zip(x, y, strict=True)
    )
    parts = [
        Html(
            f'<svg x="0" y="0" width="100%" height="{_LINE_HEIGHT}" viewBox="0 0 100 100" '
            f'preserveAspectRatio="none"><path d="M{path}" style="stroke:var(--series-1)"/></svg>'
        )
    ]
    parts.append(_make_line(0.0, y_of(threshold), 100.0, y_of(threshold), "threshold"))
    for value in _round_ticks(low, high):
        parts.append(_make_line(0.0, y_of(value), 100.0, y_of(value), "axis"))
        parts.append(tag("text", words.number(value), x="0", y=f"{y_of(value) - 4:.1f}"))
    for k, (row, word) in enumerate(marks):
        at = x_of(row)
        parts.append(_make_line(at, 0.0, at, _LINE_HEIGHT, "threshold"))
        parts.append(
            tag("text", word, x=f"{at:.2f}%", y=f"{12 + 14 * k}", text_anchor="end", dx="-4")
        )
    for row in _round_ticks(0.0, last)[1:]:
        at = x_of(row)
        parts.append(
            tag(
                "text",
                words.number(row),
                x=f"{at:.2f}%",
                y=f"{_LINE_HEIGHT + 16}",
                text_anchor="end" if at > 95 else "middle",
            )
        )
    return tag(
        "figure", _make_svg(_LINE_HEIGHT + _TICK_HEIGHT, name, *parts), tag("figcaption", name)
    )


def draw_bars(values: Sequence[float], bins: int, caption: str) -> Html:
    """Draw a histogram of numbers from 0 to 1, with a dashed line where all bars are equal."""
    counts = np.histogram(values, bins, (0.0, 1.0))[0]
    tallest = max(1.3 * len(values) / bins, counts.max())
    parts = [
        tag(
            "rect",
            x=f"{100.0 * k / bins:.3f}%",
            y=f"{_BARS_HEIGHT * (1 - c / tallest):.1f}",
            width=f"{92.0 / bins:.3f}%",
            height=f"{_BARS_HEIGHT * c / tallest:.1f}",
            class_="above",
        )
        for k, c in enumerate(counts)
    ]
    level = _BARS_HEIGHT * (1.0 - len(values) / bins / tallest)
    parts.append(_make_line(0.0, level, 100.0, level, "threshold"))
    for value, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        parts.append(
            tag(
                "text",
                words.number(value),
                x=f"{100 * value:g}%",
                y=f"{_BARS_HEIGHT + 16}",
                text_anchor=anchor,
            )
        )
    return tag(
        "figure",
        _make_svg(_BARS_HEIGHT + _TICK_HEIGHT, caption, *parts),
        tag("figcaption", caption),
    )


def draw_pair(name: str, before: FloatArray, after: FloatArray) -> Html:
    """Draw histograms of a feature before and after, one above the other, on one scale."""
    pooled = np.concatenate([before, after])
    pooled = pooled[np.isfinite(pooled)]
    low, high = np.quantile(pooled, [0.005, 0.995])
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    parts = []
    for k, values in enumerate((before, after)):
        counts = np.histogram(np.clip(values, low, high), 30, (low, high))[0]
        top = k * (_PAIR_HEIGHT + 6)
        for j, count in enumerate(counts):
            height = _PAIR_HEIGHT * count / max(1, counts.max())
            parts.append(
                tag(
                    "rect",
                    x=f"{j / 0.3:.3f}%",
                    y=f"{top + _PAIR_HEIGHT - height:.1f}",
                    width="3.1%",
                    height=f"{height:.1f}",
                    class_="above" if k == 0 else "below",
                )
            )
    bottom = 2 * _PAIR_HEIGHT + 6
    for value, anchor, x in ((low, "start", "0"), (high, "end", "100%")):
        parts.append(tag("text", words.number(value), x=x, y=f"{bottom + 16}", text_anchor=anchor))
    caption = f"{name}: before the change above, since the change below."
    return tag(
        "figure", _make_svg(bottom + _TICK_HEIGHT, caption, *parts), tag("figcaption", caption)
    )


def _round_ticks(low: float, high: float) -> list[float]:
    span = high - low
    if span <= 0:
        return [low]
    step = 10.0 ** np.floor(np.log10(span))
    step *= next(m for m in (0.1, 0.2, 0.5, 1.0, 2.0) if span / (step * m) <= 6)
    return [float(k * step) for k in range(int(np.ceil(low / step)), int(high / step) + 1)]


def _make_line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    return tag(
        "line", x1=f"{x1:.3f}%", y1=f"{y1:.1f}", x2=f"{x2:.3f}%", y2=f"{y2:.1f}", class_=class_
    )


def _make_svg(height: int, name: str, *parts: Html) -> Html:
    return tag(
        "svg",
        tag("title", name),
        join(parts),
        height=str(height),
        role="img",
        aria_label=name,
        xmlns="http://www.w3.org/2000/svg",
    )
