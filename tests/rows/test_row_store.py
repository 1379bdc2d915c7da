"""Rows that are kept for updates, against lists."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels.rows.row_store import RowStore

STORAGES = {
    "dense": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": sp.csr_array,
}


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_come_and_go(rng, storage):
    make = STORAGES[storage]
    X = rng.integers(0, 9, size=(900, 3)).astype(float)
    held = RowStore(make(X[:30]), weight=np.arange(30.0), label=np.arange(30) % 3)
    there, n = list(range(30)), 30
    compacted = 0
    where = {i: i for i in there}
    while n < 900:
        b = min(int(rng.integers(0, 9)), 900 - n)
        new = np.arange(n, n + b)
        places = held.append(make(X[new]), weight=new.astype(float), label=new % 3)
        where.update(zip(new.tolist(), places.tolist(), strict=True))
        there += new.tolist()
        n += b
        gone = rng.choice(len(there), min(len(there) - 1, int(rng.integers(0, 8))), replace=False)
        held.drop(held.places[gone])
        there = [i for k, i in enumerate(there) if k not in gone]
        moved = held.compact()
        if moved is not None:
            compacted += 1
            where = {i: int(moved[where[i]]) for i in there}
        places = held.places
        assert len(held) == len(there) and held.alive.sum() == len(there)
        assert places.tolist() == [where[i] for i in there]
        assert np.array_equal(dense(held.rows(places)), X[there])
        assert held["weight"][places].tolist() == there
        assert np.array_equal(held["label"][places], np.array(there) % 3)
        assert held.n_places <= len(there) + max(65, len(there))
    assert compacted > 2
    assert held.X.dtype == (np.float32 if storage == "float32" else np.float64)
    for state in (held.state(), pickle.loads(pickle.dumps(held.state()))):
        again = RowStore(**state)
        assert np.array_equal(dense(again.rows(again.places)), X[there])
        assert again["weight"][again.places].tolist() == there
        again.append(make(X[:1]), weight=[0.0], label=[0])
        assert len(again) == len(there) + 1


@pytest.mark.parametrize("storage", STORAGES)
def test_rows_are_its_own(storage):
    X, weight, more = STORAGES[storage](np.eye(4)), np.arange(4.0), STORAGES[storage](np.eye(4))
    held = RowStore(X, weight=weight)
    held.append(X[:0], weight=[])
    held.append(more, weight=weight)
    for array in (X, more):  # what the caller does with his arrays is of no effect
        (array.data if sp.issparse(array) else array)[:] = 7.0
    weight[:] = 7.0
    held.drop([1])
    assert np.array_equal(dense(held.rows(held.places)), np.eye(4)[[0, 2, 3, 0, 1, 2, 3]])
    assert held["weight"].tolist() == [0.0, 1.0, 2.0, 3.0] * 2
    with pytest.raises(ValueError, match="read-only"):
        (held.X.data if sp.issparse(held.X) else held.X)[:1] = 7.0


def test_float64_rows_join_float32_rows():
    held = RowStore(np.ones((2, 1), np.float32))
    held.append(np.full((1, 1), 0.1))
    assert held.X.dtype == np.float64 and held.X[2, 0] == 0.1


def test_what_is_saved_has_no_room_for_more():
    held = RowStore(np.zeros((1000, 2)))
    held.append(np.ones((1, 2)))
    assert len(pickle.dumps(held.state())) < 1001 * 17 + 2000


def test_values_need_one_number_per_place():
    held = RowStore(np.zeros((3, 1)), weight=np.ones(3))
    with pytest.raises(ValueError, match=r"weight has shape \(2,\)"):
        held["weight"] = np.ones(2)
    with pytest.raises(ValueError, match=r"need \['weight'\]; got \[\]"):
        held.append(np.zeros((1, 1)))
