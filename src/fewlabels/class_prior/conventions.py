"""Two conventions of the class prior, and how they convert."""

from numbers import Integral, Real

# Rounding of a prior that was converted forth and back.
_ROUNDING = 1e-12


def pooled_from_unlabeled(prior: float, n_positive: int, n_unlabeled: int) -> float:
    """Return the share of positives among all rows, from the share among the unlabelled rows.

    ``(n_positive + prior * n_unlabeled) / (n_positive + n_unlabeled)``. The share among the
    unlabelled rows is the prior of the case-control setting (USMO, ``PUSVM``); the share among all
    rows is the prior of the single-training-set setting (Elkan & Noto; pulearn).

    Parameters
    ----------
    prior : float
        Share of positives among the unlabelled rows, in [0, 1].
    n_positive, n_unlabeled : int
        Numbers of rows, > 0.

    Returns
    -------
    float
        Share of positives among all rows, in [0, 1].

    Examples
    --------
    >>> from fewlabels.class_prior import pooled_from_unlabeled
    >>> pooled_from_unlabeled(0.4, 100, 900)
    0.46
    """
    _check(prior, n_positive, n_unlabeled)
    return float((n_positive + prior * n_unlabeled) / (n_positive + n_unlabeled))


def unlabeled_from_pooled(prior: float, n_positive: int, n_unlabeled: int) -> float:
    """Return the share of positives among the unlabelled rows, from the share among all rows.

    ``(prior * (n_positive + n_unlabeled) - n_positive) / n_unlabeled``: the inverse of
    ``pooled_from_unlabeled``.

    Parameters
    ----------
    prior : float
        Share of positives among all rows, at most 1; a smaller
        one than the share of the labelled positives alone is refused.
    n_positive, n_unlabeled : int
        Numbers of rows, > 0.

    Returns
    -------
    float
        Share of positives among the unlabelled rows, in [0, 1].

    Examples
    --------
    >>> from fewlabels.class_prior import unlabeled_from_pooled
    >>> round(unlabeled_from_pooled(0.46, 100, 900), 12)
    0.4
    """
    _check(prior, n_positive, n_unlabeled)
    total = n_positive + n_unlabeled
    share = float((prior * total - n_positive) / n_unlabeled)
    if share < -_ROUNDING:
        raise ValueError(
            f"prior={prior:g} among all rows is impossible: the {n_positive} labelled positives "
            f"alone are {n_positive / total:.4g} of the {total} rows; pass at least that, or use "
            "the prior among the unlabelled rows."
        )
    return min(max(share, 0.0), 1.0)


def _check(prior: float, n_positive: int, n_unlabeled: int) -> None:
    if not (isinstance(prior, float | Real) and 0.0 <= prior <= 1.0):
        raise ValueError(f"prior={prior!r} is not a share; pass a number in [0, 1].")
    for name, count in (("n_positive", n_positive), ("n_unlabeled", n_unlabeled)):
        if not (isinstance(count, int | Integral) and count > 0):
            raise ValueError(f"{name}={count!r} is not a number of rows; pass an integer > 0.")
