"""PU learning on real sets: ours beside pulearn, pu-toolbox, pywsl and scikit-learn.

16 real sets; of each, several random draws of 100 labelled positives, 3000 unlabelled rows and
up to 5000 test rows. Columns are standardised by the training rows (pixels divided by 255, coded
0/1 columns left alone). Every method gets the same rows, the same gamma = 1 / (d var(X)) where it
has an RBF kernel, and the same prior: once the true share of positives among the unlabelled rows,
once what fewlabels.class_prior.estimate_prior finds. The rest is at the method's defaults, except:

  PUSVMCV                lambda, and gamma of 1/4, 1 and 4 times the common one, cross-validated
  PU bagging             Mordelet & Vert: 15 SVCs, each on the positives and as many unlabelled
                         rows; in plain scikit-learn, and pulearn's with max_samples = positives
  Elkan-Noto             pulearn's, on a calibrated SVC, a fifth held out
  nnPU 200 bases         pulearn's on 200 Nystroem features, learning rate 1
  squared, double hinge  200 RBF centres, lambda = 1e-3, as in pu-toolbox and pywsl; double hinge
                         takes up to a minute a fit, and is there only with --slow
  SVC, true labels       is given the classes of the unlabelled rows: a bound, not a peer

``--first-draw N`` starts with draw N, such as one that no choice has seen. The entry of the
results file is written beside the tables.

Accuracy and F1 are those of a method's own decisions. "Cut at the prior" takes the test rows with
the greatest scores, as many as the prior says, for positive: it compares rankings and forgives
thresholds. Ranks are among ours and peers, 1 is best, mean over sets. Seconds: one fit each, after
a fit on a fifth of the rows has loaded and compiled what there is.
"""

from __future__ import annotations

import time
from functools import lru_cache

import numpy as np
from scipy.stats import rankdata
from shared.common import COLOURS, figure, group, markdown_table, mean, pivot, save_figure
from shared.pu_data import REAL_SETS, draw_real
from shared.pu_measure import quality
from shared.pu_methods import METHODS, Task
from study import Case, Setting, Study

PRIORS = ["true", "estimated"]
QUALITIES = {"accuracy": "accuracy", "accuracy_cut": "cut at the prior", "auc": "AUC", "f1": "F1"}


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
    truth = np.concatenate([np.ones(draw.n_positive, dtype=bool), draw.truth])
    gamma = 1.0 / (draw.X.shape[1] * draw.X.var())
    few = np.unique(np.concatenate([np.arange(draw.n_positive), np.arange(0, len(truth), 5)]))
    method.fit(Task(draw.X[few], draw.y[few], draw.prior, gamma, truth[few], seed))
    found, learned, seconds = [], None, None
    for kind, prior in priors.items():
        if learned is None or method.uses_prior:
            started = time.perf_counter()
            learned = method.fit(Task(draw.X, draw.y, prior, gamma, truth, seed))
            seconds = time.perf_counter() - started
        scores, decided = learned.score(draw.X_test), learned.decide(draw.X_test)
        figures = quality(scores, decided, draw.y_test, prior)
        found.append({"prior": kind, "value": prior, **figures, "fit_s": seconds})
    return found


def cases(options):
    for name in options.sets:
        for seed in range(options.first_draw, options.first_draw + options.draws):
            for method in options.methods:
                if options.slow or not METHODS[method].slow:
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


def summary(records, kind):
    """One row per method that has figures on every set."""
    tables = {key: by_sets(records, kind, key) for key in [*QUALITIES, "fit_s"]}
    rank = {
        key: ranks({m: v for m, v in tables[key].items() if METHODS[m].group != "bound"})
        for key in ("accuracy", "accuracy_cut", "auc")
    }
    rows = [
        [method, METHODS[method].group, *(f"{tables[k][method].mean():.4f}" for k in QUALITIES),
         *(f"{rank[k][method]:.1f}" if method in rank[k] else None for k in rank),
         float(np.median(tables["fit_s"][method]))]
        for method in tables["accuracy"]
    ]  # fmt: skip
    return sorted(rows, key=lambda row: row[2], reverse=True)


# Of ours, only the default takes part in the ranks that documents show.
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
        yield f"## Means over sets, {kind} prior"
        yield markdown_table(
            ["method", "", *QUALITIES.values(), "rank, accuracy", "rank, cut", "rank, AUC",
             "median seconds"],
            summary(results.records, kind),
        )  # fmt: skip
    for kind in PRIORS:
        for key in ("accuracy", "auc"):
            yield f"## {QUALITIES[key]} per set, {kind} prior"
            yield pivot(results.where(prior=kind), "set", "method", key)
    draw_dots(results.records, results.picture())


def entries(results):
    """The default compared with others; nothing if it wasn't measured."""
    records = results.records
    accuracy = {kind: by_sets(records, kind, "accuracy") for kind in PRIORS}
    if DEFAULT not in accuracy["true"]:
        return []
    auc, rows = by_sets(records, "true", "auc"), []
    rank = {
        kind: ranks({m: v for m, v in accuracy[kind].items()
                     if METHODS[m].group == "peer" or m == DEFAULT})
        for kind in PRIORS
    }  # fmt: skip
    for m in accuracy["true"]:
        if METHODS[m].group == "peer" or m in TITLES:
            means = [float(accuracy[kind][m].mean()) for kind in PRIORS]
            rows.append([TITLES.get(m, m), *means, float(auc[m].mean()),
                         *(rank[kind].get(m) for kind in PRIORS)])  # fmt: skip
    rows.sort(key=lambda row: (row[0] not in TITLES.values(), -row[1]))
    best = []
    for kind, key in (("true", "accuracy"), ("estimated", "accuracy"), ("true", "auc")):
        some = [r for r in records if r["prior"] == kind and METHODS[r["method"]].group != "bound"]
        draws = group(some, "set", "draw").values()
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


def draw_dots(records, path):
    """Per method a dot for every set and a bar at the mean; true prior above, estimated below."""
    fig, axes = figure(2, 2, figsize=(9.5, 8.5), sharex="col", sharey="row", squeeze=False)
    groups = {"ours": COLOURS[0], "peer": COLOURS[1], "bound": COLOURS[4]}
    for row, kind in zip(axes, PRIORS, strict=True):
        accuracy = by_sets(records, kind, "accuracy")
        methods = sorted(accuracy, key=lambda method: accuracy[method].mean())
        for ax, key in zip(row, ("accuracy", "auc"), strict=True):
            found = by_sets(records, kind, key)
            for place, method in enumerate(methods):
                values, colour = found[method], groups[METHODS[method].group]
                ax.plot(values, np.full(len(values), place), "o", color=colour, alpha=0.25,
                        markersize=4, markeredgewidth=0)  # fmt: skip
                ax.plot(values.mean(), place, "|", color=colour, markersize=14,
                        markeredgewidth=3)  # fmt: skip
            ax.set_yticks(range(len(methods)), methods, fontsize=8)
            ax.set_title(f"{kind} prior" if key == "accuracy" else "")
    for ax, title in zip(axes[1], ("test accuracy, own decisions", "AUC"), strict=True):
        ax.set_xlabel(title)
    fig.suptitle("100 positives, 3000 unlabelled rows: dots are sets, bars their mean")
    save_figure(fig, path)


def files(options):
    return [REAL_SETS[name].file for name in options.sets]


STUDY = Study(
    __doc__, cases, report, entries, data="required", files=files,
    choices={"sets": list(REAL_SETS), "methods": list(METHODS)},
    settings={
        "slow": Setting(False, "with the methods that take minutes"),
        "draws": Setting(5, "draws per set"), "first_draw": Setting(0, "number of the first draw"),
    },
    quick={"sets": list(REAL_SETS)[-2:], "draws": 1},
)  # fmt: skip
