"""S3VM whose rows and labels come, go and change, judged by data and coefficients alone."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from reference import kernel_matrix
from reference.s3vm_streams import clouds, judge
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels import S3VM
from fewlabels.kernels import RBF
from fewlabels.semi_supervised.class_path import PathOptions
from fewlabels.semi_supervised.problem import SemiSupervised
from fewlabels.semi_supervised.stream import S3VMStream

KERNELS = {
    "rbf": (dict(gamma=0.3), ("rbf", 0.3)),
    "linear": (dict(kernel="linear"), ("linear",)),
    "poly": (dict(kernel="poly", gamma=0.3, degree=2), ("poly", 0.3, 2, 1.0)),
}


@parametrize_with_checks([S3VM(balance_update="paper", max_steps=3)])
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("balance", [True, 0.1, False])
@pytest.mark.parametrize("solver", ["auto", "path"])
def test_every_operation_ends_at_a_local_minimum(rng, kernel, balance, solver):
    X, y, truth = clouds(rng)
    parameters, reference = KERNELS[kernel]
    model = S3VM(balance=balance, solver=solver, **parameters).fit(X[:60], y[:60])

    def right(X, y):
        judge(model, X, y, reference, balance, tol=1e-6)

    if solver == "path":
        right(X[:60], y[:60])
    y[61], y[77] = truth[61], truth[77]
    assert model.partial_fit(X[60:61]) is model  # one row without a label
    right(X[:61], y[:61])
    model.partial_fit(X[61:62], y[61:62])  # one with
    right(X[:62], y[:62])
    model.partial_fit(X[62:], y[62:])  # a block of both
    right(X, y)
    y[[20, 33]], y[4] = truth[[20, 33]], 1 - truth[4]
    assert model.relabel([33, 4, 20], y[[33, 4, 20]]) is model  # given and changed
    right(X, y)
    y[[20, 5]] = np.nan
    model.relabel([20, 5], None)  # taken back
    right(X, y)
    gone = [0, 77, 50, 99, 20]
    assert model.forget(gone) is model
    X, y = np.delete(X, gone, axis=0), np.delete(y, gone)
    right(X, y)
    before = model.objective_
    replaced = model.consolidate()
    right(X, y)
    assert model.objective_ < before if replaced else model.objective_ == before
    model.partial_fit(X[:3], y[:3])
    right(np.concatenate([X, X[:3]]), np.concatenate([y, y[:3]]))


@pytest.mark.parametrize("update", ["keep", "paper"])
def test_what_came_can_go(rng, update):
    X, y, truth = clouds(rng, apart=1.5)
    model = S3VM(gamma=0.3, balance_update=update, balance=0.1).fit(X[:90], y[:90])
    model.partial_fit(X[90:91])
    model.forget(-1)
    f = model.decision_function(X)
    model.partial_fit(X[90:], truth[90:])
    assert np.abs(model.decision_function(X) - f).max() > 1e-3
    model.forget(np.arange(len(model.transduction_)) >= 90)
    assert np.allclose(model.decision_function(X), f, atol=1e-8)
    model.relabel([40], truth[[40]]).relabel([40], [np.nan])
    assert np.allclose(model.decision_function(X), f, atol=1e-8)
    judge(model, X[:90], y[:90], balance=0.1)


def test_paper_takes_more_steps(rng):
    X, y, _ = clouds(rng)
    steps = {}
    for update in ("keep", "paper"):
        model = S3VM(gamma=0.3, balance_update=update).fit(X[:90], y[:90])
        assert model.n_steps_ == 0
        for i in range(90, 100):
            model.partial_fit(X[i : i + 1])
        steps[update] = model.n_steps_
    assert 0 < steps["keep"] < steps["paper"]


def test_a_stream_from_nothing(rng):
    X, y, truth = clouds(rng)
    model = S3VM(gamma=0.3)
    model.partial_fit(X[10:20], classes=[1, 0])
    assert model.objective_ == 50.0 and np.all(model.decision_function(X) == 0)
    assert model.dual_coef_.shape == (1, 0) and model.transduction_.shape == (10,)
    model.partial_fit(X[:1], y[:1])
    assert model.objective_ == 0.0 and np.all(model.predict(X) == 1)
    model.forget([3]).relabel([0], truth[[10]])
    rows = np.r_[10:13, 14:20, 0]
    assert model.n_steps_ == 0
    for i in [1, *range(2, 8), *range(20, 100)]:
        model.partial_fit(X[[i]], y[[i]])
        rows = np.append(rows, i)
        now = y[rows]
        now[0] = truth[10]
        assert model.kkt_violation_ < 1e-8
    judge(model, X[rows], now)
    assert model.consolidation_due_


@pytest.mark.parametrize("solver", ["auto", "path"])
def test_first_rows_are_trained_on_as_by_fit(rng, solver):
    X, y, truth = clouds(rng)
    fitted = S3VM(gamma=0.3, solver=solver).fit(X, y).resume()
    f = fitted.decision_function(X)
    begun = clone(fitted).partial_fit(X, y)
    judge(begun, X, y)
    assert np.allclose(begun.decision_function(X), f, atol=1e-8)
    # Labels of the second class come later.
    late = clone(fitted).partial_fit(X[9:], classes=[0, 1]).partial_fit(X[:9:2], truth[:9:2])
    assert late.n_steps_ == 0 and np.all(late.predict(X) == 1)
    late.partial_fit(X[1:9:2], truth[1:9:2])
    order = np.r_[9:100, 0:9:2, 1:9:2]
    labels = np.append(np.full(91, np.nan), truth[order[91:]])
    again = clone(fitted).fit(X[order], labels).resume()
    assert np.allclose(late.decision_function(X), again.decision_function(X), atol=1e-8)
    assert late.n_iter_ == again.n_iter_ and not late.consolidation_due_


def test_one_block_or_one_by_one(rng):
    X, y, _ = clouds(rng)
    fitted = S3VM(gamma=0.3, solver="path").fit(X, y)
    parts = clone(fitted).fit(X[:50], y[:50])
    together = clone(fitted).fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])
    for i in range(50, 100):
        parts.partial_fit(X[i : i + 1], y[i : i + 1])
    judge(parts, X, y)
    judge(together, X, y)


def test_many_operations(rng):
    X, y, truth = clouds(rng, n=400)
    model = S3VM(gamma=0.3, n_jobs=1).fit(X[:60], y[:60])
    rows, label = list(range(60)), list(y[:60])
    for i in range(60, 400, 2):
        model.partial_fit(X[i : i + 2], [np.nan, truth[i + 1] if i % 20 == 0 else np.nan])
        rows += [i, i + 1]
        label += [np.nan, truth[i + 1] if i % 20 == 0 else np.nan]
        if i >= 100:
            out = sorted(rng.choice(len(rows), 2, replace=False).tolist())
            if {0.0, 1.0} <= {v for k, v in enumerate(label) if k not in out}:
                model.forget(out)
                for k in reversed(out):
                    del rows[k], label[k]
    judge(model, X[rows], np.array(label))


def test_memory_of_rows_that_have_gone_is_freed(rng):
    X, y, _ = clouds(rng, n=400)
    label = np.where(np.isnan(y), 0.0, 2 * y - 1)
    stream = S3VMStream(
        RBF(0.3), [SemiSupervised(10.0, 5.0, True)], PathOptions("keep"), X[:60], label[:60]
    )
    for i in range(60, 400, 2):
        stream.add(X[i : i + 2], label[i : i + 2])
        if i >= 100:
            stream.remove(8 + rng.choice(len(stream) - 8, 2, replace=False))
        stream.paths[0].run()
        stream.compact()
    assert len(stream) == 100 and stream.places.max() < 2 * len(stream) + 70


@pytest.mark.parametrize("storage", ["sparse", "float32", "frame"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_storage_does_not_matter(rng, storage, kernel):
    X, y, truth = clouds(rng)
    X = np.round(X, 1)
    convert = {
        "sparse": sp.csr_array,
        "float32": lambda rows: rows.astype(np.float32),
        "frame": lambda rows: pd.DataFrame(rows, columns=list("abc")),
    }[storage]
    parameters = {**KERNELS[kernel][0], "solver": "path"}

    def run(convert):
        model = S3VM(**parameters).fit(convert(X[:80]), y[:80])
        model.partial_fit(convert(X[80:90])).partial_fit(convert(X[90:]), truth[90:])
        return model.forget([3, 95]).relabel([1], [np.nan])

    model, expected = run(convert), run(lambda rows: rows)
    atol = 1e-4 if storage == "float32" else 1e-7
    f = expected.decision_function(X)
    assert np.allclose(model.decision_function(convert(X)), f, atol=atol)
    assert model.support_vectors_.dtype == (np.float32 if storage == "float32" else np.float64)
    assert sp.issparse(model.support_vectors_) == (storage == "sparse")
    if storage == "frame":
        assert model.feature_names_in_.tolist() == list("abc")


def test_float32_rows_meet_float64_rows(rng):
    X, y, _ = clouds(rng)
    model = S3VM(gamma=0.3).fit(X[:90].astype(np.float32), y[:90])
    model.partial_fit(X[90:], y[90:])
    assert model.support_vectors_.dtype == np.float64
    judge(model, np.concatenate([X[:90].astype(np.float32), X[90:]]), y)


def test_far_from_the_origin_a_linear_kernel_is_exact(rng):
    X, y, _ = clouds(rng)
    near = S3VM(kernel="linear").fit(X[:80], y[:80]).partial_fit(X[80:])
    far = S3VM(kernel="linear").fit(X[:80] + 1e5, y[:80]).partial_fit(X[80:] + 1e5)
    assert np.allclose(far.decision_function(X + 1e5), near.decision_function(X), atol=1e-4)
    assert far.coef_.shape == (1, 3)
    assert np.allclose(far.coef_, near.coef_, atol=1e-4)


def test_a_function_as_kernel(rng):
    X, y, _ = clouds(rng)

    def kernel(A, B):
        return kernel_matrix(("rbf", 0.3), A, B)

    model = S3VM(kernel=kernel).fit(X[:90], y[:90]).partial_fit(X[90:])
    judge(model, X, y)


def test_weights_are_prices(rng):
    X, y, truth = clouds(rng)
    weight = np.where(np.isnan(y), 1.0, rng.uniform(0.5, 3.0, 100))
    model = S3VM(gamma=0.3).fit(X[:90], y[:90], sample_weight=weight[:90])
    model.partial_fit(X[90:], y[90:], sample_weight=weight[90:])
    judge(model, X, y, weight=weight)
    free = S3VM(gamma=0.3, balance=False).fit(X[:90], y[:90])
    weight = np.where(np.arange(100) < 90, 1.0, rng.uniform(0.5, 3.0, 100))
    free.partial_fit(X[90:], y[90:], sample_weight=weight[90:])
    judge(free, X, y, weight=weight, balance=False)
    free.relabel([95], truth[[95]])
    y[95] = truth[95]
    judge(free, X, y, weight=weight, balance=False)


@pytest.mark.parametrize("solver", ["auto", "path"])
def test_consolidating_finds_better_minima(rng, solver):
    """A stream whose first labels mislead it: wrong labels, put right later."""
    X, y, truth = clouds(rng, apart=1.0)
    model = S3VM(gamma=0.3, solver=solver).partial_fit(X[:4], 1 - truth[:4])
    for i in range(4, 100):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    model.relabel(range(4), truth[:4])
    before, steps = model.objective_, model.n_steps_
    assert model.consolidation_due_
    replaced = model.consolidate()
    assert not model.consolidation_due_ and model.n_steps_ >= steps
    assert model.objective_ < before if replaced else model.objective_ == before
    judge(model, X, y)
    again = S3VM(gamma=0.3, solver=solver).fit(X, y)
    assert model.objective_ <= again.objective_ * (1 + 1e-3)
    assert not model.consolidate()


def test_a_rebuild_is_due_after_half_the_rows(rng):
    X, y, truth = clouds(rng)
    model = S3VM(gamma=0.3).fit(X[:60], y[:60])
    model.partial_fit(X[60:88])
    model.forget([9])
    assert model.consolidation_due_ is False
    model.relabel([30], truth[[30]]).relabel([30], truth[[30]])  # the second changes nothing
    assert model.consolidation_due_ is True


def test_steps_within_a_budget(rng):
    X, y, truth = clouds(rng, apart=0.5)
    free = S3VM(gamma=0.3).fit(X[:80], y[:80])
    model = S3VM(gamma=0.3, max_steps=2).fit(X[:80], y[:80]).resume()  # the start made exact
    start = model.n_steps_
    with pytest.warns(ConvergenceWarning, match="partial_fit stopped after max_steps=2"):
        model.partial_fit(X[80:], truth[80:])
    assert model.n_steps_ == start + 2 and model.fit_status_ == 1
    assert model.transduction_.shape == (100,) and model.kkt_violation_ > 0.01
    f = model.decision_function(X)
    assert np.all(np.isfinite(f)) and np.isfinite(model.objective_)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.forget([1, 2])  # waits
        assert model.n_steps_ == start + 4 and model.transduction_.shape == (98,)
        model.relabel([30], [1]).partial_fit(X[:1])
        model = pickle.loads(pickle.dumps(model))
        assert len(model.transduction_) == 99 and model.support_.max() < 99
        for _ in range(5):
            model.resume(max_steps=3)
    model.resume()
    assert model.fit_status_ == 0
    free.partial_fit(X[80:], truth[80:]).forget([1, 2]).relabel([30], [1]).partial_fit(X[:1])
    assert np.allclose(model.decision_function(X), free.decision_function(X), atol=1e-8)
    rows = np.r_[0, 3:100, 0]
    now = np.concatenate([y[:80], truth[80:], [np.nan]])[np.r_[0, 3:101]]
    now[30] = 1.0
    judge(model, X[rows], now)
    assert model.resume() is model
    for steps in (0, -1, "a", 1.5):
        with pytest.raises(ValueError, match="pass a whole number >= 1, or None"):
            model.resume(steps)


def test_a_budget_shows_rows_that_are_leaving(rng):
    X, y, _ = clouds(rng, apart=0.5)
    model = S3VM(gamma=0.3, max_steps=1).fit(X, y)
    gone = np.flatnonzero(np.isin(np.arange(100), model.support_))[:30]
    with pytest.warns(ConvergenceWarning, match="forget stopped"):
        model.forget(gone[gone >= 4])
    assert -1 in model.support_
    K = kernel_matrix(("rbf", 0.3), X, np.asarray(model.support_vectors_))
    f = K @ model.dual_coef_[0] + model.intercept_[0]
    assert np.allclose(model.decision_function(X), f)
    model.resume()
    kept = np.setdiff1d(np.arange(100), gone[gone >= 4])
    judge(model, X[kept], y[kept])


def test_copies_go_their_own_way(rng):
    X, y, _ = clouds(rng)
    model = S3VM(gamma=0.3).fit(X[:80], y[:80]).partial_fit(X[80:90])
    other = pickle.loads(pickle.dumps(model))
    for one in (model, other):
        one.partial_fit(X[90:])
        judge(one, X, y)
    model.forget([50])
    judge(other, X, y)
    assert not hasattr(clone(model), "classes_")
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = model.coef_


def test_rows_of_the_user_are_left_alone(rng):
    X, y, _ = clouds(rng)
    first, copy = X[:80], X.copy()
    model = S3VM(gamma=0.3).fit(first, y[:80])
    model.partial_fit(X[:5]).forget(range(8, 75))
    assert np.array_equal(X, copy)


CODINGS = {
    "words": (["a", "b"], lambda y: np.array([{0: "a", 1: "b"}.get(v) for v in y], dtype=object)),
    "mark": ([0, 1], lambda y: np.where(np.isnan(y), -1, y).astype(int)),
    "nullable": ([0, 1], lambda y: pd.array([pd.NA if np.isnan(v) else int(v) for v in y])),
}


@pytest.mark.parametrize("coding", CODINGS)
def test_codings_of_y(rng, coding):
    X, y, _ = clouds(rng)
    classes, coded = CODINGS[coding]
    expected = S3VM(gamma=0.3).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:]).relabel([50], 1)
    model = S3VM(gamma=0.3).fit(X[:60], coded(y[:60])).partial_fit(X[60:], coded(y[60:]))
    model.relabel([50], coded(np.array([1.0])))
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))
    assert model.transduction_.tolist() == [classes[int(v)] for v in expected.transduction_]
    fresh = S3VM(gamma=0.3).partial_fit(X[20:30], coded(y[20:30]), classes=classes)
    assert fresh.classes_.tolist() == classes


def test_refusals_are_sentences_and_change_nothing(rng):
    X, y, _ = clouds(rng, labels=4)
    model = S3VM(gamma=0.3).fit(X, y).partial_fit(X[:1])
    f, n = model.decision_function(X), 101
    refused = [
        (lambda: model.partial_fit(X[:2], [1]), "1 labels for 2 rows"),
        (lambda: model.partial_fit(X[:1], [7]), "neither a class"),
        (
            lambda: model.partial_fit(X[:1], classes=[3, 4]),
            "differ from the classes of the first rows",
        ),
        (lambda: model.partial_fit(X[:1, :2]), "2 features"),
        (lambda: model.partial_fit(X[:1] * np.nan), "NaN"),
        (lambda: model.partial_fit(X[:2], sample_weight=[1, 0]), "weight <= 0"),
        (lambda: model.partial_fit(X[:1], sample_weight=[2]), "equal weights"),
        (lambda: model.partial_fit(sp.csr_array(X)), "sparse"),
        (lambda: model.forget([n]), "row 101 is not among the 101"),
        (lambda: model.forget([3, 3]), "named twice"),
        (lambda: model.forget([0.5]), "whole numbers"),
        (lambda: model.forget(np.ones(3, bool)), "mask has 3"),
        (lambda: model.forget(range(n)), "at least one"),
        (lambda: model.forget([0, 2]), "only one class"),
        (lambda: model.relabel([0, 2], None), "only one class"),
        (lambda: model.relabel([0, 2], [1]), "1 labels for 2 rows"),
        (lambda: S3VM().partial_fit(X), "classes="),
        (lambda: S3VM().partial_fit(X[:1], [1]), "one class only .* pass classes"),
        (lambda: S3VM().partial_fit(X, y, classes=[1]), "names 1 classes"),
        (lambda: S3VM(max_steps=0).partial_fit(X, y), "max_steps"),
        (lambda: S3VM(balance_update="no").fit(X, y), "balance_update"),
        (lambda: S3VM(kernel="precomputed").partial_fit(X @ X.T, y), "precomputed"),
        (lambda: S3VM(kernel="precomputed", solver="path").fit(X @ X.T, y), "precomputed"),
        (lambda: S3VM(kernel="precomputed").fit(X @ X.T, y).forget([3]), "precomputed"),
        (lambda: S3VM(solver="path").fit(X, y, np.arange(100)), "weight <= 0"),
        (lambda: S3VM().fit(X, y, np.arange(100)).partial_fit(X), "weight <= 0"),
        (lambda: S3VM().fit(X, y, np.arange(1, 101)).partial_fit(X), "equal weights"),
        (lambda: clone(model).fit(X, y).set_params(C=3.0).partial_fit(X), "C was 10.0"),
    ]
    for operation, words in refused:
        with pytest.raises(ValueError, match=words):
            operation()
        assert np.array_equal(model.decision_function(X), f) and len(model.transduction_) == n
    for operation in (S3VM().forget, S3VM().resume):
        with pytest.raises(NotFittedError):
            operation([0])
    model.forget([5])
    rows = np.r_[0:5, 6:100, 0]
    judge(model, X[rows], np.append(y[rows[:-1]], np.nan))
