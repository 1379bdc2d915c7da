"""Other tools as annotators' helpers: which row each asks next, and what it has learnt."""

import numpy as np
from modAL.models import ActiveLearner
from modAL.uncertainty import uncertainty_sampling
from skactiveml.classifier import SklearnClassifier
from skactiveml.pool import UncertaintySampling
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

ASKS = ("random", "skactiveml", "modal")
MACHINES = ("svc", "forest")


def machine(name, seed):
    """An SVC with C as our S3VM's, or a forest."""
    if name == "svc":
        return SVC(C=10.0, probability=True, random_state=seed)
    return RandomForestClassifier(n_estimators=50, random_state=seed)


def answered(X, truth, ask, name, seed, n_answers, score):
    """``score(predict)`` after each of ``n_answers``; one class alone is what is predicted.

    Every tool is used with its defaults: uncertainty sampling, refitted to all labels after each.
    Until two classes have labels, rows are random.
    """
    rng, told, learner, scores = np.random.default_rng(seed), [], None, []
    for _ in range(n_answers):
        free = np.setdiff1d(np.arange(len(X)), told)
        if ask == "random" or learner is None:
            row = int(rng.choice(free))
        elif ask == "modal":
            place, _ = learner.query(X[free])
            row = int(free[place[0]])
        else:
            y = np.full(len(X), np.nan)
            y[told] = truth[told]
            (row,) = UncertaintySampling(random_state=seed).query(
                X, y, clf=learner, candidates=free, fit_clf=False
            )
        told.append(int(row))
        learner = taught(X, truth, told, ask, name, seed)
        only = truth[told[0]]
        scores.append(score((lambda Z, only=only: np.full(len(Z), only))
                            if learner is None else learner.predict))  # fmt: skip
    return scores


def taught(X, truth, told, ask, name, seed):
    if len(np.unique(truth[told])) < 2:
        return None
    if ask == "modal":  # its teach does the same, and fails with scikit-learn 1.8 and later
        return ActiveLearner(machine(name, seed), uncertainty_sampling, X[told], truth[told])
    fitted = machine(name, seed)
    if ask == "skactiveml":
        fitted = SklearnClassifier(fitted, classes=np.unique(truth[told]), random_state=seed)
    return fitted.fit(X[told], truth[told])
