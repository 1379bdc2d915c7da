"""Propensities of the labelled rows of a table: given in a column, or estimated from some."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..._typing import FloatArray, RowMatrix
from ..._util.messages import UserError, listing, quoted, ref
from ...tables.reading.training import TableRows
from ...tasks import TASKS, list_methods_for
from ..options.fit import FitOptions
from ..tasks import Choice

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.base import BaseEstimator


def check_takes_propensities(options: FitOptions, choice: Choice) -> None:
    """Refuse propensities for a method that takes none."""
    takers = list_methods_for(*(task for task in TASKS if task.has_prior))
    if options.weighing is not None and choice.method not in takers:
        raise UserError(
            f"{ref(options.weighing)} is for {' and '.join(takers)}, but the model is "
            f"{choice.method}, {choice.why}; omit the option."
        )


def find_propensities(
    options: FitOptions, found: TableRows, X: RowMatrix, prior: float | str | None
) -> tuple[FloatArray, list[str]]:
    """Return propensities of the rows ``found``, encoded as ``X``, and notes for the user.

    ``prior`` is the share of positives among the unlabelled rows, None where it isn't known.
    """
    if options.weighing == "propensity":
        assert found.aside is not None
        return found.aside, []
    from ...model_selection import estimate_propensity  # slow to import

    columns = selection_columns(found.rows, options.selection_depends_on)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate = estimate_propensity(
            X,
            found.y == 1,
            columns,
            prior="estimate" if prior is None else prior,
            random_state=options.parameters.get("random_state") or 0,
        )
    names = listing(options.selection_depends_on)
    notes = [
        f"propensities are estimated from {names} (the best of several local optima): "
        f"{100 * estimate.propensity[found.y == 1].mean():.0f} % on average, and "
        f"{estimate.prior:.2g} of the unlabelled rows positive"
    ]
    return estimate.propensity, notes + [str(one.message).rstrip(".") for one in caught]


def selection_columns(rows: pd.DataFrame, names: Sequence[str]) -> FloatArray:
    """Return numbers of some columns; categories become a column each."""
    known = list(getattr(rows, "columns", ()))
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(
            f"{ref('selection_depends_on', list(names))}: the model uses no column "
            f"{quoted(unknown[0])}; it uses {listing(known) or 'columns without names'}."
        )
    parts = []
    for name in names:
        column = rows[name]
        if column.dtype.kind in "biuf":
            numbers = column.to_numpy(dtype=float)
            parts.append(np.where(np.isfinite(numbers), numbers, np.nanmedian(numbers))[:, None])
        else:
            texts = column.astype(str).to_numpy()
            values = np.unique(texts)
            parts.append((texts[:, None] == values[1:]).astype(float))
    return np.hstack(parts)


def describe_weights(estimator: BaseEstimator) -> list[str]:
    """Return what the user should know of the weights of a fitted model."""
    weights = getattr(estimator, "propensity_weights_", None)
    if weights is None:
        return []
    clipped = f", {weights.n_clipped} of them clipped" if weights.n_clipped else ""
    return [
        f"labelled rows are weighted by their propensities{clipped}: effective sample size "
        f"{weights.effective_size:.0f} of {weights.n_labelled}, {100 * weights.strength:.0f} % of "
        "inverse propensities and the rest equal weights; held-out figures come from models "
        "without weights"
    ]
