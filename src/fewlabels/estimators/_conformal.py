"""Thresholds and p-values from the scores of rows that a machine was not trained on."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np
import scipy.sparse as sp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

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
# in float64 and in float32.
_TIE, _TIE_FLOAT32 = 1e-9, 1e-6
# alpha (n + 1) may be a whole number in decimals only.
_DECIMALS = 1e-12


class ConformalStreaming(ConvexStreaming):
    """A one-class machine whose threshold may be set by calibration.

    A *score* here is what a decision says about the row: without radius, norm of the centre and
    offset, which differ from one machine to another by as much as scores do when the kernel is
    narrow, and for duals that sum to one. A machine's own decision is ``factor * score +
    constant`` (``_own_scale``).

    What depends on calibration is computed when asked for: after an update the scores of all rows
    are others. Rows that a split holds out are rows of weight 0, with the mark "calibrates".
    """

    # In models that were saved before these existed.
    target_fpr, calibration = None, "auto"

    _SHOWN = ConvexStreaming._SHOWN | {"offset_", "_threshold", "_own"}
    _LATE = frozenset(("offset_", "intercept_", "_threshold"))
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
        self.calibration_scores_ = np.sort(self._scores(matrix[held_out], **options))

    def _options_of(self, matrix, held_out):
        """What else ``_own_decision`` needs for a precomputed kernel."""
        return {}

    # -- scores --------------------------------------------------------------------------------

    def _calibrate(self):
        """Compute ``calibration_scores_`` unless they are there."""
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
            scores = self._leave_each_out(stream)
        else:
            rows = stream.rows.rows(stream.rows.places) if on_path else stream["X"]
            scores = self._scores_of_held(rows[held_out])
        self.calibration_scores_ = np.sort(scores)
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
        scores[~out] = decisions_without(stream, places[~out], stream.score)
        scores[out] = self._scores_of_held(stream.rows.rows(places[out]))
        return scores

    def _scores(self, X, **options):
        factor, constant = self._own_scale()
        return (self._own_decision(X, **options) - constant) / factor

    def _scores_of_held(self, X):
        return self._scores(sp.csr_array(X) if self._sparse else X)

    @property
    def _tie(self):
        """Scores this near are equal."""
        share = _TIE_FLOAT32 if self._float64 is False else _TIE
        return share * self._decision_size / self._own_scale()[0]

    def _place_threshold(self):
        """``offset_`` and ``intercept_``: the machine's own, moved to the calibrated threshold."""
        threshold = 0.0
        if self.target_fpr is not None:
            scores = self._calibrate()
            rank = _rank(self.target_fpr, len(scores))
            factor, constant = self._own_scale()
            threshold = -np.inf
            if rank:
                threshold = factor * (scores[rank - 1] - self._tie) + constant
            else:
                _warn_of_few_rows(self.target_fpr, len(scores))
        offset, intercept = self._own
        self._threshold = threshold
        self.offset_, self.intercept_ = offset + threshold, intercept - threshold

    def _calibrated(self, decision):
        """Decisions from the machine's own."""
        threshold = self._threshold
        return decision if threshold == 0.0 else self._snapped(decision - threshold)

    # -- p-values ------------------------------------------------------------------------------

    def p_values(self, X, smoothed=False, **options):
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
        check_is_fitted(self)
        X = self._rows_to_score(X)
        scores = self._calibrate()
        score, n = self._scores(X, **options), len(scores)
        at_most = np.searchsorted(scores, score + self._tie, side="right")
        if not smoothed:
            return (at_most + 1) / (n + 1)
        below = np.searchsorted(scores, score - self._tie, side="left")
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
        return self._own_decision(sp.csr_array(X) if self._sparse else X)

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
    warnings.warn(
        f"target_fpr={rate:g} needs at least {fewest} calibration rows and there are {n}, so "
        "that no row will be rejected; pass more rows, or a target_fpr of at least "
        f"{1.0 / (n + 1):.2g}.",
        UserWarning,
        stacklevel=6,
    )


def _rank(rate, n):
    """How many of n calibration rows a rejected row may be as normal as, itself included."""
    return int(np.floor(rate * (n + 1) * (1.0 + _DECIMALS)))
