"""Other tools as annotators' helpers: which row each asks next, and what it has learnt."""

import numpy as np
import scipy.sparse as sp
import skactiveml.classifier
from modAL.models import ActiveLearner
from modAL.uncertainty import margin_sampling, uncertainty_sampling
from skactiveml.pool import UncertaintySampling
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.preprocessing import normalize
from sklearn.svm import SVC
from small_text import (
    BreakingTies,
    ConfidenceEnhancedLinearSVC,
    LeastConfidence,
    SklearnClassifier,
    SklearnDataset,
)

RULES = {
    "random": None,
    "skactiveml": "least_confident",
    "skactiveml-margin": "margin_sampling",
    "modal": uncertainty_sampling,
    "modal-margin": margin_sampling,
    "small-text": LeastConfidence,
    "small-text-ties": BreakingTies,
}
_LATER = 5  # answers between fits, once there are 60 labels


def machine(name, seed):
    """A learner that people use with these tools."""
    if name == "svc":
        return SVC(C=10.0, probability=True, random_state=seed)
    if name == "logistic":
        return LogisticRegression(max_iter=1000)
    if name == "linear":  # what small-text makes of LinearSVC
        return ConfidenceEnhancedLinearSVC()
    if name == "bayes":
        return MultinomialNB(alpha=0.1)
    kind = RandomForestClassifier if name == "forest" else ExtraTreesClassifier
    return kind(n_estimators=50, random_state=seed)


def rows_for(X):
    """Rows as these tools take them: texts have length 1, as scikit-learn makes them, dense."""
    return normalize(X).toarray() if sp.issparse(X) else X


def answered(X, truth, ask, name, seed, looks, score):
    """``score(predict)`` after each number of answers in ``looks``.

    One class alone is what is predicted. Until two classes have labels, rows are random. The
    learner is refitted to all labels after each of the first 60, and then after every fifth, at
    which the five best rows are asked for.
    """
    rng, told, learner, scores = np.random.default_rng(seed), [], None, []
    while len(told) < max(looks):
        free = np.setdiff1d(np.arange(len(X)), told)
        n = 1 if len(told) < 60 else min(_LATER, max(looks) - len(told))
        told += _asked(X, truth, told, free, ask, learner, seed, rng, n)
        learner = taught(X, truth, told, ask, name, seed)
        only = truth[told[0]]
        if len(told) in looks:
            scores.append(score((lambda Z, only=only: np.full(len(Z), only))
                                if learner is None else learner.predict))  # fmt: skip
    return scores


def _asked(X, truth, told, free, ask, learner, seed, rng, n):
    """Rows that a rule asks for next."""
    if ask == "random" or learner is None:
        return rng.choice(free, n, replace=False).tolist()
    if ask.startswith("modal"):
        return free[learner.query(X[free], n_instances=n)[0]].tolist()
    if ask.startswith("small-text"):
        y, places = np.zeros(len(X), dtype=int), np.asarray(told)
        rows = SklearnDataset(sp.csr_matrix(X), y, target_labels=np.unique(truth))
        fitted = SklearnClassifier(learner, len(np.unique(truth)))
        return RULES[ask]().query(fitted, rows, free, places, truth[places], n=n).tolist()
    y = np.full(len(X), np.nan)
    y[told] = truth[told]
    found = UncertaintySampling(method=RULES[ask], random_state=seed).query(
        X, y, clf=learner, candidates=free, fit_clf=False, batch_size=n
    )
    return [int(row) for row in found]


def taught(X, truth, told, ask, name, seed):
    if len(np.unique(truth[told])) < 2:
        return None
    if ask.startswith("modal"):  # its teach does the same, and fails with scikit-learn 1.8
        return ActiveLearner(machine(name, seed), RULES[ask], X[told], truth[told])
    fitted = machine(name, seed)
    if ask.startswith("skactiveml"):
        fitted = skactiveml.classifier.SklearnClassifier(
            fitted, classes=np.unique(truth[told]), random_state=seed
        )
    return fitted.fit(X[told], truth[told])
