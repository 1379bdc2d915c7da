"""A source of rows of one's own: two methods, and every estimator takes it."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble, tune
from fewlabels.rows.shards import Shard
from fewlabels.rows.source import ShardedSource


class Listed(Shard):
    """Rows that hand out at most 100 at a time."""

    def __init__(self, X, first, weight=None):
        super().__init__(X.shape[0], first, weight)
        self.X = X

    def pieces(self):
        for start in range(0, self.n, 100):
            stop = min(self.n, start + 100)
            yield slice(start, stop), self.X[start:stop]

    def take(self, places):
        return self.X[places]


def source_of(X, n_shards=3, weight=None):
    ends = [X.shape[0] * k // n_shards for k in range(n_shards + 1)]
    parts = [slice(a, b) for a, b in pairwise(ends)]
    weights = [None if weight is None else weight[part] for part in parts]
    shards = [Listed(X[part], part.start, one) for part, one in zip(parts, weights, strict=True)]
    source = ShardedSource(shards, X.shape[1], X.dtype)
    source.is_sparse = sp.issparse(X)
    return source


@pytest.fixture
def rows(rng):
    return rng.normal(3.0, [1.0, 2.0, 0.5], size=(1500, 3))


def assert_same(here, there, X, y=None, at=1e-4):
    there = there.fit(source_of(X), *(() if y is None else (y,)))
    here = here.fit(X, *(() if y is None else (y,)))
    assert not there.holds_rows_ and there.shape_fit_ == X.shape
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-6)
    scale = np.abs(here.decision_function(X)).max()
    assert np.allclose(there.decision_function(X), here.decision_function(X), atol=at * scale)
    assert np.array_equal(there.decision_function(source_of(X, 2)), there.decision_function(X))
    assert np.array_equal(there.predict(source_of(X)), there.predict(X))
    return there


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    "model",
    [SVDD(tol=1e-7), SVDD(kernel="linear", tol=1e-7), OneClassSVM(nu=0.05, tol=1e-7)],
    ids=["ball", "linear ball", "one class"],
)
def test_models_of_one_class(model, storage, rows):
    from sklearn.base import clone

    X = storage(np.where(np.abs(rows) < 1.5, 0.0, rows))
    assert_same(model, clone(model), X)


def test_the_other_estimators(rows):
    positive = np.arange(1500) < 300
    X = rows + 2.0 * positive[:, None]
    settings = {"prior": 0.05, "threshold": "risk", "tol": 1e-6}
    # The linear S3VM comes to a local minimum.
    assert_same(PUSVM(**settings), PUSVM(**settings), X, positive.astype(float), at=1e-3)
    y = np.where(np.arange(1500) % 50 < 2, 1.0 + (X[:, 0] > 3.0), np.nan)
    there = S3VM(kernel="linear").fit(source_of(X), y)
    here = S3VM(kernel="linear").fit(X, y)
    assert np.mean(here.predict(X) == there.predict(X)) > 0.98
    assert np.array_equal(there.predict(source_of(X)), there.predict(X))


def test_calibration_holds_rows_out(rows):
    model = SVDD(target_fpr=0.1).fit(source_of(rows))
    here = SVDD(target_fpr=0.1, calibration="split").fit(rows)
    assert model.offset_ == pytest.approx(here.offset_, rel=1e-3)
    values = model.p_values(source_of(rows))
    assert np.array_equal(values, model.p_values(rows))
    assert np.array_equal(values <= 0.1, model.predict(rows) < 0)
    smoothed = model.p_values(source_of(rows), smoothed=True)
    assert np.all(smoothed <= values)


def test_weights_belong_to_the_shards(rows, rng):
    weight = rng.integers(0, 3, 1500).astype(float)
    there = SVDD(tol=1e-7).fit(source_of(rows, weight=weight))
    here = SVDD(tol=1e-7).fit(rows, sample_weight=weight)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-6)
    with pytest.raises(ValueError, match="sample_weight belongs to its shards"):
        SVDD().fit(source_of(rows), sample_weight=weight)


def test_what_needs_rows_in_memory_is_refused(rows):
    with pytest.raises(ValueError, match="take kernel='rbf', 'poly' or 'linear'"):
        SVDD(kernel="sigmoid").fit(source_of(rows))
    with pytest.raises(ValueError, match="confirmed anomalies"):
        SVDD().fit(source_of(rows), anomalies=np.zeros(1500, bool))
    y = np.where(np.arange(1500) < 100, 1, 0)
    for call in (
        lambda source: SVDDEnsemble().fit(source),
        lambda source: PUEnsemble(prior=0.3).fit(source, y),
        lambda source: tune(SVDD(), source),
    ):
        with pytest.raises(TypeError, match="which can't be used here; pass rows in memory"):
            call(source_of(rows))
    with pytest.raises(ValueError, match="fitted to rows outside memory"):
        SVDD().fit(source_of(rows)).partial_fit(rows[:2])
    with pytest.raises(ValueError, match="at least one shard"):
        ShardedSource([], 3)
    rows[1234, 1] = np.nan
    with pytest.raises(ValueError, match="row 1234"):
        SVDD().fit(source_of(rows))
