"""Fitted values of machines that are not made of them yet. Goes once all are."""

from __future__ import annotations

import numpy as np

from ..fitted import Curve, Function, TrainingRows, TwoSidedCurve
from ..kernels import Precomputed, make_kernel
from ._stream_state import holds_rows


def _common(m):
    m.support_  # noqa: B018
    gammas = getattr(m, "gammas_", [m.gamma_])
    kernels = tuple(make_kernel(m.kernel, g, m.degree, m.coef0) for g in gammas)
    is_matrix = isinstance(kernels[0], Precomputed)
    return dict(
        kernels=kernels, vectors=m.support_vectors_, center=m._center, float64=m._float64,
        columns=m.support_ if is_matrix else None,
    )  # fmt: skip


def _margin(m):
    return Function(
        **_common(m), coef=m.dual_coef_, bias=m._bias, shift=m._shift, rounding=m._rounding
    )


def _training_rows(m):
    stream = m.__dict__.get("_stream")
    if stream is None:
        return None
    if isinstance(stream, dict):
        X, weight = stream["X"], stream["weight"]
        label = stream.get("label")
        return TrainingRows(X, np.ones(X.shape[0]) if weight is None else weight, label)
    if callable(getattr(stream, "rows", None)):
        places = stream.places
        return TrainingRows(stream.rows(places), stream.weight[places], m._given_labels)
    rows, places = stream.rows, stream.rows.places
    return TrainingRows(rows.rows(places), rows["weight"][places])


def complete(*machines):
    """Give machines the attributes that readers use."""
    for cls in machines:
        if hasattr(cls, "function_"):
            continue
        cls.function_ = property(_margin)
        cls.holds_rows_ = property(holds_rows)
        cls.training_rows_ = property(_training_rows)
        if cls.__name__ == "PUEnsemble":
            cls.has_curve_ = True
            cls.curve_ = property(lambda m: TwoSidedCurve(m._spread, m._slopes))
        else:
            cls.has_curve_ = property(
                lambda m: hasattr(m, "predict_proba") and bool(m.__dict__.get("_curve"))
            )
            cls.curve_ = property(lambda m: Curve(**m._curve_now()))
