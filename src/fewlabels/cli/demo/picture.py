"""The picture of the demo: scores of both kinds of rows, and ROC curves."""

from __future__ import annotations

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score, roc_curve

from ..._typing import BoolArray, FloatArray
from ...inspection.histogram import bin_edges, draw
from ...tables.atomic import replacing
from .data import Split

_NORMAL, _OTHER = "#2a6f97", "#d1495b"


def save_picture(path: Path, split: Split, scores: dict[str, FloatArray]) -> None:
    """Draw the scores of the test rows by model; the first model's as a histogram."""
    # No pyplot: it looks for a screen and keeps global state.
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2, width_ratios=[1.35, 1])
    title, values = next(iter(scores.items()))
    _draw_histogram(left, values, split, title)
    _draw_roc(right, split.is_normal, scores)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=150)


def _draw_histogram(axes: Axes, values: FloatArray, split: Split, title: str) -> None:
    edges = bin_edges([values], 49)
    for chosen, colour, name in (
        (~split.is_normal, _OTHER, "all other rows"),
        (split.is_normal, _NORMAL, f"normal rows ({split.normal}), not seen in training"),
    ):
        # Shares, because there are many more of the others.
        label = f"{name}: {chosen.sum():,}"
        draw(axes, values[chosen], edges, color=colour, alpha=0.65, label=label)
    axes.axvline(0.0, color="black", linewidth=1.2)
    top = 1.1 * axes.get_ylim()[1]
    axes.set_ylim(0.0, top)
    axes.annotate(
        "inside ", (0.0, top), ha="left", va="top", xytext=(5, -4), textcoords="offset points"
    )
    axes.annotate(
        "outside", (0.0, top), ha="right", va="top", xytext=(-5, -4), textcoords="offset points"
    )
    axes.set_xlabel("score: how far inside the boundary")
    axes.set_ylabel("share of rows, %")
    axes.set_title(title, loc="left", pad=44)
    axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(-0.02, 1.0))
    axes.spines[["top", "right"]].set_visible(False)


def _draw_roc(axes: Axes, is_normal: BoolArray, scores: dict[str, FloatArray]) -> None:
    styles = [("-", "#2a6f97", 2.4), ("-", "#e9a23b", 2.4), (":", "black", 1.6)]
    for (title, values), (line, colour, width) in zip(scores.items(), styles, strict=False):
        missed, accepted, _ = roc_curve(is_normal, values)
        area = roc_auc_score(is_normal, values)
        label = f"{title}, AUC {area:.4f}"
        axes.plot(missed, accepted, line, color=colour, linewidth=width, label=label)
    axes.plot([0, 1], [0, 1], color="grey", linewidth=0.8)
    axes.set_xlabel("share of other rows accepted")
    axes.set_ylabel("share of normal rows accepted")
    axes.set_title("ROC curves", loc="left")
    axes.legend(frameon=False, loc="lower right")
    axes.set_aspect("equal")
    axes.spines[["top", "right"]].set_visible(False)
