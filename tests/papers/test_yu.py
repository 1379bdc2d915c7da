"""Errata of Yu et al. (2019), and what the paper leaves open, each by an example."""

import numpy as np
import pytest
from reference import kernel_matrix
from reference.s3vm_streams import clouds

from fewlabels.kernels import RBF
from fewlabels.kernels.operators import BorderedGram, make_gram
from fewlabels.problem import RowPenalties
from fewlabels.semi_supervised.problem import s3vm_step
from fewlabels.solvers.path import PathFollower

GAMMA, C, C_STAR = 0.3, 10.0, 5.0


def problem(seed, n=50):
    X, y, _ = clouds(np.random.default_rng(seed), n=n)
    return X, np.where(np.isnan(y), 0, 2 * np.nan_to_num(y) - 1).astype(int)


def path_of(X, label, balance, target=None):
    """A local minimum; with the balancing constraint, by default of the labels' mean."""
    path = PathFollower(RBF(GAMMA), balance=balance)
    if balance is not None and target is None:
        target = float(label[label != 0].mean())
    known, free = label != 0, label == 0
    assert known[: known.sum()].all()
    path.add(X[known], RowPenalties.labelled(label[known], C=C))
    path.add(X[free], RowPenalties.unlabelled(C_star=C_STAR, n=free.sum()), target=target)
    return path


def with_virtual(K, label):
    """Kernel matrix whose first row is the virtual sample of (13)."""
    share = (label == 0) / (label == 0).sum()
    edge = K @ share
    return np.block([[np.array([[share @ edge]]), edge[None]], [edge[:, None], K]])


# -- errata ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_17_holds_only_where_the_constraint_does(seed):
    X, label = problem(seed)
    H = with_virtual(kernel_matrix(("rbf", GAMMA), X), label)
    y_0 = label[label != 0].mean() + 0.25  # a mean that f doesn't have by chance
    for balance in (None, "paper"):
        path = path_of(X, label, balance)
        if balance:
            path.move(target=y_0)
        a, b = np.append(path.virtual, path.a), -path.multiplier
        g_0 = H[0] @ a + b - y_0
        # b and b' are one number, so that (17) says 0.
        assert (abs(g_0) < 1e-9) == (balance is not None)
        assert g_0 == pytest.approx(path.h[label == 0].mean() - y_0, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_the_direction_of_g_0_is_that_of_11(seed):
    # Section 3.2.1 takes d_b' in its place. Steps 1 and 3 move the virtual sample.
    X, label = problem(seed)
    path = path_of(X, label, None)
    H = with_virtual(kernel_matrix(("rbf", GAMMA), X), label)
    free = 1 + np.flatnonzero(np.abs(np.abs(path.h) - 1) < 1e-9)
    assert len(free) > 3
    system = np.ones((len(free) + 1, len(free) + 1))
    system[0, 0], system[1:, 1:] = 0.0, H[np.ix_(free, free)]
    shift, *directions = np.linalg.solve(system, -np.append(1.0, H[free, 0]))  # (10), d_0 = 1
    by_11 = H[0, 0] + H[0, free] @ directions + shift
    # What (11) gives is the curvature along the step: positive, so that g_0 can reach 0.
    assert by_11 > 1e-3
    assert abs(by_11 - shift) > 0.1 * by_11
    # A small step confirms it, solved from scratch with alpha_0 = t.
    t = 1e-6
    a = np.append(0.0, path.a)
    a[free] += t * np.array(directions)
    a[0] = t
    b = -path.multiplier + t * shift
    f = H @ a + b
    np.testing.assert_allclose(f[free], path.h[free - 1], atol=1e-12)
    y_0 = label[label != 0].mean()
    before = path.h[label == 0].mean() - y_0
    assert (f[0] - y_0 - before) / t == pytest.approx(by_11, rel=1e-4)


def test_the_virtual_sample_has_no_bounds_to_move_to():
    # d_A = C~_A - alpha_A needs bounds, and (12) has none for i = 0. Any speed leads to g_0 = 0.
    X, label = problem(0)
    gram = BorderedGram.mean_of(make_gram(RBF(GAMMA), X), np.flatnonzero(label == 0))
    sign = np.where(label == 0, 1, label)
    penalty = s3vm_step(gram, label, sign, C, C_STAR, target=0.0).penalty
    assert penalty.lower[-1] == -np.inf
    assert penalty.upper[-1] == np.inf
    assert np.isfinite(penalty.lower[:-1]).all()
    assert np.isfinite(penalty.upper[:-1]).all()


# -- what the paper leaves open ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("is_labelled", [False, True])
def test_most_steps_of_a_gaussian_kernel_belong_to_the_constraint(seed, is_labelled):
    """Table 2 has about as many steps as the second of the three parts takes here."""
    X, label = problem(seed, n=200)
    # A mean that the rows don't have by themselves, as labels of real sets are.
    path, new = path_of(X, label, "paper", target=0.5), X[-1:] + 0.05
    counts = []
    if is_labelled:
        rows = RowPenalties.labelled([int(path.signs[-1])], C=C)
    else:
        rows = RowPenalties.unlabelled(C_STAR, 1)
    for part in (
        (path._remove_virtual_row,), (path._add_rows, new, rows), (path._virtual_row.insert,),
    ):  # fmt: skip
        before = path.n_steps
        path._queued.append(part)
        assert path.run()
        counts.append(path.n_steps - before)
    assert path.violation() < 1e-8
    assert counts[0] + counts[2] > 5 * max(1, counts[1])
