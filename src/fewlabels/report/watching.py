"""The page of a watch: whether rows changed, when, which features, which rows."""

import math
from os import PathLike
from typing import Any

import pandas as pd

from .._typing import FloatArray
from ..monitoring.changes import Change
from ..monitoring.features import FeatureChange
from ..monitoring.monitor import Monitor
from ..tables.atomic import replacing
from .page import words
from .page.elements import Html, facts, join, section, table, tag
from .page.html import render_document
from .page.pictures.curves import draw_evidence
from .page.pictures.histograms import draw_p_values, draw_pair

# Changed features that are listed, and those of them that have a picture.
_MAX_FEATURES = 30
_MAX_PICTURES = 6
# Words of a feature that are listed with their shares.
_MAX_WORDS = 12
# Bars of a histogram of p-values.
_BINS = 20
# Columns shown of the rows that differ most.
_MAX_COLUMNS = 5


def write_watch_report(
    path: str | PathLike[str], summary: dict[str, Any], points: FloatArray, monitor: Monitor
) -> None:
    """Write the page of a watch, which appears whole or not at all.

    Parameters
    ----------
    path : path-like
        The HTML file.
    summary : dict
        What :func:`fewlabels.pipeline.watch` returns.
    points : ndarray of shape (n_points, 2)
        Numbers of rows and natural logarithms of the evidence.
    monitor : Monitor
        The monitor, for its latest p-values.
    """
    change = summary["change"]
    parts = [
        _render_summary(summary, change),
        _render_evidence(summary, points, change),
        _render_p_values(monitor, change),
        None if change is None else _render_features(change),
        None if change is None else _render_rows(change, monitor),
        _render_method(summary, monitor),
    ]
    page = render_document(f"Watch of {summary['model']}", [p for p in parts if p is not None])
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _render_summary(summary: dict[str, Any], change: Change | None) -> Html:
    rows = words.rows(summary["rows"])
    if change is not None:
        low, high = (f"{row + 1:,}" for row in change.interval)
        lead = f"The rows have changed since about row {change.began + 1:,}."
        more = (
            f"The alarm came at row {change.alarm + 1:,}. The change began between rows {low} and "
            f"{high} (90 % interval). Rows are numbered as they were scored."
        )
        callout = tag("div", tag("p", more), class_="callout", role="note")
    elif summary["alarms"]:
        lead, callout = f"{summary['alarms']:,} alarms in {rows}.", None
    else:
        lead, callout = f"No change was found in {rows}.", None
    counts = [
        ("Rows read", words.count(summary["rows"])),
        ("Rows without a score", words.count(summary["skipped"])),
        ("Alerts", words.count(summary["alerts"])),
        ("Alarms", words.count(summary["alarms"])),
    ]
    if summary["learned"]:
        counts.append(("Rows learned", words.count(summary["learned"])))
    return section(
        "short",
        "In short",
        tag("p", lead, class_="lead"),
        callout,
        _render_class_shift(change),
        facts(counts),
    )


def _render_class_shift(change: Change | None) -> Html | None:
    shift = None if change is None else change.class_shift
    if shift is None:
        return None
    share = f"{words.percent(shift.before)} to {words.percent(shift.after)}"
    if shift.explains:
        text = (
            f"A changed class ratio explains the change: the share of '{shift.positive}' went "
            f"from {share}. The scores fit this (p = {shift.p_value:.2g})."
        )
    elif shift.p_value_same > 0.05:
        text = "The share of the classes has not changed measurably; the features have."
    else:
        text = (
            f"A changed class ratio alone doesn't explain the change (p = {shift.p_value:.2g}): "
            "rows within the classes look different."
        )
    return tag("p", text)


def _render_evidence(
    summary: dict[str, Any], points: FloatArray, change: Change | None
) -> Html | None:
    if not len(points):
        return None
    marks = [] if change is None else [(change.began + 1, "began"), (change.alarm + 1, "alarm")]
    name = (
        f"Evidence of a change over {words.rows(summary['rows'])}; the dashed line "
        f"at {10 ** min(summary['threshold'], 300):,.0f} raises an alarm."
    )
    pictures = draw_evidence(
        points[:, 0], points[:, 1] / math.log(10.0), summary["threshold"], marks, name
    )
    about = "On unchanged data it rarely becomes large. Across: row. Up: power of ten."
    return section("evidence", "Evidence of a change", pictures, tag("p", about, class_="muted"))


def _render_p_values(monitor: Monitor, change: Change | None) -> Html | None:
    recent = monitor.kept_rows.contents[0]
    groups = [("Latest rows", recent)]
    if change is not None:
        before = [row for row in recent if row.number is not None and row.number < change.began]
        groups = [("Before the change", before), ("Since the change", recent[len(before) :])]
    pictures = [
        draw_p_values(
            [row.p_value for row in rows if row.p_value is not None],
            _BINS,
            f"{name}: {words.rows(len(rows))}",
        )
        for name, rows in groups
        if rows
    ]
    if not pictures:
        return None
    about = (
        "While nothing changes, all bars are about equally high. Small values are unusual rows."
    )
    return section("p-values", "P-values", *pictures, tag("p", about, class_="muted"))


def _render_features(change: Change) -> Html:
    changed = [feature for feature in change.features if feature.changed]
    if not changed:
        text = "No single feature changed significantly."
        if change.pairs:
            text += " Relations between features did."
        parts = [tag("p", text)]
    else:
        listed = changed[:_MAX_FEATURES]
        rows: list[tuple[str, ...]] = [
            (
                f.name,
                _write_value(f, f.before),
                _write_value(f, f.after),
                words.number(f.effect),
                f"{f.adjusted:.2g}",
            )
            for f in listed
        ]
        caption = (
            f"{len(changed)} of {len(change.features)} features changed, at a false discovery "
            f"rate of 5 %. Compared: {words.rows(change.n_before)} before and "
            f"{change.n_after:,} since."
        )
        heads: tuple[str, ...] = ("Feature", "Before", "Since", "Effect (0 to 1)", "Adjusted p")
        parts = [table(caption, heads, rows, ["", "wide", "wide", "number", "number"])]
        parts += [
            draw_pair(f.name, *f.values) for f in listed if f.kind == "number" and len(f.values[0])
        ][:_MAX_PICTURES]
    if change.pairs:
        rows = [
            (
                " and ".join(p.names),
                words.number(p.before),
                words.number(p.after),
                f"{p.adjusted:.2g}",
            )
            for p in change.pairs[:10]
        ]
        heads = ("Features", "Before", "Since", "Adjusted p")
        parts.append(
            table(
                "Rank correlations that changed.", heads, rows, ["", "number", "number", "number"]
            )
        )
    return section("features", "What changed", *parts)


def _write_value(feature: FeatureChange, values: dict[str, float]) -> str:
    if feature.kind == "number":
        if not values:
            return "missing"
        return (
            f"mean {words.number(values['mean'])}, deviation {words.number(values['deviation'])}"
        )
    items = [f"{name} {words.percent(share)}" for name, share in list(values.items())[:_MAX_WORDS]]
    return ", ".join(items) or "no words"


def _render_rows(change: Change, monitor: Monitor) -> Html | None:
    cells = monitor.kept_rows.assemble(change.rows)
    names: list[str] = []
    columns: list[pd.Series] = []
    if isinstance(cells, pd.DataFrame):
        names = _choose_columns(change, list(cells.columns))
        columns = [cells[name] for name in names]
    if not change.rows:
        return None
    body = []
    for k, row in enumerate(change.rows):
        # Only calibration rows, which come before the stream, have neither.
        assert row.number is not None and row.p_value is not None
        body.append(
            (
                f"{row.number + 1:,}",
                words.number(row.score),
                f"{row.p_value:.2g}",
                *(_write_cell(column.iloc[k]) for column in columns),
            )
        )
    heads = ("Row", "Score", "P-value", *map(str, names))
    caption = "Rows since the change that differ most from earlier ones."
    pictures = table(caption, heads, body, ["number", "number", "number", *[""] * len(names)])
    return section("rows", "Rows", pictures)


def _choose_columns(change: Change, names: list[str]) -> list[str]:
    """Return the columns to show: changed ones first, then changed pairs, then the others."""
    changed = [feature.name for feature in change.features if feature.changed]
    paired = [name for pair in change.pairs for name in pair.names]
    first = [name for name in (*changed, *paired) if name in names]
    return list(dict.fromkeys([*first, *names]))[:_MAX_COLUMNS]


def _write_cell(value: str | float) -> str:
    if isinstance(value, str):
        return value if len(value) <= 80 else f"{value[:77]}..."
    return words.number(value)


def _render_method(summary: dict[str, Any], monitor: Monitor) -> Html:
    if monitor.run_length is None:
        rate = f"At most {words.percent(monitor.alpha)} of unchanged streams ever raise an alarm."
    else:
        rate = (
            f"On unchanged rows, about {monitor.run_length:,} rows pass between two alarms on "
            "average."
        )
    text = (
        "Each row's score is ranked among calibration rows and all earlier rows. Bets on these "
        "ranks give the evidence. "
    )
    return section("method", "How to read this", tag("p", join([text, rate], "")), Html(""))
