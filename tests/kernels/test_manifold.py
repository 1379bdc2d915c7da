"""Kernels deformed by a graph: their definition, and what must hold on nasty rows."""

import copy
import pickle

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.sparse as sp
from reference.kernels import (
    kernel_matrix,
    local_laplacian,
    low_rank_manifold_matrix,
    manifold_matrix,
    normalised_laplacian,
)
from sklearn.base import clone

from fewlabels.kernels import RBF, Deformed, Manifold, make_kernel
from fewlabels.kernels.manifold import graph_clustering, graph_laplacian
from fewlabels.kernels.operators import Expansion, make_gram
from fewlabels.kernels.operators.growing.matrices import make_growing

BASES = {"rbf": ("rbf", 0.4), "poly": ("poly", 0.4, 2, 1.0), "linear": ("linear",)}
NUMBERS = {"gamma": 0.4, "degree": 2, "coef0": 1.0}


def cloud(rng, n=90):
    angle = rng.random(n) * np.pi
    X = np.stack([np.cos(angle), np.sin(angle), 0.1 * rng.normal(size=n)], axis=1)
    return X + 0.05 * rng.normal(size=X.shape)


SCALINGS = pytest.mark.parametrize("scaling", ["mean", "local"])


@SCALINGS
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("power", [1, 2, 3, 4])
@pytest.mark.parametrize("base", BASES)
def test_values_are_those_of_the_definition(base, power, storage, scaling, rng):
    X, new = cloud(rng), cloud(rng, 20) + 0.3
    kernel = Manifold(30.0, 5, power, base, scaling=scaling).with_rows(storage(X), **NUMBERS)
    both = np.concatenate([X, new])
    expected = manifold_matrix(BASES[base], 30.0, 5, power, X, both, scaling=scaling)
    close = dict(rtol=0, atol=1e-11 * np.abs(expected).max())
    np.testing.assert_allclose(
        kernel.values(storage(both), storage(new)), expected[:, 90:], **close
    )
    np.testing.assert_allclose(kernel.diagonal(storage(both)), np.diag(expected), **close)
    gram = make_gram(kernel, storage(both))
    np.testing.assert_allclose(gram.block(np.arange(110)), expected, **close)
    np.testing.assert_allclose(gram.take(np.arange(50)).columns([3]), expected[[3], :50], **close)
    assert gram.is_inner_product
    coef = rng.normal(size=110)
    np.testing.assert_allclose(gram.product(np.arange(110), coef), expected @ coef, rtol=0,
                               atol=1e-9 * np.abs(expected).max())  # fmt: skip
    np.testing.assert_allclose(
        Expansion(kernel, storage(both), coef)(storage(new)), expected[90:] @ coef, rtol=0,
        atol=1e-9 * np.abs(expected).max(),
    )  # fmt: skip


@SCALINGS
@pytest.mark.parametrize("power", [1, 2, 3])
@pytest.mark.parametrize("base", BASES)
def test_landmarks_give_the_definition_with_their_approximation_of_the_base(
    base, power, scaling, rng
):
    X, new = cloud(rng), cloud(rng, 20)
    n_landmarks = 12 if base == "rbf" else 3  # of full rank
    kernel = Manifold(30.0, 5, power, base, n_landmarks, scaling=scaling).with_rows(X, **NUMBERS)
    assert kernel.is_low_rank and len(kernel.points) == n_landmarks
    both = np.concatenate([X, new])
    expected = low_rank_manifold_matrix(
        BASES[base], 30.0, 5, power, X, kernel.points, both, scaling
    )
    close = dict(rtol=0, atol=1e-8 * np.abs(expected).max())
    np.testing.assert_allclose(kernel.values(both, both), expected, **close)
    np.testing.assert_allclose(make_gram(kernel, both).block(np.arange(110)), expected, **close)
    mean = np.mean(kernel.values(X, X)) if scaling == "local" else 0.0
    assert np.mean(kernel.diagonal(X)) - mean == pytest.approx(1.0, abs=1e-9)


def test_nearly_all_rows_as_landmarks_are_nearly_exact(rng):
    X = cloud(rng)
    exact = Manifold(10.0, 5).with_rows(X, gamma=0.4)
    errors = []
    for n_landmarks in (20, 89):
        other = Manifold(10.0, 5, n_landmarks=n_landmarks).with_rows(X, gamma=0.4)
        errors.append(np.abs(other.values(X, X) - exact.values(X, X)).max())
    assert errors[1] < 0.01 and errors[1] <= errors[0]


def test_the_graph(rng):
    X = rng.normal(size=(60, 4))
    for storage in (np.asarray, sp.csr_array):
        found = graph_laplacian(storage(X), 7).toarray()
        np.testing.assert_allclose(found, normalised_laplacian(X, 7), atol=1e-12)
        found = graph_laplacian(storage(X), 7, "local").toarray()
        np.testing.assert_allclose(found, local_laplacian(X, 7), atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=1), 0.0, atol=1e-12)  # constants cost nothing


def test_clustering_is_the_share_of_pairs_of_neighbors_that_are_neighbors(rng):
    X = rng.normal(size=(50, 3))
    linked = normalised_laplacian(X, 4) < 0.0
    pairs = [
        linked[a, b]
        for i in range(50)
        for a in np.flatnonzero(linked[i])
        for b in np.flatnonzero(linked[i])
        if a != b
    ]
    for storage in (np.asarray, sp.csr_array):
        assert graph_clustering(storage(X), 4) == pytest.approx(np.mean(pairs))
    thread = np.stack([np.arange(200.0), np.zeros(200)], axis=1)
    assert graph_clustering(thread, 5) > 0.6
    assert graph_clustering(rng.normal(size=(400, 60)), 5) < 0.1
    assert graph_clustering(thread[:2], 5) == 0.0


def test_strong_graphs_stay_informative_with_local_scaling(rng):
    """At large r, constants take most of either kernel, but local scaling leaves them out."""
    X = cloud(rng)
    centre = np.eye(90) - 1.0 / 90
    local = Manifold(1e8, 30, scaling="local").with_rows(X, gamma=0.4).values(X, X)
    with_mean = Manifold(1e8, 30).with_rows(X, gamma=0.4).values(X, X)
    assert np.trace(centre @ with_mean @ centre) < 0.2 * np.trace(with_mean)
    assert np.trace(centre @ local @ centre) == pytest.approx(90.0, rel=1e-4)


def test_r_of_0_is_the_base_kernel(rng):
    X = cloud(rng)
    assert Manifold(0.0).with_rows(X, gamma=0.4) == RBF(0.4)
    assert Manifold(5.0).with_rows(X[:1], gamma=0.4) == RBF(0.4)  # nothing to connect


@hypothesis.given(
    seed=st.integers(0, 10**6),
    kind=st.sampled_from(
        ["normal", "equal", "constant", "far", "tiny", "huge", "integers", "offset"]
    ),
    n=st.integers(2, 40),
    r=st.sampled_from([1e-8, 1.0, 1e3, 1e8]),
    power=st.integers(1, 4),
    base=st.sampled_from(sorted(BASES)),
    landmarks=st.sampled_from(["auto", 1, 5]),
    n_neighbors=st.integers(1, 60),
    dtype=st.sampled_from([np.float64, np.float32]),
    scaling=st.sampled_from(["mean", "local"]),
)
@hypothesis.example(0, "huge", 2, 1e3, 2, "linear", "auto", 1, np.float64, "mean")
@hypothesis.settings(max_examples=300)
def test_it_is_an_inner_product(
    seed, kind, n, r, power, base, landmarks, n_neighbors, dtype, scaling
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    if kind == "equal":
        X = X[rng.integers(max(1, n // 3), size=n)]
    elif kind == "constant":
        X[:, 1:] = 7.0
    elif kind == "far":
        X[0] = 1e6
    elif kind in ("tiny", "huge"):
        X *= 1e-12 if kind == "tiny" else 1e12
    elif kind == "integers":
        X = np.round(X)  # many equal distances
    elif kind == "offset":
        X += 1e4
    X = X.astype(dtype)
    size = float(np.var(X.astype(float))) or 1.0
    numbers = {"gamma": 0.3 / size, "degree": 2, "coef0": 1.0}
    machine = Manifold(r, n_neighbors, power, base, landmarks, scaling=scaling)
    kernel = machine.with_rows(X, **numbers)
    new = np.concatenate([X, X[:5] + dtype(0.1 * size**0.5)])
    values = kernel.values(new, new)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(values, values.T, atol=1e-9 * np.abs(values).max())
    if isinstance(kernel, Deformed):
        assert np.mean(kernel.diagonal(kernel.points)) > 0.0
        # Digits that the base loses when the graph takes nearly all of it away.
        original = kernel.scale * np.abs(kernel.base.diagonal(new)).max()
        least = np.linalg.eigvalsh(0.5 * (values + values.T))[0]
        assert least >= -1e-8 * max(original, np.abs(values).max())


def test_order_and_copies_of_rows_change_nothing(rng):
    X, new = cloud(rng), cloud(rng, 10)
    for landmarks in ("auto", 20):
        machine = Manifold(100.0, n_landmarks=landmarks)
        expected = machine.with_rows(X, gamma=0.4).values(new, new)
        for rows in (X[rng.permutation(90)], np.concatenate([X, X[:30], X[:5]])):
            found = machine.with_rows(rows, gamma=0.4).values(new, new)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * expected.max())


def test_rows_far_from_all_others_remain(rng):
    """Weights of their connections underflow."""
    X = np.concatenate([0.001 * rng.normal(size=(4000, 2)), [[1.0, 1.0]]])[-200:]
    kernel = Manifold(100.0).with_rows(X, gamma=1.0)
    assert np.isfinite(kernel.values(X, X)).all()


@pytest.mark.parametrize("landmarks", ["auto", 20])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_growing_matrices(storage, landmarks, rng):
    X = cloud(rng, 150)
    kernel = Manifold(50.0, n_landmarks=landmarks).with_rows(storage(X[:60]), gamma=0.4)
    gram = make_growing(kernel, storage(X))
    there = np.zeros(0, int)
    for first, last in ((0, 1), (1, 90), (90, 91), (91, 150)):
        diagonal = gram.append(storage(X[first:last]))
        np.testing.assert_allclose(diagonal, kernel.diagonal(X[first:last]), atol=1e-11)
        there = np.append(there, np.arange(first, last))
        there = there[3:] if len(there) > 20 else there
        gram.keep(np.arange(gram.n)[-len(there) :])
        K, coef = kernel.values(X[there], X[there]), rng.normal(size=len(there))
        every = np.arange(len(there))
        for grown in (gram, pickle.loads(pickle.dumps(gram))):
            np.testing.assert_allclose(grown.block(every, every), K, atol=1e-11)
            for hold in (True, False):
                out = np.zeros(len(there))
                grown.apply(every, coef, out, hold=hold)
                np.testing.assert_allclose(out, K @ coef, atol=1e-9)
            np.testing.assert_allclose(
                grown.product_at(every[:1], every, coef), K[:1] @ coef, atol=1e-9
            )


def test_copies_pickles_and_settings(rng):
    X = cloud(rng)
    machine = Manifold(r=7.0)
    assert clone(machine) == machine and machine != Manifold()
    kernel = machine.with_rows(X, gamma=0.4)
    assert copy.deepcopy(kernel) is kernel and make_kernel(kernel) is kernel
    again = pickle.loads(pickle.dumps(kernel))
    np.testing.assert_array_equal(again.values(X, X), kernel.values(X, X))
    named = make_kernel("manifold", 0.4, X=X)
    np.testing.assert_array_equal(
        named.values(X, X), Manifold().with_rows(X, gamma=0.4).values(X, X)
    )


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"r": -1.0}, "'r' parameter of Manifold"),
        ({"r": np.nan}, "'r' parameter of Manifold"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"power": 1.5}, "'power' parameter"),
        ({"base": "sigmoid"}, "'base' parameter"),
        ({"n_landmarks": "all"}, "'n_landmarks' parameter"),
    ],
)
def test_bad_settings(settings, said, rng):
    with pytest.raises(ValueError, match=said):
        Manifold(**settings).with_rows(cloud(rng))


def test_a_base_that_is_no_inner_product(rng):
    with pytest.raises(ValueError, match="pass coef0 >= 0"):
        Manifold(base="poly").with_rows(cloud(rng), coef0=-1.0)


def test_the_reference_has_a_mean_of_1(rng):
    X = cloud(rng)
    K = manifold_matrix(("rbf", 0.4), 10.0, 5, 2, X, X)
    assert np.mean(np.diag(K)) == pytest.approx(1.0)
    zero = manifold_matrix(("rbf", 0.4), 0.0, 5, 2, X, X)
    np.testing.assert_allclose(zero, kernel_matrix(("rbf", 0.4), X), atol=1e-15)
