"""Small pictures of a watch as SVG: a line over rows, bars of p-values, a feature twice."""

from collections.abc import Iterable, Sequence

import numpy as np

from ..._typing import FloatArray
from . import words
from .elements import Html, joined, tag

_LINE, _BARS, _PAIR, _TICKS = 200, 80, 56, 20


def line(
    x: FloatArray, y: FloatArray, threshold: float, marks: Iterable[tuple[float, str]], name: str
) -> Html:
    """Values over rows with a dashed threshold; ``marks`` are rows with a word."""
    low, high = min(0.0, float(np.min(y))), max(threshold, float(np.max(y)))
    span, last = (high - low) or 1.0, float(np.max(x))

    def up(value: float) -> float:
        return _LINE * (0.06 + 0.88 * (high - value) / span)

    def across(row: float) -> float:
        return 8.0 + 91.0 * row / last

    path = " L".join(
        f"{across(a):.3f} {100 * up(b) / _LINE:.3f}" for a, b in zip(x, y, strict=True)
    )
    parts = [
        Html(
            f'<svg x="0" y="0" width="100%" height="{_LINE}" viewBox="0 0 100 100" '
            f'preserveAspectRatio="none"><path d="M{path}" style="stroke:var(--series-1)"/></svg>'
        )
    ]
    parts.append(_rule(0.0, up(threshold), 100.0, up(threshold), "threshold"))
    for value in _round(low, high):
        parts.append(_rule(0.0, up(value), 100.0, up(value), "axis"))
        parts.append(tag("text", words.number(value), x="0", y=f"{up(value) - 4:.1f}"))
    for k, (row, word) in enumerate(marks):
        at = across(row)
        parts.append(_rule(at, 0.0, at, _LINE, "threshold"))
        parts.append(
            tag("text", word, x=f"{at:.2f}%", y=f"{12 + 14 * k}", text_anchor="end", dx="-4")
        )
    for row in _round(0.0, last)[1:]:
        at = across(row)
        parts.append(
            tag(
                "text",
                words.number(row),
                x=f"{at:.2f}%",
                y=f"{_LINE + 16}",
                text_anchor="end" if at > 95 else "middle",
            )
        )
    return tag("figure", _picture(_LINE + _TICKS, name, *parts), tag("figcaption", name))


def bars(values: Sequence[float], bins: int, caption: str) -> Html:
    """A histogram of numbers from 0 to 1, with a dashed line where all bars are equal."""
    counts = np.histogram(values, bins, (0.0, 1.0))[0]
    tallest = max(1.3 * len(values) / bins, counts.max())
    parts = [
        tag(
            "rect",
            x=f"{100.0 * k / bins:.3f}%",
            y=f"{_BARS * (1 - c / tallest):.1f}",
            width=f"{92.0 / bins:.3f}%",
            height=f"{_BARS * c / tallest:.1f}",
            class_="above",
        )
        for k, c in enumerate(counts)
    ]
    level = _BARS * (1.0 - len(values) / bins / tallest)
    parts.append(_rule(0.0, level, 100.0, level, "threshold"))
    for value, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        parts.append(
            tag(
                "text",
                words.number(value),
                x=f"{100 * value:g}%",
                y=f"{_BARS + 16}",
                text_anchor=anchor,
            )
        )
    return tag("figure", _picture(_BARS + _TICKS, caption, *parts), tag("figcaption", caption))


def pair(name: str, before: FloatArray, after: FloatArray) -> Html:
    """Histograms of a feature before and after, one above the other, on one scale."""
    everything = np.concatenate([before, after])
    everything = everything[np.isfinite(everything)]
    low, high = np.quantile(everything, [0.005, 0.995])
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    drawn = []
    for k, values in enumerate((before, after)):
        counts = np.histogram(np.clip(values, low, high), 30, (low, high))[0]
        top = k * (_PAIR + 6)
        for j, count in enumerate(counts):
            height = _PAIR * count / max(1, counts.max())
            drawn.append(
                tag(
                    "rect",
                    x=f"{j / 0.3:.3f}%",
                    y=f"{top + _PAIR - height:.1f}",
                    width="3.1%",
                    height=f"{height:.1f}",
                    class_="above" if k == 0 else "below",
                )
            )
    bottom = 2 * _PAIR + 6
    for value, anchor, x in ((low, "start", "0"), (high, "end", "100%")):
        drawn.append(tag("text", words.number(value), x=x, y=f"{bottom + 16}", text_anchor=anchor))
    caption = f"{name}: before the change above, since the change below."
    return tag("figure", _picture(bottom + _TICKS, caption, *drawn), tag("figcaption", caption))


def _round(low: float, high: float) -> list[float]:
    span = high - low
    if span <= 0:
        return [low]
    step = 10.0 ** np.floor(np.log10(span))
    step *= next(m for m in (0.1, 0.2, 0.5, 1.0, 2.0) if span / (step * m) <= 6)
    return [float(k * step) for k in range(int(np.ceil(low / step)), int(high / step) + 1)]


def _rule(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    return tag(
        "line", x1=f"{x1:.3f}%", y1=f"{y1:.1f}", x2=f"{x2:.3f}%", y2=f"{y2:.1f}", class_=class_
    )


def _picture(height: int, name: str, *parts: Html) -> Html:
    return tag(
        "svg",
        tag("title", name),
        joined(parts),
        height=str(height),
        role="img",
        aria_label=name,
        xmlns="http://www.w3.org/2000/svg",
    )
