"""Simulated annotators: accuracy against answers, beside other tools; intervals; advice to stop.

    python benchmarks labelling_annotators run --data FOLDER --out FILE [--sets a,b] [--draws 5]
    python benchmarks labelling_annotators show --out FILE [--entries RESULTS]

``run`` adds a line of JSON for every set, draw and way of asking to FILE, and goes on where it
ended. Each draw is a pool of at most 500 rows (60 % of the set) and at most 1 000 others, on which
accuracy is measured after every fifth answer. The annotator is always right. ``mixed`` and
``random`` are the page's session, ``mixed rbf`` with another kernel. The others are a rule and a
learner of other tools (``pip install scikit-activeml modAL-python small-text``). Of ``mixed`` it
also keeps the interval shown for the error after 50, 100 and 200 answers beside the error on the
other rows; and in the first draws (``--looks-at``) where it advised to stop. ``show`` makes
tables of the file, and with ``--entries`` a file for ``results.py add``.
"""

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from accuracy.labelling.sets import CHOSEN_ON, UNSEEN, draw_of, encoder_of, text_columns
from accuracy.labelling.summary import entries, tables

from fewlabels.labelling.overview import overview
from fewlabels.labelling.session import TARGET, Session
from fewlabels.tables.answers.file import AnswerFile
from fewlabels.tables.reading.options import ColumnOptions

LOOKS = (50, 100, 200)
STEP = 5
OURS = ("mixed", "random", "mixed rbf", "random rbf")
THEIRS = (
    "random forest", "random svc", "random logistic", "skactiveml forest", "skactiveml svc",
    "skactiveml logistic", "modal forest", "modal svc", "modal-margin trees",
)  # fmt: skip
OF_TEXTS = (
    "random bayes", "modal bayes", "random linear", "small-text linear", "small-text-ties linear",
    "small-text-ties logistic", "small-text-ties bayes",
)  # fmt: skip


def simulate(name, pool, others, ask, draw, n_answers, n_advice):
    """What the page's session gives with an annotator who knows the truth."""
    (frame, truth), (rest, rest_truth) = pool, others
    encoder = encoder_of(name, frame)
    classes = [f"c{k}" for k in range(max(truth.max(), rest_truth.max()) + 1)]
    ask, *kernel = ask.split()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.labels"
        about = {"target": TARGET, "classes": classes, "seed": f"{draw + 1:016x}", "data": ""}
        AnswerFile(path, about).close()
        given = {
            "columns": ColumnOptions(text=text_columns(name)),
            "kernel": kernel[0] if kernel else None,
        }
        session = Session(frame, labels=path, ask=ask, **given)
        assert abs(session.rows.X - encoder.transform(frame)).max() < 1e-9
        try:
            return answered(
                session, truth, encoder.transform(rest), rest_truth, n_answers,
                advised=ask == "mixed" and draw < n_advice, looked_at=ask == "mixed",
            )  # fmt: skip
        finally:
            session.close()


def answered(session, truth, rest, rest_truth, n_answers, advised, looked_at):
    accuracy, looks, stopped = [], [], None
    for number in range(1, n_answers + 1):
        row = session.card("me")["row"]
        session.answer(id=str(number), annotator="me", row=row, kind="label",
                       label=session.classes[truth[row]])  # fmt: skip
        look = number in LOOKS and looked_at
        waits = advised and stopped is None and number % 20 == 0
        session.catch_up(leave_out=look or waits)
        if number % STEP == 0:
            right = accuracy_of(session.learner, rest, rest_truth)
            accuracy.append(round(right, 5))
        if not look and not (advised and stopped is None):
            continue
        view = overview(session, lists=False)
        if stopped is None and view["advice"]["stop"]:
            stopped = number
        if look and view["error"] is not None:
            looks.append({"answers": number, "true": 1.0 - right, **view["error"]})
    return {"accuracy": accuracy, "looks": looks, "stopped": stopped, "advised": advised}


def accuracy_of(learner, rest, truth):
    """On other rows; the only class that has labels is predicted where it is alone."""
    if learner.kind == "s3vm":
        return float(np.mean(learner.model.predict(rest) == truth))
    known = learner.codes[learner.codes >= 0]
    return float(np.mean(truth == known[0])) if len(known) else 0.0


def compared(name, pool, others, ask, draw, n_answers):
    """The same of another tool."""
    from accuracy.labelling.peers import answered, rows_for

    (frame, truth), (rest, rest_truth) = pool, others
    encoder = encoder_of(name, frame)
    X, Z = (rows_for(encoder.transform(rows)) for rows in (frame, rest))
    scores = answered(X, truth, *ask.split(), draw, range(STEP, n_answers + 1, STEP),
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
            pool, others = draw_of(args.data, name, draw)
            for ask in args.asks.split(","):
                if ask in OF_TEXTS and not text_columns(name):
                    continue
                if (name, ask, draw) in done:
                    continue
                since, n = time.process_time(), min(args.answers, len(pool[1]) - 1)
                n -= n % STEP
                if ask in OURS:
                    found = simulate(name, pool, others, ask, draw, n, args.looks_at)
                else:
                    found = compared(name, pool, others, ask, draw, n)
                line = {"set": name, "ask": ask, "draw": draw, **found,
                        "seconds": round(time.process_time() - since, 1)}  # fmt: skip
                with args.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["run", "show"])
    parser.add_argument("--data", type=Path)
    other = f"by default the unseen half; the other one: {','.join(CHOSEN_ON)}"
    parser.add_argument("--sets", default=",".join(UNSEEN), help=other)
    parser.add_argument("--asks", default=",".join(OURS[:2] + THEIRS + OF_TEXTS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--looks-at", type=int, default=1, help="draws with advice to stop")
    parser.add_argument("--entries", type=Path, help="write entries of the results file here")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.what == "run":
        run(args)
    else:
        lines = args.out.read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        print(tables(rows, STEP))
        if args.entries:
            args.entries.write_text(json.dumps(entries(rows, STEP)), encoding="utf-8")


if __name__ == "__main__":
    main()
