"""OneClassSVM gives scikit-learn's results."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.svm
from sklearn import config_context, get_config
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel

from fewlabels import OneClassSVM

TIGHT = 1e-7  # at a tight tolerance both must find the one solution
NAMES = ["iris", "wine", "cancer", "diabetes", "digits"]


def both(X, sample_weight=None, **parameters):
    parameters = {"tol": TIGHT, "gamma": 0.05, "cache_size": 500, **parameters}
    theirs = sklearn.svm.OneClassSVM(**parameters).fit(X, sample_weight=sample_weight)
    ours = OneClassSVM(**parameters).fit(X, sample_weight=sample_weight)
    return theirs, ours


def assert_same_machine(theirs, ours, X, dense, tolerance=2e-6):
    """Equal functions and offsets, in units of the largest score."""
    scores = theirs.score_samples(X)
    size = np.abs(scores).max()
    np.testing.assert_allclose(ours.score_samples(X) / size, scores / size, atol=tolerance)
    np.testing.assert_allclose(ours.offset_ / size, theirs.offset_ / size, atol=tolerance)
    np.testing.assert_allclose(
        ours.decision_function(X) / size, theirs.decision_function(X) / size, atol=2 * tolerance
    )
    assert dense(ours.dual_coef_).sum() == pytest.approx(dense(theirs.dual_coef_).sum())
    np.testing.assert_array_equal(ours.intercept_, -ours.offset_)
    assert ours.dual_coef_.shape == (1, len(ours.support_)) == (1, ours.n_support_[0])
    assert ours.support_.dtype == theirs.support_.dtype
    assert ours.n_support_.dtype == theirs.n_support_.dtype
    assert ours.shape_fit_ == theirs.shape_fit_


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("nu", [0.03, 0.52])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_same_results_on_real_data(name, nu, kernel, real_data, dense):
    X = real_data(name)
    # coef0 keeps the polynomial's solution away from zero, where nothing is defined.
    theirs, ours = both(X, kernel=kernel, nu=nu, coef0=1.0)
    assert_same_machine(theirs, ours, X, dense)


@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("nu", [0.03, 0.52])
def test_sigmoid_finds_as_good_a_stationary_point(name, nu, real_data):
    # This kernel is not positive semi-definite: both stop at one of many such points.
    X = real_data(name)
    theirs, ours = both(X, kernel="sigmoid", nu=nu, coef0=0.2)
    score = ours.score_samples(X)
    value = [0.5 * m.dual_coef_[0] @ m.score_samples(m.support_vectors_) for m in (theirs, ours)]
    assert ours.objective_ == pytest.approx(value[1], rel=1e-9)
    assert value[1] <= value[0] + 1e-3 * abs(value[0])
    a = np.zeros(len(X))
    a[ours.support_] = ours.dual_coef_[0]
    violation = score[a > 1e-12].max() - score[a < 1 - 1e-12].min()
    assert violation <= 0.1 * TIGHT * abs(ours.offset_[0]) + TIGHT


@pytest.mark.parametrize("name", NAMES)
def test_same_results_linear(name, real_data, dense):
    X = real_data(name) + 1.0  # centred rows have the zero function as their solution
    # With nu * n whole the offset could be anywhere in an interval.
    theirs, ours = both(X, kernel="linear", nu=0.8123)
    assert_same_machine(theirs, ours, X, dense)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5 * np.abs(theirs.coef_).max())


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("name", ["iris", "cancer"])
def test_same_results_with_weights(name, kernel, real_data, rng, dense):
    X = real_data(name)
    weight = rng.integers(0, 4, len(X)) + 0.25 * rng.integers(0, 2, len(X))
    weight[:3] = -1.0  # left out
    theirs, ours = both(X, sample_weight=weight, kernel=kernel, nu=0.31, coef0=1.0)
    assert_same_machine(theirs, ours, X, dense)
    assert not np.isin(ours.support_, np.flatnonzero(weight <= 0)).any()


@pytest.mark.filterwarnings("ignore:.*not positive semi-definite")
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array, sp.coo_array, sp.csc_matrix])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "poly", "sigmoid"])
def test_same_results_sparse(container, kernel, real_data, dense):
    X = real_data("digits")[:250]
    X = np.where(X > 0.7, X, 0.0)
    theirs, ours = both(container(X), kernel=kernel, nu=0.4, coef0=0.5)
    assert_same_machine(theirs, ours, container(X), dense)
    assert sp.issparse(ours.support_vectors_) and sp.issparse(ours.dual_coef_)
    np.testing.assert_array_equal(dense(ours.support_vectors_), X[ours.support_])
    on_dense = OneClassSVM(**ours.get_params()).fit(X)
    np.testing.assert_allclose(
        ours.decision_function(X), on_dense.decision_function(X), atol=1e-5 * ours.offset_[0]
    )


@pytest.mark.skipif("sparse_interface" not in get_config(), reason="new in scikit-learn 1.9")
@pytest.mark.parametrize("interface", ["sparray", "spmatrix"])
def test_sparse_attributes_follow_the_configuration(interface, real_data):
    X = sp.csr_array(np.where(real_data("digits")[:100] > 0.7, 1.0, 0.0))
    with config_context(sparse_interface=interface):
        theirs, ours = both(X, kernel="linear", nu=0.4)
        for name in ("coef_", "dual_coef_"):
            assert type(getattr(ours, name)) is type(getattr(theirs, name))
        is_matrix = interface == "spmatrix"
        assert sp.isspmatrix(ours.coef_) == sp.isspmatrix(ours.dual_coef_) == is_matrix


@pytest.mark.parametrize("gamma", ["scale", "auto", 0.3])
def test_same_gamma(gamma, rng, dense):
    X = rng.gamma(2.0, size=(150, 6))
    theirs, ours = both(X, gamma=gamma, nu=0.21)
    assert_same_machine(theirs, ours, X, dense)
    theirs, ours = both(sp.csr_array(X), gamma=gamma, nu=0.21)
    assert_same_machine(theirs, ours, sp.csr_array(X), dense)


def test_same_results_precomputed_and_callable(real_data, dense):
    X = np.abs(real_data("wine"))
    new = X[:40] + 0.1
    K, K_new = chi2_kernel(X), chi2_kernel(new, X)
    theirs, ours = both(K, kernel="precomputed", nu=0.33)
    assert_same_machine(theirs, ours, K_new, dense)
    np.testing.assert_array_equal(ours.support_vectors_.shape, (0, 0))
    theirs, by_function = both(X, kernel=chi2_kernel, nu=0.33)
    assert_same_machine(theirs, by_function, new, dense)
    np.testing.assert_allclose(
        by_function.decision_function(new), ours.decision_function(K_new), atol=1e-6
    )


def test_default_tolerance_is_as_close_as_theirs(real_data):
    X = real_data("cancer")
    exact = OneClassSVM(nu=0.11, tol=1e-9).fit(X)
    theirs, ours = sklearn.svm.OneClassSVM(nu=0.11).fit(X), OneClassSVM(nu=0.11).fit(X)
    error = [abs(m.score_samples(X) - exact.score_samples(X)).max() for m in (theirs, ours)]
    assert error[1] <= max(error[0], 1e-3)


def test_bounds_of_nu(real_data):
    X = real_data("diabetes")
    for nu in (0.05, 0.3, 0.77):
        machine = OneClassSVM(nu=nu, tol=1e-8).fit(X)
        assert np.mean(machine.predict(X) < 0) <= nu
        assert machine.n_support_[0] >= nu * len(X) * (1 - 1e-12)
        assert np.all(machine.dual_coef_ > 0) and np.all(machine.dual_coef_ <= 1 + 1e-12)


@pytest.mark.parametrize("n_bound, n", [(135, 150), (30, 60), (7, 21)])
def test_offset_is_the_middle_when_nothing_is_free(n_bound, n, rng):
    # K = 1 + u u' on the diagonal blocks: all weight on the first rows is optimal, with
    # scores 2 at the support vectors and 3 at all others.
    u = np.where(np.arange(n) < n_bound, 1.0, 3.0) / np.sqrt(n_bound)
    order = rng.permutation(n)
    K = (np.eye(n) + np.outer(u, u))[np.ix_(order, order)]
    machine = OneClassSVM(kernel="precomputed", nu=n_bound / n, tol=1e-9).fit(K)
    np.testing.assert_array_equal(machine.support_, np.flatnonzero(order < n_bound))
    np.testing.assert_allclose(
        machine.score_samples(K), np.where(order < n_bound, 2.0, 3.0), rtol=1e-9
    )
    assert machine.offset_[0] == pytest.approx(2.5, rel=1e-9)


def test_offset_of_an_interval_on_iris():
    # 135 of 150 rows at their bound, none free: the offset may lie anywhere in an
    # interval and its middle is taken.
    X = load_iris().data
    machine = OneClassSVM(nu=0.9, tol=1e-8).fit(X)
    assert machine.n_support_[0] == 135
    score = machine.score_samples(X)
    outside = np.setdiff1d(np.arange(150), machine.support_)
    low, high = score[machine.support_].max(), score[outside].min()
    assert high - low > 0.1
    assert machine.offset_[0] == pytest.approx((low + high) / 2, rel=1e-6)


def test_certificate_is_true(real_data):
    X = real_data("wine")
    K = rbf_kernel(X, gamma=0.05)
    best = None
    for tol in (1e-9, 1e-3, 0.3):
        machine = OneClassSVM(nu=0.37, gamma=0.05, tol=tol).fit(X)
        a = np.zeros(len(X))
        a[machine.support_] = machine.dual_coef_[0]
        assert machine.objective_ == pytest.approx(0.5 * a @ K @ a, rel=1e-9)
        best = machine.objective_ if best is None else best
        distance = machine.objective_ - best
        assert -1e-9 * best <= distance <= machine.duality_gap_ + 1e-9 * best
    assert machine.fit_status_ == 0 and isinstance(machine.n_iter_, int)


def test_no_parameter_of_scikit_learn_is_missing():
    def parameters(function):
        return inspect.signature(function).parameters

    theirs, ours = sklearn.svm.OneClassSVM, OneClassSVM
    for name, parameter in parameters(theirs.__init__).items():
        assert parameters(ours.__init__)[name].default == parameter.default
        assert parameters(ours.__init__)[name].kind == parameter.kind
    for method in ("fit", "predict", "decision_function", "score_samples", "fit_predict"):
        missing = set(parameters(getattr(theirs, method))) - set(parameters(getattr(ours, method)))
        assert not missing, (method, missing)
    X = np.random.default_rng(0).normal(size=(30, 2))
    fitted = {name for name in vars(theirs().fit(X)) if name.endswith("_") and name[0] != "_"}
    machine = ours().fit(X)
    assert len(fitted) > 8
    assert {name for name in fitted if not hasattr(machine, name)} == set()


def test_coef_belongs_to_the_linear_kernel():
    machine = OneClassSVM().fit([[0.0], [1.0]])
    with pytest.raises(AttributeError, match="linear kernel"):
        _ = machine.coef_
    assert not hasattr(machine, "coef_")


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_scores_of_a_very_wide_kernel_do_not_depend_on_tol(storage, tol, rng):
    X = storage(rng.normal(size=(60, 3)) - 1e5)
    machine = OneClassSVM(nu=0.3, gamma=1e-10, tol=tol).fit(X)
    exact = OneClassSVM(nu=0.3, gamma=1e-10, tol=1e-13).fit(X)
    f, g = machine.score_samples(X), exact.score_samples(X)
    assert 0.0 < np.ptp(g) < 1e-6
    assert np.abs(f - g).max() < 1e-3 * np.ptp(g)
    _ = machine.calibration_scores_  # begins the path
    assert np.abs(machine.score_samples(X) - f).max() < 1e-3 * np.ptp(g)
