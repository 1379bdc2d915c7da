"""Thresholds and p-values from the scores of rows that a machine was not trained on."""

from __future__ import annotations

import contextlib
import threading
import warnings
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..gram import Expansion
from ._convex_leave_out import decisions_without
from ._convex_path import ConvexPath
from ._convex_stream import ConvexStreaming
from ._validation import check_rows, check_weight

# "auto" leaves single rows out where that takes seconds: always up to here, ...
_FEW_ROWS = 1000
# ... and up to here when not more than so many rows have to be forgotten and put back.
_MANY_ROWS, _FEW_SUPPORT = 10_000, 1000
# Rows that a split holds out, in units of 1 / target_fpr: the rate that a single split ends
# at deviates from target_fpr by a tenth of it, and more rows are better used for training.
_HELD_OUT = 100
# Scores nearer than this share of the terms they are summed from are ties, with kernel values
# in float64 and in float32. Those of an RBF kernel are sums of positive terms, and as exact as
# these relative to themselves, ...
_TIE, _TIE_FLOAT32 = 1e-9, 1e-6
# ... down to where float64 ends; below, rows are as far away as can be told.
_LEAST = 1e-290
# Sums in units of the coefficients' that float32 may have cut off: it ends at 1e-38.
_FAR_FLOAT32 = 1e-30
# alpha (n + 1) may be a whole number in decimals only.
_DECIMALS = 1e-12
# Leaving rows out moves the machine along its path and back; one thread at a time may.
_CALIBRATING = threading.RLock()


class ConformalStreaming(ConvexStreaming):
    """A one-class machine whose threshold may be set by calibration.

    The *score* is ``score_samples``. Machines differ in radius, norm of the centre and offset, by
    as much as scores do when the kernel is narrow, so that ``calibration_scores_`` hold what is
    said about the row alone: scores less ``_level``, over ``_unit``. P-values and decisions
    compare the same numbers, and so they agree to the last bit.

    What depends on calibration is computed when asked for: after an update the scores of all rows
    are others. Rows that a split holds out are rows of weight 0, with the mark "calibrates".
    """

    # In models that were saved before these existed.
    target_fpr, calibration = None, "auto"

    _SHOWN = ConvexStreaming._SHOWN | {"offset_", "_cut", "_own"}
    _LATE = frozenset(("offset_", "intercept_", "_cut"))
    _CONFORMAL_CONSTRAINTS = {  # noqa: RUF012
        "target_fpr": [Interval(Real, 0.0, 1.0, closed="neither"), None],
        "calibration": [StrOptions({"auto", "leave-one-out", "split"})],
    }

    # -- fitting -------------------------------------------------------------------------------

    def _fit_calibrated(self, X, sample_weight, callback):
        """Fit, on all rows or on those that are not held out, and set the threshold."""
        self._stream = None
        for name in ("calibration_scores_", "_scores_before"):
            self.__dict__.pop(name, None)
        held_out = None
        if self.target_fpr is not None:
            self._check_calibration()
            n = check_rows(self, X, reset=True).shape[0]
            if self._splits(n, None):
                held_out = self._draw(n)
        self._fit_without(held_out, X, sample_weight, callback)
        if self.target_fpr is not None:
            if held_out is None and self._splits(n, int(self.n_support_.sum())):
                held_out = self._draw(n)
                self._fit_without(held_out, X, sample_weight, callback)
            if self.kernel == "precomputed":
                self._calibrate_by_matrix(X, held_out)
            self._calibrate()
            self.support_  # noqa: B018
        self._place_threshold()
        return self

    def _store_own(self, offset, intercept):
        """Offset and intercept of the machine's own boundary."""
        self._own = offset, intercept
        for name in self._LATE:
            self.__dict__.pop(name, None)

    def _check_calibration(self):
        if self.kernel == "precomputed" and self.calibration == "leave-one-out":
            raise ValueError(
                "calibration='leave-one-out' needs rows, and kernel='precomputed' has none; pass "
                "calibration='split', or rows and a kernel or a callable."
            )

    def _splits(self, n, n_support):
        """Whether ``calibration`` means a split; None for not before ``n_support`` is known."""
        if self.calibration != "auto":
            return self.calibration == "split"
        if self.kernel == "precomputed" or n > _MANY_ROWS:
            return True
        return n > _FEW_ROWS and n_support is not None and n_support > _FEW_SUPPORT

    def _draw(self, n):
        """Mask of the rows that are held out."""
        held_out = np.zeros(n, bool)
        size = min(n // 2, int(np.ceil(_HELD_OUT / self.target_fpr)))
        held_out[np.random.default_rng(self._seed()).permutation(n)[:size]] = True
        return held_out

    def _fit_without(self, held_out, X, sample_weight, callback):
        if held_out is not None:
            rows = check_rows(self, X, reset=True)
            weight, kept = check_weight(sample_weight, rows)
            everywhere = np.zeros(rows.shape[0])
            everywhere[slice(None) if kept is None else kept] = 1.0 if weight is None else weight
            everywhere[held_out] = 0.0
            sample_weight = everywhere
        self._fit_rows(X, sample_weight, callback, {} if held_out is None else {
            "calibrates": held_out
        })  # fmt: skip

    def _calibrate_by_matrix(self, X, held_out):
        """The scores of rows that are given by their kernel values, which nobody keeps."""
        matrix = check_rows(self, X, reset=False)
        options = self._options_of(matrix, held_out)
        self.calibration_scores_ = self._sorted_scores(matrix[held_out], **options)

    def _options_of(self, matrix, held_out):
        """What else ``_score`` needs for a precomputed kernel."""
        return {}

    # -- scores --------------------------------------------------------------------------------

    def _calibrate(self):
        """Compute ``calibration_scores_`` unless they are there."""
        if "calibration_scores_" in self.__dict__:
            return self.calibration_scores_
        with _CALIBRATING:
            return self._calibrated()

    def _calibrated(self):
        if "calibration_scores_" in self.__dict__:
            return self.calibration_scores_
        stream = self.__dict__.get("_stream")
        if stream is None:
            raise ValueError(
                f"this {type(self).__name__} was fitted without target_fpr and does not hold rows "
                "to leave out; pass target_fpr and fit it again."
            )
        on_path = isinstance(stream, ConvexPath)
        if on_path and not stream.done:
            if "_scores_before" not in self.__dict__:
                raise ValueError("an operation is on its way; call resume() first.")
            return self._scores_before
        held_out = _marks(stream)
        if held_out is None:
            self.calibration_scores_ = np.sort(self._leave_each_out(stream))
        else:
            rows = stream.rows.rows(stream.rows.places) if on_path else stream["X"]
            self.calibration_scores_ = self._sorted_scores(self._as_scored(rows[held_out]))
        return self.calibration_scores_

    def _leave_each_out(self, stream):
        if not isinstance(stream, ConvexPath):
            n, n_support = self.shape_fit_[0], int(self.n_support_.sum())
            if self.target_fpr is None and self._splits(n, n_support):
                raise ValueError(
                    f"p-values of {n} rows with {n_support} support vectors need each of these "
                    "to be left out in turn, as no rows were held out; pass target_fpr and fit "
                    "again, or calibration='leave-one-out' if that may take its time."
                )
            stream = self._ready_stream()
            self._follow("fit", stream, None)
        places = stream.rows.places
        if np.sum(stream.takes()[places]) == 1 == len(places):
            return np.zeros(0)
        stream.check_one_left_out(places)
        out = ~stream.takes()[places]
        scores = np.empty(len(places))
        scores[~out] = decisions_without(stream, places[~out], scores=True)
        scores[out] = self._comparable(self._as_scored(stream.rows.rows(places[out])))
        return scores

    def _sorted_scores(self, X, **options):
        return np.sort(self._comparable(X, **options))

    def _comparable(self, X, **options):
        """Scores that other machines' can be compared with."""
        return (self._score(X, **options) - self._level) / self._unit

    def _scores_of(self, comparable):
        """What ``score_samples`` gives for rows with such scores."""
        return self._unit * comparable + self._level

    def _as_scored(self, rows):
        """Rows that are held, as ``_rows_to_score`` would give them."""
        return sp.csr_array(rows) if self._sparse else rows

    def _sum(self, X, vectors, coef):
        """``sum_j coef_j K(x_j, x)``; relative to itself exact for an RBF kernel."""
        expansion = self._expansion(vectors, coef)
        values = expansion(X)
        if self.kernel == "rbf" and self._float64 is False:
            far = np.flatnonzero(values < _FAR_FLOAT32 * coef.sum())
            if len(far):
                row_map = expansion.row_map.refined()
                exact = Expansion(self._kernel, vectors, coef, row_map=row_map)
                values[far] = exact(X[far])
        return values

    def _ends(self, scores):
        """Between which scores of rows every calibration score counts as equal to them."""
        share = _TIE_FLOAT32 if self._float64 is False else _TIE
        if self.kernel != "rbf":
            tie = share * self._decision_size
            middle = self._scores_of(scores)
            return middle - tie, middle + tie
        near = scores < _LEAST
        low = np.where(near, 0.0, self._unit * scores * (1.0 - share))
        return low, self._unit * np.where(near, _LEAST, scores * (1.0 + share))

    def _own_decision(self, X, **options):
        """The decision without calibration."""
        return self._score(X, **options) - self._own_offset

    def _on_boundary(self, score):
        """Scores, those on the machine's own boundary but for rounding moved onto it.

        Support vectors between their bounds lie exactly on it, see ``_snapped``.
        """
        own = self._own_offset
        score[np.abs(score - own) <= self._rounding_of_scores] = own
        return score

    @property
    def _rounding_of_scores(self):
        """Scores that differ by no more from the machine's own boundary lie on it."""
        if self.kernel == "rbf":
            return min(self._rounding, _TIE * abs(self._own_offset))
        return self._rounding

    def _place_threshold(self):
        """``offset_`` and ``intercept_``: the machine's own, or the calibrated threshold."""
        offset, intercept = self._own
        cut = None
        if self.target_fpr is not None:
            scores = self._calibrate()
            rank = _rank(self.target_fpr, len(scores))
            cut = float(self._ends(scores[rank - 1 : rank])[0][0]) if rank else -np.inf
            if not rank:
                _warn_of_few_rows(self.target_fpr, len(scores))
            intercept = intercept - (cut - self._own_offset)
            offset = np.full_like(offset, cut) if np.ndim(offset) else cut
        # Only now: other threads decide by what is there.
        self._cut, self.offset_, self.intercept_ = cut, offset, intercept

    def _decide(self, X, **options):
        """The decision, about the calibrated threshold if there is one."""
        cut = self._cut
        if cut is None:
            return self._own_decision(X, **options)
        return self._score(X, **options) - cut

    # -- p-values ------------------------------------------------------------------------------

    def p_values(self, X, smoothed=False, **options) -> np.ndarray:
        """Conformal p-values: small for rows unlike the training rows.

        The share of rows, among those that calibrate and the row itself, that are at most as
        normal as it: ``(#{calibration_scores_ <= score} + 1) / (n_calibration + 1)``. If the
        training rows are normal, a new normal row has a p-value of at most t with a probability
        of at most t, for every t; see ``calibration`` for what is proven. With ``target_fpr``,
        ``predict`` gives -1 exactly where the p-value is at most ``target_fpr``. A machine
        fitted without it is calibrated by leaving out each of its rows, on the first call.

        Parameters
        ----------
        X : {array-like, sparse} of shape (n_samples, n_features)
            Rows; for ``kernel="precomputed"`` their kernel values against the training
            rows.
        smoothed : bool, default=False
            Break ties, the row's own with itself included, at random (``random_state``). The
            p-values of new normal rows are then uniform on (0, 1).
        **options
            What else ``decision_function`` takes.

        Returns
        -------
        ndarray of shape (n_samples,)
            In [1 / (n_calibration + 1), 1], or in (0, 1) when ``smoothed``.

        References
        ----------
        Vovk, V., Gammerman, A., Shafer, G. (2005). Algorithmic learning in a random world.
        Springer.

        Laxhammar, R., Falkman, G. (2015). Inductive conformal anomaly detection for sequential
        detection of anomalous sub-trajectories. Annals of Mathematics and Artificial
        Intelligence 74.

        Examples
        --------
        >>> import numpy as np
        >>> from fewlabels import SVDD
        >>> normal = np.random.default_rng(0).normal(size=(199, 2))
        >>> SVDD(target_fpr=0.05).fit(normal).p_values([[0.0, 0.0], [6.0, 6.0]]).round(3)
        array([0.64 , 0.005])
        """
        # The first call sets attributes, and whoever looks at them meanwhile must wait.
        known = "calibration_scores_" in self.__dict__
        with contextlib.nullcontext() if known else _CALIBRATING:
            check_is_fitted(self)
            X = self._rows_to_score(X)
            self._calibrate()
        return self._p_values_of(self._score(X, **options), smoothed)

    def _p_values_of(self, score, smoothed=False):
        """p-values of rows from their ``score_samples``."""
        scores = self._calibrate()
        n = len(scores)
        low, high = self._ends(scores)
        at_most = np.searchsorted(low, score, side="right")
        if not smoothed:
            return (at_most + 1) / (n + 1)
        below = np.searchsorted(high, score, side="left")
        uniform = np.random.default_rng(self._seed()).uniform(size=len(score))
        return (below + uniform * (at_most - below + 1)) / (n + 1)

    # -- updates -------------------------------------------------------------------------------

    def _values_of_new(self, stream, weight):
        """Marks of rows that arrive: as large a share of them calibrates as did so far.

        Sets the weight of these to 0.
        """
        held_out = _marks(stream)
        if held_out is None:
            return {}
        # The count of places is another one for every block.
        rng = np.random.default_rng([self._seed(), stream.rows.n_places])
        calibrates = rng.uniform(size=len(weight)) < held_out.mean()
        weight[calibrates] = 0.0
        return {"calibrates": calibrates}

    def _follow(self, name, stream, max_steps, stacklevel=3):
        if "calibration_scores_" in self.__dict__:
            self._scores_before = self.__dict__.pop("calibration_scores_")
        return super()._follow(name, stream, max_steps, stacklevel + 1)

    def _decided(self, X):
        return self._own_decision(self._as_scored(X))

    def __getattr__(self, name):
        if name in self._LATE and self._is_begun():
            self._place_threshold()
            return self.__dict__[name]
        if name == "_own" and "offset_" in self.__dict__:
            # In models that were saved before there was calibration.
            return self.offset_, self.intercept_
        if name == "calibration_scores_" and self._is_begun():
            try:
                return self._calibrate()
            except ValueError as error:
                raise AttributeError(str(error)) from error
        return super().__getattr__(name)

    def release_rows(self):
        check_is_fitted(self)
        self.offset_  # noqa: B018
        return super().release_rows()

    release_rows.__doc__ = ConvexStreaming.release_rows.__doc__

    def __getstate__(self):
        if isinstance(self.__dict__.get("_stream"), ConvexPath):
            self.offset_  # noqa: B018
        return super().__getstate__()


def _marks(stream):
    """Mask of the present rows that a split held out, None when all were trained on."""
    if not isinstance(stream, ConvexPath):
        return stream.get("calibrates")
    marks = stream.rows.get("calibrates")
    return None if marks is None else marks[stream.rows.alive]


def _warn_of_few_rows(rate, n):
    fewest = int(np.ceil((1.0 - _DECIMALS) / rate)) - 1
    least = 1.0 / (n + 1)
    digit = 10.0 ** (np.floor(np.log10(least)) - 1.0)
    least = digit * np.ceil((1.0 - _DECIMALS) * least / digit)
    warnings.warn(
        f"target_fpr={rate:g} needs at least {fewest} calibration rows and there are {n}, so "
        "that no row will be rejected; pass more rows"
        + (f", or a target_fpr of at least {least:.2g}." if n else "."),
        UserWarning,
        stacklevel=6,
    )


def _rank(rate, n):
    """How many of n calibration rows a rejected row may be as normal as, itself included."""
    return int(np.floor(rate * (n + 1) * (1.0 + _DECIMALS)))
