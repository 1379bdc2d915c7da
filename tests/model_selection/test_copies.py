"""Searches, comparisons and estimates count copies once."""

import numpy as np
import pytest

from fewlabels import PUSVM, S3VM, SVDD, PUEnsemble, tune
from fewlabels.baselines import OneClassBaseline, PUBaseline, SemiSupervisedBaseline
from fewlabels.class_prior import estimate_prior
from fewlabels.model_selection import PUSVMCV, LabeledKFold, compare_with_baselines
from fewlabels.model_selection.comparison.folds import ComparedRows


@pytest.fixture
def copied(rng):
    """Rows of noise, three times each, the first sixty with labels of two classes; and which."""
    row = np.repeat(np.arange(60), 3)
    y = np.where(row < 20, row % 2, -1)
    return rng.normal(size=(60, 4))[row], y, row


def test_a_comparison_counts_copies_once(copied, rng):
    X, y, row = copied
    rows, kept = ComparedRows(X, y, None), np.arange(len(X))
    rows.find_groups(y)
    splits = rows.splits(LabeledKFold(5), kept, y)
    tested = np.concatenate([test for _, test in splits])
    assert len(tested) == len(np.unique(row[tested])) == 20
    for train, test in splits:
        assert not np.isin(row[test], row[train]).any()
    unlike = ComparedRows(X + rng.normal(size=X.shape), y, None)
    unlike.find_groups(y)
    assert unlike.groups is None
    found = compare_with_baselines(S3VM(gamma=1.0), X, y, time_budget=0.2)
    assert found.rows <= 20 and "20 labelled rows" in found.protocol


def test_groups_are_checked(copied):
    X, y, row = copied
    found = compare_with_baselines(S3VM(gamma=1.0), X, y, groups=row // 4, time_budget=0.2)
    assert found.rows <= 5 and "5 labelled rows" in found.protocol  # with rows of both classes
    with pytest.raises(ValueError, match="groups has 3 values for 180 rows"):
        compare_with_baselines(S3VM(gamma=1.0), X, y, groups=[1, 2, 3])


def test_searches_count_copies_once(copied):
    X, y, row = copied
    model = tune(S3VM(kernel="linear"), X, y, time_budget=60.0, graph=False)
    assert (model.tuning_.candidates["accuracy"].dropna() < 0.95).all()
    assert "of 20 labelled rows" in model.tuning_.reason
    p = (y >= 0).astype(int)
    with pytest.raises(ValueError, match="20 positive rows in different groups"):
        PUSVMCV(prior=0.3, cv=30, gammas=[1.0], lams=[0.1]).fit(X, p)
    assert tune(PUSVM(prior=0.3), X, p, time_budget=1.0, groups=row).prior_ == 0.3
    few = PUEnsemble(prior=0.3, n_bags=3, kernel="rbf")
    table = tune(few, X, p, time_budget=1.0).tuning_.candidates
    assert np.isfinite(table["score"]).any()


def test_estimates_of_the_prior_count_copies_once(rng):
    X = np.vstack(
        [rng.normal(1.5, 1, (60, 3)), rng.normal(1.5, 1, (60, 3)), rng.normal(-1.5, 1, (140, 3))]
    )
    y = np.arange(260) < 60
    once = estimate_prior(X, y)
    thrice = estimate_prior(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert thrice.prior == pytest.approx(once.prior, abs=0.02)
    assert thrice.high - thrice.low > 0.8 * (once.high - once.low)


def test_baselines_calibrate_without_copies(copied, rng):
    X, y, _ = copied
    model = SemiSupervisedBaseline("svm").fit(X, y)
    new = model.predict_proba(rng.normal(size=(200, 4)))
    assert np.abs(new[:, 1] - 0.5).mean() < 0.4
    model = OneClassBaseline("mahalanobis", target_fpr=0.1).fit(X)
    assert len(model.calibration_scores_) == 60
    model = PUBaseline("pu-logistic", prior=0.3).fit(X, (y >= 0).astype(int))
    assert np.isfinite(model.cut_)


def test_one_class_methods_are_compared_on_different_rows(rng):
    X = np.repeat(rng.normal(size=(40, 3)), 3, axis=0)
    found = compare_with_baselines(SVDD(gamma=0.3), X, known_other=X[:5] + 9.0, time_budget=0.5)
    assert found.rows <= 40
