"""Pictures of the progress of labelling, for the page."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..report.page import words
from ..report.page.pictures.curves import draw_progress
from ..report.page.pictures.rates import draw_interval

# Answers up to which the curves go back.
_MAX_ANSWERS = 500


def add_pictures(figures: dict[str, Any], points: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return figures of a session with pictures of the shares, the error and their progress.

    Parameters
    ----------
    figures : dict
        What :func:`fewlabels.labelling.overview.overview` returns.
    points : sequence of dict
        The error and the share of changed predictions after each answer.
    """
    points = points[-_MAX_ANSWERS:]
    errors = [(p["answers"], p["error"]["value"]) for p in points if p["error"] is not None]
    changes = [(p["answers"], p["changed"]) for p in points]
    return {
        **figures,
        "shares": {name: _with_picture(share) for name, share in figures["shares"].items()},
        "error": None if figures["error"] is None else _with_picture(figures["error"]),
        "error_curve": _draw_curve(errors, "Error rate by number of labels"),
        "changed_curve": _draw_curve(changes, "Share of predictions changed by each label"),
    }


def _with_picture(share: dict[str, float | None]) -> dict[str, Any]:
    """Return a share with a picture of it and of its interval."""
    value, low, high = share["value"], share["low"], share["high"]
    if value is None or low is None or high is None:
        return {**share, "picture": draw_interval(None, None, name="Not known yet")}
    name = words.estimate(value, (low, high))
    return {**share, "picture": draw_interval(value, (low, high), name=name)}


def _draw_curve(points: Sequence[tuple[int, float | None]], title: str) -> str | None:
    """Draw the points that are known; None for fewer than two."""
    known = np.array([point for point in points if point[1] is not None], dtype=float)
    if len(known) < 2:
        return None
    first, last = (words.percent(value) for value in known[[0, -1], 1])
    name = f"{title}: {first} after {known[0, 0]:g} answers, {last} after {known[-1, 0]:g}"
    return draw_progress(known[:, 0], known[:, 1], name)
