"""Whether the graph of all rows helps: by labels left out, or by how the rows lie."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import norm
from sklearn.model_selection import RepeatedStratifiedKFold

from ..._typing import FloatArray, IntArray, RowMatrix, VectorLike
from ...data.labels.semi_supervised import read_semi_labels
from ...kernels import Manifold, kind_of, make_kernel
from ...kernels.base import MappedKernel
from ...kernels.manifold import distinct_rows, graph_clustering, graph_laplacian, solve_with_root
from ...kernels.parameters import choose_gamma_rule, resolve_gamma
from ...rows.grouped_folds import WholeGroups, count_once, kinds_of_groups, take_groups
from ...semi_supervised.arguments import uses_label_ratio
from ...semi_supervised.s3vm import S3VM
from ..tuning.result import Decision
from ..tuning.search import Search
from .labelled_rows import MIN_LABELS_PER_CLASS
from .tuning import CURVE, tune_semi_supervised

# Strength (where the kernel's diagonal is 1), neighbours and share of the graphs that are compared
# with the kernel as it is. The first is an average of both, which rarely does harm.
_GRAPHS = ((10.0, 10, 0.5), (100.0, 10, 1.0), (1000.0, 5, 1.0), (1e5, 5, 1.0))
# Rows from which there is a graph to speak of.
_MIN_ROWS = 100
# Strength and neighbours of the graph of few labels, if rows lie in clouds.
_GRAPH_OF_CLOUDS = (100.0, 5)
# Strength and neighbours of the graph of few labels, if rows lie on threads.
_GRAPH_OF_THREADS = (1e5, 5)
# If two neighbours of a row are neighbours themselves less often than this, rows fill many
# dimensions and a graph says nothing.
_MIN_CLUSTERING = 0.1
# That limit is raised by this number divided by the rows, as it happens by chance among few rows.
_CLUSTERING_BY_CHANCE = 8.0
# From this share on rows lie on threads, or on sheets of few dimensions, along which labels travel
# far.
_MIN_CLUSTERING_OF_THREADS = 0.45
# Weight of disagreement, if a wrong label weighs 1.
_WEIGHT_OF_DISAGREEMENT = 0.5
# How probable it has to be that a graph is better: the average of graph and kernel, and others.
_MIN_PROBABILITIES = (0.75, 0.9)
# Rows of two classes that are compared on at most.
_MAX_ROWS = 1500
_FOLDS = 5
_REPEATS = 2
# Share of the time that the comparison may take.
_TIME_SHARE = 0.5
# Tolerance of the fits that are compared.
_MIN_TOL = 1e-2
# Seconds of a fit grow at most as this power of the number of rows.
_TIME_POWER = 2.3
# Probability from which a choice is called clear.
_CLEAR_PROBABILITY = 0.95
# Bases that the choice is made for.
_BASES = ("rbf", "poly", "linear")


def tune_with_graph(
    estimator: S3VM, X: RowMatrix, y: VectorLike, weight: FloatArray | None, search: Search
) -> Decision:
    """Return the decision for an S3VM: its kernel with a graph only if that is better."""
    chosen, message, table = choose_graph(estimator, X, y, weight, search)
    if chosen is None:
        decision = tune_semi_supervised(estimator, X, y, weight, search)
        return decision._replace(reason=decision.reason + message)
    message += f" The kernel is deformed by it: {chosen}."
    return Decision({"kernel": chosen}, message.strip(), table, CURVE)


def choose_graph(
    estimator: S3VM, X: RowMatrix, y: VectorLike, weight: FloatArray | None, search: Search
) -> tuple[Manifold | None, str, pd.DataFrame | None]:
    """Return the ``Manifold`` that an S3VM is better with, or None; a message, and a table.

    With few labels of a class, how the rows lie decides. With more, ten times a fifth of the
    labels is left out, under every kernel. What counts is the share of these labels that models
    are wrong about, and how much the ten disagree about other rows: half of that is a lower bound
    of their mean error, and it needs no labels.
    """
    label, base = _read_labels(estimator, y, weight), estimator.kernel
    rows = _choose_rows(label, search.seed)
    is_known = (
        isinstance(base, str) and base in _BASES and not isinstance(estimator.balance, Mapping)
    )
    known = np.flatnonzero(np.abs(label) > 0)
    codes = np.where(np.abs(label) > 0, np.maximum(label, 0.0), -1.0).astype(int)
    groups = search.group_rows(X, codes) if is_known else None
    sizes = np.unique(
        kinds_of_groups(codes[known], take_groups(groups, known)), return_counts=True
    )[1]
    if (
        not is_known
        or not isinstance(base, str)
        or len(rows) < _MIN_ROWS
        or len(known) == X.shape[0]
    ):
        return None, "", None
    gamma = _resolve_gamma(estimator, X[~np.isnan(label)])
    kernel = make_kernel(base, gamma, estimator.degree, estimator.coef0)
    assert isinstance(kernel, MappedKernel)  # as all of _BASES are
    if not kernel.is_inner_product:
        return None, "", None
    size = float(np.mean(kernel.diagonal(X[rows])))
    if not size > 0.0:
        return None, "", None
    if sizes.min() < MIN_LABELS_PER_CLASS:  # labels can't tell kernels apart
        return _choose_by_geometry(estimator, X[rows], size)
    graphs = [Manifold(float(f"{r / size:.3g}"), k, base=base, share=s) for r, k, s in _GRAPHS]
    weight = None if weight is None else weight[rows]
    # A fit of these rows takes at least its share of one of all rows.
    search.note_duration(search.expected * min(1.0, len(rows) / X.shape[0]) ** _TIME_POWER)
    trial = _KernelErrors(
        estimator, kernel, X[rows], label[rows], weight, search.seed, take_groups(groups, rows)
    )
    until = _TIME_SHARE * search.time_budget
    kernels = [None, *graphs]
    evaluate = partial(trial.evaluate, until=until)
    scored = search.run("S3VM and the graph", kernels, evaluate, until=until)
    found = [errors for _, errors in scored]
    if len(found) < 2:
        return None, " There was no time left to test whether the graph of all rows helps.", None
    table = _make_table(estimator, graphs, found)
    min_probability = np.where(table.index == 1, *_MIN_PROBABILITIES)
    min_probability[0] = 0.0
    best = int(table["score"].where(table["probability"] > min_probability).argmin())
    table["chosen"] = table.index == best
    return kernels[best], _describe_choice(table, best, trial), table


def _choose_by_geometry(
    estimator: S3VM, X: RowMatrix, size: float
) -> tuple[Manifold | None, str, pd.DataFrame | None]:
    """Choose by the rows' neighbours alone, as few labels can't tell."""
    assert isinstance(estimator.kernel, str)  # the caller has checked it
    (r, k), X = _GRAPH_OF_CLOUDS, distinct_rows(X)
    if X.shape[0] < _MIN_ROWS:
        return None, "", None
    share = graph_clustering(X, k)
    if share >= _MIN_CLUSTERING_OF_THREADS:
        r, k = _GRAPH_OF_THREADS
    graph = Manifold(float(f"{r / size:.3g}"), k, base=estimator.kernel, scaling="local")
    is_taken = share >= _MIN_CLUSTERING + _CLUSTERING_BY_CHANCE / X.shape[0]
    table = _make_table(estimator, [graph], [])
    table["chosen"] = [not is_taken, is_taken]
    reason = (
        " There are too few labels to test whether the graph of all rows helps. In it, "
        f"{share:.0%} of the pairs of neighbours of a row are neighbours themselves, so it is "
        f"{'taken' if is_taken else 'left out'}."
    )
    return graph if is_taken else None, reason, table


def _make_table(
    estimator: S3VM, graphs: list[Manifold], found: list[tuple[FloatArray, float]]
) -> pd.DataFrame:
    """Return a row for each kernel; ``probability`` that it beats the kernel as it is."""
    first = {"model": "S3VM", "gamma": np.nan, "C": estimator.C, "C_star": estimator.C_star}
    kernels = [str(kernel) for kernel in (estimator.kernel, *graphs)]
    table = pd.DataFrame([{**first, "kernel": kernel} for kernel in kernels])
    names = ["accuracy", "disagreement", "score", "probability"]
    table[names] = np.nan
    table["chosen"], table["clear"] = table.index == 1, False
    if not found:
        return table
    table = table.iloc[: len(found)]
    wrong, apart = np.array([one[0] for one in found]), np.array([one[1] for one in found])
    score = wrong.mean(axis=1) + _WEIGHT_OF_DISAGREEMENT * apart
    # As if one label more had been told differently, so that few are never sure.
    changed = np.sum((wrong - wrong[0]) ** 2, axis=1) + 1.0
    sure = norm.cdf((score[0] - score) * wrong.shape[1] / np.sqrt(changed))
    table = table.assign(accuracy=1.0 - wrong.mean(axis=1), disagreement=apart, score=score)
    return table.assign(probability=sure, clear=sure > _CLEAR_PROBABILITY)


def _describe_choice(table: pd.DataFrame, best: int, trial: _KernelErrors) -> str:
    one, plain = table.loc[best or 1 + int(table["score"].iloc[1:].argmin())], table.loc[0]
    share = one["probability"] if best else 1.0 - one["probability"]
    return (
        f" Of {len(trial.folds)} models trained without part of the labels, those with the graph "
        f"of all rows are wrong about {1.0 - one['accuracy']:.3f} of these labels and disagree "
        f"about {one['disagreement']:.3f} of the other rows, and those with the plain kernel "
        f"about {1.0 - plain['accuracy']:.3f} and {plain['disagreement']:.3f}, so the graph is "
        f"{'taken' if best else 'left out'}; that this is better has a probability of about "
        f"{share:.2f}."
    )


class _KernelErrors:
    """Models under kernels, each without some of the labels."""

    def __init__(
        self,
        estimator: S3VM,
        kernel: MappedKernel,
        X: RowMatrix,
        label: FloatArray,
        weight: FloatArray | None,
        seed: int,
        groups: IntArray | None,
    ) -> None:
        self.estimator, self.kernel, self.X, self.weight = estimator, kernel, X, weight
        self.values: FloatArray | None = None
        self.known = np.where(label == 0, np.nan, label)
        labelled = np.flatnonzero(label)
        classes, counts = np.unique(label[labelled], return_counts=True)
        self.labelled = labelled
        splitter = RepeatedStratifiedKFold(
            n_splits=_FOLDS, n_repeats=_REPEATS, random_state=seed % 2**32
        )
        own, groups = label[labelled], take_groups(groups, labelled)
        splits = WholeGroups(splitter).split(labelled, own, groups)
        self.folds = [test for _, test in splits]
        self.once = count_once(np.arange(len(labelled)), np.zeros(len(own)), groups)
        self.free = label == 0
        self.balance = estimator.balance
        if uses_label_ratio(self.balance):  # of all labels: it is not what is compared
            shares = counts / counts.sum()
            self.balance = dict(zip(classes.tolist(), shares.tolist(), strict=True))

    def __getstate__(self) -> dict[str, object]:
        """Return the state without values, which a worker evaluates again."""
        return {**vars(self), "values": None}

    def evaluate(
        self, graph: Manifold | None, search: Search, until: float
    ) -> tuple[FloatArray, float] | None:
        """Return each label's error rate, and the mean disagreement; None if there is no time.

        There is no time where the fits so far show that the others will not end ``until`` then. An
        answer takes two kernels: that without a graph is the first.
        """
        n_fits = len(self.folds) * (2 if graph is None else 1)
        if graph is None and not search.is_time_for(n_fits, until):
            return None
        if self.values is None:
            self.values = self.kernel.values(self.X, self.X)
        values = self.values
        if graph is not None:
            values = deformed_values(values, self.X, graph)
        wrong = np.zeros(len(self.labelled))
        predicted: list[FloatArray] = []
        for fold in self.folds:
            rows, left = self.labelled[fold], self.known.copy()
            left[rows] = np.nan
            model = search.fit_clone(
                self.estimator,
                values,
                left,
                self.weight,
                kernel="precomputed",
                solver="auto",
                unlabeled=None,
                balance=self.balance,
                tol=max(_MIN_TOL, self.estimator.tol),
            )
            if model is None or not (predicted or search.is_time_for(n_fits - 1, until)):
                return None
            predicted.append(model.transduction_)
            wrong[fold] += (predicted[-1][rows] != self.known[rows]) / _REPEATS
        apart = [np.mean(a[self.free] != b[self.free]) for a, b in combinations(predicted, 2)]
        return wrong[self.once], float(np.mean(apart))


def deformed_values(values: FloatArray, X: RowMatrix, graph: Manifold) -> FloatArray:
    """Return values of a ``Manifold`` of power 2 over X, from its base kernel's values."""
    laplacian, r = graph_laplacian(X, graph.n_neighbors, graph.scaling), graph.r
    smooth = laplacian @ values
    inner = r * (laplacian @ smooth.T)
    inner[np.diag_indices_from(inner)] += 1.0
    taken = solve_with_root(inner, np.sqrt(r) * smooth)
    deformed = values - taken.T @ taken
    size = np.mean(np.diag(deformed)) - (deformed.mean() if graph.scaling == "local" else 0.0)
    deformed *= graph.share / size
    if graph.share < 1.0:
        deformed += (1.0 - graph.share) / np.mean(np.diag(values)) * values
    return deformed


def _resolve_gamma(estimator: S3VM, X: RowMatrix) -> float:
    return resolve_gamma(choose_gamma_rule(kind_of(estimator.kernel), estimator.gamma), X, None)


def _read_labels(estimator: S3VM, y: VectorLike, weight: FloatArray | None) -> FloatArray:
    """Return numbers of labels, 0 for unlabelled rows and NaN for rows that do not count."""
    label = read_semi_labels(y, estimator.unlabeled)[0]
    return label if weight is None else np.where(weight > 0, label, np.nan)


def _choose_rows(label: FloatArray, seed: int) -> IntArray:
    """Return the labelled rows, or some of them, and as many others as fit."""
    rng = np.random.default_rng(seed)
    known, free = np.flatnonzero(np.abs(label) > 0), np.flatnonzero(label == 0)
    n_classes = len(np.unique(label[known]))
    room = int(_MAX_ROWS * (2.0 / max(2, n_classes)) ** 0.25)
    if len(known) > room // 2:
        known = rng.choice(known, room // 2, replace=False)
    if len(free) > room - len(known):
        free = rng.choice(free, room - len(known), replace=False)
    return np.sort(np.concatenate([known, free]))
