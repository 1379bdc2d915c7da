"""However sparse rows are stored, they are the rows that they add up to."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM, PUEnsemble, SVDDEnsemble, tune
from fewlabels.baselines import OneClassBaseline, PUBaseline, SemiSupervisedBaseline
from fewlabels.class_prior import (
    DEDPUL,
    KM2,
    PenL1,
    SaturatedLogistic,
    TIcE,
    estimate_prior,
    label_shift,
    prior_bounds,
)
from fewlabels.inspection import explain
from fewlabels.kernels import RBF, Isolation, Linear, Manifold, Polynomial, Sigmoid, Trees
from fewlabels.kernels.operators import RowMap, make_gram
from fewlabels.kernels.rows import canonical, equal_rows, row_keys
from fewlabels.model_selection import (
    PUSVMCV,
    bias_sensitivity,
    compare_with_baselines,
    estimate_propensity,
    far_from_neighbors,
    labelled_at_random_test,
    neighbor_gamma,
    prior_sensitivity,
    shuffled_columns_score,
)
from fewlabels.monitoring import Monitor
from fewlabels.querying import Central, Diverse, Typical, Uncertain
from fewlabels.tables.arrays import as_sparse

pytestmark = pytest.mark.filterwarnings("ignore")
N, D = 60, 8
FORMATS = ["csc", "coo", "lil", "dok", "bsr", "dia"]


def plain(rng, n=N, d=D):
    """Sparse rows whose entries are few binary digits, so that any parts add up exactly."""
    X = np.round(rng.normal(size=(n, d)) * 16) / 16
    X[rng.random(size=X.shape) < 0.5] = 0.0
    X[:, 0] += 1.0 * (np.arange(n) % 2)
    return sp.csr_array(X)


def scrambled(X, rng, index=np.int32, kind=sp.csr_array, read_only=True):
    """Return the rows with entries in parts, stored zeros, no order, and a flag that lies."""
    X = sp.coo_array(X)
    row, column, value = X.row, X.col, X.data
    n, d = X.shape
    part = np.round(rng.normal(size=len(value)) * 16) / 16
    more_row, more_column = rng.integers(n, size=n), rng.integers(d, size=n)
    more = np.round(rng.normal(size=n) * 16) / 16
    more[: n // 2] = 0.0
    row = np.concatenate([row, row, more_row, more_row])
    column = np.concatenate([column, column, more_column, more_column])
    value = np.concatenate([value - part, part, more, -more])
    order = rng.permutation(len(row))
    order = order[np.argsort(row[order], kind="stable")]
    ends = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=n))])
    arrays = value[order], column[order].astype(index), ends.astype(index)
    found = kind((n, d))
    found.data, found.indices, found.indptr = arrays
    found.has_canonical_format = True
    if read_only:
        for array in arrays:
            array.flags.writeable = False
    return found


def labels_of(task):
    """Labels of N rows for a task."""
    y = (np.arange(N) % 2).astype(float)
    if task == "positive":
        y[30:] = 0.0
    elif task == "few":
        y[24:] = -1
    elif task == "several":
        y = np.arange(N) % 3
        y[24:] = -1
    return y


MODELS = [
    (SVDD(), None),
    (SVDD(slack="linear", nu=0.2, target_fpr=0.2), None),
    (SVDD(kernel="linear"), None),
    (OneClassSVM(kernel="isolation", nu=0.2), None),
    (OneClassSVM(gamma="auto", nu=0.2), None),
    (SVDD(kernel=Manifold(n_neighbors=4)), None),
    (SVDDEnsemble(n_bags=3, random_state=0), None),
    (PUSVM(prior=0.3), "positive"),
    (PUSVM(prior="estimate", kernel="poly", degree=2, coef0=1.0), "positive"),
    (PUEnsemble(prior=0.3, n_bags=3, random_state=0), "positive"),
    (PUSVM(prior=0.3, kernel=Trees(n_trees=20)), "positive"),
    (S3VM(kernel="rbf"), "few"),
    (S3VM(kernel="linear"), "few"),
    (S3VM(kernel="manifold"), "few"),
    (S3VM(kernel="trees"), "several"),
    (S3VM(kernel="poly", degree=2), "several"),
    (OneClassBaseline(method="neighbours"), None),
    (PUBaseline(method="pu-logistic"), "positive"),
    (SemiSupervisedBaseline(method="logistic"), "few"),
    (PUSVMCV(prior=0.3, lams=[0.01, 0.1], cv=2), "positive"),
]


def scores(model, X):
    """All numbers that a fitted model has to say of rows."""
    names = ["decision_function", "predict", "score_samples", "predict_proba", "p_values"]
    found = []
    for name in names:
        try:
            found.append(np.ravel(np.asarray(getattr(model, name)(X), dtype=float)))
        except (AttributeError, ValueError):
            continue
    assert found
    return np.concatenate(found)


@pytest.mark.parametrize(("model", "task"), MODELS, ids=lambda value: str(value)[:45])
def test_fits_and_scores_read_the_same_rows(model, task, rng):
    from sklearn.base import clone

    X, new = plain(rng), plain(rng, 20)
    y = () if task is None else (labels_of(task),)
    expected = clone(model).fit(X, *y)
    found = clone(model).fit(scrambled(X, rng), *y)
    for rows in (new, scrambled(new, rng, np.int64), scrambled(new, rng, kind=sp.csr_matrix)):
        np.testing.assert_array_equal(scores(found, rows), scores(expected, new))
    if hasattr(expected, "partial_fit"):
        more = () if task is None else (np.arange(5) % 2,)
        if task == "positive":
            more = (np.array([1, 0, 0, 0, 0]),)
        expected.partial_fit(new[:5], *more)
        found.partial_fit(scrambled(new[:5], rng), *more)
        np.testing.assert_array_equal(scores(found, new), scores(expected, new))


def query(strategy):
    def ask(X):
        y = labels_of("few")
        model = S3VM(kernel="rbf").fit(canonical(X), y)
        return strategy(missing_label=-1, random_state=0).query(X, y, model, batch_size=4)

    return ask


def monitor(X):
    model = SVDD(target_fpr=0.1).fit(canonical(X))
    watch = Monitor(model, alpha=0.01, random_state=0)
    watch.update(X)
    kept = watch.kept_rows
    rows = kept.assemble([row for row, _ in kept.recent])
    return np.append(watch.log_evidence_, rows.data)


def compared(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare_with_baselines(SVDD(), X, known_other=X[:10], time_budget=1e-3)
    return found.table["ours"].to_numpy(float)


POSITIVE, FEW = labels_of("positive"), labels_of("few")
FUNCTIONS = {
    "explain": lambda X: explain(SVDD().fit(canonical(X)), X[:3], background=X).contributions,
    "tune": lambda X: tune(OneClassSVM(nu=0.2), X, random_state=0).decision_function(X),
    "compare": compared,
    "estimate_prior": lambda X: estimate_prior(X, POSITIVE, n_bootstrap=3).prior,
    "label_shift": lambda X: label_shift(X, FEW, n_bootstrap=3).shares,
    "prior_bounds": lambda X: prior_bounds(X, POSITIVE, 1.5),
    "DEDPUL": lambda X: DEDPUL(random_state=0).fit(X, POSITIVE).prior_,
    "KM2": lambda X: KM2().fit(X, POSITIVE).prior_,
    "PenL1": lambda X: PenL1().fit(X, POSITIVE).prior_,
    "SaturatedLogistic": lambda X: SaturatedLogistic().fit(X, POSITIVE).prior_,
    "TIcE": lambda X: TIcE(random_state=0).fit(X, POSITIVE).prior_,
    "propensity": lambda X: (
        estimate_propensity(X, POSITIVE, np.arange(N)[:, None], prior=0.3).propensity
    ),
    "at random": lambda X: labelled_at_random_test(X, POSITIVE, prior=0.3, n_draws=39).p_value,
    "neighbor_gamma": neighbor_gamma,
    "far_from_neighbors": far_from_neighbors,
    "shuffled": lambda X: shuffled_columns_score(SVDD().fit(canonical(X)), X),
    "priors": lambda X: prior_sensitivity(PUSVM(prior=0.3), X, POSITIVE, [0.2], X).to_numpy(float),
    "bias": lambda X: bias_sensitivity(PUSVM(prior=0.3), X, POSITIVE, [2.0], X).changes_at,
    "monitor": monitor,
    **{strategy.__name__: query(strategy) for strategy in (Uncertain, Central, Typical, Diverse)},
    "as_sparse": lambda X: as_sparse(X).toarray(),
    "row_keys": row_keys,
    "equal_rows": lambda X: equal_rows(X).of,
    "row map": lambda X: RowMap(RBF(0.5), X, np.float64).prepare(X)[0].toarray(),
    **{
        str(kernel): lambda X, kernel=kernel: np.column_stack(
            [kernel.values(X, X), kernel.diagonal(X), make_gram(kernel, X).whole()]
        )
        for kernel in (RBF(0.3), Polynomial(1.0, 2, 1.0), Sigmoid(0.1, 0.0), Linear())
    },
    "isolation": lambda X: Isolation(n_draws=9).with_rows(X).values(X, X),
    "deformed": lambda X: Manifold(n_neighbors=4).with_rows(X).values(X, X),
    "leaves": lambda X: Trees(n_trees=9).with_rows(X, POSITIVE, gamma=0.3).values(X, X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_read_the_same_rows(name, rng):
    X = plain(rng)
    X = sp.csr_array(sp.vstack([X[:-1], X[:1]]))  # two equal rows
    expected, found = FUNCTIONS[name](X), FUNCTIONS[name](scrambled(X, rng))
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_is_read_alike(form, kind, rng):
    X = plain(rng)
    stored = scrambled(X, rng, kind=kind)
    if form in ("csc", "bsr"):  # which keep entries that share a place
        row = np.repeat(np.arange(N), np.diff(stored.indptr))
        order = np.lexsort((row, stored.indices))
        ends = np.append(0, np.cumsum(np.bincount(stored.indices, minlength=D)))
        parts = stored.data[order], row[order], ends
        stored = (sp.csc_array if kind is sp.csr_array else sp.csc_matrix)(parts, shape=(N, D))
        if form == "bsr":
            parts = scrambled(X, rng)
            parts = parts.data[:, None, None], parts.indices, parts.indptr
            stored = (sp.bsr_array if kind is sp.csr_array else sp.bsr_matrix)(parts, shape=(N, D))
    elif form == "coo":
        row = np.repeat(np.arange(N), np.diff(stored.indptr))
        parts = stored.data, (row, stored.indices)
        stored = (sp.coo_array if kind is sp.csr_array else sp.coo_matrix)(parts, shape=(N, D))
    else:
        stored = kind(X).asformat(form)
    assert stored.format == form
    expected = SVDD().fit(X).decision_function(X)
    np.testing.assert_array_equal(SVDD().fit(stored).decision_function(stored), expected)


@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_the_callers_matrix_stays_as_it_is(index, read_only, rng):
    for stored in (
        scrambled(plain(rng), rng, index, read_only=read_only),
        plain(rng),
    ):
        known = dict(vars(stored))
        copies = {name: np.array(getattr(stored, name)) for name in ("data", "indices", "indptr")}
        model = OneClassSVM(nu=0.2).fit(stored).partial_fit(stored)
        model.decision_function(stored)
        S3VM(kernel="manifold").fit(stored, FEW).predict(stored)
        assert vars(stored).keys() == known.keys()
        assert all(vars(stored)[name] is value for name, value in known.items())
        for name, before in copies.items():
            np.testing.assert_array_equal(getattr(stored, name), before)


def test_rows_in_order_are_not_copied(rng):
    X = plain(rng)
    assert np.shares_memory(canonical(X).data, X.data)
    assert canonical(X) is not X
    assert canonical(X.toarray()).__class__ is np.ndarray


@pytest.mark.parametrize("wrong", [-1, D, 2**31 - 1])
@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_matrices_that_contradict_themselves_are_refused(form, wrong, rng):
    X = plain(rng).asformat(form)
    indices = X.coords[1] if form == "coo" else X.indices
    indices[3] = wrong if form != "csc" or wrong < 0 else max(wrong, N)
    with pytest.raises(ValueError, match="the sparse X is invalid"):
        SVDD().fit(X)


def test_small_whole_numbers_add_up_as_scipy_adds_them():
    X = sp.csr_array((np.full(4, 100, np.int8), [0, 0, 1, 0], [0, 2, 3, 4]), shape=(3, 2))
    np.testing.assert_array_equal(canonical(X).toarray(), X.toarray())
