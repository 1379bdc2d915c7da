"""The share of positives among the unlabelled rows of a table."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .._typing import TableLike
from .._util.messages import UserError, listing, plural, quoted, ref
from .._util.option import Option, Range, options_of_schema
from ..class_prior import METHODS, estimate_prior, pooled_from_unlabeled
from ..class_prior.prior import describe_doubts
from ..class_prior.uncertainty import is_determined
from ..rows.row_order import value_order
from ..tables.columns.target import Labels
from ..tables.reading.options import ReadingOptions
from ..tables.reading.training import read_training
from ..tables.user_data import make_source
from .observer import Observer, capture_warnings
from .options.checks import parse_options
from .options.fit import ENCODING
from .tasks import finite, positive_unlabelled
from .training.encoding import EncodingOptions, encode

_CONFIDENCE = Option("Confidence level.", range=Range("between 0 and 1", lambda one: 0 < one < 1))
# Options of a fit that say which rows a prior is estimated from.
_OF_ROWS = ("positive", *ENCODING, *options_of_schema(ReadingOptions))


def prior(
    data: TableLike,
    target: str,
    *,
    method: str = "auto",
    confidence: float = 0.9,
    convention: str = "unlabeled",
    n_jobs: int | None = None,
    seed: int = 0,
    observer: Observer | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Estimate the class prior of a table.

    Parameters
    ----------
    data, target
        As in :func:`fewlabels.fit_table`.
    method, confidence, convention, n_jobs, seed
        As in :func:`fewlabels.class_prior.estimate_prior`, whose ``random_state`` is the seed.
    observer : Observer, optional
        Names settings in errors and notes.
    **options
        ``positive``, options of columns and options of reading as in
        :func:`fewlabels.fit_table`.

    Returns
    -------
    dict
        Estimate (None if the interval is too wide for one), interval, counts and seconds.
    """
    observer = observer or Observer()
    _CONFIDENCE.check_value("confidence", confidence)
    for name in options:
        if name not in _OF_ROWS:
            raise UserError(f"Unknown option {quoted(name)}; there are {', '.join(_OF_ROWS)}.")
    asked = parse_options(
        {"target": target, "method": "pusvm", "n_jobs": n_jobs, "random_state": seed, **options}
    )
    if method not in ("auto", *METHODS):
        raise UserError(
            f"Unknown {ref('method', text=method)}; use {listing(['auto', *METHODS], limit=20)}."
        )
    started = time.perf_counter()
    data = make_source(data, **asked.reading)
    file = read_training(data, asked.columns)
    labels = file.labels
    assert labels is not None  # there is a target
    _check_classes(labels)
    roles = positive_unlabelled.roles(file, "pusvm", asked)
    rows = encode(file, roles, EncodingOptions(asked.missing, asked.scale))
    X, y = rows.X, rows.found.y
    assert y is not None  # the task takes labels
    # As a fit gives them to the estimator, so that both find the same prior.
    order = value_order(X, y > 0, np.ones(X.shape[0]))
    try:
        with capture_warnings() as messages:
            result = estimate_prior(
                X[order],
                y[order],
                method,
                confidence=confidence,
                random_state=seed,
                n_jobs=n_jobs,
            )
    except ValueError as error:
        raise UserError(error) from error
    n_positive = int(y.sum())
    determined = is_determined((result.low, result.high))
    values: list[float | None] = [result.prior, result.low, result.high]
    ends = (result.low * (len(y) - n_positive), result.high * (len(y) - n_positive))
    caution = describe_doubts(result, len(y) - n_positive).rstrip(".") or None
    if convention == "pooled":
        values = [
            pooled_from_unlabeled(share, n_positive, len(y) - n_positive)
            for share in (result.prior, result.low, result.high)
        ]
    if not determined:
        values[0] = None
    return {
        "data": str(data),
        "target": target,
        **roles.facts,
        **dict(zip(("prior", "low", "high"), map(finite, values), strict=True)),
        # Of the unlabelled rows, whatever the convention.
        **dict(zip(("rows_low", "rows_high"), map(round, ends), strict=True)),
        "caution": caution and observer.words(caution),
        "confidence": result.confidence,
        "convention": convention,
        "method": result.method,
        "rows_read": file.n_rows,
        "rows_labeled": n_positive,
        "rows_unlabeled": len(y) - n_positive,
        "seconds": time.perf_counter() - started,
        "notes": [observer.words(note) for note in rows.found.notes + rows.notes + messages],
    }


def _check_classes(labels: Labels) -> None:
    """Refuse several classes and unlabelled rows, whose shares another job estimates."""
    if len(labels.names) + (labels.n_blank > 0) < 3:
        return
    blanks = f" and {plural(labels.n_blank, 'blank')}" if labels.n_blank else ""
    raise UserError(
        f"{labels.where} has {labels.list_values()}{blanks}, but a prior is the share of one "
        "class: blank the cells of all other classes, or use 'fewlabels fit' with "
        f"{ref('class_ratio', 'estimate')} for all shares among the unlabelled rows."
    )
