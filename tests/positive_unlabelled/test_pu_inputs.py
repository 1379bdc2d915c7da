"""Every kind of labels, weights and rows that people pass to PUSVM."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from reference.pu import clouds
from sklearn.base import clone

from fewlabels import PUSVM, PUEnsemble

N = None  # a missing label in the lists below


def labels(positive, unlabeled, y):
    return [positive if value == 1 else unlabeled for value in y]


CODINGS = {
    "int": lambda y: np.array(labels(1, 0, y)),
    "int8": lambda y: np.array(labels(1, 0, y), dtype=np.int8),
    "sign": lambda y: np.array(labels(1, -1, y)),
    "zero is the greater": lambda y: np.array(labels(0, -1, y)),
    "bool": lambda y: np.array(labels(True, False, y)),
    "objects": lambda y: np.array(labels(1, 0, y), dtype=object),
    "large": lambda y: np.array(labels(10**18 + 1, 10**18, y)),
    "NaN": lambda y: np.array(labels(1.0, np.nan, y)),
    "float32 NaN": lambda y: np.array(labels(2, np.nan, y), dtype=np.float32),
    "list with None": lambda y: labels(1, N, y),
    "strings": lambda y: np.array(labels("pos", "neg", y)),
    "string objects": lambda y: np.array(labels("pos", "neg", y), dtype=object),
    "string or None": lambda y: np.array(labels("spam", N, y), dtype=object),
    "string or NaN": lambda y: np.array(labels("spam", np.nan, y), dtype=object),
    "pandas": lambda y: pd.Series(labels(1, 0, y), index=np.arange(len(y))[::-1]),
    "Int64": lambda y: pd.Series(labels(1, N, y), dtype="Int64"),
    "boolean": lambda y: pd.Series(labels(True, N, y), dtype="boolean"),
    "string": lambda y: pd.Series(labels("a", N, y), dtype="string"),
    "category": lambda y: pd.Series(labels("b", "a", y), dtype="category"),
    "category or missing": lambda y: pd.Series(labels("b", N, y), dtype="category"),
    "polars": lambda y: pl.Series(labels(1, N, y)),
    "polars strings": lambda y: pl.Series(labels("a", N, y)),
}


def missing(values):
    return np.asarray(pd.isna(np.asarray(values, dtype=object)))


@pytest.mark.filterwarnings("ignore:y has two texts")
@pytest.mark.parametrize("coding", CODINGS)
def test_answers_in_the_coding_of_y(coding, rng):
    X, plain = clouds(rng, 60, 20)
    expected = PUSVM(0.4).fit(X, plain).predict(X) == 1
    y = CODINGS[coding](plain)
    machine = PUSVM(0.4).fit(X, y)
    given = np.asarray(y, dtype=object)
    for answers in (machine.predict(X), machine.transduction_):
        assert answers.dtype == machine.classes_.dtype
        positive = answers == given[0]  # the first row is labelled
        rest = answers[~positive]
        if missing(given).any():
            assert missing(rest).all()
        else:
            assert np.all(rest == given[-1])
        assert positive.any() and not positive.all()
    np.testing.assert_array_equal(machine.predict(X) == given[0], expected)
    if isinstance(given[0], str):
        assert isinstance(machine.classes_[1], str)


def test_pos_label(rng):
    X, y = clouds(rng, 60, 20)
    expected = PUSVM(0.4).fit(X, y).decision_function(X)
    for positive, unlabeled in ((0, 1), (-1, 1), ("spam", "unknown"), (False, True)):
        coded = np.array(labels(positive, unlabeled, y))
        machine = PUSVM(0.4, pos_label=positive).fit(X, coded)
        np.testing.assert_array_equal(machine.classes_, [unlabeled, positive])
        np.testing.assert_array_equal(machine.decision_function(X), expected)
        np.testing.assert_array_equal(machine.predict(X) == positive, expected > 0)
    marked = np.array(labels(0.0, np.nan, y))
    assert PUSVM(0.4, pos_label=0.0).fit(X, marked).classes_[1] == 0.0


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda y: np.arange(len(y)) % 3, "3 different values .*Drop known negatives"),
        (lambda y: np.where(np.arange(len(y)) % 3 == 0, np.nan, y), "missing.*Drop known"),
        (lambda y: np.array(["a", "b", "c"])[np.arange(len(y)) % 3], r"\(a, b, c\)"),
        (lambda y: np.ones(len(y)), "no unlabelled row.*0 or NaN"),
        (lambda y: np.zeros(len(y)), "one class"),
        (lambda y: np.full(len(y), np.nan), "no positive row"),
        (lambda y: [None] * len(y), "no positive row"),
        (lambda y: np.where(y == 1, 0.0, np.nan), "usually marks negatives.*pos_label"),
        (lambda y: np.where(y == 1, -1.0, np.nan), "usually marks negatives.*pos_label"),
        (lambda y: y + 0.5 * np.arange(len(y)) / len(y), "continuous"),
        (lambda y: y[:-3], "inconsistent numbers of samples"),
        (lambda y: np.c_[y, y], "1d array"),
        (lambda y: np.where(y == 1, 1.0, np.inf), "infinity"),
        (lambda y: None, "y is None"),
        (lambda y: [], "inconsistent|empty"),
    ],
)
def test_hopeless_labels_are_refused(make, message, rng):
    X, y = clouds(rng, 30, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        for machine in (PUSVM(0.4), PUSVM()):
            with pytest.raises(ValueError, match=message):
                machine.fit(X, make(y))


@pytest.mark.parametrize("label", [2, "1", np.nan])
def test_positive_label_that_does_not_occur(label, rng):
    X, y = clouds(rng, 30, 10)
    with pytest.raises(ValueError, match=r"pos_label=.*does not occur"):
        PUSVM(0.4, pos_label=label).fit(X, y)


# -- weights -------------------------------------------------------------------------------


SETTINGS = [
    dict(),
    dict(threshold="prior"),
    dict(threshold="risk"),
    dict(kernel="linear"),
    dict(kernel="poly", degree=2),
    dict(loss="ramp"),
    dict(solver="usmo"),
    dict(solver="qp"),
    dict(solver="qp", loss="ramp"),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_weights_are_repetitions(settings, rng):
    X, y = clouds(rng, 60, 20, distance=1.0)
    weight = rng.integers(0, 4, len(y)).astype(float)
    weight[[5, 40]] = -1.0, 0.0
    rows = np.repeat(np.arange(len(y)), np.maximum(weight, 0).astype(int))
    machine = PUSVM(0.4, tol=1e-6, **settings)
    weighted = machine.fit(X, y, sample_weight=weight)
    decision, labelling = weighted.decision_function(X), weighted.transduction_
    assert weighted.transduction_.shape == (80,)
    assert np.all(weight[weighted.support_] > 0)
    left_out = weight <= 0
    # Rows left out: positives keep their label, the others are predicted.
    np.testing.assert_array_equal(
        labelling[left_out], np.where(y == 1, 1, weighted.predict(X))[left_out]
    )
    numbers = weighted.objective_, weighted.risk_intercept_, weighted.intercept_[0]
    repeated = machine.fit(X[rows], y[rows])
    np.testing.assert_allclose(repeated.decision_function(X), decision, atol=2e-5)
    np.testing.assert_allclose(
        (repeated.objective_, repeated.risk_intercept_, repeated.intercept_[0]), numbers, atol=2e-5
    )
    np.testing.assert_array_equal(repeated.transduction_, labelling[rows])


def test_weights_with_a_precomputed_kernel(rng):
    X, y = clouds(rng, 60, 20)
    weight = rng.integers(0, 3, len(y)).astype(float)
    K = np.exp(-0.4 * ((X[:, None] - X[None]) ** 2).sum(-1))
    plain = PUSVM(0.4, gamma=0.4, tol=1e-8).fit(X, y, sample_weight=weight)
    given = PUSVM(0.4, kernel="precomputed", tol=1e-8).fit(K, y, sample_weight=weight)
    np.testing.assert_array_equal(given.support_, plain.support_)
    np.testing.assert_allclose(given.decision_function(K), plain.decision_function(X), atol=1e-9)
    np.testing.assert_array_equal(given.transduction_, plain.transduction_)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-200, 1e-9, 7.0, 1e9, 1e200])
def test_unit_of_the_weights_does_not_matter(size, rng):
    X, y = clouds(rng, 60, 20)
    weight = rng.uniform(0.5, 2.0, len(y))
    one = PUSVM(0.4, 0.01, threshold="prior").fit(X, y, sample_weight=weight)
    other = PUSVM(0.4, 0.01, threshold="prior").fit(X, y, sample_weight=size * weight)
    np.testing.assert_allclose(other.decision_function(X), one.decision_function(X), atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_one_weight_above_all_others(rng):
    X, y = clouds(rng, 60, 20)
    for row in (0, 79):
        weight = np.ones(80)
        weight[row] = 1e20
        machine = PUSVM(0.4, 0.01).fit(X, y, sample_weight=weight)
        assert np.isfinite(machine.decision_function(X)).all()


@pytest.mark.parametrize("value", [2.0, 50.0, 1e6])
def test_equal_weights_do_not_change_an_estimated_prior(value, rng):
    X, y = clouds(rng, 120, 50)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plain = PUSVM().fit(X, y).prior_
        weighted = PUSVM().fit(X, y, sample_weight=np.full(len(y), value)).prior_
    assert weighted == pytest.approx(plain, abs=1e-9)


def test_weights_that_leave_one_class(rng):
    X, y = clouds(rng, 30, 10)
    for weight in (y, 1 - y):
        with pytest.raises(ValueError, match=r"one class only.*unlabelled rows a weight"):
            PUSVM(0.4).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="one number per row"):
        PUSVM(0.4).fit(X, y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="zero or negative"):
        PUSVM(0.4).fit(X, y, sample_weight=np.zeros(40))


# -- rows ----------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_layouts_and_precisions_give_the_same_machine(settings, rng):
    X, y = clouds(rng, 60, 20)
    X = np.round(X, 2)
    padded = np.zeros((80, 9))
    padded[:, ::3] = X
    locked = X.copy()
    locked.flags.writeable = False
    machine = PUSVM(0.4, tol=1e-6, **settings)
    expected = machine.fit(X, y).decision_function(X)
    for rows in (np.asfortranarray(X), padded[:, ::3], locked, X.tolist(), pl.DataFrame(X)):
        np.testing.assert_allclose(
            machine.fit(rows, y).decision_function(rows), expected, atol=1e-8
        )
    single = X.astype(np.float32)
    machine.fit(single, y)
    assert machine.support_vectors_.dtype == np.float32
    np.testing.assert_allclose(machine.decision_function(single), expected, atol=1e-4)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_sparse_equals_dense(settings, rng):
    X, y = clouds(rng, 60, 20, 6)
    X = np.where(np.abs(X) > 1.0, X, 0.0)
    machine = PUSVM(0.4, tol=1e-6, **settings)
    expected = machine.fit(X, y).decision_function(X)
    for container in (sp.csr_array, sp.csr_matrix, sp.csc_array):
        rows = container(X)
        sparse = machine.fit(rows, y)
        assert sp.issparse(sparse.support_vectors_)
        np.testing.assert_allclose(sparse.decision_function(rows), expected, atol=1e-6)
        np.testing.assert_array_equal(sparse.transduction_[y == 0], sparse.predict(rows)[y == 0])


def test_nothing_given_is_changed(rng):
    X, y = clouds(rng, 60, 20)
    weight = np.arange(80) % 3.0
    before = X.copy(), y.copy(), weight.copy()
    for settings in SETTINGS:
        PUSVM(0.4, **settings).fit(X, y, sample_weight=weight).predict(X)
        for now, then in zip((X, y, weight), before, strict=True):
            np.testing.assert_array_equal(now, then)


def test_duplicates_and_constant_columns(rng):
    X, y = clouds(rng, 40, 15)
    few = PUSVM(0.4, 0.01, threshold="prior", gamma=0.3, tol=1e-7).fit(X, y)
    many = np.hstack([np.repeat(X, 4, axis=0), np.full((220, 3), 7.0)])
    machine = PUSVM(0.4, 0.01, threshold="prior", gamma=0.3, tol=1e-7).fit(many, np.repeat(y, 4))
    np.testing.assert_allclose(
        machine.decision_function(many)[::4], few.decision_function(X), atol=1e-5
    )
    assert machine.objective_ == pytest.approx(few.objective_, abs=1e-7)


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e30, 1e60])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly"])
@pytest.mark.parametrize("loss", ["double-hinge", "ramp"])
def test_huge_and_tiny_numbers_end_in_an_answer_or_a_sentence(size, kernel, loss, rng):
    X, y = clouds(rng, 60, 20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            machine = PUSVM(0.4, loss=loss, kernel=kernel).fit(size * X, y)
        except ValueError as error:
            assert "scale" in str(error)
            return
    assert np.isfinite(machine.decision_function(size * X)).all()
    if kernel == "rbf":  # gamma="scale" makes up for the unit
        expected = PUSVM(0.4, loss=loss).fit(X, y).decision_function(X)
        if 1e-100 < size:
            np.testing.assert_allclose(machine.decision_function(size * X), expected, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("shift", [1e2, 1e4, 1e6, 1e8])
def test_moving_all_rows_does_not_matter(kernel, shift, rng):
    # rbf sees differences, and the coefficients sum to zero.
    X, y = clouds(rng, 60, 20)
    X = np.round(X * 64) / 64  # exact at any shift
    at_home = PUSVM(0.4, 0.05, kernel=kernel, gamma=0.3).fit(X, y)
    moved = PUSVM(0.4, 0.05, kernel=kernel, gamma=0.3).fit(X + shift, y)
    assert moved.fit_status_ == 0
    assert moved.objective_ == pytest.approx(at_home.objective_, abs=1e-3)
    np.testing.assert_allclose(
        moved.decision_function(X + shift), at_home.decision_function(X), atol=1e-2
    )
    np.testing.assert_array_equal(moved.transduction_, at_home.transduction_)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_order_of_rows_does_not_matter(settings, rng):
    X, y = clouds(rng, 60, 20, distance=1.0)
    order = rng.permutation(80)
    machine = PUSVM(0.4, tol=1e-7, **settings)
    expected = machine.fit(X, y).decision_function(X)
    again = machine.fit(X[order], y[order])
    np.testing.assert_allclose(again.decision_function(X), expected, atol=2e-5)


@pytest.mark.parametrize("kind", ["dense", "sparse", "weights", "precomputed"])
def test_order_of_rows_does_not_change_an_estimated_prior(kind, rng):
    X, y = clouds(rng, 120, 50)
    order = rng.permutation(170)
    weight = rng.uniform(0.3, 3.0, 170) if kind == "weights" else None
    moved = None if weight is None else weight[order]
    first, second = X, X[order]
    if kind == "sparse":
        first, second = sp.csr_array(first), sp.csr_array(second)
    if kind == "precomputed":
        first, second = X @ X.T, (X @ X.T)[order][:, order]
    machine = PUSVM(kernel="precomputed" if kind == "precomputed" else "rbf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        prior = machine.fit(first, y, sample_weight=weight).prior_
        assert machine.fit(second, y[order], sample_weight=moved).prior_ == pytest.approx(prior)
    low, high = machine.prior_interval_
    assert 0 <= low <= machine.prior_ <= high <= 1


def test_estimate_needs_two_of_each(rng):
    X, y = clouds(rng, 30, 10)
    with pytest.raises(ValueError, match=r"1 positive .*too few to estimate.*prior as a number"):
        PUSVM().fit(X[9:], y[9:])
    with pytest.raises(ValueError, match=r"1 unlabelled .*too few to estimate.*prior as a number"):
        PUSVM().fit(X[:11], y[:11])


def test_wrong_rows(rng):
    X, y = clouds(rng, 30, 10)
    machine = PUSVM(0.4)
    with pytest.raises(ValueError, match="NaN"):
        machine.fit(np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match="infinity"):
        machine.fit(np.where(X > 2, np.inf, X), y)
    with pytest.raises(ValueError, match="Expected 2D array"):
        machine.fit(X[:, 0], y)
    with pytest.raises(ValueError, match="square"):
        PUSVM(0.4, kernel="precomputed").fit(X, y)
    machine.fit(X, y)
    with pytest.raises(ValueError, match="features"):
        machine.predict(X[:, :2])
    with pytest.raises(ValueError, match="sparse"):
        machine.predict(sp.csr_array(X))
    with pytest.raises(ValueError, match=r"kernel values against the 40 training rows|features"):
        PUSVM(0.4, kernel="precomputed").fit(X @ X.T, y).predict(X)


@pytest.mark.parametrize("Machine", [PUSVM, PUEnsemble])
def test_two_texts_are_told_apart_aloud(Machine, rng):
    X, y = clouds(rng, 40, 20)
    machine = Machine(0.4, **({} if Machine is PUSVM else {"n_bags": 2}))
    with pytest.warns(UserWarning, match=r"two texts.*assumed to be 'ok'.*pos_label='f"):
        machine.fit(X, np.where(y == 1, "fraud", "ok"))
    assert machine.classes_.tolist() == ["fraud", "ok"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        named = (
            clone(machine).set_params(pos_label="fraud").fit(X, np.where(y == 1, "fraud", "ok"))
        )
        assert named.classes_.tolist() == ["ok", "fraud"]
        for mark, label in (("no", "yes"), ("?", "spam"), ("0", "1"), ("-1", "1")):
            assert machine.fit(X, np.where(y == 1, label, mark)).classes_[1] == label
        machine.fit(X, np.where(y == 1, "fraud", None))
