"""Learners from positive and unlabelled rows: ours and everybody else's, behind one call.

`METHODS` is the only table: a new method is a function and a line there. A method whose package
is not installed raises ImportError, and is reported as not installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# Members of bagged machines and centres of basis functions, for everyone.
N_BAGS, N_CENTRES = 15, 200


@dataclass(frozen=True)
class Task:
    """What a method is given.

    Attributes
    ----------
    X, y : ndarray
        Rows, and 1 for labelled positives, 0 for unlabelled rows.
    prior : float
        Share of positives among the unlabelled rows.
    gamma : float
        Of the RBF kernel, for every method that has one.
    seed : int
        For everything random.
    """

    X: np.ndarray
    y: np.ndarray
    prior: float
    gamma: float
    seed: int = 0


@dataclass(frozen=True)
class Learned:
    """A fitted method: real scores (greater is more positive) and decisions."""

    score: Callable
    decide: Callable


@dataclass(frozen=True)
class Method:
    """How a method is fitted, whether it is ours, and whether it takes the prior."""

    fit: Callable
    is_ours: bool = False
    uses_prior: bool = False


def _learned(model, score="decision_function"):
    score = getattr(model, score)
    return Learned(lambda X: np.ravel(score(X)), lambda X: np.ravel(model.predict(X)) > 0)


def _thresholded(score):
    return Learned(score, lambda X: score(X) > 0)


# -- ours ------------------------------------------------------------------------------------


def _ensemble(kernel):
    def fit(task):
        from fewlabels import PUEnsemble

        model = PUEnsemble(
            prior=task.prior, kernel=kernel, gamma=task.gamma, random_state=task.seed
        )
        return _learned(model.fit(task.X, task.y))

    return fit


def _forest(task):
    from fewlabels.baselines import PUBaseline

    model = PUBaseline("forest", prior=task.prior, random_state=task.seed)
    return _learned(model.fit(task.X, task.y))


# -- scikit-learn alone ------------------------------------------------------------------------


def _svc(class_weight):
    """A support vector classifier that takes the unlabelled rows for negatives."""

    def fit(task):
        from sklearn.svm import SVC

        return _learned(SVC(gamma=task.gamma, class_weight=class_weight).fit(task.X, task.y))

    return fit


def _bagging(task):
    """Mordelet & Vert (2014): each machine sees the positives and as many unlabelled rows."""
    from sklearn.svm import SVC

    rng = np.random.default_rng(task.seed)
    positive, unlabeled = np.flatnonzero(task.y == 1), np.flatnonzero(task.y == 0)
    machines = []
    for _ in range(N_BAGS):
        drawn = rng.choice(unlabeled, size=len(positive), replace=True)
        rows = np.concatenate([positive, drawn])
        machines.append(SVC(gamma=task.gamma).fit(task.X[rows], task.y[rows]))
    return _thresholded(lambda X: np.mean([m.decision_function(X) for m in machines], 0))


# -- pulearn -----------------------------------------------------------------------------------


def _pulearn_elkan_noto(task):
    from pulearn import ElkanotoPuClassifier
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    base = CalibratedClassifierCV(SVC(gamma=task.gamma), ensemble=False)
    model = ElkanotoPuClassifier(base, hold_out_ratio=0.2, random_state=task.seed)
    model.fit(task.X, task.y)
    return _thresholded(lambda X: np.asarray(model.predict_proba(X))[:, 1] - 0.5)


def _pulearn_nnpu(centres):
    """Non-negative risk, linear as the package has it, or on basis functions."""

    def fit(task):
        from pulearn import NNPUClassifier
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline

        # Plain gradient steps: features of length one allow long ones.
        model = NNPUClassifier(
            prior=task.prior, random_state=task.seed, **({"learning_rate": 1.0} if centres else {})
        )
        if centres:
            basis = Nystroem(gamma=task.gamma, n_components=centres, random_state=task.seed)
            model = make_pipeline(basis, model)
        return _learned(model.fit(task.X, task.y))

    return fit


def _pu_toolbox(task):
    from pu_toolbox.estimators.risk.upu import UPUClassifier

    model = UPUClassifier(
        task.prior, loss="squared", basis="rbf", kernel_width=(0.5 / task.gamma) ** 0.5,
        n_centers=N_CENTRES, reg_lambda=1e-3, random_state=task.seed,
    )  # fmt: skip
    return _learned(model.fit(task.X, task.y))


METHODS = {
    "PUEnsemble": Method(_ensemble("rbf"), is_ours=True, uses_prior=True),
    "PUEnsemble, default": Method(_ensemble("auto"), is_ours=True, uses_prior=True),
    "PUEnsemble, trees": Method(_ensemble("trees"), is_ours=True, uses_prior=True),
    "tuned forest, prior's cut": Method(_forest, uses_prior=True),
    "SVC, unlabelled = negative": Method(_svc(None)),
    "SVC, balanced": Method(_svc("balanced")),
    "PU bagging": Method(_bagging),
    "Elkan-Noto, pulearn": Method(_pulearn_elkan_noto),
    "nnPU linear, pulearn": Method(_pulearn_nnpu(None), uses_prior=True),
    "nnPU 200 bases, pulearn": Method(_pulearn_nnpu(N_CENTRES), uses_prior=True),
    "squared loss, pu-toolbox": Method(_pu_toolbox, uses_prior=True),
}
