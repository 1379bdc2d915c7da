"""Columns that separate labelled from unlabelled rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fewlabels.report.evidence.separating_columns import find_separating_columns

N, N_LABELLED = 160, 30
LABELLED = np.arange(N) < N_LABELLED


def noise(n_columns=4):
    rng = np.random.default_rng(3)
    names = [f"c{k}" for k in range(n_columns)]
    return pd.DataFrame(rng.normal(size=(N, n_columns)), columns=names), rng


def numbers(rng):
    return {"later": np.where(LABELLED, rng.normal(5, 1, N), rng.normal(-5, 1, N))}


def in_the_middle(rng):
    return {"later": np.where(LABELLED, rng.uniform(2, 3, N), rng.choice([1.0, 4.0], N))}


def blanks(rng):
    return {"later": np.where(LABELLED, rng.normal(size=N), np.nan)}


def values(rng):
    return {"later": np.where(LABELLED, rng.choice(["b", "d"], N), rng.choice(["a", "c"], N))}


def two_columns(rng):
    one = rng.integers(0, 2, N)
    return {"later": one, "last": np.where(LABELLED, one, 1 - one)}


@pytest.mark.parametrize("columns", [numbers, in_the_middle, blanks, values, two_columns])
def test_columns_that_came_with_the_labels_are_named(columns):
    table, rng = noise()
    leaks = columns(rng)
    assert find_separating_columns(table.assign(**leaks), LABELLED) == list(leaks)


def test_matrices_have_numbers_of_columns():
    table, rng = noise(300)
    X = table.to_numpy().copy()
    X[:, 250] = numbers(rng)["later"]
    assert find_separating_columns(X, LABELLED) == ["250"]
    X[:, 250] = LABELLED
    assert find_separating_columns(sp.csr_matrix(np.where(np.abs(X) > 0.9, X, 0)), LABELLED) == [
        "250"
    ]


def test_nothing_is_named_if_no_one_or_two_columns_suffice():
    table, rng = noise()
    table["name"] = [f"{k:04d}" for k in rng.permutation(N)]  # labelled rows come first
    assert find_separating_columns(table, LABELLED) == []
    table, _ = noise(12)
    assert find_separating_columns(table + 1.2 * LABELLED[:, None], LABELLED) == []
    assert find_separating_columns(table, np.arange(N) < 1) == []
