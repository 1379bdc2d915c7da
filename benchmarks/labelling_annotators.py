"""Simulated annotators on the page's session: accuracy against answers, intervals, advice.

    python benchmarks/labelling_annotators.py --data FOLDER --sets a,b --asks mixed,random

Sets are files of the folder with X and y, at most 800 rows of each. The annotator is always
right. For every set, way of asking and draw: accuracy over all rows after each answer; whether the
interval of the error holds the true one (over the rows without a label) after 50, 100 and 200
answers; where the page advised to stop, and what the answers after it still gained.
"""

import argparse
import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from fewlabels.labelling.overview import overview
from fewlabels.labelling.session import Session

LOOKS = (50, 100, 200)


def load(path, seed=0, most=800):
    found = np.load(path)
    X, y = found["X"].astype(float), np.unique(found["y"], return_inverse=True)[1]
    rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:most])
    return pd.DataFrame(X[rows]).add_prefix("x"), y[rows]


def simulate(frame, truth, ask, seed, n_answers):
    classes = [f"c{k}" for k in range(truth.max() + 1)]
    with tempfile.TemporaryDirectory() as folder:
        session = Session(frame, classes=classes, labels=Path(folder) / "a.labels", ask=ask)
        try:
            return answered(session, truth, classes, n_answers)
        finally:
            session.close()


def answered(session, truth, classes, n_answers):
    accuracy, looks, stopped = [], [], None
    for number in range(1, n_answers + 1):
        row = session.card("me")["row"]
        session.answer(id=str(number), annotator="me", row=row, kind="label",
                       label=classes[truth[row]])  # fmt: skip
        look = number in LOOKS
        session.catch_up(leave_out=look or (stopped is None and number % 10 == 0))
        found = session.learner.predictions
        accuracy.append(0.0 if found is None else float(np.mean(found == truth)))
        view = overview(session, lists=False)
        if stopped is None and view["advice"]["stop"]:
            stopped = number
        if look and view["error"] is not None:
            free = session.learner.codes < 0
            true = float(np.mean(found[free] != truth[free]))
            error = view["error"]
            looks.append({"answers": number, "true": true, **error})
    return {"accuracy": accuracy, "looks": looks, "stopped": stopped}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", required=True)
    parser.add_argument("--asks", default="mixed,random")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in args.sets.split(","):
        frame, truth = load(args.data / f"{name}.npz")
        for ask in args.asks.split(","):
            for draw in range(args.draws):
                found = simulate(frame, truth, ask, draw, min(args.answers, len(truth) - 1))
                rows.append({"set": name, "ask": ask, "draw": draw, **found})
            show(name, ask, [r for r in rows if r["set"] == name and r["ask"] == ask])
    if args.out:
        args.out.write_text(json.dumps(rows), encoding="utf-8")


def show(name, ask, rows):
    curve = np.mean([r["accuracy"] for r in rows], axis=0)
    at = " ".join(f"{k}: {curve[k - 1]:.3f}" for k in (10, 20, 50, 100, 200) if k <= len(curve))
    looks = [look for r in rows for look in r["looks"]]
    held = sum(look["low"] <= look["true"] <= look["high"] for look in looks)
    stops = [r["stopped"] for r in rows]
    gained = [r["accuracy"][-1] - r["accuracy"][r["stopped"] - 1] for r in rows if r["stopped"]]
    print(f"{name:20s} {ask:9s} {at} area {curve.mean():.3f}; interval held {held}/{len(looks)}; "
          f"stopped {stops} gained after {[round(g, 3) for g in gained]}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
