"""Copies and near-copies are told from rows that repeat honestly."""

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels.rows.repeats import join_groups, near_copies, repeated_rows


def copied(rng, n=30, times=3, d=5, n_others=0):
    return np.vstack(
        [np.repeat(rng.normal(size=(n, d)), times, axis=0), rng.normal(size=(n_others, d))]
    )


def one_hot(codes):
    return np.hstack([(column[:, None] == np.unique(column)).astype(float) for column in codes.T])


def mixed(rng, times=3):
    rows = np.c_[rng.normal(size=(30, 1)), rng.integers(0, 3, (30, 4))]
    return np.repeat(rows, times, axis=0)


def pixels(rng):
    rows = rng.integers(0, 256, (200, 64)) * (rng.random((200, 64)) < 0.4)
    return np.vstack([rows, rows[:20]]).astype(float)


def texts(rng):
    rows = sp.random(150, 400, density=0.03, random_state=int(rng.integers(1000)), format="csr")
    return sp.csr_array(sp.vstack([rows, rows[:30]]))


COPIES = {
    "triples": (copied, 30),
    "triples among other rows": (lambda rng: copied(rng, n_others=400), 430),
    "some rows twice": (lambda rng: copied(rng, 60, np.repeat([1, 2], 30)), 60),
    "varying numbers": (lambda rng: copied(rng, 40, rng.integers(1, 8, 40)), 40),
    "two columns": (lambda rng: copied(rng, d=2), 30),
    "one continuous column": (mixed, 30),
    "half of the cells 0": (lambda rng: copied(rng) * (copied(rng) > 0), None),
    "pixels": (pixels, 200),
    "sparse pixels": (lambda rng: sp.csr_array(pixels(rng)), 200),
    "texts": (texts, 150),
    "with gaps": (lambda rng: np.where(copied(rng) > 1.0, np.nan, copied(rng)), None),
}


@pytest.mark.parametrize("kind", COPIES)
@pytest.mark.parametrize("seed", range(3))
def test_copies_are_found(kind, seed):
    make, n_groups = COPIES[kind]
    rng = np.random.default_rng(seed)
    state = rng.bit_generator.state

    def again():
        rng.bit_generator.state = state
        return rng

    X = make(again())
    groups = repeated_rows(X)
    assert groups is not None
    dense = X.toarray() if sp.issparse(X) else X
    for group in np.unique(groups):
        rows = dense[groups == group]
        np.testing.assert_array_equal(rows, np.broadcast_to(rows[0], rows.shape))
    if n_groups is not None:
        assert len(np.unique(groups)) == n_groups


def test_copies_of_categories_are_found_where_no_row_occurs_once(rng):
    known = np.repeat(rng.integers(0, 4, (24, 4)), 3, axis=0)
    X = one_hot(np.vstack([known, rng.integers(0, 4, (300, 4))]))
    y = np.where(np.arange(len(X)) < 72, 0, -1)
    groups = repeated_rows(X, y)
    assert groups is not None
    assert len(np.unique(groups[:72])) == len(np.unique(known, axis=0))


def design(rng):
    return np.repeat(np.array(list(np.ndindex(4, 4, 2)), float), 3, axis=0)


def zips(rng):
    return np.c_[rng.integers(0, 500, 300), rng.random(300) < 0.05].astype(float)


HONEST = {
    "64 cells": lambda rng: rng.integers(0, 8, (200, 2)).astype(float),
    "64 cells in columns of 0 and 1": lambda rng: one_hot(rng.integers(0, 8, (200, 2))),
    "one category": lambda rng: one_hot(rng.integers(0, 30, (200, 1))),
    "whole numbers": lambda rng: rng.integers(0, 30, (200, 1)).astype(float),
    "frequent and rare categories": lambda rng: np.minimum(rng.zipf(1.6, (300, 3)), 50) * 1.0,
    "complete design": design,
    "complete design in columns of 0 and 1": lambda rng: one_hot(design(rng)),
    "post codes": zips,
    "rounded": lambda rng: rng.normal(size=(300, 3)).round(0),
    "rounded a little": lambda rng: rng.normal(size=(300, 2)).round(1),
    "answers in five groups": lambda rng: (
        (
            rng.random((400, 20))
            < np.where(rng.random((5, 20)) < 0.5, 0.97, 0.03)[rng.integers(0, 5, 400)]
        )
        * 1.0
    ),
    "two units": lambda rng: np.outer(rng.normal(20, 9, 300).round(1), [1.0, 1.8]) + 32.0,
    "a few products": lambda rng: rng.normal(size=(30, 4))[rng.integers(0, 30, 900)],
    "all different": lambda rng: rng.normal(size=(300, 4)),
}


@pytest.mark.parametrize("kind", HONEST)
@pytest.mark.parametrize("seed", range(3))
def test_rows_that_repeat_by_chance_are_no_copies(kind, seed):
    X = HONEST[kind](np.random.default_rng(seed))
    assert repeated_rows(X) is None
    assert repeated_rows(X, np.where(np.arange(len(X)) < 60, np.arange(len(X)) % 2, -1)) is None


def test_labels_decide_where_some_columns_stay(rng):
    visits = np.c_[np.repeat(rng.normal(size=(30, 2)), 4, axis=0), rng.normal(size=(120, 3))]
    of_patients = np.repeat(rng.integers(0, 2, 30), 4)
    groups = repeated_rows(visits, of_patients)
    np.testing.assert_array_equal(np.unique(groups, return_counts=True)[1], 4)
    assert repeated_rows(visits, rng.integers(0, 2, 120)) is None
    assert repeated_rows(visits) is None


@pytest.mark.parametrize("spread", [1e-9, 0.01, 0.03])
def test_near_copies_are_found(rng, spread):
    times = rng.integers(4, 6, 20)
    X = np.repeat(rng.normal(size=(20, 6)), times, axis=0)
    groups = near_copies(X + spread * rng.normal(size=X.shape))
    np.testing.assert_array_equal(
        np.sort(np.unique(groups, return_counts=True)[1]), np.sort(times)
    )


@pytest.mark.parametrize("d", [2, 3, 6])
def test_independent_rows_are_no_near_copies(d):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        assert near_copies(rng.normal(size=(24, d))) is None
        assert near_copies(np.exp(2.0 * rng.normal(size=(100, d)))) is None
        assert near_copies(rng.integers(0, 6, (100, d)).astype(float)) is None


def test_groups_join():
    one, other = np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 2, 3])
    np.testing.assert_array_equal(join_groups([one, other]), [0, 0, 0, 1, 2])
    assert join_groups([]) is None
