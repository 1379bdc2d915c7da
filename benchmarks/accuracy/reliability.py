"""Reliability of predict_proba: do events with a probability of 30 % happen 30 times in 100?

14 sets, 100 labelled positives and 1000 unlabelled rows, and up to 4000 held-out rows with their
true labels, several draws of every set. PUSVM has its defaults; it is given the share of positives
among the unlabelled rows, or estimates it. Uncalibrated: 1 / (1 + exp(-f)), and f clipped to
[-1, 1] and mapped to [0, 1]. Peer: scikit-learn's CalibratedClassifierCV of an SVC (sigmoid, 5
folds) that separates labelled from unlabelled rows, plain, and turned into the probability of an
unlabelled row (Elkan and Noto 2008) by the label frequency that the prior implies.
Calibration error: fewlabels.metrics.calibration_error, 15 bins of equal mass.
"""

from __future__ import annotations

import numpy as np
from shared.common import COLOURS, figure, group, mean, pivot, save_figure
from shared.pu_data import REAL_SETS, draw_real
from study import Case, Setting, Study

SETS = [name for name in REAL_SETS if name not in ("shuttle, not Rad Flow", "w8a")]
_POSITIVE, _UNLABELED, _TEST = 100, 1000, 4000
_BINS = 15
# Logarithms are taken of probabilities no smaller than this.
_LEAST = 1e-6
BEFORE, CLIPPED = "uncalibrated: 1 / (1 + exp(-f))", "uncalibrated: (f + 1) / 2, clipped"
ESTIMATED = "isotonic, prior estimated"


def probabilities(draw):
    """Probabilities of the test rows by method."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    from fewlabels import PUSVM

    X, y, test = draw.X, draw.y, draw.X_test
    found = {}
    for kind in ("isotonic", "sigmoid"):
        model = PUSVM(prior=draw.prior, probability=kind, n_jobs=1).fit(X, y)
        f = model.decision_function(test)
        found[BEFORE] = 1.0 / (1.0 + np.exp(-np.clip(f, -50, 50)))
        found[CLIPPED] = np.clip(0.5 * (f + 1.0), 0.0, 1.0)
        found[f'`probability="{kind}"`'] = model.predict_proba(test)[:, 1]
    found[ESTIMATED] = PUSVM(probability="isotonic", n_jobs=1).fit(X, y).predict_proba(test)[:, 1]
    svc = CalibratedClassifierCV(SVC(class_weight="balanced"), method="sigmoid", cv=5)
    labelled = svc.fit(X, y.astype(int)).predict_proba(test)[:, 1]
    found["CalibratedClassifierCV(SVC), unlabelled = negative"] = labelled
    # A positive row is labelled with probability c = p / (p + prior n).
    c = draw.n_positive / (draw.n_positive + draw.prior * len(draw.truth))
    odds = labelled / np.maximum(1.0 - labelled, _LEAST)
    # P(y = 1 | x, unlabelled) = (1 - c) / c P(labelled | x) / (1 - P(labelled | x)).
    found["the same by Elkan and Noto"] = np.clip((1.0 - c) / c * odds, 0.0, 1.0)
    return found


def judged(y, p):
    """Calibration error, Brier score, log loss; and points of a reliability diagram."""
    from sklearn.calibration import calibration_curve

    from fewlabels.metrics import calibration_error

    safe = np.clip(p, _LEAST, 1.0 - _LEAST)
    observed, predicted = calibration_curve(y, p, n_bins=10, strategy="quantile")
    return {
        "error": calibration_error(y, p, _BINS),
        "brier": float(np.mean((p - y) ** 2)),
        "log_loss": float(-np.mean(y * np.log(safe) + (1.0 - y) * np.log1p(-safe))),
        "predicted": predicted.tolist(),
        "observed": observed.tolist(),
    }


def measure(folder, name, seed):
    draw = draw_real(folder, name, seed, _POSITIVE, _UNLABELED, _TEST)
    y = draw.y_test.astype(float)
    return [
        {"method": method, "share": float(y.mean()), **judged(y, p)}
        for method, p in probabilities(draw).items()
    ]


def cases(options):
    for name in options.sets:
        for seed in range(options.draws):
            yield Case({"set": name, "draw": seed}, measure, (options.data, name, seed))


def summary(records):
    """Means over sets of means over draws, and the largest calibration error of a set."""
    for method, some in group(records, "method").items():
        by_set = group(some, "set").values()
        means = [[mean(one, key) for one in by_set] for key in ("error", "brier", "log_loss")]
        yield [method, *(float(np.mean(m)) for m in means), max(means[0])]


COLUMNS = ["calibration error", "Brier score", "log loss", "worst set"]


def report(results):
    yield "Calibration error by set."
    yield pivot(results.records, "set", "method", "error")
    picture(results.picture(), results.records)


def entries(results):
    return [results.entry("calibration-pu", COLUMNS, list(summary(results.records)),
                          label="PUSVM", unit="see columns", formats=[".3f"] * 4)]  # fmt: skip


def picture(path, records):
    """A reliability diagram per set: before and after, all draws."""
    panels = group(records, "set")
    columns = min(7, len(panels))
    lines = -(-len(panels) // columns)
    fig, axes = figure(lines, columns, figsize=(1.75 * columns, 2.0 * lines), sharex=True,
                       sharey=True, squeeze=False)  # fmt: skip
    shown = ((BEFORE, COLOURS[1]), ('`probability="isotonic"`', COLOURS[0]))
    for axis, (name, some) in zip(axes.ravel(), panels.items(), strict=False):
        axis.plot([0, 1], [0, 1], color="black", linewidth=0.7)
        for method, colour in shown:
            for r in some:
                if r["method"] == method:
                    axis.plot(r["predicted"], r["observed"], ".-", color=colour, linewidth=0.9,
                              markersize=3, alpha=0.8)  # fmt: skip
        axis.set_title(name, fontsize=7.5)
        axis.set_xticks([0, 0.5, 1])
        axis.set_yticks([0, 0.5, 1])
    for axis in axes.ravel()[len(panels) :]:
        axis.set_axis_off()
    legend = [axes[0, 0].plot([], [], ".-", color=colour)[0] for _, colour in shown]
    fig.legend(legend, ["before: 1 / (1 + exp(-f))", "after: predict_proba"],
               loc="outside upper center", ncols=2, frameon=False)  # fmt: skip
    fig.supxlabel("predicted probability")
    fig.supylabel("share of positives")
    save_figure(fig, path)


def files(options):
    return [REAL_SETS[name].file for name in options.sets]


STUDY = Study(
    __doc__, cases, report, entries, data="required", files=files, choices={"sets": SETS},
    settings={"draws": Setting(3, "draws of a set")},
    quick={"sets": ["magic", "pageblocks"], "draws": 1},
)  # fmt: skip
