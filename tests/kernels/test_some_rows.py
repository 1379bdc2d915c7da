"""Columns that one part of the rows has gathered, at another part, also where rows are equal."""

import numpy as np
import pytest

from fewlabels import PUEnsemble
from fewlabels.kernels import RBF, Linear
from fewlabels.kernels.operators import BorderedGram, CachedGram, SumGram, make_gram

pytestmark = pytest.mark.filterwarnings("error")

N, COPIES = 40, 6
KINDS = {
    "rows": lambda X: make_gram(RBF(0.5), X, dtype=np.float64),
    "sum": lambda X: SumGram(
        [make_gram(RBF(width), X, dtype=np.float64) for width in (0.5, 2.0)], [0.3, 0.7]
    ),
}
AROUND = {
    "alone": lambda gram: gram,
    "cached": lambda gram: CachedGram(gram, 1e5),
    "bordered": lambda gram: BorderedGram.mean_of(gram, np.arange(10)),
    "both": lambda gram: CachedGram(BorderedGram.mean_of(gram, np.arange(10)), 1e5),
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("kind", KINDS)
def test_parts_understand_each_other(kind, around, rng):
    X = rng.normal(size=(N, 3))
    X[-COPIES:] = X[:COPIES]
    gram = AROUND[around](KINDS[kind](X))
    K = gram.columns(np.arange(gram.n))
    last = np.arange(N, gram.n)  # the virtual row, if there is one
    # Among the first of these no two rows are equal, among the second there are.
    for rows in (np.arange(N - COPIES), np.arange(3, N)):
        rows = np.append(rows, last)
        some = gram.view_rows(rows)
        own = some.gather(np.arange(some.n))
        assert np.abs(gram.values_of(own) - K[rows]).max() <= 1e-15
        assert np.abs(some.values_of(gram.gather(rows)) - K[np.ix_(rows, rows)]).max() <= 1e-15


@pytest.mark.parametrize("around", ["alone", "bordered"])
@pytest.mark.parametrize("kind", KINDS)
def test_partitions_understand_each_other(kind, around, rng):
    X = rng.normal(size=(N, 3))
    X[-COPIES:] = X[:COPIES]
    gram = AROUND[around](KINDS[kind](X))
    every = np.arange(gram.n)
    K = gram.columns(every)
    for ends in ((0, 20), (20, gram.n)):
        found = gram.part(*ends).values_of(gram.gather(every))
        assert np.abs(found - K[:, slice(*ends)]).max() <= 1e-15


def test_a_sample_of_a_sum_with_a_negative_weight(rng):
    """As of a manifold kernel with a landmark for every row, from 3072 rows on."""
    X, rows = rng.normal(size=(N, 3)), np.arange(5, N)
    members = [make_gram(kernel, X, dtype=np.float64) for kernel in (RBF(0.5), Linear())]
    gram = SumGram(members, [2.0, -0.01], is_inner_product=True)
    some = gram.view_rows(rows)
    np.testing.assert_allclose(some.whole(), gram.whole()[np.ix_(rows, rows)], atol=1e-15)
    assert some.is_inner_product


def test_a_sample_without_equal_rows_of_rows_with_some(rng):
    # Columns of several widths are stored, and so many rows start from a sample of them.
    X = rng.normal(size=(3400, 10))
    y = np.zeros(len(X))
    y[-100:] = 1
    X[-100:, 0] += 2.0
    X[:3] = X[-3:]  # with a label and without one: two variables
    model = PUEnsemble(prior=0.1, n_bags=1, random_state=0).fit(X, y)
    assert np.all(np.isfinite(model.decision_function(X[:10])))
