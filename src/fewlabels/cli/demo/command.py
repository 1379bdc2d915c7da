"""``fewlabels demo``: the main job on real data, next to scikit-learn."""

import json
import time
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ... import jobs
from ...jobs.words import gap, number
from ...options.flags import flags
from ...options.words import UserError
from ..terminal.progress import Quiet
from ..terminal.show import say

Data = StrEnum("Data", [("digits", "digits"), ("breast_cancer", "breast-cancer")])

NU = 0.1
# Seconds that settings may be looked for.
BUDGET = 10.0
_PEER = "scikit-learn OneClassSVM"


def demo(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FOLDER", help="Output folder.")
    ] = Path("demo-output"),
    data: Annotated[Data, typer.Option(help="One of scikit-learn's data sets.")] = Data.digits,
    digit: Annotated[int, typer.Option(min=0, max=9, help="The normal digit.")] = 8,
    quick: Annotated[
        bool, typer.Option("--quick", help="Skip the timing on 16,173 images.")
    ] = False,
):
    """Train on one class of a real data set, compare with scikit-learn and draw a picture.

    The demo trains on two thirds of the rows of one class, with the code behind 'fewlabels fit',
    and scores all other rows.
    """
    # These take time to import.
    from ...io.atomic import replacing
    from .data import split_data, write_split
    from .picture import save_picture
    from .timing import moved_images, side_by_side

    if output.exists() and not output.is_dir():
        raise UserError(f"{output} is a file; name a folder with --output.")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"The folder {output} cannot be made: {error.strerror}.") from error

    split = split_data(data.value, digit)
    train_file, test_file = write_split(split, output)
    say(split.story)
    say(f"  training:    {len(split.train):,} rows, {train_file}")
    say(
        f"  scored:      {len(split.test):,} rows, {int(split.is_normal.sum()):,} of them normal, "
        f"{test_file}",
        "",
    )
    machines = [
        ("fewlabels SVDD", "svdd", {}, output / "svdd.html"),
        ("fewlabels OneClassSVM", "one-class", {"nu": NU}, None),
    ]
    results = {}
    for title, machine, parameters, report in machines:
        results[title] = _ours(machine, parameters, report, split, output, train_file, test_file)
    results[_PEER] = _peer(split, output)
    say()
    _print_table(results)
    picture = output / "demo.png"
    scores = {title: found.pop("scores") for title, found in results.items()}
    save_picture(picture, split, scores)
    figures = dict(results)
    if not quick:
        rows = moved_images()
        say(
            "",
            f"The same at a larger size: the 1,797 images and their copies moved by one pixel, "
            f"{len(rows):,} x {rows.shape[1]}, nu = 0.5",
        )
        figures["larger"] = side_by_side(rows)
    with replacing(output / "figures.json") as temporary:
        temporary.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    say(
        "",
        f"Picture: {picture}   Report: {output / 'svdd.html'}   Model: "
        f"{output / 'svdd.skops'}   Figures: {output / 'figures.json'}",
    )


def _ours(machine, parameters, report, split, output, train_file, test_file):
    """Fit and predict through files, printing the commands that would do the same.

    With a report, settings are chosen as well; all rows are known to be normal.
    """
    import pandas as pd

    model = output / f"{machine}.skops"
    scored = output / f"{machine}-scores.csv"
    words = "".join(f" {flags(name)[0]} {value}" for name, value in parameters.items())
    chosen = {"time_budget": BUDGET, "clean": True, "baselines": True}
    effort = f" --clean --time-budget {BUDGET:g} --report {report}"
    if report is None:
        chosen, effort = {"time_budget": 0.0}, " --time-budget 0 --no-report"
    scale = "" if split.scale else " --no-scale"
    command = f"fewlabels fit {train_file} --machine {machine}{words}{scale}{effort} -o {model}"
    say(f"$ {command}")
    summary = jobs.train_file(
        train_file,
        model,
        report=report,
        command=command,
        force=True,
        observer=Quiet(),
        machine=machine,
        scale=split.scale,
        **parameters,
        **chosen,
    )
    say(f"$ fewlabels predict {model} {test_file} -o {scored}")
    jobs.score_file(model, test_file, scored, observer=Quiet())
    training = summary["training"]
    kept = ("support_vectors", "radius", "objective", "duality_gap", "seconds")
    quality = _quality(pd.read_csv(scored)["score"].to_numpy(), split.is_normal)
    return {**quality, **{name: training[name] for name in kept}}


def _peer(split, output):
    """scikit-learn's model on the rows as our model sees them."""
    import numpy as np
    from sklearn.svm import OneClassSVM

    from ...io.models.files import load_model

    pipeline, _, _ = load_model(output / "one-class.skops")
    rows = pipeline[:-1].transform(split.train)
    started = time.perf_counter()
    machine = OneClassSVM(nu=NU).fit(rows)
    seconds = time.perf_counter() - started
    # f(x_i) + rho = (K a)_i, so the dual objective needs no kernel matrix of our own.
    inner = machine.score_samples(rows[machine.support_])
    scores = machine.decision_function(pipeline[:-1].transform(split.test))
    return {
        **_quality(scores, split.is_normal),
        "support_vectors": len(machine.support_),
        "radius": None,
        "objective": float(0.5 * np.sum(machine.dual_coef_ * inner)),
        "duality_gap": None,
        "seconds": seconds,
    }


def _quality(scores, is_normal):
    from sklearn.metrics import roc_auc_score

    return {
        "scores": scores,
        "auc": float(roc_auc_score(is_normal, scores)),
        "normal_rejected": float((scores[is_normal] < 0).mean()),
        "others_rejected": float((scores[~is_normal] < 0).mean()),
    }


def _print_table(results):
    def percent(value):
        return f"{100 * value:.1f} %"

    rows = [
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
        cells = ["-" if found[key] is None else form(found[key]) for found in results.values()]
        line = "  ".join(f"{cell:>{w}}" for cell, w in zip(cells, widths, strict=True))
        say(f"{name:<22}{line}")
