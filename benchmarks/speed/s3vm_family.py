"""S3VM on a synthetic family, compared with UniverSVM: seconds, accuracy, objectives.

Four Gaussian clusters in 20 dimensions, two per class, centres N(0, 1), deviation 1.2: 50 labelled
rows, 1000 or 5000 unlabelled, accuracy on 5000 others; several draws. S3VM at the settings of the
comparison (RBF with gamma = 1/50, C = 1, C* = 0.1), with and without the balancing constraint, and
at its defaults; UniverSVM (Collobert et al. 2006), if --universvm or UNIVERSVM names it, at the
same settings with s = -0.3 and s = 0. How hard a draw is varies much: an SVM with all labels says
how hard.

UniverSVM's objective of the coefficients and the bias that a program returned is evaluated by one
function in plain NumPy, without the constant C* (1 - s) per unlabelled row; ours minimises the
case s = 0. Every method runs in a fresh process that warms up with 1200 rows; seconds are the
fastest of several fits while these fit into a second, else of one; UniverSVM's are those of its
process, which reads its rows from a text file. Memory: the high-water mark during the first fit
minus what the process held before it; for UniverSVM that of its process.
"""

from __future__ import annotations

import os

import numpy as np
from shared.common import markdown_table, mean
from shared.few_label_data import make_family
from shared.pu_measure import measure_fit
from speed.universvm import run_universvm
from study import Case, Setting, Study

SETTINGS = {"C": 1.0, "C_star": 0.1, "gamma": 1 / 50}
OURS = {
    "S3VM, C = 1, C* = 0.1": SETTINGS,
    "S3VM, C = 1, C* = 0.1, no balance": SETTINGS | {"balance": False},
    "S3VM, defaults": {},
}
# Name: (s, whether balanced).
UNIVERSVM = {
    "UniverSVM, s = -0.3": (-0.3, True),
    "UniverSVM, s = 0": (0.0, True),
    "UniverSVM, s = -0.3, no balance": (-0.3, False),
}
SIZES = [1000, 5000]


# -- one method --------------------------------------------------------------------------------


def measure(n_unlabeled, draw, name, program, limit, budget):
    """One method at one size on one draw; runs in a process of its own."""
    split, X_test, y_test = make_family(n_unlabeled, seed=draw)
    if name in UNIVERSVM:
        return universvm(split, X_test, y_test, *UNIVERSVM[name], program, limit)
    from fewlabels import S3VM

    def fit(rows=slice(None)):
        return S3VM(**OURS[name]).fit(split.X[rows], split.y[rows])

    fit(slice(0, 1200))
    model, figures = measure_fit(fit, budget)
    hidden = split.truth[split.n_labeled :]
    figures |= {
        "error": float(np.mean(model.transduction_[split.n_labeled :] != hidden)),
        "accuracy": float(model.score(X_test, y_test)),
        "accuracy_all_labels": _accuracy_all_labels(split, X_test, y_test),
        "violation": model.kkt_violation_,
    }
    if name != "S3VM, defaults":
        coef = np.zeros(len(split.X))
        coef[model.support_] = model.dual_coef_[0]
        figures |= objectives(split, coef, model.intercept_[0])
    return figures


def _accuracy_all_labels(split, X_test, y_test):
    """Test accuracy of an SVM that knows every label: how hard the draw is."""
    from sklearn.svm import SVC

    machine = SVC(C=SETTINGS["C"], gamma=SETTINGS["gamma"])
    return float(machine.fit(split.X, split.truth).score(X_test, y_test))


def universvm(split, X_test, y_test, s, balanced, program, limit):
    """UniverSVM's seconds, accuracy, and the objectives of its solution."""
    y = np.where(split.y < 0, -3, 2 * split.y - 1)
    flags = {"t": 2, "g": SETTINGS["gamma"], "c": SETTINGS["C"], "z": SETTINGS["C_star"], "S": s}
    if not balanced:
        flags["a"] = 0.0
    found = run_universvm(program, split.X, y, options=flags, limit=limit)
    f = _rbf(X_test, split.X) @ found.coef + found.bias
    hidden = split.truth[split.n_labeled :]
    transduced = _rbf(split.X[split.n_labeled :], split.X) @ found.coef + found.bias
    return {
        "fit_s": found.seconds, "extra_mb": found.peak_mb,
        "accuracy": float(np.mean((f > 0) == y_test)),
        "error": float(np.mean((transduced > 0) != hidden)),
    } | objectives(split, found.coef, found.bias)  # fmt: skip


def objective(K, coef, bias, y, C, C_star, s):
    """Value of UniverSVM's objective without the constant ``C* (1 - s) n_U``.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix of the training rows.
    coef : ndarray of shape (n,)
        ``f = K coef + bias``.
    y : ndarray of shape (n,)
        -1, 1, and 0 for unlabelled rows.

    Returns
    -------
    value, imbalance : float
        The second is the mean of f over the unlabelled rows minus that of the labels.
    """
    smooth = K @ coef
    f = smooth + bias
    labeled = y != 0
    hinge = np.maximum(0.0, 1.0 - y[labeled] * f[labeled])
    g = f[~labeled]
    ramp = sum(np.maximum(0.0, 1.0 - z) - np.maximum(0.0, s - z) for z in (g, -g)) - (1.0 - s)
    value = 0.5 * coef @ smooth + C * hinge.sum() + C_star * ramp.sum()
    return float(value), float(g.mean() - y[labeled].mean())


def objectives(split, coef, bias):
    """Both of UniverSVM's objectives, and how far the balancing constraint is off."""
    y = np.where(split.y < 0, 0, 2 * split.y - 1)
    K = _rbf(split.X, split.X)
    answer = {}
    for s in (0.0, -0.3):
        value, imbalance = objective(K, coef, bias, y, SETTINGS["C"], SETTINGS["C_star"], s)
        answer |= {f"objective_{s:g}": value, "imbalance": imbalance}
    return answer


def _rbf(A, B):
    from sklearn.metrics.pairwise import rbf_kernel

    return rbf_kernel(A, B, gamma=SETTINGS["gamma"])


# -- cases and report --------------------------------------------------------------------------


def cases(options):
    apart, given = {"apart": True, "limit": options.limit}, (options.universvm, options.limit)
    budget = 0.2 if options.quick else 1.0
    for n in [300] if options.quick else SIZES:
        for name in [*OURS, *UNIVERSVM]:
            for draw in range(min(options.draws, 5) if name in UNIVERSVM else options.draws):
                yield Case({"n": n, "draw": draw, "method": name}, measure,
                           (n, draw, name, *given, budget), **apart)  # fmt: skip


def report(results):
    for n in dict.fromkeys(r["n"] for r in results.records):
        yield f"## The family, {n} unlabelled rows, means over draws"
        keys = ["fit_s", "extra_mb", "error", "accuracy", "accuracy_all_labels", "objective_0",
                "objective_-0.3"]  # fmt: skip
        rows = []
        for name in [*OURS, *UNIVERSVM]:
            some = results.where(n=n, method=name)
            if some:
                rows.append([name, len(some), *(mean(some, key) for key in keys)])
        yield markdown_table(["method", "draws", *keys], rows)


def entries(results):
    rows = []
    for title, name in (("S3VM", "S3VM, C = 1, C* = 0.1"), ("UniverSVM", "UniverSVM, s = 0")):
        some = results.where(n=SIZES[-1], method=name)
        if some:
            rows.append([title, mean(some, "fit_s"), mean(some, "accuracy")])
    return [results.entry(
        "s3vm-family", ["fit, s", "accuracy"], rows, unit="s; accuracy", formats=["3g", ".4f"],
        label="50 labels, 5000 unlabelled rows",
    )] if rows else []  # fmt: skip


STUDY = Study(
    __doc__, cases, report, entries,
    settings={
        "draws": Setting(12, "draws of the family"),
        "universvm": Setting(os.environ.get("UNIVERSVM"), "UniverSVM's program", str),
        "limit": Setting(300.0, "seconds for one fit"),
    },
    quick={"draws": 1},
)  # fmt: skip
