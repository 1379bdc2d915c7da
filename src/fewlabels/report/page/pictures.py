"""Pictures as SVG inside the page: lengths across in percent, so that letters keep their size."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..._typing import FloatArray
from ...inspection.histogram import bin_edges, counts
from ...model_selection.tuning.result import TuningResult
from ..contents import Group
from . import words
from .elements import Html, join, tag

_N_BINS = 44
_HISTOGRAM_HEIGHT = 96
_TICK_HEIGHT = 20
# Scores beyond these quantiles of a group are drawn at the edge.
_CUT_QUANTILE = 0.005
# Rows that the scale of a picture reaches at least, so that a single one is no tower.
_MIN_TALLEST = 5
# Share of the width that is left to the numbers of rows.
_MARGIN_SHARE = 0.08


Scale: TypeAlias = Callable[[float], float]


def draw_histograms(groups: Sequence[Group], sides: tuple[str, str]) -> Html:
    """Draw scores of groups of rows, one above the other on one scale, with the threshold at 0."""
    edges = bin_edges([group.scores for group in groups], _N_BINS, cut=_CUT_QUANTILE)
    histograms = [_draw_histogram(group, edges, sides) for group in groups]
    return join([draw_legend(*zip(("below", "above"), sides, strict=True)), *histograms])


def draw_legend(*keys: tuple[str, str]) -> Html:
    """Render a legend of colours: pairs of a class and words."""
    return tag(
        "p",
        *(
            tag("span", tag("span", class_=f"key {class_}", aria_hidden="true"), word)
            for class_, word in keys
        ),
        class_="legend",
    )


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
    across = _linear_scale(low, high)
    parts = [_make_line(0.0, 11, 100.0, 11, "axis")]
    parts += [_make_line(x, 7, x, 15, "axis") for x in (0.0, 50.0, 100.0)]
    if ends is not None:
        parts.append(_make_line(across(ends[0]), 11, across(ends[1]), 11, "range"))
    if value is not None:
        parts.append(tag("circle", cx=_percent(across(value)), cy="11", r="5", class_="dot"))
    return _make_svg(22, name, tag("g", *parts, class_=None if is_own else "other"))


def draw_shares(low: float, high: float, ends: tuple[float, float], name: str) -> Html:
    """Draw two shares of rows as a bar with a part between them, and an interval as a line."""
    parts = [
        tag(
            "rect",
            x=_percent(100.0 * start),
            y="4",
            width=_percent(100.0 * (end - start)),
            height="14",
            class_=class_,
        )
        for start, end, class_ in ((0.0, low, "above"), (low, high, "open"), (high, 1.0, "below"))
        if end > start
    ]
    for end in ends:
        parts.append(_make_line(100.0 * end, 1, 100.0 * end, 21, "limit"))
    parts.append(_make_line(100.0 * ends[0], 11, 100.0 * ends[1], 11, "limit"))
    description = (
        f"{name}: {words.percent(low)} always positive, {words.percent(high - low)} undecided"
    )
    return _make_svg(22, description, *parts)


def draw_convergence(history: Iterable[dict[str, Any]], several: bool) -> Html | None:
    """Draw the violation of the optimality conditions against seconds, on a logarithmic scale.

    None with fewer than three rounds, or if the bags of an ensemble each count their own seconds;
    ``several`` problems may have been solved one after the other.
    """
    rounds = [entry for entry in history if entry.get("violation", 0.0) > 0 and "seconds" in entry]
    if len(rounds) < 3:
        return None
    x = np.array([entry["seconds"] for entry in rounds])
    if np.any(np.diff(x) < 0.0):
        return None
    y = np.array([entry["violation"] for entry in rounds])
    name = (
        f"Violation of the optimality conditions before each of {len(rounds)} rounds, "
        f"{words.seconds(x[-1])} in total."
    )
    if several:
        name += " Each of several problems starts with a large violation."
    return _draw_lines(
        [("", x, y)], log_x=False, log_y=True, chosen=None, name=name, x_title="seconds"
    )


def draw_search(tuning: TuningResult) -> Html | None:
    """Draw scores of the candidates of a search; None where fewer than two have one."""
    x, y, by, title = tuning.curve
    table = tuning.candidates.dropna(subset=[x, y])
    if len(table) < 2:
        return None
    groups = table.groupby(by, sort=False, dropna=False) if by else [((), table)]
    lines = []
    for key, group in groups:
        group = group.sort_values(x)
        label = ", ".join(
            _write_setting(name, value)
            for name, value in zip(by, key, strict=True)
            if value == value
        )
        lines.append((label, group[x].to_numpy(float), group[y].to_numpy(float)))
    chosen_rows = table[table["chosen"].astype(bool)]
    chosen = (chosen_rows[x].iloc[0], chosen_rows[y].iloc[0]) if len(chosen_rows) else None
    name = f"{title}: {y.replace('_', ' ')} against {x}, {len(table)} settings."
    return _draw_lines(
        lines[:6],
        log_x=bool((table[x] > 0).all()),
        log_y=False,
        chosen=chosen,
        name=name,
        x_title=x.replace("_", " "),
    )


def _write_setting(name: str, value: str | float) -> str:
    value = value if isinstance(value, str) else words.number(value)
    return value if name in ("model", "kernel") else f"{name.replace('_', ' ')} {value}"


# -- scores --------------------------------------------------------------------------------------


def _draw_histogram(group: Group, edges: FloatArray, sides: tuple[str, str]) -> Html:
    scores = group.scores
    height_of = counts(scores, edges)
    n, below = len(scores), int(np.count_nonzero(scores < 0))
    # Room on the left for the letters of the other scale.
    across = _linear_scale(edges[0] - _MARGIN_SHARE * (edges[-1] - edges[0]), edges[-1])
    tallest = max(_MIN_TALLEST, height_of.max(initial=1))
    parts = []
    for value in _round_ticks(0, tallest, 3)[1:]:
        y = _HISTOGRAM_HEIGHT * (1.0 - value / tallest)
        parts.append(_make_line(0.0, y, 100.0, y, "axis"))
        parts.append(tag("text", words.count(int(value)), x="0", y=f"{max(y - 3, 9):.1f}"))
    for count, left, right in zip(height_of, edges[:-1], edges[1:], strict=True):
        if count:
            height = max(1.5, _HISTOGRAM_HEIGHT * count / tallest)
            parts.append(
                tag(
                    "rect",
                    x=_percent(across(left)),
                    y=f"{_HISTOGRAM_HEIGHT - height:.1f}",
                    width=_percent(0.9 * (across(right) - across(left))),
                    height=f"{height:.1f}",
                    class_="below" if right <= 0 else "above",
                )
            )
    parts.append(_make_line(0.0, _HISTOGRAM_HEIGHT, 100.0, _HISTOGRAM_HEIGHT, "axis"))
    parts.append(_make_line(across(0.0), 0, across(0.0), _HISTOGRAM_HEIGHT, "threshold"))
    parts += _make_ticks(_round_ticks(edges[0], edges[-1]), across, _HISTOGRAM_HEIGHT)
    sentence = f"{words.of_all(below, n)} {sides[0]}, {words.of_all(n - below, n)} {sides[1]}."
    picture = _make_svg(
        _HISTOGRAM_HEIGHT + _TICK_HEIGHT, f"Histogram of scores, {group.name}: {sentence}", *parts
    )
    caption = tag("figcaption", f"{sentence} {group.about}")
    return tag("figure", tag("h3", words.capital(group.name)), picture, caption)


# -- parts ---------------------------------------------------------------------------------------


def _draw_lines(
    lines: Sequence[tuple[str, FloatArray, FloatArray]],
    *,
    log_x: bool,
    log_y: bool,
    chosen: tuple[float, float] | None,
    name: str,
    x_title: str,
) -> Html:
    height = 180
    xs = np.concatenate([x for _, x, _ in lines])
    ys = np.concatenate([y for _, _, y in lines])
    # Room on the left for the letters of the other scale.
    across, up = _make_scale(xs, log_x, before=0.1), _make_scale(ys, log_y, 0.06, 0.06)
    inner = []
    for k, (_, x, y) in enumerate(lines):
        points = " L".join(
            f"{across(a):.3f} {100.0 - up(b):.3f}" for a, b in zip(x, y, strict=True)
        )
        inner.append(tag("path", d=f"M{points}", style=f"stroke:var(--series-{k + 1})"))
    parts = [
        Html(
            f'<svg x="0" y="0" width="100%" height="{height}" viewBox="0 0 100 100" '
            f'preserveAspectRatio="none">{join(inner)}</svg>'
        )
    ]
    for k, (_, x, y) in enumerate(lines):
        parts += [
            tag(
                "circle",
                cx=_percent(across(a)),
                cy=f"{height * (1 - up(b) / 100):.1f}",
                r="3",
                style=f"fill:var(--series-{k + 1})",
            )
            for a, b in zip(x, y, strict=True)
        ]
    if chosen is not None:
        parts.append(
            tag(
                "circle",
                cx=_percent(across(chosen[0])),
                cy=f"{height * (1 - up(chosen[1]) / 100):.1f}",
                r="8",
                style="fill:none;stroke:var(--text);stroke-width:2",
            )
        )
    parts.append(_make_line(0.0, height, 100.0, height, "axis"))
    parts += _make_ticks(_tick_values(xs, log_x), across, height)
    for value in _tick_values(ys, log_y):
        level = height * (1 - up(value) / 100)
        parts.append(_make_line(0.0, level, 100.0, level, "axis"))
        parts.append(tag("text", words.number(value), x="0", y=f"{level - 4:.1f}"))
    legend = [
        tag(
            "span",
            tag(
                "span", class_="key", aria_hidden="true", style=f"background:var(--series-{k + 1})"
            ),
            label,
        )
        for k, (label, _, _) in enumerate(lines)
        if label
    ]
    if chosen is not None:
        legend.append(tag("span", "circle: the chosen settings"))
    return tag(
        "figure",
        _make_svg(height + _TICK_HEIGHT, name, *parts),
        tag("p", *legend, class_="legend") if legend else None,
        tag("figcaption", f"{name} Across: {x_title}{', logarithmic' if log_x else ''}."),
    )


def _make_svg(height: int, name: str, *parts: Html) -> Html:
    return tag(
        "svg",
        tag("title", name),
        *parts,
        height=str(height),
        role="img",
        aria_label=name,
        xmlns="http://www.w3.org/2000/svg",
    )


def _make_line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Html:
    return tag("line", x1=_percent(x1), y1=f"{y1:g}", x2=_percent(x2), y2=f"{y2:g}", class_=class_)


def _make_ticks(values: Iterable[float], across: Scale, height: int) -> Iterator[Html]:
    for value in values:
        x = across(value)
        anchor = "start" if x < 4 else "end" if x > 96 else "middle"
        yield _make_line(x, height, x, height + 4, "axis")
        yield tag(
            "text", words.number(value), x=_percent(x), y=f"{height + 17}", text_anchor=anchor
        )


def _percent(value: float) -> str:
    return f"{value:.3f}%"


def _linear_scale(low: float, high: float) -> Scale:
    span = high - low or 1.0
    return lambda value: 100.0 * min(max((value - low) / span, 0.0), 1.0)


def _make_scale(
    values: FloatArray, logarithmic: bool, after: float = 0.02, before: float = 0.02
) -> Scale:
    transform = math.log10 if logarithmic else float
    low, high = transform(values.min()), transform(values.max())
    span = high - low or 1.0
    across = _linear_scale(low - before * span, high + after * span)
    return lambda value: across(transform(value))


def _tick_values(values: FloatArray, logarithmic: bool) -> list[float]:
    low, high = float(values.min()), float(values.max())
    if not logarithmic:
        return _round_ticks(low, high)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for factors in ((1,), (1, 2, 5)):
        found = [f * 10.0**k for k in powers for f in factors if low <= f * 10.0**k <= high]
        if len(found) >= 3:
            return found[:: -(-len(found) // 5)]
    return found or [low]


def _round_ticks(low: float, high: float, max_ticks: int = 5) -> list[float]:
    if high <= low:
        return [low]
    rough = (high - low) / max_ticks
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * m for m in (1, 2, 5, 10) if size * m >= rough)
    first = math.ceil(low / step)
    return [k * step for k in range(first, math.floor(high / step) + 1)]
