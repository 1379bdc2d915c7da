"""Which rows are trained on and which are scored."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.semi_supervised import SelfTrainingClassifier

from fewlabels.model_selection import LabeledKFold, PUKFold

seeds = st.one_of(st.none(), st.integers(0, 5))


def folds(cv, y):
    return list(cv.split(np.zeros((len(y), 1)), y))


@given(st.integers(2, 4), st.integers(0, 9), st.integers(0, 20), seeds, st.integers(1, 3))
def test_pu_folds_hold_both_kinds_in_equal_shares(n_splits, more_p, more_u, seed, n_repeats):
    n_p, n_u = n_splits + more_p, n_splits + more_u
    y = np.random.default_rng(0).permutation(np.r_[np.ones(n_p), np.zeros(n_u)])
    shuffled = {} if seed is None else dict(shuffle=True, random_state=seed, n_repeats=n_repeats)
    cv = PUKFold(n_splits, **shuffled)
    found = folds(cv, y)
    assert len(found) == cv.get_n_splits() == n_splits * shuffled.get("n_repeats", 1)
    for train, test in found:
        assert sorted([*train, *test]) == list(range(len(y)))
        assert abs(y[test].sum() - n_p / n_splits) < 1
        assert abs((1 - y[test]).sum() - n_u / n_splits) < 1
    for first in range(0, len(found), n_splits):
        tests = np.concatenate([test for _, test in found[first : first + n_splits]])
        assert sorted(tests) == list(range(len(y)))


@given(
    st.integers(2, 4),
    st.lists(st.integers(0, 6), min_size=1, max_size=3),
    st.integers(0, 15),
    seeds,
)
def test_unlabelled_rows_are_trained_on_and_never_scored(n_splits, more, n_u, seed):
    labels = np.concatenate([np.full(n_splits + m, c) for c, m in enumerate(more)])
    y = np.random.default_rng(1).permutation(np.r_[labels, np.full(n_u, -1)])
    shuffled = {} if seed is None else dict(shuffle=True, random_state=seed)
    found = folds(LabeledKFold(n_splits, **shuffled), y)
    unlabelled = set(np.flatnonzero(y == -1))
    for train, test in found:
        assert unlabelled <= set(train) and not unlabelled & set(test)
        assert sorted([*train, *test]) == list(range(len(y)))
        for c in range(len(more)):
            assert abs(np.sum(y[test] == c) - np.sum(y == c) / n_splits) < 1
    assert sorted(np.concatenate([test for _, test in found])) == sorted(
        set(range(len(y))) - unlabelled
    )


@pytest.mark.parametrize(
    ("y", "unlabeled"),
    [
        ([0, 1, 0, 1, -1, -1], -1),
        ([0.0, 1.0, 0.0, 1.0, np.nan, np.nan], -1),
        (["no", "yes", "no", "yes", None, "?"], "?"),
        (pd.array([0, 1, 0, 1, None, None], dtype="Int64"), -1),
        (pd.Series([-1, 1, -1, 1, 0, 0], index=list("abcdef")), 0),
        ([False, True, False, True, None, None], -1),
    ],
)
def test_marks_of_unlabelled_rows(y, unlabeled):
    found = folds(LabeledKFold(2, unlabeled=unlabeled), y)
    assert [sorted(test) for _, test in found] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("y", "pos_label"),
    [
        ([1, 1, 0, 0, 0, 0], None),
        ([1, 1, -1, -1, -1, -1], None),
        ([1.0, 1.0, np.nan, np.nan, np.nan, np.nan], None),
        (["ill", "ill", None, None, None, None], None),
        ([0, 0, 1, 1, 1, 1], 0),
        (pd.array([1, 1, None, None, None, None], dtype="Int64"), None),
    ],
)
def test_codings_of_positive_rows(y, pos_label):
    for _, test in folds(PUKFold(2, pos_label=pos_label), y):
        assert len(test) == 3 and np.sum(test < 2) == 1


def test_positives_alone_can_be_held_out():
    y = np.r_[np.ones(6), np.zeros(20)]
    for train, test in folds(LabeledKFold(3, unlabeled=0), y):
        assert len(test) == 2 and np.all(y[test] == 1)
        assert np.sum(y[train] == 0) == 20


@pytest.mark.parametrize(
    ("cv", "y", "words"),
    [
        (PUKFold(3), [1, 1, 0, 0, 0], r"2 positive rows for 3 folds.*n_splits=2 or less"),
        (PUKFold(3), [1, 0, 0, 0, 0], r"1 positive rows for 3 folds.*more labelled rows"),
        (PUKFold(3), [1, 1, 1, 0, 0], "2 unlabelled rows for 3 folds"),
        (PUKFold(2), [1, 1, 1, 1], "no unlabelled row"),
        (PUKFold(2), [0, 1, 2, 1], "3 different values"),
        (PUKFold(2), None, "PUKFold needs y"),
        (LabeledKFold(3), [0, 0, 0, 1, 1, -1], "2 rows of class 1 for 3 folds"),
        (LabeledKFold(2), [-1, -1, -1], "no labelled row"),
        (LabeledKFold(2), None, "LabeledKFold needs y"),
    ],
)
def test_refused_with_a_sentence(cv, y, words):
    with pytest.raises(ValueError, match=words):
        list(cv.split(np.zeros((5 if y is None else len(y), 1)), y))


@pytest.mark.parametrize("splitter", [PUKFold, LabeledKFold])
def test_settings_that_are_refused(splitter):
    for wrong in ({"n_splits": 1}, {"n_splits": 2.5}, {"n_repeats": 0, "shuffle": True}):
        with pytest.raises(ValueError, match="pass an integer >="):
            splitter(**wrong)
    for wrong in ({"n_repeats": 2}, {"random_state": 0}):
        with pytest.raises(ValueError, match="shuffle=True"):
            splitter(**wrong)
    assert repr(splitter(3)).startswith(f"{splitter.__name__}(n_repeats=1, n_splits=3")


def test_seeds_repeat_and_repeats_differ():
    y = np.r_[np.ones(10), np.zeros(30)]
    cv = PUKFold(2, shuffle=True, n_repeats=2, random_state=3)
    first, second = folds(cv, y), folds(cv, y)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0][1], first[2][1])


def test_self_training_is_scored_on_labelled_rows_alone(rng):
    # scikit-learn#2593: with a plain splitter the mark -1 is a class that nobody predicts.
    X = rng.normal(size=(300, 2)) + 3 * (np.arange(300) % 2)[:, None]
    y = np.where(rng.random(300) < 0.1, np.arange(300) % 2, -1)
    machine = SelfTrainingClassifier(LogisticRegression())
    plain = cross_val_score(machine, X, y, cv=5)
    assert np.mean(plain) < 0.3
    scores = cross_val_score(machine, X, y, cv=LabeledKFold(5))
    assert np.mean(scores) > 0.9
    grid = GridSearchCV(machine, {"threshold": [0.6, 0.9]}, cv=LabeledKFold(3))
    assert grid.fit(X, y).best_score_ > 0.9


@settings(max_examples=20)
@given(st.integers(2, 3), st.integers(0, 5), seeds)
def test_rows_of_a_group_are_in_one_fold(n_splits, more, seed):
    rng = np.random.default_rng(more)
    sizes = rng.integers(1, 5, 4 * n_splits + more)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    y = groups % 2
    shuffled = {} if seed is None else dict(shuffle=True, random_state=seed)
    mark = np.where(rng.random(len(y)) < 0.2, -1, y)
    mark[np.unique(groups, return_index=True)[1]] = np.arange(len(sizes)) % 2
    for cv, labels in (
        (PUKFold(n_splits, **shuffled), y),
        (LabeledKFold(n_splits, **shuffled), mark),
    ):
        tested = []
        for train, test in cv.split(y, labels, groups):
            scored = np.unique(groups[test])
            assert not np.isin(groups[train[labels[train] != -1]], scored).any()
            share = np.sum(scored % 2 == 0) - np.ceil(len(sizes) / 2) / n_splits
            assert abs(share) < 1
            tested += list(test)
        assert sorted(tested) == list(np.flatnonzero(labels != -1))


def test_too_few_groups_are_refused():
    y, groups = [1, 1, 1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="2 positive rows in different groups for 3 folds"):
        list(PUKFold(3).split(y, y, groups))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        list(LabeledKFold(2).split(y, y, groups[:-1]))


def test_scikit_learn_passes_groups_on(rng):
    groups = np.repeat(np.arange(30), 3)
    X, y = rng.normal(size=(30, 4))[groups], groups % 2
    copied = KNeighborsClassifier(1)
    assert (
        cross_val_score(copied, X, y, cv=LabeledKFold(5, shuffle=True, random_state=0)).mean()
        > 0.9
    )
    scores = cross_val_score(copied, X, y, groups=groups, cv=LabeledKFold(5))
    assert scores.mean() < 0.9


def test_groups_may_have_rows_of_both_kinds(rng):
    groups = np.repeat(np.arange(12), 4)
    y = np.tile([0, 1, 1, 0], 12)
    for cv in (PUKFold(6, shuffle=True, random_state=0), LabeledKFold(6)):
        for train, test in cv.split(y, y, groups):
            assert len(test) == 8 and set(y[test]) == set(y[train]) == {0, 1}
            assert not np.isin(groups[test], groups[train]).any()
