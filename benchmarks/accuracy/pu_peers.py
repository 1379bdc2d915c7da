"""PU learning on real sets: ours beside pulearn, pu-toolbox and scikit-learn.

16 real sets; of each, several random draws of 100 labelled positives, 3000 unlabelled rows and
up to 5000 test rows. Columns are standardised by the training rows (pixels divided by 255, coded
0/1 columns left alone). Every method gets the same rows, the same gamma = 1 / (d var(X)) where it
has an RBF kernel, and the same prior: once the true share of positives among the unlabelled rows,
once what fewlabels.class_prior.estimate_prior finds. The rest is at the method's defaults, except:

  PU bagging             Mordelet & Vert: 15 SVCs, each on the positives and as many unlabelled
                         rows, in plain scikit-learn
  Elkan-Noto             pulearn's, on a calibrated SVC, a fifth held out
  nnPU 200 bases         pulearn's on 200 Nystroem features, learning rate 1
  squared loss           200 RBF centres, lambda = 1e-3

``--first-draw N`` starts with draw N, such as one that no choice has seen. Accuracy is that of a
method's own decisions. Ranks are among PUEnsemble() and peers, 1 is best, mean over sets.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.stats import rankdata
from shared.common import group, mean, pivot
from shared.pu_data import REAL_SETS, draw_real
from shared.pu_methods import METHODS, Task
from sklearn.metrics import roc_auc_score
from study import Case, Setting, Study

PRIORS = ["true", "estimated"]

# -- measuring ---------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def drawn(folder, name, seed, quick):
    """A draw, and its priors."""
    from fewlabels.class_prior import estimate_prior

    draw = draw_real(folder, name, seed, n_unlabeled=600 if quick else 3000,
                     n_test=1000 if quick else 5000)  # fmt: skip
    estimate = estimate_prior(draw.X, draw.y, random_state=seed)
    return draw, {"true": draw.prior, "estimated": estimate.prior}


def measure(folder, name, seed, name_of_method, quick):
    """A record per prior; a method that doesn't use the prior is fitted once."""
    draw, priors = drawn(folder, name, seed, quick)
    method = METHODS[name_of_method]
    gamma = 1.0 / (draw.X.shape[1] * draw.X.var())
    found, learned = [], None
    for kind, prior in priors.items():
        if learned is None or method.uses_prior:
            learned = method.fit(Task(draw.X, draw.y, prior, gamma, seed))
        found.append({
            "prior": kind, "value": prior,
            "accuracy": float(np.mean(learned.decide(draw.X_test) == draw.y_test)),
            "auc": float(roc_auc_score(draw.y_test, learned.score(draw.X_test))),
        })  # fmt: skip
    return found


def cases(options):
    for name in options.sets:
        for seed in range(options.first_draw, options.first_draw + options.draws):
            for method in options.methods:
                key = {"set": name, "draw": seed, "method": method}
                yield Case(key, measure, (options.data, *key.values(), options.quick))


# -- the report --------------------------------------------------------------------------------


def by_sets(records, kind, key):
    """Means over draws: arrays over sets of each method that has figures on every set."""
    some = [r for r in records if r["prior"] == kind]
    sets = list(group(some, "set"))
    found = {}
    for method, own in group(some, "method").items():
        here = group(own, "set")
        if len(here) == len(sets):
            found[method] = np.array([mean(here[name], key) for name in sets])
    return found


def ranks(values):
    """Mean rank of each method, 1 the best; ties share."""
    found = rankdata(-np.stack(list(values.values()), axis=1), axis=1).mean(axis=0)
    return dict(zip(values, map(float, found), strict=True))


# Of ours, only the default takes part in the ranks that documents show.
TITLES = {
    "PUEnsemble, default": "PUEnsemble()",
    "PUEnsemble": "Gaussian kernels only",
    "PUEnsemble, trees": "trees only",
    "tuned forest, prior's cut": "random forest cut at the prior",
}
DEFAULT = "PUEnsemble, default"


def report(results):
    for kind in PRIORS:
        for key in ("accuracy", "auc"):
            yield f"## {key} per set, {kind} prior"
            yield pivot(results.where(prior=kind), "set", "method", key)


def entries(results):
    """The default compared with others; nothing if it wasn't measured."""
    records = results.records
    accuracy = {kind: by_sets(records, kind, "accuracy") for kind in PRIORS}
    if DEFAULT not in accuracy["true"]:
        return []
    auc, rows = by_sets(records, "true", "auc"), []
    rank = {
        kind: ranks({m: v for m, v in accuracy[kind].items()
                     if not METHODS[m].is_ours or m == DEFAULT})
        for kind in PRIORS
    }  # fmt: skip
    for m in accuracy["true"]:
        if not METHODS[m].is_ours or m in TITLES:
            means = [float(accuracy[kind][m].mean()) for kind in PRIORS]
            rows.append([TITLES.get(m, m), *means, float(auc[m].mean()),
                         *(rank[kind].get(m) for kind in PRIORS)])  # fmt: skip
    rows.sort(key=lambda row: (row[0] not in TITLES.values(), -row[1]))
    best = []
    for kind, key in (("true", "accuracy"), ("estimated", "accuracy"), ("true", "auc")):
        draws = group(results.where(prior=kind), "set", "draw").values()
        best.append(float(np.mean([max(r[key] for r in one) for one in draws])))
    rows.append(["best of these for each draw, in hindsight", *best, None, None])
    columns = ["accuracy, true prior", "accuracy, estimated prior", "ROC AUC",
               "rank, true prior", "rank, estimated prior"]  # fmt: skip
    draws = ", ".join(map(str, group(records, "draw")))
    return [results.entry(
        "pu-default", columns, rows, label="method", formats=[".3f"] * 3 + [".1f"] * 2,
        unit="accuracy, ROC AUC, mean rank by accuracy",
        note=f"{len(group(records, 'set'))} sets, draws {draws}; ranks are among PUEnsemble() and "
        "the methods that aren't ours",
    )]  # fmt: skip


def files(options):
    return [REAL_SETS[name].file for name in options.sets]


STUDY = Study(
    __doc__, cases, report, entries, data="required", files=files,
    choices={"sets": list(REAL_SETS), "methods": list(METHODS)},
    settings={
        "draws": Setting(5, "draws per set"), "first_draw": Setting(0, "number of the first draw"),
    },
    quick={"sets": list(REAL_SETS)[-2:], "draws": 1},
)  # fmt: skip
