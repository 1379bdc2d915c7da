"""Labels, costs and shares for an S3VM: checked, and in the form that its problem takes."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._typing import AnyArray, FloatArray, IntArray, VectorLike
from .._util.messages import Message, ref
from .._util.warn import warn
from ..class_prior.class_ratio import estimate_shares
from ..class_prior.label_ratio import compare_label_ratio
from ..data.labels.semi_supervised import class_indices, read_ratio, read_semi_labels, read_shares
from ..kernels import TREES_FOR_CLASSES, KernelLike, SharedLeaves, kind_of, learns_labels
from ..rows.memory import MemorySource
from ..rows.row_order import value_order
from ..rows.source import RowSource
from .problem import SemiSupervised

# What users pass as ``balance`` and ``class_ratio``.
Balance: TypeAlias = str | bool | float | Mapping[Any, float]
ClassRatio: TypeAlias = str | float | Mapping[Any, float] | VectorLike | None


def refuse_no_labels(name: str, y: VectorLike | None) -> None:
    """Refuse to fit an estimator of some name without labels."""
    if y is None:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None: pass "
            "the classes of the labelled rows, missing for the others."
        )


def read_labels(y: VectorLike, unlabeled: object) -> tuple[FloatArray, AnyArray]:
    """Return labels of rows by number, and the classes."""
    given, classes, doubtful = read_semi_labels(y, unlabeled)
    if doubtful:
        warn(
            f"y has only two values, {classes[0]} and {classes[1]}: both count as classes and "
            "no row as unlabelled. Pass unlabeled=None to confirm, or NaN for unlabelled rows.",
            UserWarning,
        )
    elif (given != 0).all() and any(text == str(unlabeled) for text in classes.tolist()):
        warn(
            f"y holds the text {str(unlabeled)!r}, which counts as a class, because unlabeled is "
            f"{unlabeled!r}. Pass unlabeled={str(unlabeled)!r} if it marks rows without a label.",
            UserWarning,
        )
    return given, classes


def check_weights(weight: FloatArray) -> None:
    """Refuse weights of 0, which only rows in memory may have: there they are left out."""
    if not np.all(weight > 0):
        raise ValueError(
            "S3VM with rows that are not in memory needs sample_weight > 0; drop the other rows."
        )


def check_each_has_labels(label: AnyArray, classes: AnyArray) -> None:
    """Refuse weights that leave a class without labels."""
    missing = np.setdiff1d(np.arange(len(classes)), class_indices(label, len(classes)))
    if len(missing):
        left = "labels of one class only"
        if len(classes) > 2:
            left = f"no label of the class {classes[missing[0]]}"
        raise ValueError(
            f"sample_weight leaves {left}; give some labelled rows of each class a weight > 0."
        )


def uses_label_ratio(balance: Balance) -> bool:
    """Return whether the labels' class ratio is used for unlabelled rows unless contradicted."""
    return balance is True or (isinstance(balance, np.bool_ | str) and bool(balance))


def find_means(f: FloatArray, weight: FloatArray, shares: FloatArray) -> list[float]:
    """Return means of f at which the classes have some shares, a number for each function.

    The constraint's own mean, ``2 * share - 1``, supposes that ``|f|`` is 1. Where f of the
    labelled rows alone, moved until a share of the rows is positive, has a mean beyond it, that is
    taken: a linear f is large far from the boundary, and would else be positive at rows of the
    other class.

    Parameters
    ----------
    f : ndarray of shape (n, n_functions)
        Decisions about unlabelled rows.
    weight : ndarray of shape (n,)
        Their weights.
    shares : ndarray of shape (n_classes,)
        Shares of the classes.

    Returns
    -------
    list of float
    """
    means = []
    for own, share in zip(f.T, shares[-f.shape[1] :], strict=True):
        order = np.argsort(-own)
        mass = np.cumsum(weight[order]) / weight.sum()
        edge = own[order][min(np.searchsorted(mass, share), len(own) - 1)]
        usual, found = 2.0 * share - 1.0, float(weight @ (own - edge) / weight.sum())
        means.append(float(found if found * usual > usual**2 else usual))
    return means


def build_objectives(
    C: float,
    C_star: float,
    balance: Balance,
    shares: FloatArray | None,
    classes: AnyArray,
    held: list[float] | None = None,
) -> list[SemiSupervised]:
    """Return the problem of the function of two classes, or of each of several.

    ``balance`` is the parameter, ``shares`` is the class ratio, or None, and ``held`` are means of
    f, where these are known.
    """
    balance = True if isinstance(balance, str) else balance
    n = 1 if len(classes) == 2 else len(classes)
    means: Sequence[bool | float] = [] if isinstance(balance, Mapping) else [balance] * n
    if shares is not None and not isinstance(balance, bool | np.bool_):
        raise ValueError(
            Message(
                f"{ref('balance', some=repr(balance))} and class_ratio both set the class ratio "
                "of the unlabelled rows; leave one of them at its default."
            )
        )
    if isinstance(balance, Mapping):
        shares = read_shares(balance, classes)
    if shares is not None and balance is not False:
        means = [float(2.0 * share - 1.0) for share in shares][-n:]
    elif n > 1 and not isinstance(balance, bool | np.bool_):
        raise ValueError(
            Message(
                f"{ref('balance', some=repr(balance))} is a mean of f, and of {n} classes each "
                "has its own; pass True for the shares of the labels, False, or a dict "
                "{class: share}."
            )
        )
    means = means if held is None else held
    C_star = cost_of_unlabelled(C_star, len(classes))
    return [SemiSupervised(float(C), C_star, mean) for mean in means]


def cost_of_unlabelled(C_star: float, n_classes: int) -> float:
    """Return C* of the function of each class: so many together charge a row as two do."""
    return float(C_star) * min(1.0, 2.0 / n_classes)


def read_costs(C: float, C_star: float) -> None:
    """Refuse costs that ``reprice`` cannot take."""
    for name, value, allowed in (("C", C, "> 0"), ("C_star", C_star, ">= 0")):
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0 <= value < np.inf or (value == 0 and name == "C"):
            raise ValueError(f"{name}={value!r} is not a cost; pass a number {allowed}.")


def refuse_matrix(kernel: object) -> None:
    """Refuse a matrix of kernel values, which a path cannot hold."""
    if kernel == "precomputed":
        raise ValueError(
            "kernel='precomputed' can't be updated, because the kernel values of new rows are "
            "missing; pass rows and a kernel or a callable, or use solver='cccp'."
        )


def refuse_left_out(kept: IntArray | None) -> None:
    """Refuse rows of which only some are ``kept``: a path holds them all. None for all."""
    if kept is not None:
        raise ValueError(
            "rows with sample_weight <= 0 can't be used in updates; drop them from X."
        )


def check_new_classes(class_ratio: object, balance: Balance) -> None:
    """Refuse to add classes where shares are given, which say nothing of these."""
    if class_ratio is not None:
        raise ValueError(
            Message(
                f"{ref('class_ratio', some=repr(class_ratio))} has no share for a new class; fit "
                "again, with a share for each class if you pass any."
            )
        )
    if not isinstance(balance, bool | np.bool_ | str):
        raise ValueError(
            Message(
                f"{ref('balance', some=repr(balance))} has no share for a new class; fit again "
                "with a share for each class, or with balance=True."
            )
        )


# -- what the kernel and the problems take from labels --------------------------------------------


def class_ratio_of(
    given: ClassRatio,
    balance: Balance,
    rows: RowSource,
    label: AnyArray,
    classes: AnyArray,
    seed: int,
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return shares of the classes among the unlabelled rows and their intervals, or None.

    ``given`` is the parameter ``class_ratio``; "estimate" takes the shares from ``MemorySource``.
    If it is None, ``balance="auto"`` does so where the labels' own ratio is contradicted.
    """
    if given is None and isinstance(balance, str):
        return _ratio_unlike_labels(rows, label, classes, seed)
    if not isinstance(given, str):
        return given_ratio(given, classes), None
    if rows.is_matrix:
        raise ValueError(
            "class_ratio='estimate' needs rows, and kernel='precomputed' has none; pass the "
            "shares, for example from fewlabels.class_prior.label_shift."
        )
    assert isinstance(rows, MemorySource)
    place = class_indices(label, len(classes))
    shares, intervals, _ = estimate_shares(rows.X, place, rows.weights, classes, seed=seed)
    return shares, intervals


def _ratio_unlike_labels(
    rows: RowSource, label: AnyArray, classes: AnyArray, seed: int
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return shares of the classes and their intervals where the labels' ratio is contradicted.

    None for either where the labels' own ratio counts, with a warning if that is doubtful.
    """
    if not isinstance(rows, MemorySource) or rows.is_matrix:
        return None, None
    place = class_indices(label, len(classes))
    found = compare_label_ratio(rows.X, place, rows.weights, classes, seed)
    shares, intervals = found.shares, found.intervals
    if found.is_contradicted:
        return shares, intervals
    if found.is_doubtful:
        assert shares is not None and intervals is not None
        counts = np.bincount(place[place >= 0], minlength=len(classes))
        own = counts / counts.sum()
        worst = int(np.argmax(np.abs(own - shares)))
        low, high = intervals[worst]
        warn(
            Message(
                f"{100 * own[worst]:.3g} % of the labels are of class {classes[worst]}, and about "
                f"{100 * shares[worst]:.2g} % of the unlabelled rows seem to be (90 % "
                f"interval {100 * low:.2g} to {100 * high:.2g}): the labels may not have been "
                "drawn at random, but their ratio is used. Pass class_ratio=..., or balance=True "
                "if they were."
            ),
            UserWarning,
        )
    return None, None


def fit_labels_alone(
    estimator: BaseEstimator, rows: MemorySource, label: AnyArray
) -> tuple[FloatArray, FloatArray]:
    """Return decisions about unlabelled ``MemorySource`` rows that follow from the labels alone.

    Of shape (n_unlabelled, n_functions), and the rows' weights.
    """
    settings = {"C_star": 0.0, "balance": False, "solver": "auto", "probability": None}
    settings |= {"unlabeled": None, "verbose": False}
    if estimator.gamma_:
        settings["gamma"] = estimator.gamma_
    alone, free = clone(estimator).set_params(**settings), label == 0
    alone.fit(rows.X, np.where(free, np.nan, label), sample_weight=rows.weights)
    f = alone.decision_function(rows.X[np.flatnonzero(free)])
    return f.reshape(len(f), -1), rows.weights[free]


def given_ratio(given: ClassRatio, classes: AnyArray) -> FloatArray | None:
    """Return the shares in the parameter ``class_ratio``, which need no rows; None for none."""
    if isinstance(given, str):
        raise ValueError(
            "class_ratio='estimate' needs rows in memory; pass the shares, for example from "
            "fewlabels.class_prior.label_shift on a sample."
        )
    return None if given is None else read_ratio(given, classes)


def has_trees(kernel: KernelLike) -> bool:
    """Return whether a kernel's trees are grown at ``fit``."""
    return learns_labels(kind_of(kernel))


def grow_trees(
    kernel: KernelLike,
    rows: MemorySource,
    label: AnyArray,
    n_classes: int,
    gamma: float,
    seed: int,
) -> SharedLeaves:
    """Return a kernel of trees, grown on labelled ``MemorySource``.

    They are grown in an order of their own and as often as rows weigh: weights act as repetitions.
    """
    known = np.flatnonzero(label)
    if len(np.unique(label[known])) < n_classes:
        raise ValueError(
            'kernel="trees" needs labelled rows of all classes for its forest, and some class '
            "has none yet; start with labelled rows of each class."
        )
    trees = TREES_FOR_CLASSES if isinstance(kernel, str) else kind_of(kernel)
    assert learns_labels(trees)
    X, place = rows.X[known], class_indices(label[known], n_classes)
    order = value_order(X, place, rows.weights[known])
    return trees.with_rows(X[order], place[order], gamma=gamma, random_state=seed)


def settings_for_part(model: BaseEstimator) -> dict[str, Any]:
    """Return the constraint of a fitted ``S3VM`` as parameters of models of a part of its rows."""
    settings: dict[str, Any] = {}
    if isinstance(model.balance, str):  # all labels have decided
        settings["balance"] = True
    if model._means is not None and len(model._means) == 1:
        settings["balance"] = model._means[0]
    elif model.class_ratio_ is not None:  # without a constraint the intercept moves afterwards
        settings["class_ratio"] = None if model.balance is False else model.class_ratio_
    return settings
