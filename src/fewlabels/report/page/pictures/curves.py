"""Curves: rounds of a solver, candidates of a search, evidence over the rows of a watch."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...._typing import FloatArray
from ....model_selection.tuning.result import TuningResult
from .. import words
from ..elements import Html
from .drawing import (
    TICK_HEIGHT,
    Scale,
    draw_axis_below,
    draw_curve,
    draw_dot,
    draw_figure,
    draw_label,
    draw_legend,
    draw_levels,
    draw_line,
    draw_svg,
)

_HEIGHT = 180
# Curves of one picture, each in a colour of its own.
_MAX_CURVES = 6
# Share of the width that is left to the numbers of the scale up.
_LEFT_SHARE = 0.1
# Percent of the width up to which there is room for a word behind a mark.
_MAX_MARK = 85.0


class _Curve(NamedTuple):
    """Points of a curve, and its name in the legend."""

    name: str
    x: FloatArray
    y: FloatArray


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
    across = Scale.from_values(x, before=_LEFT_SHARE, after=0.02)
    up = Scale.from_values(y, is_log=True, before=0.06, after=0.06)
    curves = [_Curve("", x, y)]
    picture = _draw(curves, across, up, name, *_draw_points(curves, across, up))
    return draw_figure(picture, f"{name} Across: seconds.")


def draw_search(tuning: TuningResult) -> Html | None:
    """Draw scores of the candidates of a search; None where fewer than two have one."""
    x, y, by, title = tuning.curve
    table = tuning.candidates.dropna(subset=[x, y])
    if len(table) < 2:
        return None
    groups = table.groupby(by, sort=False, dropna=False) if by else [((), table)]
    curves = []
    for key, group in groups:
        group = group.sort_values(x)
        label = ", ".join(
            _write_setting(name, value)
            for name, value in zip(by, key, strict=True)
            if value == value
        )
        curves.append(_Curve(label, group[x].to_numpy(float), group[y].to_numpy(float)))
    curves = curves[:_MAX_CURVES]
    name = f"{title}: {y.replace('_', ' ')} against {x}, {len(table)} settings."
    is_log = bool((table[x] > 0).all())
    across = Scale.from_values(np.concatenate([c.x for c in curves]), is_log, _LEFT_SHARE, 0.02)
    up = Scale.from_values(np.concatenate([c.y for c in curves]), before=0.06, after=0.06)
    parts = list(_draw_points(curves, across, up))
    keys = [(f"series-{k}", c.name) for k, c in enumerate(curves, 1) if c.name]
    for _, row in table[table["chosen"].astype(bool)].head(1).iterrows():
        level = _HEIGHT * (1.0 - up.at(row[y]) / 100.0)
        parts.append(draw_dot(across.at(row[x]), level, 8, "chosen"))
        keys.append(("", "circle: the chosen settings"))
    return draw_figure(
        _draw(curves, across, up, name, *parts),
        f"{name} Across: {x.replace('_', ' ')}{', logarithmic' if is_log else ''}.",
        draw_legend(*keys) if keys else None,
    )


def draw_evidence(
    x: FloatArray, y: FloatArray, threshold: float, marks: Iterable[tuple[float, str]], name: str
) -> Html:
    """Draw values over rows with a dashed threshold; ``marks`` are rows with a word."""
    across = Scale(0.0, float(np.max(x)), before=_LEFT_SHARE, after=0.02)
    up = Scale(min(0.0, float(np.min(y))), max(threshold, float(np.max(y))), False, 0.06, 0.06)
    level = _HEIGHT * (1.0 - up.at(threshold) / 100.0)
    parts = [draw_line(across.at(0.0), level, 100.0, level, "threshold")]
    for k, (row, word) in enumerate(marks):
        at = across.at(row)
        parts.append(draw_line(at, 0.0, at, _HEIGHT, "threshold"))
        # The first word is before its line, the next behind it where there is room.
        side, anchor = (1.0, "start") if k and at < _MAX_MARK else (-1.0, "end")
        parts.append(draw_label(word, at + side, 12.0 + 14 * k, anchor))
    return draw_figure(_draw([_Curve("", x, y)], across, up, name, *parts), name)


def draw_progress(x: FloatArray, y: FloatArray, name: str) -> Html:
    """Draw shares by number of answers, up from 0."""
    across = Scale.from_values(x, before=_LEFT_SHARE, after=0.02)
    up = Scale(0.0, max(0.01, float(y.max())), after=0.1)
    return _draw([_Curve("", x, y)], across, up, name, write=words.percent)


def _draw(
    curves: Sequence[_Curve],
    across: Scale,
    up: Scale,
    name: str,
    *parts: Html,
    write: Callable[[float], str] = words.number,
) -> Html:
    """Draw curves and other ``parts`` on two scales; ``write`` renders numbers of the one up."""
    return draw_svg(
        _HEIGHT + TICK_HEIGHT,
        name,
        *draw_axis_below(across, _HEIGHT),
        *draw_levels(up.ticks(), up, _HEIGHT, write),
        *(draw_curve(_place(c, across, up), _HEIGHT, k) for k, c in enumerate(curves, 1)),
        *parts,
    )


def _draw_points(curves: Sequence[_Curve], across: Scale, up: Scale) -> Iterator[Html]:
    """Draw a dot at each point of some curves."""
    for k, curve in enumerate(curves, 1):
        for x, y in _place(curve, across, up):
            yield draw_dot(x, _HEIGHT * (1.0 - y / 100.0), 3, f"point series-{k}")


def _place(curve: _Curve, across: Scale, up: Scale) -> list[tuple[float, float]]:
    """Return where the points of a curve lie, in percent across and up."""
    return [(across.at(x), up.at(y)) for x, y in zip(curve.x, curve.y, strict=True)]


def _write_setting(name: str, value: str | float) -> str:
    value = value if isinstance(value, str) else words.number(value)
    return value if name in ("model", "kernel") else f"{name.replace('_', ' ')} {value}"
