"""What fit_table delivers: how often it exchanges the model, and how often that is right.

Tables whose truth is known. In half of them classes follow a rule about one or two columns of one
unit (bands, boxes, checkers), which trees see more easily than distances do; in the others a
plane, clusters, or noise. 12 columns, 400 rows, 100 and 240 of them labelled.

fit_table runs as users run it. The model that it fits first and the one that it delivers are both
scored by the hidden labels of 4000 rows. An exchange is right if the delivered model is truly more
accurate.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from shared.common import group, mean
from study import Case, Setting, Study

from fewlabels.pipeline import Observer
from fewlabels.pipeline.options.checks import parse_options
from fewlabels.pipeline.training.fit import fit
from fewlabels.pipeline.training.fitting import Run
from fewlabels.pipeline.training.schedule import Schedule
from fewlabels.tables.user_data import make_source

LABELS = (100, 240)


def _checkers(X):
    return (X[:, 0] > 0) ^ (X[:, 1] > 0)


MADE = {
    "band": lambda X, rng: np.abs(X[:, 0]) < 0.67,
    "box": lambda X, rng: (np.abs(X[:, 0]) < 1.0) & (np.abs(X[:, 1]) < 1.1),
    "checkers": lambda X, rng: _checkers(X),
    "noisy band": lambda X, rng: (np.abs(X[:, 0]) < 0.67) ^ (rng.random(len(X)) < 0.1),
    "plane": lambda X, rng: X @ rng.normal(size=X.shape[1]) > 0,
    "clusters": lambda X, rng: _clustered(X, rng),
    "noisy plane": lambda X, rng: X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X)) > 0,
    "noise": lambda X, rng: rng.random(len(X)) < 0.5,
}  # fmt: skip


def _clustered(X, rng):
    """Classes that are three clusters each, and rows moved there."""
    place = rng.integers(0, 6, len(X))
    X += rng.normal(0.0, 1.5, (6, X.shape[1]))[place]
    return place < 3


def made_problem(name, seed, n_labels):
    """A table of a known rule, rows to test, and their classes."""
    rng = np.random.default_rng([seed, list(MADE).index(name)])
    X = np.clip(rng.normal(size=(4400, 12)), -1.5, 1.5)
    y = MADE[name](X, rng)
    kind = np.array(["c0", "c1"])[y[:400].astype(int)].astype(object)
    kind[n_labels:] = ""
    return frame_of(X[:400]).assign(kind=kind), frame_of(X[400:]), y[400:]


def frame_of(X):
    return pd.DataFrame(np.asarray(X, float), columns=[f"x{k}" for k in range(X.shape[1])])


def measure(name, seed, n_labels, budget):
    """Accuracy of the first and of the delivered model of a table by the hidden labels."""
    frame, test, truth = made_problem(name, seed, n_labels)
    saved, started = [], time.perf_counter()
    asked = parse_options({"target": "kind", "time_budget": budget, "random_state": seed})
    schedule = Schedule(budget, started=started, baselines=asked.baselines)
    run = Run(Observer(), schedule, save=saved.append)
    outcome = fit(make_source(frame, **asked.reading), asked, run)
    found = {"exchanged": outcome.facts["delivered"] is not None}
    for key, one in (("first", saved[0]), ("delivered", saved[-1])):
        right = (one.pipeline.predict(test) == one.pipeline[-1].classes_[1]) == truth
        found |= {key: float(np.mean(right)), f"{key}_method": one.metadata["method"]}
    return found | {"seconds": time.perf_counter() - started}


def cases(options):
    for seed in range(options.draws):
        for name in options.sets:
            for n_labels in LABELS:
                key = {"set": name, "seed": seed, "labels": n_labels}
                yield Case(key, measure, (name, seed, n_labels, options.budget))


def lines(records):
    for n_labels, some in group(records, "labels").items():
        exchanged = [r for r in some if r["exchanged"]]
        right = sum(r["delivered"] > r["first"] for r in exchanged)
        yield [f"{n_labels}", len(some), len(exchanged), right, mean(some, "first"),
               mean(some, "delivered")]  # fmt: skip


COLUMNS = ["tables", "exchanged", "of these truly better", "accuracy, first model",
           "accuracy, delivered"]  # fmt: skip


def entries(results):
    return [results.entry("delivery-made", COLUMNS, list(lines(results.records)), label="labels",
                          unit="tables; accuracy on unseen rows",
                          formats=[",", ",", ",", ".3f", ".3f"])]  # fmt: skip


STUDY = Study(
    __doc__, cases, entries=entries, choices={"sets": list(MADE)},
    settings={"draws": Setting(2, "draws of a rule"),
              "budget": Setting(20.0, "seconds of a fit")},
    quick={"sets": ["band"], "draws": 1, "budget": 5.0},
)  # fmt: skip
