"""The share of positives among the unlabelled rows of a table."""

import time

import numpy as np

from ..class_prior import METHODS, estimate_prior
from ..io.errors import UserError, listing, quoted
from ..io.memory import source_of
from ..io.tables.training import read_training
from ..training.row_order import value_order
from .observer import job
from .settings import check_ranges
from .training.choice import check_options, choose_roles
from .training.figures import finite
from .training.texts import encode
from .wording import as_options, listening


@job
def prior(
    data, target, *, positive=None, drop=(), categorical=(), keep=(), text=(), missing="impute",
    scale="auto", method="auto", confidence=0.9, convention="unlabeled", n_jobs=None, seed=0,
    merge_case=None, dates=(), observer=None, **reading,
):  # fmt: skip
    """Estimate the class prior of a table.

    Parameters
    ----------
    data, target, positive, drop, categorical, keep, text, missing, scale
        As in :func:`fewlabels.fit_table`.
    method, confidence, convention, n_jobs, seed
        As in :func:`fewlabels.class_prior.estimate_prior`, whose ``random_state`` is the seed.
    merge_case, dates
        As in :func:`fewlabels.fit_table`.
    observer : Observer, optional
        Names settings in errors and notes.
    **reading
        ``sep``, ``decimal``, ``encoding``, ``header`` and ``features`` as in
        :func:`fewlabels.fit_table`.

    Returns
    -------
    dict
        Estimate, interval, counts and seconds.
    """
    check_ranges({"confidence": confidence, "n_jobs": n_jobs, "random_state": seed})
    if method not in ("auto", *METHODS):
        raise UserError(
            f"Unknown --method {quoted(method)}; use {listing(['auto', *METHODS], limit=20)}."
        )
    check_options("pusvm", target, None, positive)
    started = time.perf_counter()
    data = source_of(data, **reading)
    file = read_training(
        data, target=target, drop=drop, categorical=categorical, keep=keep, text=text,
        merge_case=merge_case, dates=dates,
    )  # fmt: skip
    roles = choose_roles(file, "pusvm", positive=positive)
    _, found, _, X, _, _, told = encode(file, roles, missing, scale)
    # As a fit gives them to the estimator, so that both find the same prior.
    order = value_order(X, found.y > 0, np.ones(X.shape[0]))
    try:
        with listening() as messages:
            result = estimate_prior(
                X[order], found.y[order], method, confidence=confidence, convention=convention,
                random_state=seed, n_jobs=n_jobs,
            )  # fmt: skip
    except ValueError as error:
        raise UserError(as_options(str(error))) from error
    n_positive = int(found.y.sum())
    return {
        "data": str(data),
        "target": target,
        **roles.facts,
        "prior": finite(result.prior),
        "low": finite(result.low),
        "high": finite(result.high),
        "confidence": result.confidence,
        "convention": result.convention,
        "method": result.method,
        "rows_read": file.n_rows,
        "rows_labeled": n_positive,
        "rows_unlabeled": len(found.y) - n_positive,
        "seconds": time.perf_counter() - started,
        "notes": [observer.words(note) for note in found.notes + told + messages],
    }
