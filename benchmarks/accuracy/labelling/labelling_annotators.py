"""Simulated annotators: accuracy against answers, compared with other tools; intervals; advice.

Each draw is a pool of at most 500 rows (60 % of the set) and at most 1 000 others, on which
accuracy is measured after every fifth answer. The annotator is always right. ``mixed`` and
``random`` are the page's session, ``mixed rbf`` with another kernel. The others are a rule and a
learner of other tools (``pip install scikit-activeml modAL-python small-text``). Of ``mixed`` the
program also keeps the interval shown for the error after 50, 100 and 200 answers, and the error on
the other rows; and in the first draws (``--looks-at``) when it advised to stop. By default it runs
the sets that the rules weren't chosen on.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from study import Case, Setting, Study

from fewlabels.labelling.overview import overview
from fewlabels.labelling.session import TARGET, Session
from fewlabels.tables.answers.file import AnswerFile
from fewlabels.tables.reading.options import ColumnOptions

from . import summary
from .sets import CHOSEN_ON, UNSEEN, draw_of, encoder_of, text_columns

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
    from .peers import answered, rows_for

    (frame, truth), (rest, rest_truth) = pool, others
    encoder = encoder_of(name, frame)
    X, Z = (rows_for(encoder.transform(rows)) for rows in (frame, rest))
    scores = answered(X, truth, *ask.split(), draw, range(STEP, n_answers + 1, STEP),
                      lambda predict: float(np.mean(predict(Z) == rest_truth)))  # fmt: skip
    return {"accuracy": [round(one, 5) for one in scores]}


def measure(folder, name, ask, draw, n_answers, n_advice):
    """What one way of asking reaches."""
    pool, others = draw_of(folder, name, draw)
    n = min(n_answers, len(pool[1]) - 1)
    n -= n % STEP
    if ask in OURS:
        return simulate(name, pool, others, ask, draw, n, n_advice)
    return compared(name, pool, others, ask, draw, n)


def cases(options):
    names = options.sets if options.is_restricted else UNSEEN
    for draw in range(options.draws):
        for name in names if not options.quick else options.sets:
            for ask in options.asks:
                if ask not in OF_TEXTS or text_columns(name):
                    yield Case(
                        {"set": name, "ask": ask, "draw": draw},
                        measure,
                        (options.data, name, ask, draw, options.answers, options.looks_at),
                    )


def report(results):
    yield summary.stops([r for r in results.records if r["advised"]], STEP)


def entries(results):
    return [
        results.entry(name, columns, rows, **about)
        for name, columns, rows, about in summary.entries(results.records, STEP)
    ]


STUDY = Study(
    __doc__,
    cases,
    report,
    entries,
    data="required",
    choices={"sets": [*UNSEEN, *CHOSEN_ON], "asks": [*OURS[:2], *THEIRS, *OF_TEXTS, *OURS[2:]]},
    settings={
        "draws": Setting(5, "draws of a set"),
        "answers": Setting(200, "answers of a draw"),
        "looks_at": Setting(1, "draws with advice to stop"),
    },
    quick={
        "sets": ["heart_statlog"],
        "asks": ["mixed", "random", "random svc"],
        "draws": 1,
        "answers": 60,
    },
)
