"""Simulated annotators: accuracy against answers, beside other tools; intervals; advice to stop.

    python benchmarks/labelling_annotators.py run --data FOLDER --out FILE [--sets a,b] [--draws 5]
    python benchmarks/labelling_annotators.py show --out FILE

``run`` adds a line of JSON for every set, draw and way of asking to FILE, and goes on where it
ended. Each draw is a pool of at most 500 rows (60 % of the set) and at most 1 000 others, on which
accuracy is measured. The annotator is always right. ``mixed`` and ``random`` are the page's
session; ``skactiveml``, ``modal`` and ``random`` with ``svc`` or ``forest`` are other tools
(``pip install scikit-activeml modAL-python``). Of the session it also keeps the interval shown for
the error after 50, 100 and 200 answers beside the error on the other rows, and where it advised to
stop. ``show`` makes tables of the file.
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from labelling_bench.summary import tables

from fewlabels import TableEncoder
from fewlabels.io.answers.file import AnswerFile
from fewlabels.labelling.overview import overview
from fewlabels.labelling.session import TARGET, Session

LOOKS = (50, 100, 200)
POOL, OTHERS = 500, 1000
# Two classes each; the first five were in sight when the rules of asking were chosen.
SETS = (
    "ionosphere,heart_statlog,chapelle_g50c,adbench_breastw,adbench_cardio,australian,diabetes,"
    "usmo_krvskp,adbench_magic_gamma,phishing,adbench_landsat,a9a,cod_rna,ssl_coil2"
)
OURS = ("mixed", "random")
THEIRS = tuple(f"{ask} {name}" for ask in ("random", "skactiveml", "modal")
               for name in ("svc", "forest"))  # fmt: skip


def draw_of(path, draw):
    """A pool and other rows of a set: frames, and codes of their classes."""
    found = np.load(path)
    X, y = found["X"].astype(float), np.unique(found["y"], return_inverse=True)[1]
    rows = np.random.default_rng(draw).permutation(len(X))
    n = min(POOL, int(0.6 * len(X)))
    parts = rows[:n], rows[n : n + OTHERS]
    return [(pd.DataFrame(X[part]).add_prefix("x"), y[part]) for part in parts]


def simulate(pool, others, ask, draw, n_answers):
    """What the page's session gives with an annotator who knows the truth."""
    (frame, truth), (rest, rest_truth) = pool, others
    encoder = TableEncoder().fit(frame)
    classes = [f"c{k}" for k in range(max(truth.max(), rest_truth.max()) + 1)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.labels"
        about = {"target": TARGET, "classes": classes, "seed": f"{draw + 1:016x}", "data": ""}
        AnswerFile(path, about).close()
        session = Session(frame, labels=path, ask=ask)
        assert np.allclose(session.rows.X, encoder.transform(frame))
        try:
            return answered(session, truth, encoder.transform(rest), rest_truth, n_answers)
        finally:
            session.close()


def answered(session, truth, rest, rest_truth, n_answers):
    accuracy, looks, stopped = [], [], None
    for number in range(1, n_answers + 1):
        row = session.card("me")["row"]
        session.answer(id=str(number), annotator="me", row=row, kind="label",
                       label=session.classes[truth[row]])  # fmt: skip
        look = number in LOOKS
        session.catch_up(leave_out=look or (stopped is None and number % 20 == 0))
        right = accuracy_of(session.learner, rest, rest_truth)
        accuracy.append(round(right, 5))
        view = overview(session, lists=False)
        if stopped is None and view["advice"]["stop"]:
            stopped = number
        if look and view["error"] is not None:
            looks.append({"answers": number, "true": 1.0 - right, **view["error"]})
    return {"accuracy": accuracy, "looks": looks, "stopped": stopped}


def accuracy_of(learner, rest, truth):
    """On other rows; the only class that has labels is predicted where it is alone."""
    if learner.kind == "s3vm":
        return float(np.mean(learner.machine.predict(rest) == truth))
    known = learner.codes[learner.codes >= 0]
    return float(np.mean(truth == known[0])) if len(known) else 0.0


def compared(pool, others, ask, draw, n_answers):
    """The same of another tool."""
    from labelling_bench.peers import answered

    (frame, truth), (rest, rest_truth) = pool, others
    encoder = TableEncoder().fit(frame)
    X, Z = encoder.transform(frame), encoder.transform(rest)
    scores = answered(X, truth, *ask.split(), draw, n_answers,
                      lambda predict: float(np.mean(predict(Z) == rest_truth)))  # fmt: skip
    return {"accuracy": [round(one, 5) for one in scores]}


def run(args):
    done = set()
    if args.out.exists():
        for line in args.out.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            done.add((one["set"], one["ask"], one["draw"]))
    for draw in range(args.draws):
        for name in args.sets.split(","):
            pool, others = draw_of(args.data / f"{name}.npz", draw)
            for ask in args.asks.split(","):
                if (name, ask, draw) in done:
                    continue
                since, n = time.process_time(), min(args.answers, len(pool[1]) - 1)
                call = simulate if ask in OURS else compared
                if ask in OURS and args.looks_at and draw < args.looks_at:
                    n = min(max(LOOKS), len(pool[1]) - 1)
                found = call(pool, others, ask, draw, n)
                line = {"set": name, "ask": ask, "draw": draw, **found,
                        "seconds": round(time.process_time() - since, 1)}  # fmt: skip
                with args.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--asks", default=",".join(OURS + THEIRS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--looks-at", type=int, default=2, help="draws with 200 answers of ours")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "run":
        run(args)
    else:
        lines = args.out.read_text(encoding="utf-8").splitlines()
        print(tables([json.loads(line) for line in lines]))


if __name__ == "__main__":
    main()
