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
    """What a method is given; ``truth`` is for the oracle only.

    Attributes
    ----------
    X, y : ndarray
        Rows, and 1 for labelled positives, 0 for unlabelled rows.
    prior : float
        Share of positives among the unlabelled rows.
    gamma : float
        Of the RBF kernel, for every method that has one.
    truth : ndarray of bool
        Classes of all rows.
    seed : int
        For everything random.
    lam : float or None
        Weight of the norm for the risk minimisers; None leaves it at the default.
    """

    X: np.ndarray
    y: np.ndarray
    prior: float
    gamma: float
    truth: np.ndarray
    seed: int = 0
    lam: float | None = None

    @property
    def width(self):
        """The kernel's sigma, as the packages with basis functions have it."""
        return (0.5 / self.gamma) ** 0.5


@dataclass(frozen=True)
class Learned:
    """A fitted method: real scores (greater is more positive) and decisions."""

    score: Callable
    decide: Callable
    model: object = None


@dataclass(frozen=True)
class Method:
    """How a method is fitted, whose it is, whether it is told the prior, and takes minutes."""

    fit: Callable
    group: str = "peer"  # "ours", "peer", or "bound": what no method without labels can reach
    uses_prior: bool = False
    slow: bool = False


def _learned(model, score="decision_function"):
    score = getattr(model, score)
    return Learned(lambda X: np.ravel(score(X)), lambda X: np.ravel(model.predict(X)) > 0, model)


def _thresholded(model, score):
    return Learned(score, lambda X: score(X) > 0, model)


# -- ours ------------------------------------------------------------------------------------


def _pusvm(threshold):
    def fit(task):
        from fewlabels import PUSVM

        settings = {} if task.lam is None else {"lam": task.lam}
        model = PUSVM(prior=task.prior, gamma=task.gamma, threshold=threshold, **settings)
        return _learned(model.fit(task.X, task.y))

    return fit


def _tuned(task):
    from fewlabels.model_selection import PUSVMCV

    gammas = [0.25 * task.gamma, task.gamma, 4.0 * task.gamma]
    model = PUSVMCV(prior=task.prior, gammas=gammas, random_state=task.seed)
    return _learned(model.fit(task.X, task.y))


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


def _svc(labels=None, **settings):
    """A support vector classifier that takes the unlabelled rows for negatives, or the truth."""

    def fit(task):
        from sklearn.svm import SVC

        y = task.truth.astype(float) if labels == "truth" else task.y
        return _learned(SVC(gamma=task.gamma, **settings).fit(task.X, y))

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
    return _thresholded(machines, lambda X: np.mean([m.decision_function(X) for m in machines], 0))


# -- pulearn -----------------------------------------------------------------------------------


def _pulearn_bagging(task):
    from pulearn import BaggingPuClassifier
    from sklearn.svm import SVC

    model = BaggingPuClassifier(
        SVC(gamma=task.gamma), n_estimators=N_BAGS, max_samples=int(task.y.sum()),
        random_state=task.seed,
    )  # fmt: skip
    model.fit(task.X, task.y)
    return _thresholded(model, lambda X: model.predict_proba(X)[:, 1] - 0.5)


def _pulearn_elkan_noto(task):
    from pulearn import ElkanotoPuClassifier
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.svm import SVC

    base = CalibratedClassifierCV(SVC(gamma=task.gamma), ensemble=False)
    model = ElkanotoPuClassifier(base, hold_out_ratio=0.2, random_state=task.seed)
    model.fit(task.X, task.y)
    return _thresholded(model, lambda X: np.asarray(model.predict_proba(X))[:, 1] - 0.5)


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


# -- pu-toolbox, pywsl ---------------------------------------------------------------------------


def _pu_toolbox(loss):
    def fit(task):
        from pu_toolbox.estimators.risk.upu import UPUClassifier

        model = UPUClassifier(
            task.prior, loss=loss, basis="rbf", kernel_width=task.width, n_centers=N_CENTRES,
            reg_lambda=1e-3 if task.lam is None else task.lam, random_state=task.seed,
        )  # fmt: skip
        return _learned(model.fit(task.X, task.y))

    return fit


def _pywsl(task):
    from pywsl.pul.pu_mr import PU_SL

    np.random.seed(task.seed)  # noqa: NPY002 (its centres come from the global generator)
    lam = 1e-3 if task.lam is None else task.lam
    model = PU_SL(prior=task.prior, sigma=task.width, lam=lam, n_basis=N_CENTRES)
    model.fit(task.X, task.y)
    return _thresholded(model, lambda X: model._ker(X) @ model.coef_)


METHODS = {
    "PUSVM": Method(_pusvm("leave-one-out"), "ours", uses_prior=True),
    "PUSVM, threshold prior": Method(_pusvm("prior"), "ours", uses_prior=True),
    "PUSVM, risk's threshold": Method(_pusvm("risk"), "ours", uses_prior=True),
    "PUSVMCV": Method(_tuned, "ours", uses_prior=True),
    "PUEnsemble": Method(_ensemble("rbf"), "ours", uses_prior=True),
    "PUEnsemble, default": Method(_ensemble("auto"), "ours", uses_prior=True),
    "PUEnsemble, trees": Method(_ensemble("trees"), "ours", uses_prior=True),
    "tuned forest, prior's cut": Method(_forest, uses_prior=True),
    "SVC, unlabelled = negative": Method(_svc()),
    "SVC, balanced": Method(_svc(class_weight="balanced")),
    "PU bagging": Method(_bagging),
    "PU bagging, pulearn": Method(_pulearn_bagging),
    "Elkan-Noto, pulearn": Method(_pulearn_elkan_noto),
    "nnPU linear, pulearn": Method(_pulearn_nnpu(None), uses_prior=True),
    "nnPU 200 bases, pulearn": Method(_pulearn_nnpu(N_CENTRES), uses_prior=True),
    "squared loss, pu-toolbox": Method(_pu_toolbox("squared"), uses_prior=True),
    "squared loss, pywsl": Method(_pywsl, uses_prior=True),
    "double hinge, pu-toolbox": Method(_pu_toolbox("double_hinge"), uses_prior=True, slow=True),
    "SVC, true labels": Method(_svc("truth"), "bound"),
}
