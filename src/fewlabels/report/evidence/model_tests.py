"""Whether a fitted model beats chance, and whether its prior agrees with its labels."""

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from ..._typing import IntArray, RowMatrix
from ..._util.deadline import Deadline
from ...kernels.rows import row_keys
from ...model_selection.comparison.folds import choose_rows
from ...model_selection.permutation import NO_SIGNAL, PermutationTest, permutation_test
from ...model_selection.positive_unlabelled.random_labels import (
    LabelledAtRandomTest,
    labelled_at_random_within,
)
from ...rows.grouped_folds import count_once, take_groups
from ..fit import HeldOutScores
from .class_shares import ClassShares
from .covariate_shift import CovariateShift
from .held_out import cross_fit_classes, cross_fit_positive
from .intervals import counted_interval

# Labelled rows that take part, and unlabelled rows that models of several classes score.
_MAX_LABELLED = 1500
MAX_QUERIED = 20_000
# An estimated prior contradicts labels if its threshold finds less than this share of the held-out
# labelled rows although their ROC AUC is at least this.
_MIN_RECALL = 0.5
_HIGH_RANK = 0.75
# The test of the labels: rows of either kind that it needs, and its draws.
_MIN_ROWS_OF_A_KIND = 20
_DRAWS = 99
_NOT_TESTED = "no test whether the labelled rows are a random sample"
# Fewer positive unlabelled rows than this are none.
_MIN_POSITIVES = 0.75
# So does one whose interval reaches from none to a small share, if the threshold finds no more
# than this part of them. Both were chosen on all sets of benchmark "verdicts", without a false
# contradiction there.
_SMALL_PRIOR = 0.13
_MAX_RECALL_OF_FEW = 0.55


class Tests(NamedTuple):
    """Results of the tests.

    ``signal`` is a ``PermutationTest``, or None, and ``reason`` says why. ``contradiction`` is how
    many held-out labelled rows lie above the threshold, of how many, where an estimated prior
    contradicts them. ``held`` are the ``HeldOutScores``, if they are of all rows. ``labels`` is a
    ``LabelledAtRandomTest``, or None, and then ``labels_untested`` may say why; ``check_labels``
    makes both. ``apart`` are one or two columns that separate labelled from unlabelled rows, where
    the prior contradicts the labels. ``shares`` are ``ClassShares``, or None, and ``unlike`` is an
    ``CovariateShift``, or None where labelled rows weren't compared with the rest.
    """

    signal: PermutationTest | None = None
    contradiction: tuple[int, int] | None = None
    held: HeldOutScores | None = None
    reason: str = ""
    labels: LabelledAtRandomTest | None = None
    labels_untested: str = ""
    apart: tuple[str, ...] | list[str] = ()
    shares: ClassShares | None = None
    unlike: CovariateShift | None = None

    @property
    def has_no_signal(self) -> bool:
        """Return whether the report must not say anything about rows."""
        return self.signal is not None and self.signal.outcome == NO_SIGNAL


def run_tests(
    estimator: BaseEstimator,
    X: RowMatrix,
    y: IntArray,
    deadline: Deadline,
    seconds: float = 0.0,
    groups: IntArray | None = None,
) -> Tests:
    """Run the ``Tests`` of a fitted model on scores of models trained without the rows.

    ``y`` has 1 for positive rows, or numbers of classes and -1 for unlabelled rows. Beyond 4000
    rows a sample takes part. ``seconds`` is what a fit takes. Rows of one of the ``groups`` are
    held out together and count once.
    """
    task = estimator.task
    labelled = task.is_known(y)
    n_labels = len(count_once(np.flatnonzero(labelled), labelled, groups))
    kept, _ = choose_rows(labelled, _MAX_LABELLED, "labelled", np.random.RandomState(0))
    is_sample = len(kept) < len(y)
    if is_sample:
        X, y, groups = X[kept], y[kept], take_groups(groups, kept)
    if task.has_prior:
        held = cross_fit_positive(estimator, X, y, deadline, groups=groups)
        kinds = (y[held.rows] == 1).astype(int)
    else:
        others = np.flatnonzero(y < 0)[:MAX_QUERIED]
        held = cross_fit_classes(estimator, X, y, others, deadline, seconds, groups)
        kinds = y[held.rows]
    if held.reason:
        return Tests(reason=held.reason)
    parts = np.zeros(len(kinds), int) if held.parts is None else held.parts
    interval = getattr(estimator, "prior_interval_", None)
    prior: float | None = 0.0
    if task.has_prior:  # an estimate can't be trusted before anybody knows of a signal
        prior = float(estimator.prior_) if interval is None else None
    signal = permutation_test(
        held.scores,
        kinds,
        parts,
        held.planned,
        n_labels,
        prior=prior,
        rows=row_keys(X[held.rows]),
    )
    if signal is None:
        return Tests(reason="no labelled row could be held out together with one of another kind")
    all_held = held if held.is_complete and not is_sample else None
    if not task.has_prior:
        return Tests(signal, None, all_held)
    contradiction = _find_contradiction(estimator.prior_, interval, held, kinds, signal)
    return Tests(signal, contradiction, all_held)


def check_labels(
    estimator: BaseEstimator, X: RowMatrix, y: IntArray, deadline: Deadline
) -> tuple[LabelledAtRandomTest | None, str]:
    """Test whether labels are a random sample, or return None and why that wasn't tested.

    A prior that was given counts as known. A model with propensities needs no random labels, and
    no reason.
    """
    labelled = y == 1
    if getattr(estimator, "propensity_weights_", None) is not None:
        return None, ""
    for n, which in ((np.sum(labelled), "labelled"), (np.sum(~labelled), "unlabelled")):
        if n < _MIN_ROWS_OF_A_KIND:
            return (
                None,
                f"that needs at least {_MIN_ROWS_OF_A_KIND} {which} rows, and there are {n}",
            )
    prior = float(estimator.prior) if isinstance(estimator.prior, Real) else "estimate"
    found = None
    if not deadline.is_over():
        found = labelled_at_random_within(deadline, X, labelled, prior=prior, n_draws=_DRAWS)
    if found is None:
        deadline.cut.append(_NOT_TESTED)
        return None, "there was no time"
    return found, ""


def _find_contradiction(
    prior: float,
    interval: tuple[float, float] | None,
    held: HeldOutScores,
    kinds: IntArray,
    signal: PermutationTest,
) -> tuple[int, int] | None:
    """Count labelled rows above the threshold; None where the prior agrees with them.

    The threshold marks as many unlabelled rows as the prior says. Where that is none, or misses
    most labelled rows although they rank high, either the prior is too small by far or labelled
    rows are no random sample of all positives. Missing almost half of them is enough where the
    interval of the prior includes that there are none.
    """
    labelled_scores = held.scores[kinds == 1]
    hits = int(np.sum(labelled_scores > 0))
    n = len(labelled_scores)
    n_unlabelled = np.sum(kinds == 0)
    if interval is None:
        return None
    is_none = prior * n_unlabelled < _MIN_POSITIVES
    misses_most = counted_interval(hits, n)[1] < _MIN_RECALL
    may_be_none = interval[0] * n_unlabelled < _MIN_POSITIVES and interval[1] < _SMALL_PRIOR
    misses = misses_most or (may_be_none and hits <= _MAX_RECALL_OF_FEW * n)
    return (hits, n) if is_none or (misses and signal.area >= _HIGH_RANK) else None
