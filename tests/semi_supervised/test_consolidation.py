"""A stream of an S3VM ends at local minima: when a better one is likely, and finding it."""

import pickle
import warnings

import numpy as np
import pytest

from fewlabels import S3VM
from fewlabels.semi_supervised.consolidation import choose_one_side


def drifted(seed=0, n=200, n_operations=300, **options):
    """A machine after random operations, its rows and labels, and what was due on the way."""
    rng = np.random.default_rng(seed)
    total = n + n_operations
    truth = rng.integers(0, 2, total)
    pool = rng.normal(size=(total, 5)) + 0.6 * (2 * truth[:, None] - 1)
    label = np.full(total, np.nan)
    label[:20] = truth[:20]
    model = S3VM(gamma=0.1, unlabeled=None, n_jobs=1, **options).fit(pool[:n], label[:n])
    there, newest, due = list(range(n)), n, []
    for _ in range(n_operations):
        what = rng.random()
        if what < 0.5 or len(there) < 0.8 * n:
            label[newest] = truth[newest] if rng.random() < 0.1 else np.nan
            model.partial_fit(pool[newest : newest + 1], label[newest : newest + 1])
            there.append(newest)
            newest += 1
        elif what < 0.8:
            gone = int(rng.integers(20, len(there)))
            model.forget([gone])
            del there[gone]
        else:
            k = int(rng.integers(20, len(there)))
            known = label[there[k]]
            label[there[k]] = truth[there[k]] if np.isnan(known) else np.nan
            model.relabel([k], label[[there[k]]])
        due.append(model.consolidation_due_)
    return model, pool[there], label[there], due


def test_a_stream_that_consolidates_stays_near_a_fit():
    ratio, n_due = {}, {}
    for auto in (False, True):
        model, X, label, due = drifted(auto_consolidate=auto)
        refit = S3VM(gamma=0.1, unlabeled=None).fit(X, label)
        ratio[auto], n_due[auto] = model.objective_ / refit.objective_, sum(due)
        assert model.kkt_violation_ < 1e-9
    assert ratio[False] > 1.1 and n_due[False] > 100  # left alone it drifts, and says so
    assert ratio[True] < 1.05 and n_due[True] == 0


@pytest.mark.parametrize("balance_update", ["keep", "paper"])
@pytest.mark.parametrize("balance", [True, False])
def test_annealing_from_here_is_a_way_to_a_better_minimum(balance, balance_update):
    model, X, *_ = drifted(1, balance=balance, balance_update=balance_update)
    before, stood = model.objective_, pickle.loads(pickle.dumps(model))
    replaced = model.consolidate(["anneal"])
    assert replaced == (model.objective_ < before * (1 - 1e-9))
    assert not model.consolidation_due_ and model.kkt_violation_ < 1e-9
    if not replaced:
        assert model.objective_ == pytest.approx(before, rel=1e-12)
        np.testing.assert_allclose(model.decision_function(X), stood.decision_function(X))
    # The path goes on from there.
    model.partial_fit(X[:3] + 0.1).forget([4]).relabel([30], [1.0])
    assert model.kkt_violation_ < 1e-9


def test_growth_makes_it_due_before_half_has_changed():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) * 0.3 + np.repeat([[-2.0], [2.0]], 100, axis=0)
    y = np.full(200, np.nan)
    y[[0, 1, 198, 199]] = [0, 0, 1, 1]
    model = S3VM(gamma=0.1, unlabeled=None).fit(X, y)
    model.partial_fit(X[:15] + 0.01)
    assert not model.consolidation_due_  # as easy as the others
    noise = rng.normal(size=(15, 2))
    model.partial_fit(noise, rng.integers(0, 2, 15).astype(float))
    assert model.consolidation_due_ is True  # labels that contradict each other
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.consolidation_due_
    model.consolidate()
    assert not model.consolidation_due_


def test_nothing_is_consolidated_on_the_way(monkeypatch):
    model, X, _, _ = drifted(n_operations=40)
    assert model.set_params(auto_consolidate=True, max_steps=1) is model
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.partial_fit(X[:150])
    assert not model.is_caught_up_
    assert model.consolidation_due_
    model.set_params(max_steps=None).resume()
    model.forget([0])
    assert not model.consolidation_due_ and model.kkt_violation_ < 1e-9


def test_by_itself_soon_after_a_fit_and_from_one_side():
    model, X, y, _ = drifted(seed=3, n_operations=1, auto_consolidate=True)
    tried = []

    class Watched(S3VM):
        def consolidate(self, strategies=None):
            tried.append((len(self.training_rows_.label), strategies))
            return super().consolidate(strategies)

    n = len(X)
    model = Watched(**model.get_params()).fit(X, y)
    for k in range(25):
        model.partial_fit(X[k : k + 1] + 0.01)
    # After a twentieth of the rows for the first time, then by the rule.
    assert tried[0] == (n + -(-n // 20), ("anneal", "batch", "one-sided"))
    assert len(tried) == 1 or model.consolidation_due_ is False
    loaded = pickle.loads(pickle.dumps(model._stream))
    assert not loaded.due_by_itself


def test_one_sided_begins_where_most_labels_are():
    model, _, y, _ = drifted(seed=1, n_operations=60)
    rows = model.training_rows_
    signs = choose_one_side(rows.label.astype(float), rows.weight)
    free = np.isnan(y)
    assert np.all(signs[~free] == 0.0)
    most = 1.0 if np.sum(rows.label > 0) > np.sum(rows.label < 0) else -1.0
    assert np.all(signs[free] == most)
    before = model.objective_
    replaced = model.consolidate(["one-sided"])
    assert model.objective_ <= before and (replaced or model.objective_ == pytest.approx(before))
    assert model.kkt_violation_ < 1e-8
