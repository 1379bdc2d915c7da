"""Thresholds and p-values by conformal calibration, judged by machines trained again."""

import copy
import pickle
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.stats import betabinom, binom
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from fewlabels import SVDD, OneClassSVM
from fewlabels.calibration.conformal import Conformal
from fewlabels.kernels.operators.expansion import extend_tail
from fewlabels.metrics import benjamini_hochberg

MACHINES = {
    "squared": lambda **kw: SVDD(**{"C": 0.3, "gamma": 0.4, **kw}),
    "linear": lambda **kw: SVDD(**{"slack": "linear", "nu": 0.23, "gamma": 0.4, **kw}),
    "one-class": lambda **kw: OneClassSVM(**{"nu": 0.23, "gamma": 0.4, **kw}),
}
every_machine = pytest.mark.parametrize("make", MACHINES.values(), ids=MACHINES)


def score(model, X, origin=0.0):
    """What a machine says about rows, from its coefficients; linear kernels around an origin."""
    coef = np.asarray(model.dual_coef_)[0]
    vectors, X = model.support_vectors_, np.asarray(X)
    if model.kernel == "linear":
        origin = origin if isinstance(model, SVDD) else 0.0
        vectors, X = vectors - origin, X - origin
        K, diagonal = X @ vectors.T, np.sum(X**2, axis=1)
    else:
        K, diagonal = rbf_kernel(X, vectors, gamma=model.gamma_), 1.0
    inner = K @ coef / coef.sum()
    own = 0.0 if model.kernel == "rbf" else diagonal
    return 2 * inner - own if isinstance(model, SVDD) else inner


def refitted_scores(make, X, weight=None, **parameters):
    """Every row's score by a machine that is trained on the others, in ascending order."""
    weight = np.ones(len(X)) if weight is None else weight
    scores = np.empty(len(X))
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        machine = make(tol=1e-10, **parameters).fit(X[others], sample_weight=weight[others])
        scores[i] = score(machine, X[[i]], X.mean(axis=0))[0]
    return np.sort(scores)


def counted(scores, score):
    """P-values by their definition."""
    near = 1e-8 * np.abs(scores).max()
    return np.array([(1 + np.sum(scores <= s + near)) / (len(scores) + 1) for s in score])


# -- what the numbers are ----------------------------------------------------------------------


@every_machine
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_left_out_rows_are_as_machines_trained_without_them_say(make, kernel, rng):
    X, new = 3 + rng.normal(size=(39, 2)), 3 + 2 * rng.normal(size=(60, 2))
    model = make(kernel=kernel, target_fpr=0.1, calibration="leave-one-out").fit(X)
    scores = refitted_scores(make, X, kernel=kernel)
    assert np.allclose(model.calibration_scores_, scores, atol=1e-7)
    plain = make(kernel=kernel, tol=1e-10).fit(X)
    said = score(plain, new, X.mean(axis=0))
    p = model.p_values(new)
    assert np.array_equal(p, counted(scores, said))
    # .1 (39 + 1) = 4: the fourth lowest score is the threshold.
    assert np.array_equal(model.predict(new) < 0, said < scores[3] - 1e-8)
    assert np.array_equal(model.predict(new) < 0, p <= 0.1)
    assert np.allclose(model.score_samples(new), plain.score_samples(new), atol=1e-7)
    factor = 1.0 if isinstance(model, SVDD) else 0.23 * 39
    assert np.allclose(model.decision_function(new), factor * (said - scores[3]), atol=1e-6)
    # Without target_fpr the p-values are the same, and the threshold is the machine's own.
    own = plain.decision_function(new)
    assert np.array_equal(plain.p_values(new), p)
    assert np.allclose(plain.decision_function(new), own)


def held_out_of(model):
    """Rows that have no part in training, of rows that all have a weight."""
    return model.training_rows_.weight == 0


@every_machine
def test_split_is_a_machine_of_the_other_rows(make, rng):
    X, new = rng.normal(size=(120, 2)), 2 * rng.normal(size=(60, 2))
    model = make(target_fpr=0.1, calibration="split", random_state=3).fit(X)
    held_out = held_out_of(model)
    assert held_out.sum() == 60 and not np.any(held_out[model.support_])
    assert model.shape_fit_ == X.shape
    other = make().fit(X[~held_out])
    scores = np.sort(score(other, X[held_out]))
    assert np.allclose(model.calibration_scores_, scores)
    assert np.array_equal(model.p_values(new), counted(scores, score(other, new)))
    assert np.array_equal(model.predict(new) < 0, model.p_values(new) <= 0.1)
    again = make(target_fpr=0.1, calibration="split", random_state=3).fit(X)
    assert np.array_equal(held_out_of(again), held_out)
    another = make(target_fpr=0.1, calibration="split", random_state=4).fit(X)
    assert not np.array_equal(held_out_of(another), held_out)


@every_machine
def test_attributes_tell_what_the_decision_is(make, rng):
    X = rng.normal(size=(60, 2))
    for calibration in ("leave-one-out", "split"):
        model = make(target_fpr=0.2, calibration=calibration).fit(X)
        decision = model.decision_function(X)
        assert np.allclose(decision, model.score_samples(X) - model.offset_)
        factor = 2.0 if isinstance(model, SVDD) else 1.0
        K = rbf_kernel(X, model.support_vectors_, gamma=0.4)
        inner = factor * K @ model.dual_coef_[0] - (factor - 1.0)
        assert np.allclose(decision, inner + model.intercept_[0])


@every_machine
def test_auto_chooses_by_rows_and_support_vectors(make, rng, monkeypatch):
    from fewlabels.calibration import left_out_scores as calibration

    for name, value in dict(_FEW_ROWS=30, _MANY_ROWS=90, _FEW_SUPPORT=70).items():
        monkeypatch.setattr(calibration, name, value)
    X = rng.normal(size=(100, 2))
    few = {"C": 2.0} if make is MACHINES["squared"] else {}

    def splits(n, **parameters):
        model = make(target_fpr=0.1, **parameters).fit(X[:n])
        assert len(model.calibration_scores_) == (n // 2 if held_out_of(model).any() else n)
        return held_out_of(model).any()

    assert not splits(30, gamma=1e3)
    assert not splits(90, **few)
    assert splits(90, gamma=1e3, **({"nu": 1.0} if few == {} else {}))
    assert splits(100)
    with pytest.raises(ValueError, match="pass target_fpr and fit again"):
        make().fit(X).p_values(X)
    assert len(make(calibration="leave-one-out").fit(X).p_values(X)) == 100


@every_machine
@pytest.mark.parametrize("gamma", [0.05, 0.4, 30.0])
def test_scores_by_the_inverse_are_those_of_the_path(make, gamma, rng, monkeypatch):
    from fewlabels.solvers.path.left_out import LeftOutSolver

    solve, counts = LeftOutSolver.solve, []

    def counted_solve(self, rows):
        for answer in solve(self, rows):
            counts.append(len(answer[0]))
            yield answer

    X, weight = rng.normal(size=(90, 4)), rng.choice([1.0, 1.0, 2.0], 90)
    monkeypatch.setattr(LeftOutSolver, "solve", counted_solve)
    model = make(gamma=gamma, target_fpr=0.1).fit(X, sample_weight=weight)
    quick, decisions = model.calibration_scores_, model.leave_one_out_decisions()
    assert sum(counts) > 0.5 * 2 * len(model.support_)
    monkeypatch.setattr(LeftOutSolver, "solve", lambda self, rows: iter(()))
    slow = make(gamma=gamma, target_fpr=0.1).fit(X, sample_weight=weight)
    assert np.allclose(quick, slow.calibration_scores_, rtol=1e-9, atol=0.0)
    assert np.allclose(decisions, slow.leave_one_out_decisions(), atol=1e-9)


@every_machine
@pytest.mark.parametrize("calibration", ["leave-one-out", "split"])
def test_rows_beyond_reach_keep_their_order(make, calibration, rng):
    # One row in eight is far from all others, where kernel values are 1e-20 to 1e-200.
    X = rng.normal(size=(160, 2))
    angle, far = 2.4 * np.arange(20), 10.0 + 1.5 * np.arange(20)
    X[::8] = far[:, None] * np.c_[np.cos(angle), np.sin(angle)]
    model = make(gamma=1.0, target_fpr=0.05, calibration=calibration, random_state=1).fit(X)
    if calibration == "leave-one-out":
        scores = refitted_scores(make, X, gamma=1.0)
        assert scores[7] < 1e-12 and scores[0] > 0.0
        tail = model.conformal_.tail
        assert 0.0 < tail < 1e-11 and np.sum(scores < tail) > 10
        assert np.allclose(
            model.calibration_scores_, extend_tail(scores, tail), rtol=1e-6, atol=0.0
        )
    assert model.offset_ < model.function_.tail  # in log scale
    new = np.linspace(3.0, 16.0, 400)[:, None] * np.array([[0.6, 0.8]])
    for rows in (new, X, 20 * rng.normal(size=(400, 2))):
        said, p, answer = model.score_samples(rows), model.p_values(rows), model.predict(rows)
        assert np.all(np.diff(p[np.argsort(said)]) >= 0)
        assert np.array_equal(answer < 0, p <= 0.05)
        assert np.array_equal(answer < 0, said < model.offset_)
        assert np.array_equal(answer < 0, model.decision_function(rows) < 0)
    assert len(np.unique(p[p <= 0.12])) > 2
    assert len(np.unique(model.score_samples(new))) == 400


def test_float32_kernel_values_keep_the_order_too(rng):
    X = rng.normal(size=(6000, 2))
    new = np.linspace(6.0, 13.0, 50)[:, None] * np.array([[0.6, 0.8]])
    model = SVDD(gamma=1.2, C=0.1, target_fpr=0.1, calibration="split", random_state=0).fit(X)
    assert model.function_.float64 is False
    said = model.score_samples(new)
    tail, sums = model.function_.tail, score(model, new)
    assert np.all(np.diff(said) < 0) and sums[-1] < 1e-40 < tail < sums[0]
    assert np.allclose(said, extend_tail(sums, tail), rtol=1e-3, atol=1e-3 * tail)
    # Where float64 ends, scores go on.
    beyond = model.score_samples(new * 10)
    assert np.all(np.diff(beyond) < 0) and beyond[0] < said[-1]
    assert np.all(model.p_values(new * 10) <= model.p_values(new))


# -- rates that hold ---------------------------------------------------------------------------


@every_machine
@pytest.mark.parametrize("rate", [0.02, 0.1])
def test_split_holds_its_rate_over_repetitions(make, rate, rng):
    # Rejections of m new rows follow a beta-binomial distribution exactly: means and spread.
    n, m, repeats = 160, 50, 60
    rejected = 0
    for seed in range(repeats):
        X = rng.normal(size=(n + m, 3)) ** 3
        model = make(target_fpr=rate, calibration="split", random_state=seed, gamma=0.05)
        rejected += np.sum(model.fit(X[:n]).predict(X[n:]) < 0)
    rank = int(rate * 81)
    one = betabinom(m, rank, 81 - rank)
    mean, spread = repeats * one.mean(), np.sqrt(repeats * one.var())
    assert abs(rejected - mean) < 4 * spread
    assert mean <= rate * m * repeats


@every_machine
@pytest.mark.parametrize("gamma", [0.1, 5.0])
def test_left_out_rates_are_near(make, gamma, rng):
    # With a narrow kernel the machine's own threshold rejects several times its share.
    rate, n, m, repeats = 0.1, 79, 200, 25
    rejected = own = 0
    for _ in range(repeats):
        X = rng.normal(size=(n + m, 3))
        model = make(target_fpr=rate, gamma=gamma).fit(X[:n])
        rejected += np.sum(model.predict(X[n:]) < 0)
        own += np.sum(make(gamma=gamma).fit(X[:n]).predict(X[n:]) < 0)
    one = betabinom(m, 8, 72)
    assert abs(rejected - repeats * one.mean()) < 5 * np.sqrt(repeats * one.var())
    if gamma == 5.0:
        assert own > 2 * rejected
    # However few the rows and narrow the kernel, what is like no row is rejected.
    assert model.predict([[90.0, 0.0, 0.0]])[0] == -1


def test_rows_of_weight_zero_calibrate_with_their_plain_scores(rng):
    X = rng.normal(size=(400, 3))
    new = rng.normal(size=(4000, 3))
    far = np.argsort(np.sum(X**2, axis=1))[-120:]
    weight = np.ones(400)
    weight[far] = 0.0
    model = SVDD(gamma=0.5, C=0.1, target_fpr=0.05).fit(X, sample_weight=weight)
    kept = SVDD(gamma=0.5, C=0.1, target_fpr=0.05).fit(np.delete(X, far, axis=0))
    assert len(model.calibration_scores_) == 400 and len(kept.calibration_scores_) == 280
    # The binomial bound, widened by what 400 rows can know.
    assert np.mean(model.predict(new) < 0) < 0.05 + 5 * np.sqrt(0.05 / 400)
    assert np.sum(kept.predict(new) < 0) > binom(4000, 0.2).ppf(1e-6)
    scores = refitted_scores(lambda **kw: SVDD(gamma=0.5, C=0.1, **kw), X[:40], weight[:40])
    some = SVDD(gamma=0.5, C=0.1, target_fpr=0.05).fit(X[:40], sample_weight=weight[:40])
    assert np.allclose(some.calibration_scores_, scores, atol=1e-7)


def test_smoothed_p_values_are_uniform(rng):
    X = rng.integers(0, 3, size=(200, 2)).astype(float)
    new = rng.integers(0, 3, size=(4000, 2)).astype(float)
    model = SVDD(target_fpr=0.1, calibration="split", random_state=0).fit(X)
    p, smooth = model.p_values(new), model.p_values(new, smoothed=True)
    assert np.all(smooth <= p) and np.all(smooth > 0) and len(np.unique(p)) <= 9
    assert abs(smooth.mean() - 0.5) < 0.1 and p.mean() > 0.52


# -- ties, few rows ----------------------------------------------------------------------------


@every_machine
@pytest.mark.parametrize("calibration", ["leave-one-out", "split"])
def test_equal_rows_are_on_the_same_side(make, calibration, rng):
    X = np.repeat(rng.normal(size=(25, 2)), 8, axis=0)
    model = make(target_fpr=0.1, calibration=calibration).fit(X)
    p = model.p_values(X)
    assert np.all(np.ptp(p.reshape(25, 8), axis=1) == 0)
    assert np.array_equal(model.predict(X) < 0, p <= 0.1)
    # What ties with the threshold is not rejected.
    assert np.mean(model.predict(X) < 0) <= 0.1 + 8 / 200
    same = make(target_fpr=0.1, calibration=calibration).fit(np.ones((50, 2)))
    assert np.all(same.predict(np.ones((9, 2))) == 1)
    assert np.all(same.p_values(np.ones((9, 2))) == 1.0)


@every_machine
def test_too_few_rows_reject_nothing_and_say_so(make, rng):
    X, far = rng.normal(size=(18, 2)), np.full((1, 2), 50.0)
    with pytest.warns(UserWarning, match="needs at least 19 calibration rows and there are 18"):
        model = make(target_fpr=0.05).fit(X)
    assert np.all(model.predict(far) == 1) and np.all(model.offset_ == -np.inf)
    assert np.isfinite(model.score_samples(far)[0])
    assert model.p_values(far) == pytest.approx([1 / 19])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        enough = make(target_fpr=0.05).fit(rng.normal(size=(19, 2)))
    assert enough.predict(far)[0] == -1
    with pytest.warns(UserWarning, match="there are 0"):
        one = make(target_fpr=0.05).fit(X[:1])
    assert one.p_values(far) == [1.0]


@pytest.mark.parametrize("n", [2, 6, 11, 99, 150])
def test_the_rate_that_the_warning_names_suffices(n, rng):
    X = rng.normal(size=(n, 2))
    with pytest.warns(UserWarning, match=f"there are {n},") as caught:
        SVDD(target_fpr=0.001).fit(X)
    least = float(str(caught[-1].message).rsplit(" ", 1)[1].rstrip("."))
    assert least < 1.1 / (n + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert np.isfinite(SVDD(target_fpr=least).fit(X).offset_)


def test_threads_may_ask_first_together(rng):
    X = rng.normal(size=(60, 2))
    expected = SVDD().fit(X).p_values(X)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(5):
            machine, start = SVDD().fit(X), threading.Barrier(4)

            def ask(_, machine=machine, start=start):
                start.wait()
                return machine.p_values(X)

            with ThreadPoolExecutor(4) as pool:
                for p in pool.map(ask, range(4)):
                    np.testing.assert_array_equal(p, expected)
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("rate", [0.05, 0.07, 0.29, 0.1, 0.3, 1 / 3])
def test_rank_is_exact_in_decimals(rate):
    from fractions import Fraction

    share = Fraction(rate).limit_denominator(100)
    scores = np.arange(500.0)
    options = {"shift": 0.0, "scale": 1.0, "tie": 0.0, "relative": False, "rate": rate}
    for n in range(500):
        assert Conformal(scores=scores[:n], **options).rank == share * (n + 1) // 1


# -- inputs and updates ------------------------------------------------------------------------


@every_machine
def test_sparse_rows_and_data_frames_give_the_same(make, rng):
    X = rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.7)
    for calibration in ("leave-one-out", "split"):
        model = make(target_fpr=0.1, calibration=calibration).fit(X)
        sparse = clone(model).fit(sp.csr_matrix(X))
        assert np.allclose(model.calibration_scores_, sparse.calibration_scores_, atol=1e-5)
        assert np.array_equal(model.predict(X), sparse.predict(sp.csr_matrix(X)))
        frame = pd.DataFrame(X, columns=list("abc"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            named = clone(model).fit(frame, sample_weight=np.r_[0.0, np.ones(59)])
            named.p_values(frame)
        assert list(named.feature_names_in_) == list("abc")


@every_machine
@pytest.mark.parametrize("varying", [False, True])
def test_precomputed_kernels_split(make, varying, rng):
    X, new = rng.normal(size=(80, 2)), rng.normal(size=(30, 2))
    scale, scale_new = np.ones(80), np.ones(30)
    if varying:
        scale, scale_new = 1 + rng.random(80), 1 + rng.random(30)
    K = scale[:, None] * rbf_kernel(X, gamma=0.4) * scale
    K_new = scale_new[:, None] * rbf_kernel(new, X, gamma=0.4) * scale
    model = make(kernel="precomputed", target_fpr=0.1).fit(K)
    options = {"diagonal": scale_new**2} if varying and isinstance(model, SVDD) else {}
    assert len(model.calibration_scores_) == 40
    p, answer = model.p_values(K_new, **options), model.predict(K_new, **options)
    assert np.array_equal(answer < 0, p <= 0.1)
    if not varying:
        rows = make(target_fpr=0.1, calibration="split").fit(X)
        assert np.array_equal(rows.p_values(new), p)
    with pytest.raises(ValueError, match="calibration='split', or rows"):
        clone(model).set_params(calibration="leave-one-out").fit(K)
    with pytest.raises(ValueError, match="fitted without target_fpr"):
        make(kernel="precomputed").fit(K).p_values(K_new)


@every_machine
@pytest.mark.parametrize("restart", [False, True])
def test_left_out_calibration_follows_rows(make, restart, rng):
    X, new = rng.normal(size=(60, 2)), rng.normal(size=(50, 2))
    model = make(target_fpr=0.1).fit(X[:40])
    model.partial_fit(X[40:])
    if restart:
        model = pickle.loads(pickle.dumps(model))
    model.forget([3, 55])
    now = np.delete(X, [3, 55], axis=0)
    fitted = make(target_fpr=0.1, tol=1e-10).fit(now)
    assert np.allclose(model.calibration_scores_, fitted.calibration_scores_, atol=1e-7)
    assert np.allclose(model.offset_, fitted.offset_, atol=1e-7)
    assert np.allclose(model.decision_function(new), fitted.decision_function(new), atol=1e-7)
    assert np.array_equal(model.p_values(new), fitted.p_values(new))
    # Decisions of left-out rows are about the machine's own boundary, as without target_fpr.
    own = make().fit(now).leave_one_out_decisions()
    assert np.allclose(model.leave_one_out_decisions(), own, atol=1e-7)


@every_machine
@pytest.mark.parametrize("restart", [False, True])
def test_split_calibration_follows_rows(make, restart, rng):
    X, new = rng.normal(size=(300, 2)), rng.normal(size=(50, 2))
    model = make(target_fpr=0.1, calibration="split").fit(X[:100])
    assert len(model.calibration_scores_) == 50
    model.partial_fit(X[100:200]).partial_fit(X[200:])
    if restart:
        model = pickle.loads(pickle.dumps(model))
    gone = np.r_[0:80, 250:290]
    model.forget(gone)
    now = np.delete(X, gone, axis=0)
    marks = held_out_of(model)
    assert 60 < marks.sum() < 120 and not np.any(marks[model.support_])
    other = make(tol=1e-10).fit(now[~marks])
    scores = np.sort(score(other, now[marks]))
    assert np.allclose(model.calibration_scores_, scores, atol=1e-7)
    assert np.array_equal(model.p_values(new), counted(scores, score(other, new)))
    assert np.array_equal(model.predict(new) < 0, model.p_values(new) <= 0.1)


@every_machine
def test_a_pause_keeps_the_scores_of_before(make, rng):
    X, new = rng.normal(size=(200, 2)), rng.normal(size=(40, 2))
    model = make(target_fpr=0.1, max_steps=1).fit(X[:60])
    before = model.calibration_scores_
    with pytest.warns(ConvergenceWarning, match="resume"):
        model.partial_fit(X[60:])
    assert np.all(np.isfinite(model.decision_function(new)))
    assert np.array_equal(model.calibration_scores_, before)
    model.resume()
    fitted = make(target_fpr=0.1, tol=1e-10).fit(X)
    assert np.allclose(model.calibration_scores_, fitted.calibration_scores_, atol=1e-7)


@every_machine
def test_machines_that_are_saved_or_let_go_of_rows(make, rng):
    X, new = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    model = make(target_fpr=0.1).fit(X)
    copies = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    changed = copy.deepcopy(model).partial_fit(new)
    for other in [*copies, copy.deepcopy(model).release_rows()]:
        assert np.array_equal(other.p_values(new), model.p_values(new))
        assert np.array_equal(other.predict(new), model.predict(new))
    expected = pickle.loads(pickle.dumps(changed)).predict(X)
    assert np.array_equal(changed.release_rows().predict(X), expected)
    with pytest.raises(ValueError, match="fitted without target_fpr"):
        make().fit(X).release_rows().p_values(X)
    with pytest.raises(NotFittedError):
        make(target_fpr=0.1).p_values(X)
    assert not hasattr(make(), "calibration_scores_") and not hasattr(make(), "offset_")


@every_machine
def test_target_counts_from_the_next_fit_or_update_on(make, rng):
    X = rng.normal(size=(80, 2))
    model = make().fit(X)
    own = model.predict(X)
    model.set_params(target_fpr=0.2)
    assert np.array_equal(model.predict(X), own)
    model.forget([0])
    fitted = make(target_fpr=0.2, tol=1e-10).fit(X[1:])
    assert np.allclose(model.offset_, fitted.offset_, atol=1e-7)
    model.set_params(target_fpr=None).fit(X)
    assert np.array_equal(model.predict(X), own)
    for bad in (0.0, 1.0, "5 %"):
        with pytest.raises(ValueError, match="target_fpr"):
            make(target_fpr=bad).fit(X)


# A row counts once in calibration, whatever it weighs in training: weights are not repetitions.
ONCE = "every row is one observation of the calibration, whatever it weighs"
WEIGHTS = {f"check_sample_weight_equivalence_on_{kind}_data": ONCE for kind in ("dense", "sparse")}


@pytest.mark.filterwarnings("ignore:target_fpr")
@parametrize_with_checks(
    [SVDD(target_fpr=0.05), OneClassSVM(target_fpr=0.05)],
    expected_failed_checks=lambda estimator: WEIGHTS,
)
def test_estimator_checks(estimator, check):
    check(estimator)


# -- many rows ---------------------------------------------------------------------------------


def reference_selection(p, q):
    """Benjamini and Hochberg's step-up procedure, word by word."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    count = 0
    for k, i in enumerate(order, 1):
        if p[i] * len(p) <= k * q + 1e-12:
            count = k
    return {i for i in range(len(p)) if count and p[i] <= p[order[count - 1]]}


def test_benjamini_hochberg_is_the_procedure(rng):
    for _ in range(300):
        m, q = int(rng.integers(1, 30)), float(rng.choice([0.05, 0.1, 0.3]))
        p = rng.integers(1, 41, size=m) / 40 if rng.random() < 0.5 else rng.random(m) ** 3
        assert set(np.flatnonzero(benjamini_hochberg(p, q))) == reference_selection(p.tolist(), q)
    for bad in ([[0.1]], [-0.1], [1.1], [np.nan], []):
        with pytest.raises(ValueError):
            benjamini_hochberg(bad)
    for bad in (0.0, 1.0, "x"):
        with pytest.raises(ValueError, match="false discovery rate"):
            benjamini_hochberg([0.1], q=bad)


def test_false_discoveries_are_few_and_discoveries_many(rng):
    shares, found = [], []
    for seed in range(40):
        X = rng.normal(size=(400, 2))
        new = np.concatenate([rng.normal(size=(180, 2)), 5 + rng.normal(size=(20, 2))])
        model = SVDD(target_fpr=0.1, calibration="split", random_state=seed).fit(X)
        selected = np.flatnonzero(benjamini_hochberg(model.p_values(new), q=0.2))
        shares.append(np.mean(selected < 180) if len(selected) else 0.0)
        found.append(np.mean(np.isin(np.arange(180, 200), selected)))
    # At most .2 times the share of normal rows, .9.
    assert np.mean(shares) < 0.18 + 4 * np.std(shares) / np.sqrt(40)
    assert np.mean(found) > 0.8


def indefinite(A, B):
    return np.sin(7.0 * A @ B.T)


@pytest.mark.parametrize("machine", [SVDD(slack="linear", nu=0.3), OneClassSVM()], ids=str)
@pytest.mark.filterwarnings("ignore:.*stationary point")
def test_leaving_out_needs_an_inner_product(machine):
    refused = 0
    for seed in range(6):  # by chance, the path may come to an end
        X = np.random.default_rng(seed).normal(size=(60, 4))
        machine.set_params(kernel=indefinite, target_fpr=0.1, calibration="auto")
        try:
            machine.fit(X)
        except ValueError as error:
            assert "need a positive semi-definite kernel" in str(error)
            refused += 1
            machine.set_params(calibration="split").fit(X)
        assert np.isfinite(machine.decision_function(X)).all()
    assert refused


@pytest.mark.filterwarnings("ignore:.*stationary point")
def test_a_model_stays_as_it_is_when_leaving_out_is_refused(rng):
    X = rng.normal(size=(60, 4))
    machine = OneClassSVM(nu=0.3, kernel=indefinite).fit(X)
    scores, n_iter = machine.decision_function(X), machine.n_iter_
    assert not hasattr(machine, "calibration_scores_")
    np.testing.assert_allclose(machine.decision_function(X), scores, atol=1e-9)
    assert machine.fit_status_ == 0 and machine.n_iter_ >= n_iter
