"""Learners from a few labels and many unlabelled rows: ours and the others, behind one call.

`METHODS` is the only table: a new method is a function and a line there. What is not installed
raises ImportError, and is reported as such.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.svm import SVC

from . import outside
from .s3vm_tuning import (
    NEIGHBOURS_GRID,
    SPREADING_GRID,
    SVM_GRID,
    best_of,
    labelled_folds,
    scale_gamma,
)

# UniverSVM with the prices of Gu et al. (2018).
_PRICES = {"c": 10.0, "z": 5.0}


@dataclass(frozen=True)
class Task:
    """What a method is given; ``truth`` is for the bound only.

    Attributes
    ----------
    X : {ndarray, CSR} of shape (n, d)
        Rows, labelled ones first.
    y, truth : ndarray of int of shape (n,)
        Classes 0, 1, ...; in y unlabelled rows are -1.
    seed : int
        For everything random.
    programs : dict
        "universvm" and "lamda": paths; "limit": seconds for each.
    """

    X: object
    y: np.ndarray
    truth: np.ndarray
    seed: int = 0
    programs: dict = field(default_factory=dict)

    @property
    def unlabeled(self):
        return np.flatnonzero(self.y < 0)

    @property
    def n_classes(self):
        return int(self.y.max()) + 1


@dataclass
class Outcome:
    """Classes of the unlabelled rows; seconds and memory where the method knows them itself."""

    predicted: np.ndarray
    seconds: float | None = None
    extra_mb: float | None = None
    figures: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """How a method is run, whose it is, and its settings in words.

    ``run(task)`` gives an ``Outcome``; ``gives`` names several that it gives in a dict.
    ``most_splits`` bounds the splits of a set, for what takes long.
    """

    run: Callable
    group: str  # "ours", "ours, tuned", "stream", "peer", "peer, tuned", "outside", "bound"
    settings: str
    gives: tuple = ()
    most_splits: int | None = None


# -- ours --------------------------------------------------------------------------------------


def _s3vm(**settings):
    def run(task):
        return _fit_s3vm(task, **settings)

    return run


def _s3vm_tuned(task):
    best = _best_svm(task)
    return _fit_s3vm(task, kernel=best["kernel"], gamma=best["gamma"] * scale_gamma(task.X))


def _fit_s3vm(task, **settings):
    from fewlabels import S3VM

    def fitted(y):
        return S3VM(unlabeled=-1, **settings).fit(task.X, y)

    if task.n_classes == 2:
        model = fitted(task.y)
        return Outcome(model.transduction_[task.unlabeled], figures=_certificate(model))
    score = lambda y: fitted(y).decision_function(task.X[task.unlabeled])  # noqa: E731
    return Outcome(_one_against_rest(task, score))


def _certificate(model):
    return {
        "objective": model.objective_, "violation": model.kkt_violation_,
        "n_sv": len(model.support_),
    }  # fmt: skip


def _one_against_rest(task, score):
    """Class with the greatest score; ``score(y)`` with y of 0, 1 and -1."""
    scores = [
        score(np.where(task.y < 0, -1, (task.y == k).astype(int))) for k in range(task.n_classes)
    ]
    return np.argmax(scores, axis=0)


BLOCK = 20
STREAM = ("S3VM, streamed", "S3VM, streamed, consolidated")


def _streamed(task):
    """Unlabelled rows in blocks, then ``consolidate``; the batch machine's kernel width."""
    from time import perf_counter

    from fewlabels import S3VM

    if task.n_classes > 2:
        raise ValueError("one stream is one machine: two classes only")
    batch = S3VM().fit(task.X, task.y)
    unlabeled = np.random.default_rng(task.seed).permutation(task.unlabeled)
    start = len(unlabeled) // 10
    order = np.concatenate([np.flatnonzero(task.y >= 0), unlabeled])
    n_first = len(order) - len(unlabeled) + start
    X, y = task.X[order], task.y[order]
    place = np.argsort(order)[task.unlabeled]  # of the unlabelled rows in the stream
    started = perf_counter()
    model = S3VM(gamma=batch.gamma_ or "scale").fit(X[:n_first], y[:n_first])
    for first in range(n_first, len(order), BLOCK):
        model.partial_fit(X[first : first + BLOCK], y[first : first + BLOCK])
    streamed = model.transduction_[place]
    seconds = perf_counter() - started
    figures = _certificate(model) | {"batch_objective": batch.objective_,
                                     "steps": model.n_steps_, "flips": model.n_flips_}  # fmt: skip
    started = perf_counter()
    model.consolidate()
    consolidated = model.transduction_[place]
    both = seconds + perf_counter() - started
    again = _certificate(model) | {"batch_objective": batch.objective_}
    return dict(
        zip(
            STREAM,
            [
                Outcome(streamed, seconds, figures=figures),
                Outcome(consolidated, both, figures=again),
            ],
            strict=True,
        )
    )


# -- scikit-learn ------------------------------------------------------------------------------


class _Stored:
    """Kernel values of numbered rows; what an SVC of scikit-learn takes for a kernel."""

    def __init__(self, K):
        self.K = K

    def __call__(self, A, B):
        return self.K[A[:, 0].astype(np.intp)][:, B[:, 0].astype(np.intp)]

    def __deepcopy__(self, memo):
        return self  # cloning an estimator must not copy the matrix


def _machine(task, C=1.0, kernel="rbf", gamma=1.0):
    """Rows and an SVC for them; gamma in multiples of "scale".

    LIBSVM evaluates sparse rows slowly, and a self-training fits dozens of machines: for
    sparse rows the kernel matrix is computed once, and the rows are numbers.
    """
    from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

    gamma = gamma * scale_gamma(task.X)
    if not sparse.issparse(task.X):
        return task.X, SVC(C=C, kernel=kernel, gamma=gamma)
    if kernel == "linear":
        K = linear_kernel(task.X, dense_output=True)
    else:
        K = rbf_kernel(task.X, gamma=gamma)
    return np.arange(task.X.shape[0], dtype=float)[:, None], SVC(C=C, kernel=_Stored(K))


def _svm(tuned):
    """The labelled rows alone."""

    def run(task):
        settings = _best_svm(task) if tuned else {"kernel": "rbf", "gamma": 1.0, "C": 1.0}
        gamma = settings["gamma"] * scale_gamma(task.X)
        model = SVC(**settings | {"gamma": gamma})
        labeled = task.y >= 0
        model.fit(task.X[labeled], task.y[labeled])
        return Outcome(model.predict(task.X[task.unlabeled]), figures=_chosen(settings, tuned))

    return run


def _best_svm(task):
    base = scale_gamma(task.X)

    def predict(settings, y, held):
        model = SVC(**settings | {"gamma": settings["gamma"] * base})
        return model.fit(task.X[y >= 0], y[y >= 0]).predict(task.X[held])

    return best_of(SVM_GRID, task.y, task.seed, predict)


def _chosen(settings, tuned):
    return {"chosen": " ".join(f"{k}={v}" for k, v in settings.items())} if tuned else {}


class _SoftmaxSVC(SVC):
    """Probabilities for a self-training without a label to spare for calibration."""

    def predict_proba(self, X):
        f = self.decision_function(X)
        return softmax(np.stack([-f, f], axis=1) if f.ndim == 1 else f, axis=1)


def _self_training(tuned):
    """SVCs with probabilities; cross-fitted sigmoids where every class has two labels."""

    def run(task):
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.semi_supervised import SelfTrainingClassifier

        settings = _best_svm(task) if tuned else {}
        X, machine = _machine(task, **settings)
        folds = len(labelled_folds(task.y, task.seed, most=3))
        if folds:
            base = CalibratedClassifierCV(machine, ensemble=False, cv=folds)
        else:
            base = _SoftmaxSVC(**machine.get_params())
        model = SelfTrainingClassifier(base).fit(X, task.y)
        predicted = model.predict(X[task.unlabeled])
        return Outcome(predicted, figures=_chosen(settings, tuned))

    return run


def _graph(name, grid=None, **settings):
    """LabelSpreading or LabelPropagation; its classes of the rows it was fitted on."""

    def run(task):
        from sklearn import semi_supervised

        learner, base = getattr(semi_supervised, name), scale_gamma(task.X)

        def fitted(entry, y):
            entry = {k: v * base if k == "gamma" else v for k, v in entry.items()}
            return learner(**settings | entry).fit(task.X, y)

        entry = {}
        if grid is not None:
            entry = best_of(
                grid, task.y, task.seed, lambda e, y, held: fitted(e, y).transduction_[held]
            )
        model = fitted(entry, task.y)
        figures = _chosen(entry, grid is not None)
        return Outcome(model.transduction_[task.unlabeled], figures=figures)

    return run


def _bound(task):
    """Five folds over all rows with their true labels."""
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    X, machine = _machine(task, C=10.0)
    folds = StratifiedKFold(5, shuffle=True, random_state=task.seed)
    predicted = cross_val_predict(machine, X, task.truth, cv=folds)
    return Outcome(predicted[task.unlabeled])


# -- outside programs --------------------------------------------------------------------------


def _universvm(ours):
    def run(task):
        options = _PRICES | {"t": 2, "g": scale_gamma(task.X)} if ours else {}
        spent, peak = [0.0], [0.0]

        def score(y):
            y = np.where(y < 0, -3, np.where(y == 1, 1, -1))
            found = outside.run_universvm(
                task.programs.get("universvm"), task.X, y, options=options,
                predict=task.X[task.unlabeled], limit=task.programs.get("limit"),
            )  # fmt: skip
            spent[0] += found.seconds
            peak[0] = max(peak[0], found.peak_mb)
            return found.decision

        if task.n_classes == 2:
            predicted = (score(task.y) > 0).astype(int)
        else:
            predicted = _one_against_rest(task, score)
        return Outcome(predicted, spent[0], peak[0])

    return run


def _lamda(task):
    if task.n_classes > 2:
        raise ValueError("two classes only")
    return Outcome(
        *outside.run_lamda(task.programs.get("lamda"), task.X, task.y, task.programs.get("limit"))
    )


# -- the table ---------------------------------------------------------------------------------

_SVM_TUNED = "kernel, gamma and C of the SVM by cross-validation over the labels"

METHODS = {
    "S3VM": Method(_s3vm(), "ours", "no argument given"),
    "S3VM, linear": Method(_s3vm(kernel="linear"), "ours", 'kernel="linear"'),
    "S3VM, no annealing": Method(_s3vm(annealing=False), "ours", "annealing=False"),
    "S3VM, tuned": Method(
        _s3vm_tuned, "ours, tuned", f"kernel and gamma from: {_SVM_TUNED}; prices at defaults"
    ),
    "stream": Method(
        _streamed, "stream",
        f"fit on the labels and a tenth of the other rows, these in blocks of {BLOCK}; then "
        "consolidate()", STREAM, most_splits=2,
    ),
    "SVM on the labels": Method(_svm(False), "peer", 'SVC: C=1, RBF, gamma="scale"'),
    "self-training": Method(
        _self_training(False), "peer",
        "SelfTrainingClassifier, threshold .75, of SVC at defaults, calibrated over 3 folds "
        "(softmax of its decisions where a class has one label)",
    ),
    "label spreading, RBF": Method(_graph("LabelSpreading"), "peer", "gamma=20, alpha=.2"),
    "label spreading, kNN": Method(
        _graph("LabelSpreading", kernel="knn"), "peer", "7 neighbours, alpha=.2"
    ),
    "label propagation, RBF": Method(_graph("LabelPropagation"), "peer", "gamma=20"),
    "label propagation, kNN": Method(
        _graph("LabelPropagation", kernel="knn"), "peer", "7 neighbours"
    ),
    "SVM on the labels, tuned": Method(_svm(True), "peer, tuned", _SVM_TUNED),
    "self-training, tuned": Method(
        _self_training(True), "peer, tuned", f"of the tuned SVM: {_SVM_TUNED}"
    ),
    "label spreading, RBF, tuned": Method(
        _graph("LabelSpreading", SPREADING_GRID), "peer, tuned",
        "gamma of 1, 4, 16, 64 times 1 / (d var) by cross-validation over the labels",
    ),
    "label spreading, kNN, tuned": Method(
        _graph("LabelSpreading", NEIGHBOURS_GRID, kernel="knn"), "peer, tuned",
        "3, 5, 7, 10, 20 neighbours by cross-validation over the labels",
    ),
    "UniverSVM": Method(_universvm(False), "outside", "linear, C=1, C*=C n_L/n_U, s=0, balanced",
                        most_splits=3),
    "UniverSVM, RBF": Method(
        _universvm(True), "outside", "RBF, gamma = 1 / (d var), C=10, C*=5, s=0, balanced",
        most_splits=3,
    ),
    "TSVM, LAMDA-SSL": Method(_lamda, "outside", "its defaults: RBF, Cl=15, Cu from 1e-4",
                              most_splits=2),
    "SVM, all labels": Method(_bound, "bound", "SVC C=10, RBF, five folds over all true labels"),
}  # fmt: skip
