"""Histograms: scores around the threshold, p-values, a feature before and after a change."""

from collections.abc import Sequence

import numpy as np

from ...._typing import FloatArray
from ....inspection.histogram import bin_edges, counts
from ...contents import Group
from .. import words
from ..elements import Html, join, tag
from .drawing import (
    TICK_HEIGHT,
    Scale,
    draw_axis_below,
    draw_figure,
    draw_histogram,
    draw_label,
    draw_legend,
    draw_levels,
    draw_line,
    draw_svg,
)

_N_BINS = 44
# Heights in pixels: of a group with its own scale, of one among others, of p-values, of each of
# a pair, and the gap between the two.
_GROUP_HEIGHT = 96
_LANE_HEIGHT = 36
_P_VALUE_HEIGHT = 80
_PAIR_HEIGHT = 56
_PAIR_GAP = 6
# Scores beyond these quantiles of a group are drawn at the edge.
_CUT_QUANTILE = 0.005
# Scores this many times as far from the threshold as three quarters of their group, or as three
# quarters of an ordinary group, are drawn at the edge, too.
_MAX_REACH = 3.0
_MAX_REACH_OF_OTHERS = 6.0
# Rows that the scale of a picture reaches at least, so that a single one is no tower.
_MIN_TALLEST = 5
# Share of the width that is left to the numbers of rows.
_MARGIN_SHARE = 0.08


def draw_score_overview(groups: Sequence[Group], sides: tuple[str, str]) -> Html:
    """Draw scores of groups of rows below each other, each as high as its own tallest bar."""
    edges, are_all_inside = _choose_edges(groups)
    across = Scale(edges[0], edges[-1])
    lanes, sentences = [], []
    for group in groups:
        below, above = group.sides
        sentence = f"{words.count(below)} {sides[0]}, {words.count(above)} {sides[1]}"
        sentences.append(f"{words.capital(group.name)}: {sentence}.")
        picture = draw_svg(
            _LANE_HEIGHT, sentences[-1], *_draw_scores(group, edges, across, _LANE_HEIGHT)
        )
        name = tag("strong", words.capital(group.name))
        sizes = draw_legend(("below", words.count(below)), ("above", words.count(above)))
        lanes.append(tag("div", tag("div", name, sizes), picture, class_="lane"))
    axis = draw_svg(TICK_HEIGHT, "Scale of the scores", *draw_axis_below(across, 0.0))
    lanes.append(tag("div", tag("div"), axis, class_="lane"))
    about = "Scores; the dashed line is the threshold."
    if not are_all_inside:
        about += " Extreme scores are drawn at the edge."
    return tag(
        "figure",
        draw_legend(*zip(("below", "above"), sides, strict=True)),
        *lanes,
        tag("figcaption", about),
        class_="overview",
        role="group",
        aria_label=f"Histograms of scores around the threshold. {' '.join(sentences)}",
    )


def draw_histograms(groups: Sequence[Group], sides: tuple[str, str]) -> Html:
    """Draw scores of groups of rows, one above the other on one scale, with the threshold at 0."""
    edges, _ = _choose_edges(groups)
    # Room on the left for the numbers of rows.
    across = Scale(edges[0], edges[-1], before=_MARGIN_SHARE)
    histograms = []
    for group in groups:
        below, above = group.sides
        n = below + above
        sentence = f"{words.of_all(below, n)} {sides[0]}, {words.of_all(above, n)} {sides[1]}."
        rows = Scale(0.0, _tallest(group, edges))
        picture = draw_svg(
            _GROUP_HEIGHT + TICK_HEIGHT,
            f"Histogram of scores, {group.name}: {sentence}",
            *draw_levels(rows.ticks(3)[1:], rows, _GROUP_HEIGHT),
            *_draw_scores(group, edges, across, _GROUP_HEIGHT),
            *draw_axis_below(across, _GROUP_HEIGHT),
        )
        heading = tag("h3", words.capital(group.name))
        histograms.append(join([heading, draw_figure(picture, f"{sentence} {group.about}")]))
    return join([draw_legend(*zip(("below", "above"), sides, strict=True)), *histograms])


def draw_p_values(values: Sequence[float], bins: int, caption: str) -> Html:
    """Draw a histogram of numbers from 0 to 1, with a dashed line where all bars are equal."""
    counted = np.histogram(values, bins, (0.0, 1.0))[0]
    tallest = max(1.3 * len(values) / bins, counted.max())
    across = Scale(0.0, 1.0)
    ends = [(100.0 * k / bins, 100.0 * (k + 1) / bins, "above") for k in range(bins)]
    level = _P_VALUE_HEIGHT * (1.0 - len(values) / bins / tallest)
    picture = draw_svg(
        _P_VALUE_HEIGHT + TICK_HEIGHT,
        caption,
        *draw_histogram(counted.tolist(), ends, _P_VALUE_HEIGHT, _P_VALUE_HEIGHT, tallest),
        draw_line(0.0, level, 100.0, level, "threshold"),
        *draw_axis_below(across, _P_VALUE_HEIGHT),
    )
    return draw_figure(picture, caption)


def draw_pair(name: str, before: FloatArray, after: FloatArray) -> Html:
    """Draw histograms of a feature before and after, one above the other, on one scale."""
    pooled = np.concatenate([before, after])
    low, high = np.quantile(pooled[np.isfinite(pooled)], [_CUT_QUANTILE, 1.0 - _CUT_QUANTILE])
    low, high = (low, high) if high > low else (low - 0.5, high + 0.5)
    edges = np.linspace(low, high, 31)
    across = Scale(low, high)
    parts: list[Html] = []
    for k, (values, class_) in enumerate(((before, "above"), (after, "below"))):
        counted = counts(values, edges)
        ends = _ends_of_bins(edges, across, [class_] * len(counted))
        bottom = (k + 1) * _PAIR_HEIGHT + k * _PAIR_GAP
        tallest = max(1, counted.max())
        parts += draw_histogram(counted.tolist(), ends, bottom, _PAIR_HEIGHT, tallest)
    bottom = 2 * _PAIR_HEIGHT + _PAIR_GAP
    parts += [
        draw_label(words.number(value), across.at(value), bottom + 17) for value in (low, high)
    ]
    caption = f"{name}: before the change above, since the change below."
    return draw_figure(draw_svg(bottom + TICK_HEIGHT, caption, *parts), caption)


# -- scores --------------------------------------------------------------------------------------


def _choose_edges(groups: Sequence[Group]) -> tuple[FloatArray, bool]:
    """Return edges of bins, and whether all finite scores lie between them."""
    finite = [group.scores[np.isfinite(group.scores)] for group in groups]
    spreads = [np.quantile(np.abs(scores), 0.75) if len(scores) else 0.0 for scores in finite]
    usual = [spread for spread in spreads if spread] or [1.0]
    most = _MAX_REACH_OF_OTHERS * np.quantile(usual, 0.5, method="lower")
    kept = []
    for scores, spread in zip(finite, spreads, strict=True):
        reach = min(_MAX_REACH * spread, most) or most
        kept.append(np.clip(scores, -reach, reach))
    edges = bin_edges(kept, _N_BINS, cut=_CUT_QUANTILE)
    scores = np.concatenate([group.scores for group in groups])
    return edges, not np.any((scores < edges[0]) | (scores > edges[-1]))


def _tallest(group: Group, edges: FloatArray) -> int:
    return max(_MIN_TALLEST, int(counts(group.scores, edges).max(initial=1)))


def _draw_scores(group: Group, edges: FloatArray, across: Scale, height: float) -> list[Html]:
    """Draw bars on the two sides of the threshold."""
    sides = ["below" if right <= 0 else "above" for right in edges[1:]]
    ends = _ends_of_bins(edges, across, sides)
    counted = counts(group.scores, edges).tolist()
    zero = across.at(0.0)
    return [
        *draw_histogram(counted, ends, height, height, _tallest(group, edges)),
        draw_line(0.0, height, 100.0, height, "axis"),
        draw_line(zero, 0.0, zero, height, "threshold"),
    ]


def _ends_of_bins(
    edges: FloatArray, across: Scale, classes: Sequence[str]
) -> list[tuple[float, float, str]]:
    at = [across.at(edge) for edge in edges]
    return list(zip(at[:-1], at[1:], classes, strict=True))
