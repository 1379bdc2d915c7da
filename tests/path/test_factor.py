"""The factor that gains and loses rows, against numpy's."""

import numpy as np

from fewlabels._core.path import Triangle


def test_factor_follows_its_matrix(rng):
    B = rng.normal(size=(40, 60))
    K = B @ B.T
    L = np.zeros((40, 40))
    rows = []
    for _ in range(400):
        if rows and (rng.random() < 0.45 or len(rows) == 40):
            p = int(rng.integers(len(rows)))
            Triangle(L).delete(len(rows), p)
            del rows[p]
        else:
            k = int(rng.choice(np.setdiff1d(np.arange(40), rows)))
            assert Triangle(L).append(len(rows), K[rows, k].copy(), K[k, k], 1e-13)
            rows.append(k)
        m = len(rows)
        if m:
            M = K[np.ix_(rows, rows)]
            np.testing.assert_allclose(np.tril(L[:m, :m]), np.linalg.cholesky(M), atol=1e-9)
            x = rng.normal(size=(2, m))
            solved = x.copy()
            Triangle(L).solve(m, solved)
            np.testing.assert_allclose(solved @ M, x, atol=1e-8)


def test_dependent_rows_are_refused(rng):
    B = rng.normal(size=(5, 3))
    K = B @ B.T
    L = np.zeros((5, 5))
    for k in range(3):
        assert Triangle(L).append(k, K[:k, k].copy(), K[k, k], 1e-13)
    before = L[:3, :3].copy()
    assert not Triangle(L).append(3, K[:3, 3].copy(), K[3, 3], 1e-13)
    assert np.array_equal(L[:3, :3], before)
