"""Whether the graph of all rows helps, and how much of it: by the likelihood of the labels."""

from collections.abc import Mapping
from itertools import product

import numpy as np
import pandas as pd
from scipy.linalg import cholesky, solve_triangular

from ...kernels import Manifold, make_kernel
from ...kernels.manifold import graph_laplacian
from ...kernels.width import resolve_gamma
from ...labels.semi_supervised import read_semi_labels
from ..splitters import LabeledKFold
from .few_labels import CURVE, tune_s3vm
from .search import Plan

# What is compared with the kernel as it is, which is as likely as all of these together.
_STRENGTHS, _NEIGHBORS, _POWER = (1.0, 10.0, 100.0, 1000.0, 1e5), (5, 10), 2
_PLAIN = 0.5
# The graph is taken where it is likelier than this: with labels that say nothing it is about even.
_LIKELY = 0.55
# Rows of the graph, and labelled rows among them, that the likelihoods are computed from.
_ROWS, _LABELLED = 2000, 500
# Size of functions and noise of labels, of which the likeliest are taken; and that of a constant.
_SIZES, _NOISES, _CONSTANT = (0.3, 1.0, 3.0, 10.0, 30.0), (0.03, 0.1, 0.3, 1.0), 10.0
# Bases that the choice is made for.
_BASES = ("rbf", "poly", "linear")
# Labels of every class from which held-out ones are asked too, and into how many parts they go.
_COMPARABLE, _FOLDS = 8, 5


def tune_with_graph(estimator, X, y, weight, search):
    """The plan for an S3VM: its kernel with a graph where labels and held-out labels are for it.

    Else its settings are chosen as without one.
    """
    chosen, told = choose_graph(estimator, X, y, weight, search)
    if chosen is None:
        plan = tune_s3vm(estimator, X, y, weight, search)
        return plan._replace(reason=plan.reason + told)
    label = _labels(estimator, y, weight)
    first = {"machine": "S3VM", "kernel": str(estimator.kernel), "gamma": np.nan}
    first |= {"C": estimator.C, "C_star": estimator.C_star}
    table = pd.DataFrame([first, {**first, "kernel": str(chosen)}])
    table = table.assign(accuracy=np.nan, chosen=[False, True], clear=True)
    sizes = np.unique(label[np.abs(label) > 0], return_counts=True)[1]
    if sizes.min() >= _COMPARABLE:
        hits = _held_out(estimator, chosen, X, label, weight, search)
        if hits is None or not _is_ahead(hits):
            against = "Held-out labels are for" if hits is not None else "No time was left but for"
            told += f" {against} the kernel as it is."
            plan = tune_s3vm(estimator, X, y, weight, search)
            return plan._replace(reason=plan.reason + told)
        table["accuracy"] = hits.mean(axis=1)
        told += (
            f" Held-out accuracy is {hits[1].mean():.3f} with it and {hits[0].mean():.3f} without."
        )
    told += f" The kernel is deformed by it: {chosen}."
    return Plan({"kernel": chosen}, told.strip() + search.ended_early, table, CURVE)


def _is_ahead(hits):
    """Whether the graph is right about more rows left out, by a standard error, or about the same.

    What is level only on balance is left: at Text it then misled S3VM.
    """
    more = hits[1] - hits[0]
    return not more.any() or more.mean() > np.std(more, ddof=1) / np.sqrt(len(more))


def choose_graph(estimator, X, y, weight, search):
    """The ``Manifold`` that makes the labels of an S3VM likelier, or None; and words about it."""
    label, base = _labels(estimator, y, weight), estimator.kernel
    rows = _rows_of_graph(label, search.seed)
    is_known = (
        isinstance(base, str) and base in _BASES and not isinstance(estimator.balance, Mapping)
    )
    if not is_known or len(rows) < 3:
        return None, ""
    gamma = _gamma(estimator, X[~np.isnan(label)])
    kernel = make_kernel(base, gamma, estimator.degree, estimator.coef0)
    if not kernel.is_inner_product:
        return None, ""
    table = graph_evidence(kernel, X[rows], label[rows], search.is_over)
    if len(table) < 2 or search.is_over():
        return None, ""
    share = 1.0 - float(table["probability"].iloc[0])
    told = f" The labels give the graph of all rows a probability of {share:.2f} to matter"
    if share <= _LIKELY:
        return None, f"{told}, so it is left out."
    best = table.loc[1 + int(table["probability"].iloc[1:].argmax())]
    return Manifold(float(best["r"]), int(best["n_neighbors"]), base=base), told + "."


def _gamma(estimator, X):
    by_norms = estimator.gamma == "distance" and estimator.kernel != "rbf"
    return resolve_gamma("scale" if by_norms else estimator.gamma, X, None)


def _labels(estimator, y, weight):
    """Numbers of labels, 0 for unlabelled rows and NaN for rows that do not count."""
    label = read_semi_labels(y, estimator.unlabeled)[0]
    return label if weight is None else np.where(weight > 0, label, np.nan)


def _held_out(estimator, chosen, X, label, weight, search):
    """Hits on labelled rows left out, (kernel as it is and with the graph, rows); None in no time.

    The graph is that of all rows, as it does not know labels.
    """
    rows = np.flatnonzero(~np.isnan(label))
    X, label = X[rows], label[rows]
    weight = None if weight is None else weight[rows]
    known = np.where(label == 0, np.nan, label)
    numbers = {"degree": estimator.degree, "coef0": estimator.coef0}
    kernels = estimator.kernel, chosen.over(X, gamma=_gamma(estimator, X), **numbers)
    splitter = LabeledKFold(_FOLDS, shuffle=True, random_state=search.seed, unlabeled=None)
    hits = np.full((2, len(label)), np.nan)
    with search.running("S3VM and the graph", 2 * _FOLDS):
        for _, test in splitter.split(X, known):
            left = known.copy()
            left[test] = np.nan
            for place, kernel in enumerate(kernels):
                machine = search.fitted(estimator, X, left, weight, unlabeled=None, kernel=kernel)
                if machine is None:
                    return None
                hits[place, test] = machine.predict(X[test]) == known[test]
                search.advance()
    return hits[:, np.isfinite(hits[0])]


def graph_evidence(kernel, X, label, is_over=lambda: False):
    """Log likelihood of labels, and the probability of each kernel; the plain one comes first.

    Labels, +1 for a class and -1 for the others, are taken for noisy values of a Gaussian process
    with the kernel and a constant, at the likeliest of some sizes and noises.
    """
    known = np.flatnonzero(label != 0)
    classes = np.unique(label[known])
    counted = classes[:1] if len(classes) == 2 else classes  # of two, one says all
    y = np.where(label[known][:, None] == counted, 1.0, -1.0)
    values = kernel.values(X, X)
    own = values[np.ix_(known, known)]
    found = [(0.0, 0, log_likelihood(own, y))]
    for n_neighbors in _NEIGHBORS:
        laplacian = graph_laplacian(X, n_neighbors)
        to_known = laplacian @ values[:, known]
        inner = laplacian @ (laplacian @ values).T
        for r in _STRENGTHS:
            if is_over():
                break
            lower = r * inner
            lower[np.diag_indices_from(lower)] += 1.0
            lower = cholesky(lower, lower=True, overwrite_a=True, check_finite=False)
            taken = solve_triangular(lower, np.sqrt(r) * to_known, lower=True)
            found.append((r, n_neighbors, log_likelihood(own - taken.T @ taken, y)))
    table = pd.DataFrame(found, columns=["r", "n_neighbors", "log_likelihood"])
    prior = np.full(len(table), (1.0 - _PLAIN) / max(1, len(table) - 1))
    prior[0] = _PLAIN
    share = prior * np.exp(table["log_likelihood"] - table["log_likelihood"].max())
    table["probability"] = share / share.sum()
    return table


def log_likelihood(K, y):
    """Of the columns of ``y`` under a Gaussian process with the kernel matrix K, scaled."""
    size = float(np.mean(np.diag(K)))
    K = K / size if size > 0.0 else K
    best, eye = -np.inf, np.eye(len(K))
    for scale, noise in product(_SIZES, _NOISES):
        lower = cholesky(scale * K + noise * eye + _CONSTANT, lower=True)
        z = solve_triangular(lower, y, lower=True)
        determinant = y.shape[1] * np.log(np.diag(lower)).sum()
        best = max(best, -0.5 * float(np.sum(z**2)) - float(determinant))
    return best


def _rows_of_graph(label, seed):
    """The labelled rows, or some of them, and as many of the others as there is room for."""
    rng = np.random.default_rng(seed)
    known, free = np.flatnonzero(np.abs(label) > 0), np.flatnonzero(label == 0)
    if len(known) > _LABELLED:
        known = rng.choice(known, _LABELLED, replace=False)
    if len(free) > _ROWS - len(known):
        free = rng.choice(free, _ROWS - len(known), replace=False)
    return np.sort(np.concatenate([known, free]))
