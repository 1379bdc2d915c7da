"""Bags of balls: what they are by definition, updates, thresholds, nasty rows."""

import pickle
import time

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import logsumexp
from scipy.stats import chisquare
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fewlabels import SVDD, SVDDEnsemble
from fewlabels.model_selection import far_from_neighbors, neighbor_gamma

# Few and small: bags of 40 of 150 rows.
SMALL = {"n_bags": 6, "bag_size": 40}


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(150, 3))
    X[:6] += 5.0
    return X


def same(one, other, X):
    np.testing.assert_allclose(one.score_samples(X), other.score_samples(X), rtol=1e-12, atol=1e-9)
    assert one.offset_ == pytest.approx(other.offset_, rel=1e-12)
    np.testing.assert_allclose(one.calibration_scores_, other.calibration_scores_, atol=1e-9)


# -- what it is --------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_it_is_what_its_docstring_says(rows, rng, kernel):
    """The same by SVDD, one bag after the other, and NumPy."""
    machine = SVDDEnsemble(**SMALL, kernel=kernel, tol=1e-8, trim=0.25, isolation=False).fit(rows)
    new = rng.normal(size=(50, 3)) * 2.0
    total, outside_total, times = np.zeros(50), np.zeros(150), np.zeros(150)
    for bag in machine.bags_:
        inside = rows[bag.rows]
        assert len(np.unique(bag.rows)) == 40
        core = inside[~far_from_neighbors(inside, 0.25)]
        gamma = neighbor_gamma(core)
        ball = SVDD(C=0.1, kernel=kernel, gamma=gamma, tol=1e-8).fit(core)
        levels = [ball.score_samples(X) for X in (new, rows)]
        if kernel == "rbf":
            squared = [((X[:, None] - core[ball.support_]) ** 2).sum(2) for X in (new, rows)]
            levels = [logsumexp(-gamma * d, axis=1, b=ball.dual_coef_[0]) for d in squared]
        outside = ~np.isin(np.arange(150), bag.rows)
        middle = np.median(levels[1][outside])
        spread = np.median(np.abs(levels[1][outside] - middle))
        total += (levels[0] - middle) / spread
        outside_total[outside] += ((levels[1] - middle) / spread)[outside]
        times += outside
    np.testing.assert_allclose(machine.score_samples(new), total / 6, rtol=1e-5, atol=1e-5)
    expected = np.sort(outside_total[times > 0] / times[times > 0])
    np.testing.assert_allclose(machine.calibration_scores_, expected, rtol=1e-5, atol=1e-5)
    rank = int(0.05 * (len(expected) + 1))
    assert machine.offset_ == pytest.approx(expected[rank - 1], rel=1e-5)
    p = (1 + (expected[None, :] <= machine.score_samples(new)[:, None] + 1e-6).sum(1)) / (
        len(expected) + 1
    )
    np.testing.assert_allclose(machine.p_values(new), p)
    np.testing.assert_array_equal(machine.predict(new) == -1, machine.p_values(new) <= 0.05)


def standardised(scores, known=None):
    known = scores if known is None else known
    middle = np.median(known)
    return (scores - middle) / np.median(np.abs(known - middle))


@pytest.mark.parametrize("hidden", [False, True], ids=["clean", "hidden anomalies"])
def test_the_data_decide_what_untrimmed_bags_count_for(rng, hidden):
    """The score is the smallest of three, or of two where anomalies hide: the same by NumPy."""
    X = rng.standard_t(3, size=(400, 3))
    if hidden:
        X = np.r_[rng.normal(size=(340, 3)), rng.normal(6.0, 2.0, size=(60, 3))]
    machine = SVDDEnsemble(bag_size=150).fit(X)
    *parts, last = machine.parts_
    odd = tuple(range(1, 25, 2))
    assert [part.bags for part in parts] == ([odd] if hidden else [tuple(range(0, 25, 2)), odd])
    for number, bag in enumerate(machine.bags_):
        dropped = 0.2 if number % 2 else 0.0
        assert bag.entry["rows"] == 150 - round(dropped * 150)
    # Scores of rows by the bags that they aren't in.
    own = np.array([bag.score(X) for bag in machine.bags_])
    for bag, scores in zip(machine.bags_, own, strict=True):
        scores[bag.rows] = np.nan
    new = rng.normal(size=(60, 3)) * 3.0
    terms, calibrating = [], []
    for place, part in enumerate(parts):
        inside = np.nanmean(own[list(part.bags)], axis=0)
        known = inside[np.isfinite(inside)]
        weight = 0.5 if place == 1 else 1.0
        found = np.mean([machine.bags_[k].score(new) for k in part.bags], axis=0)
        terms.append(weight * standardised(found, known))
        calibrating.append(weight * standardised(inside, known))
    kernel = last.isolated.kernel
    centers = (kernel.centers + kernel.center)[kernel.draws]
    assert centers.shape == (200, 16, 3)
    cells = [((Z[:, None, None] - centers) ** 2).sum(3).argmin(2) for Z in (X, new)]
    alike = np.array([[np.mean(row == cells[0], axis=0)] for row in cells[1]])[:, 0]
    is_center = (((X[:, None, None] - centers) ** 2).sum(3) < 1e-20).any(2)
    own = (np.array([np.sum(row == cells[0], axis=0) for row in cells[0]]) - 1) / 399
    own = np.where(is_center, np.nan, own)
    inside = np.log(np.nanmean(own, axis=1) + 1e-4)
    terms.append(0.5 * standardised(np.log(alike.mean(axis=1) + 1e-4), inside))
    calibrating.append(0.5 * standardised(inside))
    np.testing.assert_allclose(machine.score_samples(new), np.min(terms, axis=0), atol=1e-9)
    expected = np.min(calibrating, axis=0)
    expected = np.sort(expected[np.isfinite(expected)])
    np.testing.assert_allclose(machine.calibration_scores_, expected, atol=1e-9)


def test_the_isolation_kernel_finds_a_dense_group(rng):
    """They are so similar to each other that the balls learn them; few rows share their cells."""
    X = rng.standard_t(3, size=(1000, 4))
    X[:50] = 2.0 + 0.001 * rng.normal(size=(50, 4))
    with_it, without = (
        SVDDEnsemble(trim=0.0, isolation=isolation).fit(X).score_samples(X)[:50].mean()
        for isolation in (True, False)
    )
    assert with_it < without


def test_bags_are_uniform_samples(rng):
    X = rng.normal(size=(60, 2))
    counts = np.zeros(60)
    for seed in range(40):
        for bag in SVDDEnsemble(n_bags=10, bag_size=12, random_state=seed).fit(X).bags_:
            counts[bag.rows] += 1
    assert counts.sum() == 40 * 10 * 12
    # Drawn without replacement counts vary less than the test expects.
    assert chisquare(counts).pvalue > 1e-3
    assert np.abs(counts - 80).max() < 45


def test_attributes(rows):
    machine = SVDDEnsemble(**SMALL).fit(rows)
    assert len(machine.bags_) == len(machine.history_) == 6
    assert machine.fit_status_ == 0 and machine.is_calibrated_ and machine.holds_rows_
    np.testing.assert_array_equal(machine.support_vectors_, rows[machine.support_])
    assert machine.gamma_ == np.median([entry["gamma"] for entry in machine.history_])
    for name in ("objective_", "duality_gap_", "intercept_", "dual_coef_"):
        with pytest.raises(AttributeError, match="see bags_"):
            getattr(machine, name)
    with pytest.raises(AttributeError, match="calibration_scores_"):
        machine.leave_one_out_decisions()


def test_anomalies_among_the_rows_are_found(rng):
    X = np.vstack([rng.normal(size=(500, 4)), rng.normal(3.0, 1.0, size=(60, 4))])
    found = {}
    for trim in (0.0, 0.2):
        score = SVDDEnsemble(trim=trim, bag_size=64).fit(X).score_samples(X)
        found[trim] = np.mean(np.argsort(score)[:60] >= 500)
    assert found[0.2] > 0.9 and found[0.2] >= found[0.0] + 0.1


def test_kernels_are_gathered_once_for_each_function(rows):
    model = SVDDEnsemble(**SMALL).fit(rows)
    stored = pickle.dumps(model.function_)
    model.score_samples(rows)
    kernels = model.function_.kernels
    assert kernels is model.function_.kernels
    assert kernels == tuple(bag.function.kernel for bag in model.bags_)
    assert pickle.dumps(model.function_) == stored  # files don't hold them
    assert pickle.loads(stored).kernels == kernels
    model.forget(np.arange(60))
    assert model.function_.kernels == tuple(bag.function.kernel for bag in model.bags_) != kernels
    model.set_params(kernel="linear").fit(rows)
    assert {kernel.name for kernel in model.function_.kernels} == {"linear"}


# -- rows in any order, form and number ---------------------------------------------------------


def test_the_order_of_rows_does_not_matter(rows, rng):
    order = rng.permutation(len(rows))
    same(SVDDEnsemble(**SMALL).fit(rows), SVDDEnsemble(**SMALL).fit(rows[order]), rows)


def test_weights_are_repetitions(rows, rng):
    weight = rng.integers(0, 4, len(rows))
    weighted = SVDDEnsemble(**SMALL).fit(rows, sample_weight=weight)
    repeated = SVDDEnsemble(**SMALL).fit(np.repeat(rows, weight, axis=0))
    same(weighted, repeated, rows)
    same(SVDDEnsemble(**SMALL).fit(rows, sample_weight=np.full(150, 0.3)),
         SVDDEnsemble(**SMALL).fit(rows), rows)  # fmt: skip


@pytest.mark.filterwarnings("ignore:target_fpr=.* needs at least")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_rows_are_as_dense_ones(rows, dtype):
    X = (rows * (np.abs(rows) > 0.7)).astype(dtype)
    dense, sparse = SVDDEnsemble(**SMALL).fit(X), SVDDEnsemble(**SMALL).fit(sp.csr_array(X))
    assert [bag.rows.tolist() for bag in dense.bags_] == [b.rows.tolist() for b in sparse.bags_]
    np.testing.assert_allclose(
        sparse.score_samples(sp.csr_array(X)), dense.score_samples(X), rtol=1e-4, atol=1e-4
    )
    twice = sp.csr_array(sp.coo_array((np.full(6, 0.5), ([0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 2, 2]))))
    assert not twice.has_canonical_format or twice.nnz == 3
    SVDDEnsemble(n_bags=2).fit(twice)


def test_precomputed_matrices(rows, rng):
    def matrix(X):
        return np.exp(-0.3 * ((X[:, None] - rows) ** 2).sum(axis=2))

    weight = np.r_[np.zeros(10), np.ones(140)]
    machine = SVDDEnsemble(**SMALL, kernel="precomputed", trim=0.2).fit(
        matrix(rows), sample_weight=weight
    )
    new = rng.normal(size=(30, 3)) * 2.0
    total = np.zeros(30)
    for bag in machine.bags_:
        assert bag.rows.min() >= 10
        inside = rows[bag.rows][bag.used]
        ball = SVDD(C=0.1, gamma=0.3, tol=1e-6).fit(inside)
        level = (
            ball.score_samples(new)
            - 1.0
            - 0.25
            * np.sum(
                np.outer(*2 * [2 * ball.dual_coef_[0]])
                * np.exp(
                    -0.3 * ((inside[ball.support_][:, None] - inside[ball.support_]) ** 2).sum(2)
                )
            )
        )
        total += (level - bag.middle) / bag.spread
    np.testing.assert_allclose(machine.score_samples(matrix(new)), total / 6, atol=1e-3)
    with pytest.raises(ValueError, match="can't be updated"):
        machine.partial_fit(matrix(rows))
    with pytest.raises(ValueError, match="the isolation kernel needs rows"):
        SVDDEnsemble(kernel="precomputed", isolation=True).fit(matrix(rows))
    many = SVDDEnsemble(bag_size=40, n_bags=16, kernel="precomputed").fit(matrix(rows))
    assert len(many.parts_) == 2


def test_few_bags_are_all_trimmed():
    X = np.random.default_rng(0).normal(size=(60, 2))
    few = SVDDEnsemble(n_bags=2, isolation=False).fit(X)
    assert np.isfinite(few.decision_function(X)).all()  # two bags leave some rows to both
    fixed = SVDDEnsemble(n_bags=2, isolation=False, trim=0.2).fit(X)
    np.testing.assert_array_equal(few.score_samples(X), fixed.score_samples(X))


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_few_rows(rng, n):
    X = rng.normal(size=(n, 2))
    with pytest.warns(UserWarning, match="needs at least 19 calibration rows"):
        machine = SVDDEnsemble(n_bags=4).fit(X)
    assert np.all(machine.predict(np.array([[9.0, 9.0]])) == 1)
    assert np.all(np.isfinite(machine.score_samples(X)))


@pytest.mark.filterwarnings("ignore:target_fpr=.* needs at least")
def test_nasty_rows(rng):
    far = np.vstack([rng.normal(size=(80, 2)), [[1e6, 0.0], [1e9, 0.0], [1e12, 1e12]]])
    score = SVDDEnsemble().fit(far[:80]).score_samples(far)
    assert np.all(np.isfinite(score)) and np.all(np.diff(score[80:]) < 0)
    assert score[80] < score[:80].min()
    equal = np.repeat(rng.normal(size=(3, 2)), 40, axis=0)
    machine = SVDDEnsemble(n_bags=4).fit(equal)
    assert np.all(np.isfinite(machine.score_samples(equal)))
    assert machine.score_samples(equal[:1]) > machine.score_samples([[50.0, 50.0]])
    constant = SVDDEnsemble(n_bags=4).fit(np.ones((50, 2)))
    assert np.all(np.isfinite(constant.score_samples(np.ones((2, 2)))))
    assert np.all(constant.predict(np.ones((2, 2))) == 1)
    offset = SVDDEnsemble(**SMALL).fit(far[:80] + 1e7)
    near = SVDDEnsemble(**SMALL).fit(far[:80])
    assert offset.gamma_ == pytest.approx(near.gamma_, rel=0.5)


# -- updates ---------------------------------------------------------------------------------


def test_rows_that_join_and_leave_give_what_a_fit_gives(rows, rng):
    machine = SVDDEnsemble(**SMALL).fit(rows[:60])
    for first in range(60, 150, 30):
        machine.partial_fit(rows[first : first + 30])
    same(machine, SVDDEnsemble(**SMALL).fit(rows), rows)
    gone = rng.choice(150, 40, replace=False)
    machine.forget(gone)
    left = np.delete(rows, gone, axis=0)
    same(machine, SVDDEnsemble(**SMALL).fit(left), rows)
    np.testing.assert_array_equal(machine.training_rows_.X, left)
    np.testing.assert_array_equal(left[machine.support_], machine.support_vectors_)
    weight = rng.integers(1, 3, 20)
    machine.partial_fit(rows[:20] + 1.0, sample_weight=weight)
    fitted = SVDDEnsemble(**SMALL).fit(
        np.vstack([left, rows[:20] + 1.0]), sample_weight=np.r_[np.ones(len(left)), weight]
    )
    same(machine, fitted, rows)


def test_a_row_changes_few_bags(rng):
    X = rng.normal(size=(4000, 2))
    machine = SVDDEnsemble(n_bags=20, bag_size=50).fit(X)
    before = machine.bags_
    machine.partial_fit(rng.normal(size=(1, 2)))
    kept = sum(
        one.function is two.function for one, two in zip(before, machine.bags_, strict=True)
    )
    assert kept >= 17


def test_a_random_state_stays_that_of_the_fit(rows):
    machine = SVDDEnsemble(**SMALL, random_state=np.random.RandomState(3)).fit(rows[:100])
    seed = np.random.RandomState(3).randint(2**31 - 1)
    machine.partial_fit(rows[100:])
    same(machine, SVDDEnsemble(**SMALL, random_state=seed).fit(rows), rows)


def test_updates_that_are_refused(rows):
    machine = SVDDEnsemble(**SMALL).fit(rows)
    with pytest.raises(ValueError, match="no training row would be left"):
        machine.forget(np.arange(150))
    machine.set_params(trim=0.5)
    with pytest.raises(ValueError, match=r"trim was 'auto' when the rows were fitted"):
        machine.partial_fit(rows)
    machine.set_params(trim="auto").release_rows()
    assert not machine.holds_rows_
    with pytest.raises(ValueError, match="doesn't store its training rows"):
        machine.forget([0])


def test_pickles(rows):
    machine = SVDDEnsemble(**SMALL).fit(rows)
    back = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(back.p_values(rows), machine.p_values(rows))
    back.partial_fit(rows[:5] + 0.1)
    same(back, machine.partial_fit(rows[:5] + 0.1), rows)
    back.release_rows()
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(back)).decision_function(rows), back.decision_function(rows)
    )


# -- thresholds ------------------------------------------------------------------------------


def test_false_alarms_with_anomalies_among_the_rows():
    """Anomalies make calibration scores smaller, so fewer normal rows are rejected, not more."""
    rates, p = [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(800, 3))
        X[:80] = rng.normal(4.0, 0.5, size=(80, 3))
        machine = SVDDEnsemble(bag_size=128, target_fpr=0.1, random_state=seed).fit(X)
        p.append(machine.p_values(rng.normal(size=(500, 3))))
        rates.append(np.mean(p[-1] <= 0.1))
    assert np.mean(rates) < 0.1
    assert all(np.mean(np.ravel(p) <= level) < 1.1 * level + 0.005 for level in (0.02, 0.2, 0.5))


def test_p_values_of_normal_rows_are_uniform():
    p = []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        machine = SVDDEnsemble(bag_size=128, random_state=seed).fit(rng.normal(size=(600, 3)))
        p.append(machine.p_values(rng.normal(size=(1000, 3))))
    shares = [np.mean(np.ravel(p) <= level) for level in (0.05, 0.1, 0.25, 0.5, 0.75)]
    np.testing.assert_allclose(shares, [0.05, 0.1, 0.25, 0.5, 0.75], atol=0.03)


@pytest.mark.parametrize(("n", "target"), [(60, 0.1), (200, 0.05), (1000, 0.1)])
def test_the_rate_is_kept(n, target):
    """Means over draws; the scores of training rows are means of fewer bags, so a bit wider."""
    rates = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.standard_t(4, size=(n + 2000, 3))
        machine = SVDDEnsemble(bag_size=64, target_fpr=target, random_state=seed).fit(X[:n])
        rates.append(np.mean(machine.predict(X[n:]) < 0))
    error = np.std(rates) / np.sqrt(20)
    assert np.mean(rates) < target + 2.5 * error
    assert np.mean(rates) > 0.6 * target - 2.5 * error


# -- effort --------------------------------------------------------------------------------------


def test_limits_keep_the_bags_so_far(rows):
    with pytest.warns(ConvergenceWarning, match=r"after 1 of 6 bags; raise max_time"):
        machine = SVDDEnsemble(**SMALL, max_time=1e-9).fit(rows)
    assert len(machine.bags_) == 1 and machine.fit_status_ == 1
    with pytest.warns(ConvergenceWarning, match=r"after 3 of 6 bags; .*pass n_bags=3"):
        machine = SVDDEnsemble(**SMALL).fit(rows, callback=lambda entry: entry["round"] == 3)
    same(machine, SVDDEnsemble(n_bags=3, bag_size=40).fit(rows), rows)


def test_ctrl_c_keeps_the_bags_so_far(rows):
    def stop(entry):
        if entry["round"] == 2:
            raise KeyboardInterrupt

    machine = SVDDEnsemble(**SMALL)
    with (
        pytest.warns(ConvergenceWarning, match="interrupted after 2 of 6 bags"),
        pytest.raises(KeyboardInterrupt),
    ):
        machine.fit(rows, callback=stop)
    assert len(machine.bags_) == 2
    same(machine, SVDDEnsemble(n_bags=2, bag_size=40).fit(rows), rows)


def test_many_rows_cost_little(rng):
    """Bags are as large as before: most of what is added is to draw them."""
    X = rng.normal(size=(200_000, 4))
    SVDDEnsemble(n_bags=4).fit(X[:2000])
    since = time.process_time()
    machine = SVDDEnsemble(n_bags=4).fit(X)
    assert time.process_time() - since < 10.0
    assert len(machine.calibration_scores_) == 5000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_bags": 0}, "n_bags"),
        ({"bag_size": 5000}, "bag_size"),
        ({"trim": 1.0}, "trim"),
        ({"trim": "some"}, "trim"),
        ({"isolation": "rbf"}, "isolation"),
        ({"target_fpr": None}, "target_fpr"),
        ({"gamma": "distance"}, "gamma"),
    ],
)
def test_parameters_that_are_refused(rows, given, said):
    with pytest.raises(ValueError, match=f"The '{said}' parameter of SVDDEnsemble must be"):
        SVDDEnsemble(**given).fit(rows)


def test_in_a_pipeline(rows):
    model = make_pipeline(StandardScaler(), SVDDEnsemble(**SMALL))
    again = clone(model).fit(rows * 128.0)
    model.fit(rows)
    np.testing.assert_array_equal(model.predict(rows), again.predict(rows * 128.0))
