"""Our machine inside pulearn's splitter and scorers, our splitter and scorers around theirs."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from fewlabels import PUSVM
from fewlabels.metrics import lee_liu_score, make_pu_scorer, pu_auc, pu_f1, pu_precision, pu_recall
from fewlabels.model_selection import PUSVMCV, PUKFold

pulearn = pytest.importorskip("pulearn", reason="pulearn is not installed (pip install pulearn)")

# Share of positives among all 300 rows: 60 labelled, 80 of 240 hidden.
POOLED = 140 / 300


@pytest.fixture
def pu_data(rng):
    X = np.concatenate([rng.normal(1, 1, (140, 2)), rng.normal(-1, 1, (160, 2))])
    y = np.r_[np.ones(60), np.zeros(240)]
    order = rng.permutation(300)
    return X[order], y[order]


@pytest.mark.parametrize("metric", ["lee_liu", "pu_recall", "pu_precision", "pu_f1"])
@pytest.mark.parametrize("coding", [0, -1])
def test_our_machine_in_their_splitter_and_scorer(metric, coding, pu_data):
    from pulearn.metrics import make_pu_scorer as their_scorer

    X, y = pu_data
    y = np.where(y == 1, 1, coding)
    grid = GridSearchCV(
        PUSVM(prior=1 / 3),
        {"lam": [0.1, 0.01], "gamma": [0.3]},
        cv=pulearn.PUStratifiedKFold(3, shuffle=True, random_state=0),
        scoring=their_scorer(metric, pi=POOLED),
        error_score="raise",
    ).fit(X, y)
    assert grid.best_score_ > 0.6


def test_our_search_with_their_splitter_and_scorer(pu_data):
    from pulearn.metrics import make_pu_scorer as their_scorer

    X, y = pu_data
    cv = pulearn.PUStratifiedKFold(3, shuffle=True, random_state=0)
    found = PUSVMCV([0.1, 0.01], [0.3], cv, their_scorer("pu_f1", pi=POOLED), prior=1 / 3)
    assert found.fit(X, y).best_score_ > 0.6


@pytest.mark.parametrize("metric", ["pu-risk", "pu-auc", "auc-risk", "lee-liu", "pu-f1"])
@pytest.mark.parametrize("name", ["Elkanoto", "Bagging", "NNPU"])
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_our_splitter_and_scorers_around_their_estimators(name, metric, pu_data):
    X, y = pu_data
    estimator = {
        "Elkanoto": lambda: pulearn.ElkanotoPuClassifier(
            LogisticRegression(), hold_out_ratio=0.2, random_state=0
        ),
        "Bagging": lambda: pulearn.BaggingPuClassifier(
            DecisionTreeClassifier(max_depth=3, random_state=0),
            n_estimators=5, max_samples=40, random_state=0,
        ),
        "NNPU": lambda: pulearn.NNPUClassifier(prior=POOLED, max_iter=200, random_state=0),
    }[name]()  # fmt: skip
    scorer = make_pu_scorer(metric, prior=POOLED, convention="pooled")
    scores = cross_val_score(
        estimator, X, y, cv=PUKFold(3), scoring=scorer, error_score="raise"
    )  # fmt: skip
    assert np.mean(scores) > (-0.35 if metric == "pu-risk" else 0.4)


def test_same_figures_in_the_pooled_convention(pu_data, rng):
    import pulearn.metrics as theirs

    _, y = pu_data
    score = np.clip(0.3 + 0.2 * y + rng.normal(0, 0.3, 300), 0.0, 1.0)
    answer = (score > 0.5).astype(float)
    assert pu_recall(y, answer) == pytest.approx(theirs.pu_recall_score(y, answer))
    ours = lee_liu_score(y, answer, convention="pooled")
    assert ours == pytest.approx(theirs.lee_liu_score(y, answer))
    ours = pu_precision(y, answer, POOLED, convention="pooled")
    assert ours == pytest.approx(theirs.pu_precision_score(y, answer, POOLED))
    ours = pu_f1(y, answer, POOLED, convention="pooled")
    assert ours == pytest.approx(theirs.pu_f1_score(y, answer, POOLED))
    # Theirs compares with the unlabelled rows and corrects by the prior it is given.
    assert pu_auc(y, score, 1 / 3) == pytest.approx(theirs.pu_roc_auc_score(y, score, 1 / 3))
