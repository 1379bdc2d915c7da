"""Which columns drive the score of a row."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._typing import FloatArray, IntArray, MatrixLike, RandomStateLike, RowMatrix
from ..base.locking import take_snapshot
from ..base.solution import Function
from ..calibration.curve import class_of
from ..kernels.rows import canonical
from .explanation import Explanation
from .shapley.inputs import (
    Decide,
    Groups,
    Table,
    as_rows,
    column_names,
    dense,
    find_sources,
    held_rows,
    players_of,
    sample_rows,
    split_pipeline,
)
from .shapley.sampled import sampled_values
from .shapley.values import beyond_reach, exact_values, terms_of

# Background rows by default, ...
_N_BACKGROUND = 50
# ... fewer if they would hold more numbers than this, ...
_MAX_BACKGROUND_NUMBERS = 5000
# ... but never fewer rows.
_MIN_BACKGROUND = 10


def explain(
    model: BaseEstimator,
    X: MatrixLike,
    *,
    background: MatrixLike | None = None,
    columns: Sequence[str] | None = None,
    groups: Groups | None = None,
    n_samples: int = 100,
    random_state: RandomStateLike = None,
    of: object = None,
) -> Explanation:
    r"""Compute contributions of columns to the decisions of a fitted model.

    A column's contribution is its Shapley value: the change of the decision when the column
    takes the row's value in place of a background row's, averaged over all orders in which the
    columns may do so and over the background rows. Contributions add up:

    .. math:: \sum_c \mathrm{contribution}_c = f(x) - \mathrm{mean}_b f(b)

    A positive contribution raises ``decision_function``: towards *inside* for SVDD and
    OneClassSVM, towards the positive class for the others; of several classes, towards the one
    that is explained.

    Under the Gaussian and the linear kernel the values are exact, whatever the number of columns;
    pipelines too, as long as each encoded column comes from one input column (scaling, one-hot
    encoding). Otherwise orders are sampled, and standard errors tell how well. Where a decision
    continues in log scale beyond a kernel's reach, what that adds to it is shared in proportion
    to the columns' parts in the squared distance to the nearest support vector.

    Parameters
    ----------
    model : fitted estimator, Pipeline that ends in one, or search with ``best_estimator_``
        With ``decision_function``.
    X : {array-like, sparse} of shape (n_rows, n_columns) or DataFrame
        Rows to explain, as ``model.predict`` takes them. Its columns get the contributions.
    background : {array-like, sparse} of shape (n_background, n_columns), default=None
        Rows to compare with, such as a sample of the training rows. None takes 50 of the training
        rows that the model holds, fewer with more than 100 columns: time grows with both.
    columns : sequence of str, default=None
        Names of the columns of X; by default from the DataFrame or the model, else x0, x1, ...
    groups : dict of str to list of columns, default=None
        Columns that count as one, such as the 0/1 columns of an encoded category.
        Columns by name or position. The others count separately.
    n_samples : int, default=100
        Orders per row, each also taken backwards, where values are sampled; >= 2. At least two
        for each background row, of which at most half of ``n_samples`` are taken.
    random_state : int, RandomState or None, default=None
        Seed of the background and of the orders; None means 0.
    of : class label, default=None
        Of a model of several classes, the class whose decision is explained; None for the
        class with each row's largest decision.

    Returns
    -------
    Explanation

    Notes
    -----
    Columns that are absent take a background row's values whatever the others are
    ("interventional" Shapley values): mixed rows may be unlike any real row, and columns that
    repeat each other share the credit.

    For a Gaussian kernel a decision is a sum of products over columns, and the Shapley value of
    a product is an integral of a polynomial (Owen 1972), which a quadrature rule gives exactly:
    time grows with the square of the number of columns in place of two to its power.

    References
    ----------
    Shapley, L. S. (1953). A value for n-person games. Contributions to the Theory of Games 2.

    Owen, G. (1972). Multilinear extensions of games. Management Science 18.

    Mitchell, R., Cooper, J., Frank, E., Holmes, G. (2022). Sampling permutations for Shapley
    value estimation. Journal of Machine Learning Research 23. (Antithetic orders.)

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> from fewlabels.inspection import explain
    >>> rows = np.random.default_rng(0).normal(size=(200, 3))
    >>> result = explain(SVDD().fit(rows), [[0.0, 4.0, 0.0]], columns=["a", "b", "c"])
    >>> result.frame()["column"][0]
    'b'
    >>> bool(np.isclose(result.contributions.sum(), result.decision[0] - result.base))
    True
    """
    if not (isinstance(n_samples, Integral) and n_samples >= 2):
        raise ValueError(f"n_samples={n_samples!r} is not allowed; pass an integer >= 2.")
    steps, estimator = split_pipeline(model)
    if not hasattr(estimator, "decision_function"):
        raise ValueError(
            f"explain needs a model with decision_function; {type(estimator).__name__} has none."
        )
    check_is_fitted(estimator)
    if getattr(estimator, "kernel", None) == "precomputed":
        raise ValueError(
            "kernel='precomputed' has no columns to explain scores with; fit to rows, with a "
            "kernel or a callable."
        )
    model = getattr(model, "best_estimator_", model)
    rows = as_rows(X, "X", missing=steps is not None)
    names = column_names(rows, columns, model)
    player, players = players_of(names, groups)
    background = _choose_background(background, rows, steps, estimator, random_state)
    model = take_snapshot(model)
    estimator = split_pipeline(model)[1]
    function = getattr(estimator, "function_", None)
    game = _Game(
        model,
        estimator,
        steps,
        player,
        len(players),
        n_samples,
        0 if random_state is None else random_state,
    )
    places = _explained_classes(model, estimator, rows, of)
    found = []
    if places is None:
        found = [(slice(None), game.values(function, model.decision_function, rows, background))]
    for place in () if places is None else np.unique(places):
        at = np.flatnonzero(places == place)
        some = rows.iloc[at] if isinstance(rows, pd.DataFrame) else rows[at]
        one = function.class_function(place) if hasattr(function, "class_function") else function
        decide = _decision_of_class(model, place)
        found.append((at, game.values(one, decide, some, background)))
    n = rows.shape[0]
    values, errors = np.empty((2, n, len(players)))
    decision, base = np.empty((2, n))
    for at, result in found:
        values[at], errors[at], decision[at], base[at] = result[:4]
    exact, background = found[0][1][4:]
    return Explanation(
        columns=players,
        contributions=values,
        standard_errors=errors,
        decision=decision,
        base=float(base[0]) if places is None else base,
        method="exact" if exact else "permutations",
        values=_values_by_player(rows, names, player, players),
        usual=_usual_values(background, player, players),
        n_background=background.shape[0],
        classes=None if places is None else np.asarray(estimator.classes_)[places],
    )


class _Game(NamedTuple):
    """The model, columns and sampling that all explained decisions share."""

    model: BaseEstimator
    estimator: BaseEstimator
    steps: Pipeline | None
    player: IntArray
    n_players: int
    n_samples: int
    seed: RandomStateLike

    def values(
        self, function: Function | None, decide: Decide, rows: Table, background: Table
    ) -> tuple[FloatArray, FloatArray, FloatArray, float, bool, Table]:
        """Return contributions, errors, decisions, base, whether exact, and the background."""
        player, n, steps = self.player, self.n_players, self.steps
        if n == 1:  # it has all of the credit
            decision = np.asarray(decide(rows), float)
            base = float(np.mean(np.asarray(decide(background), float)))
            values = (decision - base)[:, None]
            return values, np.zeros_like(values), decision, base, True, background
        terms = None if function is None else terms_of(function)
        source = None
        if terms is not None:
            source = np.arange(rows.shape[1])
            if steps is not None:
                source = find_sources(steps, rows, background)
        if source is not None and terms is not None and function is not None:
            inner = [X if steps is None else steps.transform(X) for X in (rows, background)]
            encoded, encoded_background = (_as_numbers(X) for X in inner)
            n_jobs = getattr(self.estimator, "n_jobs", None)
            values = exact_values(terms, encoded, encoded_background, player[source], n, n_jobs)
            errors = np.zeros_like(values)
            missing = decide(rows) - np.mean(decide(background)) - values.sum(axis=1)
            values += beyond_reach(function, encoded, missing, player[source], n)
        else:
            background = sample_rows(background, self.n_samples // 2, self.seed)
            m = background.shape[0]
            pairs = m * max(2, int(np.ceil(self.n_samples / m)))
            values, errors = sampled_values(decide, rows, background, player, n, pairs, self.seed)
        decision = np.asarray(decide(rows), dtype=float)
        base = float(np.mean(decide(background)))
        return values, errors, decision, base, source is not None, background


def _decision_of_class(model: BaseEstimator, place: int) -> Decide:
    """Return the function that decides about one class."""
    return lambda X: np.asarray(model.decision_function(X))[:, place]


def _explained_classes(
    model: BaseEstimator, estimator: BaseEstimator, rows: Table, of: object
) -> IntArray | None:
    """Return the position of the class to explain for each row; None with one decision."""
    decision = np.asarray(model.decision_function(rows))
    if decision.ndim == 1:
        if of is not None:
            raise ValueError(
                f"of={of!r} names a class, but this model has a single decision; omit it."
            )
        return None
    if of is None:
        return class_of(decision)
    known = list(estimator.classes_)
    if of not in known:
        raise ValueError(f"of={of!r} is not one of the classes {known}.")
    return np.full(len(decision), known.index(of))


def _choose_background(
    background: MatrixLike | None,
    rows: Table,
    steps: Pipeline | None,
    estimator: BaseEstimator,
    random_state: RandomStateLike,
) -> Table:
    if background is None:
        held = held_rows(estimator)
        if held is None or steps is not None:
            why = (
                "the rows stored in the model are encoded"
                if held is not None
                else f"this {type(estimator).__name__} doesn't store its training rows"
            )
            raise ValueError(
                f"explain needs rows to compare with, but {why}; pass background=, such as a "
                f"sample of {_N_BACKGROUND} training rows."
            )
        most = int(
            np.clip(_MAX_BACKGROUND_NUMBERS // held.shape[1], _MIN_BACKGROUND, _N_BACKGROUND)
        )
        return sample_rows(held, most, random_state)
    background = as_rows(background, "background", missing=steps is not None)
    if isinstance(rows, pd.DataFrame) != isinstance(background, pd.DataFrame):
        raise ValueError(
            "X and background must both be tables with named columns, or both be arrays."
        )
    if isinstance(rows, pd.DataFrame) and isinstance(background, pd.DataFrame):
        lacking = [name for name in rows.columns if name not in background.columns]
        if lacking:
            raise ValueError(f"background lacks the column {lacking[0]!r} of X.")
        return background[list(rows.columns)]
    if rows.shape[1] != background.shape[1]:
        raise ValueError(
            f"X has {rows.shape[1]} columns and background {background.shape[1]}; they must be "
            "the same."
        )
    return background


def _as_numbers(X: Table) -> RowMatrix:
    X = X.to_numpy() if hasattr(X, "to_numpy") else X
    return sp.csr_array(canonical(X)) if sp.issparse(X) else np.asarray(X, dtype=float)


def _values_by_player(
    rows: Table, names: list[str], player: IntArray, players: list[str]
) -> pd.DataFrame:
    """Return the values of the rows by player."""
    if not isinstance(rows, pd.DataFrame):
        rows = pd.DataFrame(dense(rows))
    shown = {}
    for k, name in enumerate(players):
        members = np.flatnonzero(player == k)
        if len(members) == 1:
            shown[name] = rows.iloc[:, members[0]]
            continue
        part = rows.iloc[:, members]
        shown[name] = [
            ", ".join(
                f"{names[c]} {v:.4g}" if isinstance(v, float) else f"{names[c]} {v}"
                for c, v in zip(members, line, strict=True)
            )
            for line in part.itertuples(index=False)
        ]
    return pd.DataFrame(shown)


def _usual_values(background: Table, player: IntArray, players: list[str]) -> list[object]:
    """Return the median or most frequent value of the background, by player."""
    if not isinstance(background, pd.DataFrame):
        background = pd.DataFrame(dense(background))
    usual: list[object] = []
    for k in range(len(players)):
        members = np.flatnonzero(player == k)
        column = background.iloc[:, members[0]]
        if len(members) > 1:
            usual.append(None)
        elif pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            usual.append(float(column.median()))
        else:
            most = column.mode()
            usual.append(most.iloc[0] if len(most) else None)
    return usual
