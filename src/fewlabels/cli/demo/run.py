"""Run the demo: two models of one class, scikit-learn's model, a picture and a timing."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.svm import OneClassSVM

from ... import pipeline
from ..._typing import BoolArray, FloatArray
from ...inspection.histogram import bin_edges, draw
from ...pipeline.formatting import gap, number
from ...pipeline.options.flags import flags
from ...tables.atomic import replacing
from ...tables.models.files import load_model
from ...tasks import estimator_class
from ..progress import Quiet
from ..show import say
from .data import Split, split_data, write_split

_NORMAL, _OTHER = "#2a6f97", "#d1495b"
# Width on the left of the boundary, as a share of the right, for the word there.
_MIN_SHARE_OUTSIDE = 0.15


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
    low, high = axes.get_xlim()
    axes.set_xlim(min(low, -_MIN_SHARE_OUTSIDE * high), high)
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


NU = 0.1
# Seconds that settings may be looked for.
TIME_BUDGET = 10.0
_PEER_TITLE = "scikit-learn OneClassSVM"


def run(output: Path, data: str, digit: int, quick: bool) -> None:
    """Run the demo on a data set, with its files in the folder ``output``."""
    split = split_data(data, digit)
    train_file, test_file = write_split(split, output)
    say(split.story)
    say(f"  training:    {len(split.train):,} rows, {train_file}")
    say(
        f"  scored:      {len(split.test):,} rows, {int(split.is_normal.sum()):,} of them normal, "
        f"{test_file}",
        "",
    )
    methods = [
        ("fewlabels SVDD", "svdd", {}, output / "svdd.html"),
        ("fewlabels OneClassSVM", "one-class", {"nu": NU}, None),
    ]
    results = {}
    for title, method, parameters, report in methods:
        results[title] = _run_fewlabels(
            method, parameters, report, split, output, train_file, test_file
        )
    results[_PEER_TITLE] = _run_scikit_learn(split, output)
    say()
    _print_table(results)
    picture = output / "demo.png"
    scores = {title: result.pop("scores") for title, result in results.items()}
    save_picture(picture, split, scores)
    figures = dict(results)
    if not quick:
        rows = make_moved_images()
        say(
            "",
            f"The same at a larger size: the 1,797 images and their copies moved by one pixel, "
            f"{len(rows):,} x {rows.shape[1]}, nu = 0.5",
        )
        figures["larger"] = compare_libraries(rows)
    with replacing(output / "figures.json") as temporary:
        temporary.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    say(
        "",
        f"Picture: {picture}   Report: {output / 'svdd.html'}   Model: "
        f"{output / 'svdd.skops'}   Figures: {output / 'figures.json'}",
    )


def _run_fewlabels(
    method: str,
    parameters: dict[str, float],
    report: Path | None,
    split: Split,
    output: Path,
    train_file: Path,
    test_file: Path,
) -> dict[str, Any]:
    """Fit and predict through files, printing the commands that would do the same.

    With a report, settings are chosen as well; all rows are known to be normal.
    """
    model = output / f"{method}.skops"
    scored = output / f"{method}-scores.csv"
    parameter_flags = "".join(f" {flags(name)[0]} {value}" for name, value in parameters.items())
    budget_options = {"time_budget": TIME_BUDGET, "clean": True, "baselines": True}
    budget_flags = f" --clean --time-budget {TIME_BUDGET:g} --report {report}"
    if report is None:
        budget_options, budget_flags = {"time_budget": 0.0}, " --time-budget 0 --no-report"
    scale = "" if split.scale else " --no-scale"
    arguments = f"--method {method}{parameter_flags}{scale}{budget_flags} -o {model}"
    command = f"fewlabels fit {train_file} {arguments}"
    say(f"$ {command}")
    summary = pipeline.fit_file(
        train_file,
        model,
        report=report,
        command=command,
        force=True,
        observer=Quiet(),
        method=method,
        scale=split.scale,
        **parameters,
        **budget_options,
    )
    say(f"$ fewlabels predict {model} {test_file} -o {scored}")
    pipeline.score_file(model, test_file, scored, observer=Quiet())
    training = summary["training"]
    names = ("support_vectors", "radius", "objective", "duality_gap", "seconds")
    quality = _measure_quality(pd.read_csv(scored)["score"].to_numpy(), split.is_normal)
    return {**quality, **{name: training[name] for name in names}}


def _run_scikit_learn(split: Split, output: Path) -> dict[str, Any]:
    """Fit scikit-learn's model to the rows as the pipeline encodes them."""
    pipeline, _, _ = load_model(output / "one-class.skops")
    rows = pipeline[:-1].transform(split.train)
    started = time.perf_counter()
    model = OneClassSVM(nu=NU).fit(rows)
    seconds = time.perf_counter() - started
    # f(x_i) + rho = (K a)_i, so the dual objective needs no kernel matrix of our own.
    inner = model.score_samples(rows[model.support_])
    scores = model.decision_function(pipeline[:-1].transform(split.test))
    return {
        **_measure_quality(scores, split.is_normal),
        "support_vectors": len(model.support_),
        "radius": None,
        "objective": float(0.5 * np.sum(model.dual_coef_ * inner)),
        "duality_gap": None,
        "seconds": seconds,
    }


def _measure_quality(scores: FloatArray, is_normal: BoolArray) -> dict[str, Any]:
    return {
        "scores": scores,
        "auc": float(roc_auc_score(is_normal, scores)),
        "normal_rejected": float((scores[is_normal] < 0).mean()),
        "others_rejected": float((scores[~is_normal] < 0).mean()),
    }


def _print_table(results: dict[str, dict[str, Any]]) -> None:
    def percent(value: float) -> str:
        return f"{100 * value:.1f} %"

    rows: list[tuple[str, str, Callable[[Any], str]]] = [
        ("AUC", "auc", "{:.4f}".format),
        ("normal rows rejected", "normal_rejected", percent),
        ("other rows rejected", "others_rejected", percent),
        ("support vectors", "support_vectors", str),
        ("radius", "radius", number),
        ("objective", "objective", "{:.6g}".format),
        ("duality gap", "duality_gap", gap),
        ("seconds to fit", "seconds", "{:.4f}".format),
    ]
    widths = [max(14, len(title)) for title in results]
    heads = "  ".join(f"{title:>{w}}" for title, w in zip(results, widths, strict=True))
    say(f"{'':<22}{heads}")
    for name, key, form in rows:
        cells = ["-" if result[key] is None else form(result[key]) for result in results.values()]
        line = "  ".join(f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True))
        say(f"{name:<22}{line}")


def make_moved_images() -> FloatArray:
    """Return all digits and their copies moved by one pixel in the eight directions."""
    images = load_digits().images
    moves = [(down, right) for down in (-1, 0, 1) for right in (-1, 0, 1)]
    return np.concatenate(
        [np.roll(images, move, axis=(1, 2)).reshape(len(images), -1) for move in moves]
    )


def compare_libraries(rows: FloatArray, nu: float = 0.5) -> dict[str, dict[str, float | None]]:
    """Fit and score with both libraries, printing as they finish; figures by library."""
    svdd = estimator_class("one-class")
    results = {}
    say(f"{'':<22}{'fit, s':>10}{'score, s':>10}{'objective':>14}{'duality gap':>13}")
    for title, model in (
        ("fewlabels", svdd(nu=nu)),
        ("scikit-learn", OneClassSVM(nu=nu)),
    ):
        started = time.perf_counter()
        model.fit(rows)
        fitted = time.perf_counter()
        inner = model.score_samples(rows)
        scored = time.perf_counter()
        objective = float(0.5 * np.sum(model.dual_coef_ * inner[model.support_]))
        gap = getattr(model, "duality_gap_", None)
        results[title] = {
            "fit_seconds": fitted - started,
            "score_seconds": scored - fitted,
            "objective": objective,
            "duality_gap": gap,
        }
        gap_text = "-" if gap is None else f"{gap:.3g}"
        say(
            f"{title:<22}{fitted - started:>10.2f}{scored - fitted:>10.2f}{objective:>14.7g}"
            f"{gap_text:>13}"
        )
    return results
