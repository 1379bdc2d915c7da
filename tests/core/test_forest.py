"""Forests: how they grow, their leaves, shares of common leaves and sums, against Python."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from reference.trees import ReferenceForest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from fewlabels.kernels.forest import Forest, add_leaf_sums, compute_leaf_similarity
from fewlabels.kernels.growing import VotingForest, grow_forest


def grown(n_rows, n_trees, rng, d=5):
    """scikit-learn's forest, and the same as arrays."""
    X = rng.normal(size=(n_rows, d)).round(1)
    y = (X[:, 0] + rng.normal(size=n_rows) > 0).astype(int)
    y[:2] = 0, 1
    forest = ExtraTreesClassifier(n_trees, random_state=0).fit(X, y)
    return forest, Forest.from_trees(forest.estimators_, lambda nodes: np.zeros(nodes.node_count))


@pytest.fixture(params=[(2, 1), (40, 300), (600, 7)], ids=["stumps", "many trees", "many leaves"])
def pair(request, rng):
    return grown(*request.param, rng)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array, np.asfortranarray])
def test_leaves_are_those_of_scikit_learn(pair, make, n_jobs, rng):
    theirs, forest = pair
    X = rng.normal(size=(37, 5)).round(1)  # values meet thresholds
    expected = theirs.apply(X) + forest.roots
    np.testing.assert_array_equal(forest.leaves(make(X), n_jobs), expected)


@pytest.mark.parametrize("n, m", [(1, 1), (3, 511), (2, 513), (0, 4), (4, 0)])
@pytest.mark.parametrize("n_codes", [200, 60_000, 10**6], ids=["u8", "u16", "u32"])
def test_shares_of_common_leaves(n, m, n_codes, rng):
    dtype = np.min_scalar_type(n_codes)
    some = rng.integers(n_codes, size=7)
    a, b = (rng.choice(some, size=(k, 300)).astype(dtype) for k in (n, m))
    expected = (a[:, None] == b[None]).mean(axis=2)
    for order in "CF":
        for n_jobs in (1, 2):
            found = compute_leaf_similarity(a, np.asarray(b, order=order), n_jobs)
            np.testing.assert_array_equal(found, expected)


def test_rows_that_always_meet_are_counted_beyond_a_byte():
    for dtype, n_trees in ((np.uint8, 600), (np.uint16, 70_000)):
        codes = np.zeros((2, n_trees), dtype)
        np.testing.assert_array_equal(compute_leaf_similarity(codes, codes), np.ones((2, 2)))


@pytest.mark.parametrize("shape", [(), (3,)])
def test_sums_over_leaves(pair, shape, rng):
    forest = pair[1]
    leaves = forest.leaves(rng.normal(size=(50, 5)))
    weights = rng.normal(size=(*shape, len(forest.left)))
    for n_jobs in (1, 2):
        out = np.ones((50, *shape))
        add_leaf_sums(leaves, weights, out, n_jobs)
        expected = 1.0 + weights[..., leaves].sum(axis=-1).T
        np.testing.assert_allclose(out, expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name, value", [("left", -1), ("right", 10**6), ("feature", 5)])
def test_places_that_do_not_exist_are_refused(name, value, rng):
    forest = grown(40, 3, rng)[1]
    part = getattr(forest, name).copy()
    part[0] = value
    with pytest.raises(ValueError, match="the model is damaged"):
        replace(forest, **{name: part}).leaves(np.zeros((2, 5)))


def test_a_tree_that_runs_in_circles_ends(rng):
    forest = grown(40, 3, rng)[1]
    circle = np.roll(np.arange(len(forest.left)), 1)
    endless = replace(forest, left=circle, right=circle)
    assert endless.leaves(np.zeros((2, 5))).shape == (2, 3)


def same_partition(a, b):
    """Whether rows share leaves of a tree in ``a`` just where they do in ``b``."""
    return np.array_equal(a[:, None] == a[None], b[:, None] == b[None])


@pytest.mark.parametrize("n_classes", [1, 2, 4])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"smallest": 3},
        {"drawn": 12},
        {"drawn": 150, "smallest": 2},
        {"best": True},
        {"best": True, "smallest": 3, "drawn": 40},
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", ["numbers", "few values", "constant", "huge", "one row"])
def test_trees_are_those_of_the_definition(kind, settings, n_classes, rng):
    X = rng.normal(size=(1 if kind == "one row" else 60, 6))
    if kind == "few values":
        X = X.round()
    elif kind == "constant":
        X[:, :5] = 2.0
    elif kind == "huge":
        X *= 1e30
    place = rng.integers(n_classes, size=len(X))
    expected = ReferenceForest(X, place, 20, seed=3, **settings)
    given = {"min_samples_leaf": settings.get("smallest", 1), "drawn": settings.get("drawn", 0)}
    splits = "best" if settings.get("best") else "random"
    forest, times = grow_forest(X, place, 20, seed=3, splits=splits, **given)
    np.testing.assert_array_equal(times(), expected.times)
    Z = np.concatenate([X, rng.normal(size=(20, 6)) * X.std()])
    assert same_partition(forest.leaves(Z), expected.apply(Z))
    n_leaves = np.bincount(
        np.repeat(np.arange(20), np.diff([*forest.roots, len(forest.left)])),
        forest.left == np.arange(len(forest.left)),
    )
    np.testing.assert_array_equal(n_leaves, expected.n_leaves)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array, np.asfortranarray])
@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("splits", ["random", "best"])
def test_the_same_trees_however_rows_are_held(splits, make, n_jobs, rng, monkeypatch):
    X = rng.normal(size=(50, 40)) * (rng.random((50, 40)) < 0.2)
    X[:, 7] = 0.0
    place = rng.integers(3, size=50)
    one = grow_forest(X, place, 30, seed=5, splits=splits).forest
    monkeypatch.setattr("fewlabels.kernels.growing._NODES_AT_A_TIME", 1000)  # several batches
    other = grow_forest(make(X), place, 30, seed=5, splits=splits, n_jobs=n_jobs).forest
    np.testing.assert_array_equal(other.leaves(make(X)), one.leaves(X))
    np.testing.assert_array_equal(other.threshold, one.threshold)
    np.testing.assert_array_equal(other.feature, one.feature)


def n_pure_splits(nodes):
    """How many nodes of one class scikit-learn has split."""
    return np.sum((nodes.children_left >= 0) & (nodes.value[:, 0].min(axis=1) < 1e-9))


THEIRS = {"random": ExtraTreesClassifier, "best": RandomForestClassifier}


@pytest.mark.parametrize("splits", ["random", "best"])
@pytest.mark.parametrize("options", [{}, {"min_samples_leaf": 3}], ids=str)
@pytest.mark.parametrize("drawn", [0, 150, 400])
def test_trees_are_as_large_as_those_of_scikit_learn(drawn, options, splits, rng):
    X = rng.normal(size=(400, 4)).round(2)
    place = (X[:, 0] + 0.5 * rng.normal(size=400) > 0.7).astype(int)
    given = {"bootstrap": drawn > 0, "max_samples": drawn or None, **options}
    given["class_weight"] = "balanced_subsample" if drawn else "balanced"
    theirs = THEIRS[splits](100, random_state=0, **given).fit(X, place)
    # Where weights are rounded, scikit-learn goes on splitting nodes of one class.
    sizes = [tree.tree_.node_count - 2 * n_pure_splits(tree.tree_) for tree in theirs.estimators_]
    forest = grow_forest(X, place, 100, splits=splits, drawn=drawn, **options).forest
    own = np.diff([*forest.roots, len(forest.left)])
    error = np.hypot(np.std(sizes), own.std()) / np.sqrt(100)
    assert abs(own.mean() - np.mean(sizes)) < 4 * error


def test_leaves_of_a_forest_are_pure(rng):
    X, place = rng.normal(size=(80, 3)), rng.integers(3, size=80)
    forest = grow_forest(X, place, 10, seed=1).forest
    leaves = forest.leaves(X)
    for tree in leaves.T:
        for leaf in np.unique(tree):
            assert len(np.unique(place[tree == leaf])) == 1


@pytest.mark.parametrize("splits", ["random", "best"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_are_as_good_as_those_of_scikit_learn(n_classes, splits, rng):
    """Two forests of ours agree with each other as one of ours agrees with one of theirs."""
    X = rng.normal(size=(900, 5))
    place = np.digitize(
        X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=900), [0.3, 1.0][: n_classes - 1]
    )
    own = slice(0, 400)
    given = {"splits": splits, "min_samples_leaf": 2, "drawn": 400}
    one, two = (VotingForest(X[own], place[own], 200, seed=seed, **given) for seed in (0, 1))
    theirs = THEIRS[splits](
        200,
        bootstrap=True,
        oob_score=True,
        class_weight="balanced_subsample",
        min_samples_leaf=2,
        random_state=0,
    ).fit(X[own], place[own])
    pairs = [
        (one.predict_shares(X[400:]), two.predict_shares(X[400:]), theirs.predict_proba(X[400:])),
        (one.predict_out_of_bag(), two.predict_out_of_bag(), theirs.oob_decision_function_),
    ]
    for a, b, other in pairs:
        np.testing.assert_allclose(a.sum(axis=1), 1.0, rtol=1e-12)
        noise = np.sqrt(np.mean((a - b) ** 2))
        assert np.sqrt(np.mean((a - other) ** 2)) < 1.25 * noise
        assert np.abs((a - other).mean(axis=0)).max() < 0.4 * noise


def test_votes_are_means_over_the_leaves_of_the_definition(rng):
    X, place = rng.normal(size=(40, 3)), rng.integers(3, size=40)
    expected = ReferenceForest(X, place, 30, seed=4, drawn=40, best=True)
    forest = VotingForest(X, place, 30, seed=4, drawn=40, splits="best")
    Z = rng.normal(size=(9, 3))
    leaves, times = expected.apply(X), np.array(expected.times)

    def share(tree, leaf):
        counts = np.bincount(place, times[tree], minlength=3)
        inside = np.bincount(place, times[tree] * (leaves[:, tree] == leaf), minlength=3)
        shares = inside / np.maximum(counts, 1)
        return shares / shares.sum()

    of_z = [[share(t, leaf) for t, leaf in enumerate(row)] for row in expected.apply(Z)]
    np.testing.assert_allclose(forest.predict_shares(Z), np.mean(of_z, axis=1), rtol=1e-12)
    unseen = [[share(t, row[t]) for t in np.flatnonzero(times[:, i] == 0)]
              for i, row in enumerate(leaves)]  # fmt: skip
    of_rows = [np.mean(found, axis=0) for found in unseen]
    np.testing.assert_allclose(forest.predict_out_of_bag(), of_rows, rtol=1e-12)


def test_rows_that_every_tree_has_seen_have_no_votes(rng):
    X = np.arange(2.0)[:, None]
    forest = VotingForest(X, np.arange(2), 3, drawn=200, seed=0)
    assert np.isnan(forest.predict_out_of_bag()).all()


@pytest.mark.parametrize("drawn", [0, 60])
@pytest.mark.parametrize("splits", ["random", "best"])
def test_many_sparse_numbers_stay_sparse(splits, drawn, rng, monkeypatch):
    """Then scikit-learn grows trees on the same terms."""
    X = sp.random_array((60, 30), density=0.3, format="csr", rng=rng)
    place = (X.toarray()[:, :10].sum(axis=1) > 1.4).astype(int)
    given = {"splits": splits, "drawn": drawn, "min_samples_leaf": 2}
    dense = VotingForest(X, place, 150, **given)
    monkeypatch.setattr("fewlabels.kernels.growing._MAX_DENSE_NUMBERS", 10)
    sparse = VotingForest(X, place, 150, **given)
    assert np.abs(sparse.predict_shares(X) - dense.predict_shares(X)).mean() < 0.04
    if drawn:
        assert np.abs(sparse.predict_out_of_bag() - dense.predict_out_of_bag()).mean() < 0.08
