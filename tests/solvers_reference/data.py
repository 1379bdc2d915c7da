"""Problems that several tests solve: small real sets and random rows."""

import numpy as np
from reference import kernel_matrix
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine

from fewlabels.kernels.operators import PrecomputedGram
from fewlabels.one_class.problem import one_class, svdd_linear, svdd_squared
from fewlabels.problem import DualProblem, Penalty


def _sets():
    for name, load in (("iris", load_iris), ("wine", load_wine), ("cancer", load_breast_cancer)):
        X, y = load(return_X_y=True)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        for label in np.unique(y):
            yield f"{name}-{label}", X[y == label], 1.0 / X.shape[1]
    X, y = load_digits(return_X_y=True)
    for label in (0, 3, 8):
        yield f"digits-{label}", X[y == label] / 16.0, 0.05


REAL = {name: (X, gamma) for name, X, gamma in _sets()}


def rbf(X, gamma):
    """Kernel matrix from differences, behind the operator that solvers take."""
    return PrecomputedGram(kernel_matrix(("rbf", gamma), X))


def real_problem(name, C=2.0, weight=None):
    """SVDD with squared slack on a real set."""
    X, gamma = REAL[name]
    return svdd_squared(rbf(X, gamma), C, weight)


def random_rows(seed, n=60, d=3):
    """Rows of which the first five come twice."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[-5:] = X[:5]
    return X


def _pu(gram, rng):
    n, c = gram.n, 0.1
    shift = 0.3 * rng.normal(size=n)
    return DualProblem(gram, Penalty.kinked(0.0, c / 2, c, shift - 1, shift + 1, n), 0.37 * c * n)


def _s3vm(gram, rng):
    n, sign = gram.n, rng.choice([-1.0, 1.0], gram.n)
    penalty = Penalty.kinked(
        np.minimum(2 * sign, 0.0), sign, np.maximum(2 * sign, 0.0), -1.0, 1.0, n
    )
    return DualProblem(gram, penalty, 0.0)


def _box_arrays(n, rng):
    sign = rng.choice([-1.0, 1.0], n)
    return np.minimum(sign, 0.0), np.maximum(sign, 0.0), -sign


def _fixed(gram, rng):
    lower, upper, slope = _box_arrays(gram.n, rng)
    lower[:3] = upper[:3] = (0.0, 0.5, -0.25)
    return DualProblem(gram, Penalty.linear(lower, upper, slope, gram.n), 0.1)


def _free(gram, rng):
    lower, upper, slope = _box_arrays(gram.n, rng)
    lower[:2], upper[[0, 2]] = -np.inf, np.inf
    return DualProblem(gram, Penalty.linear(lower, upper, slope, gram.n), 0.0, ridge=0.02)


KINDS = {
    "svdd-squared": lambda gram, rng: svdd_squared(gram, 2.0),
    "svdd-squared-weights": lambda gram, rng: svdd_squared(gram, 0.1, rng.uniform(0.1, 3, gram.n)),
    "svdd-linear": lambda gram, rng: svdd_linear(gram, 0.05),
    "svdd-linear-tight": lambda gram, rng: svdd_linear(gram, 1.0 / gram.n),
    "one-class": lambda gram, rng: one_class(gram, 0.2),
    "pu": _pu,
    "s3vm": _s3vm,
    "fixed-variables": _fixed,
    "free-variables": _free,
}


def kind_of_problem(kind, kernel, seed):
    """A random problem of one kind of the design's table."""
    gram = PrecomputedGram(kernel_matrix(kernel, random_rows(seed)))
    return KINDS[kind](gram, np.random.default_rng(seed))


def matrix(problem):
    """Q of (P), made without the package's operators."""
    return problem.scale * np.asarray(problem.gram.K) + np.diag(problem.ridge)
