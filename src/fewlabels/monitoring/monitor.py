"""A monitor: a frozen model, ranks, bets, a chart, alerts, and the rows that explain an alarm."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from .._typing import BoolArray, FloatArray, MatrixLike, VectorLike
from ..base.locking import consistent
from ..kernels.rows import canonical
from .changes import Change, explain
from .charts import CHARTS, Chart, Martingale
from .class_shift import ScoresByClass, scores_by_class
from .false_discovery import LORD, SAFFRON
from .kept_rows import KeptContents, KeptRows, Table
from .martingales import new_bettors
from .ranks import Ranks, p_values_among
from .scores import Score, check_scores, model_of, own_calibration

# Earlier rows that recent ones are compared with, and rows that a chart looks at in one go.
_SAMPLE, _AT_A_TIME = 1000, 1000
# Sees changes sooner than a CUSUM chart of the same run length.
_CHART = "shiryaev-roberts"


@dataclass(frozen=True, eq=False)
class Update:
    """The findings of a monitor in a batch of rows; arrays have one entry per row.

    Attributes
    ----------
    first : int
        Number of the first row in the stream, from 0.
    scores : ndarray of shape (n_samples,)
        Scores by the frozen model; small ones are unusual.
    p_values : ndarray of shape (n_samples,)
        Ranks among calibration rows and all earlier rows, in (0, 1).
    log_evidence : ndarray of shape (n_samples,)
        Natural logarithm of the martingale, or of the chart's statistic, after each row.
    alarms : ndarray of bool of shape (n_samples,)
        Rows at which an alarm was raised.
    alerts : ndarray of bool of shape (n_samples,)
        Rows that were alerted; all False unless ``alerts`` was passed.
    slots : ndarray of int of shape (n_samples,)
        Where each score is held for ranking, -1 if it was dropped at once.
    """

    first: int
    scores: np.ndarray
    p_values: np.ndarray
    log_evidence: np.ndarray
    alarms: np.ndarray
    alerts: np.ndarray
    slots: np.ndarray


class Monitor:
    """Watch the rows that a fitted model scores, and raise an alarm when they change.

    Use it if a model is deployed and nobody checks its inputs: sensors drift, customers change,
    a table gets new units. No labels are needed. You set the probability of a false alarm, or the
    mean number of rows between false alarms. ``change()`` reports when the change began and which
    features changed.

    Every row gets a p-value: the rank of its score among the calibration rows and all earlier
    rows of the stream. While rows are exchangeable, these p-values are independent and uniform.
    Betting martingales turn them into evidence of a change.

    Parameters
    ----------
    model : estimator
        A fitted model: one of this package, or any of scikit-learn's that has
        ``decision_function``, ``score_samples`` or ``predict_proba``. The monitor uses a frozen
        copy. Only changes that move the scores can be seen.
    calibration : array-like of shape (n_calibration, n_features), "model" or None, default=None
        Rows from before the stream that the model was **not** trained on. Training rows score
        too well and cause false alarms. "model" takes the calibration scores of a one-class
        model: exact for rows held out by ``calibration="split"``, approximate for leave-one-out
        scores. Of a PUSVM or S3VM that stores its rows, it takes the unlabelled ones, each scored
        by a model fitted without it, which is approximate. None starts without: the first rows of
        the stream are the reference, and a change that all rows share can't be seen.
    labels : array-like of shape (n_calibration,), default=None
        Classes of the calibration rows, or marks of the positive ones. :meth:`change` then
        distinguishes a changed class ratio from changed features. Models of two classes only.
    score : str or callable, default=None
        The method of the model that scores rows, or a function of rows. None chooses one.
    alpha : float, default=0.01
        At most this share of unchanged streams ever raises an alarm, in (0, 1).
    run_length : int, default=None
        Raise repeated alarms instead: on an unchanged stream so many rows pass between two alarms
        on average. At least 2; ``alpha`` is not used then. Thresholds for 10 to 1,000,000 rows are
        calibrated by simulation. Others are bounds, and alarms are rarer.
    chart : {"shiryaev-roberts", "cusum"} or None, default=None
        The statistic for repeated alarms; None chooses "shiryaev-roberts".
    alerts : float, LORD, SAFFRON or None, default=None
        Alert on single rows: the share of normal rows that may be alerted, in (0, 1), or a rule
        that bounds the share of normal rows among the alerts. Rows are then ranked among the
        calibration rows alone, if there are any, so that anomalies of the stream don't hide
        others. A rule needs thousands of calibration rows to find much.
    max_scores : int, default=100_000
        Scores held for ranking, at least 100. When there are more, a random one is dropped for
        each new one. P-values stay independent and uniform.
    window : int, default=2000
        Latest rows kept to explain an alarm, at least 50.
    refits : bool, default=False
        Share ``alpha`` among the models of all later calls of :meth:`refit`: the k-th model gets
        ``alpha / (k (k + 1))``. Otherwise each model has the full ``alpha``.
    random_state : int, default=0
        Seed of the numbers that break ties, at least 0. Each row takes one, so results don't
        depend on batch sizes.

    Attributes
    ----------
    n_rows_ : int
        Rows of the stream so far.
    alarm_ : int or None
        Number of the row that raised the first alarm since the last :meth:`accept` or
        :meth:`refit`, from 0.
    log_evidence_ : float
        Natural logarithm of the martingale, or of the chart's statistic.

    Notes
    -----
    The guarantee holds whatever the model and the distribution. It needs a model that stays the
    same between calls of :meth:`refit`, and rows whose order carries no information while
    nothing changes. Streams with daily cycles or runs of similar rows are not exchangeable, and
    a monitor reports that as a change.

    References
    ----------
    Vovk, V., Gammerman, A., Shafer, G. (2005). Algorithmic Learning in a Random World. Springer.

    Vovk, V., Petej, I., Nouretdinov, I., Ahlberg, E., Carlsson, L., Gammerman, A. (2021). Retrain
    or not retrain: conformal test martingales for change-point detection. COPA, PMLR 152.

    Examples
    --------
    >>> import numpy as np
    >>> from fewlabels import SVDD
    >>> from fewlabels.monitoring import Monitor
    >>> rng = np.random.default_rng(0)
    >>> model = SVDD().fit(rng.normal(size=(200, 3)))
    >>> monitor = Monitor(model, calibration=rng.normal(size=(200, 3)))
    >>> monitor.update(rng.normal(size=(500, 3))).alarms.any()
    np.False_
    >>> changed = monitor.update(rng.normal(size=(500, 3)) + [0.0, 1.5, 0.0])
    >>> bool(changed.alarms.any()), monitor.change().features[0].name
    (True, 'x1')
    """

    def __init__(
        self,
        model: BaseEstimator,
        calibration: MatrixLike | str | None = None,
        labels: VectorLike | None = None,
        *,
        score: str | Callable[[Table], FloatArray] | None = None,
        alpha: float = 0.01,
        run_length: int | None = None,
        chart: str | None = None,
        alerts: LORD | SAFFRON | float | None = None,
        max_scores: int = 100_000,
        window: int = 2000,
        refits: bool = False,
        random_state: int = 0,
    ) -> None:
        _check_share("alpha", alpha)
        _check_count("run_length", run_length, 2, none=True)
        _check_count("max_scores", max_scores, 100)
        _check_count("window", window, 50)
        _check_count("random_state", random_state, 0)
        if chart is not None and chart not in CHARTS:
            known = ", ".join(map(repr, CHARTS))
            raise ValueError(f"chart={chart!r} is unknown; pass {known}, or None.")
        if not isinstance(alerts, LORD | SAFFRON | None):
            _check_share("alerts", alerts, "a rule, or None")
        self.alpha, self.run_length, self.chart, self.alerts = alpha, run_length, chart, alerts
        self.refits = refits
        self.n_rows_, self._epoch = 0, 1
        self.alarm_: int | None = None
        self._last_change: Change | None = None
        self._labelled: ScoresByClass | None = None
        self._ranks = Ranks(max_scores, int(random_state))
        self._kept = KeptRows(window, _SAMPLE, int(random_state))
        self._start(model, score, calibration, labels)

    # -- the stream ------------------------------------------------------------------------------

    @consistent
    def update(self, X: MatrixLike) -> Update:
        """Take the next rows of the stream, one or many.

        Parameters
        ----------
        X : {array-like, sparse matrix, DataFrame} of shape (n_samples, n_features)
            Rows as the model takes them. If one of them can't be scored, none is counted.

        Returns
        -------
        Update
            Scores, p-values, evidence, alarms and alerts of these rows.
        """
        X = _rows(X)
        n = X.shape[0]
        scores = check_scores(self._score(X), n, self.n_rows_) if n else np.zeros(0)
        return self.update_scores(scores, X)

    @consistent
    def update_scores(self, scores: VectorLike, X: MatrixLike | None = None) -> Update:
        """Take rows that the caller has scored already.

        Parameters
        ----------
        scores : array-like of shape (n_samples,)
            Scores by the frozen model, without NaN.
        X : {array-like, sparse matrix, DataFrame}, default=None
            The rows, which :meth:`change` compares. With None it reports only when the change
            began, also for rows that came before.

        Returns
        -------
        Update
        """
        scores = np.asarray(scores, dtype=np.float64).ravel()
        check_scores(scores, len(scores), self.n_rows_)
        if X is None and len(scores):
            self._kept.drop_columns()
        X = np.zeros((len(scores), 0)) if X is None else _rows(X)
        first, n = self.n_rows_, len(scores)
        p_values, log_evidence = np.empty(n), np.empty(n)
        alarms, alerts = np.zeros(n, bool), np.zeros(n, bool)
        slots, start = np.full(n, -1, np.int64), 0
        while start < n:  # a chart that alarms begins anew with the next row
            stop = min(n, start + (_AT_A_TIME if self._chart.restarts else n))
            ties = self._ranks.ties(stop - start)
            p_values[start:stop], slots[start:stop] = self._ranks.p_values(scores[start:stop])
            stop = self._bet(p_values, log_evidence, alarms, start, stop)
            part = slice(start, stop)
            alerts[part] = self._alert(scores[part], p_values[part], ties[: stop - start])
            self._keep(X, scores, p_values, part)
            self.n_rows_ += stop - start
            self._ranks.count = self.n_rows_
            if alarms[stop - 1] and self._chart.restarts:
                change = self._last_change = self._explain_alarm()
                self._kept.since(change.began)
                self._begin_stream(self._chart_of(1))
            start = stop
        return Update(first, scores, p_values, log_evidence, alarms, alerts, slots)

    def _bet(
        self,
        p_values: FloatArray,
        log_evidence: FloatArray,
        alarms: BoolArray,
        start: int,
        stop: int,
    ) -> int:
        """Take p-values to the end or until a chart begins again; return the position reached."""
        chart, growths = self._chart, [bettor.growth for bettor in self._bettors]
        silent = self.alarm_ is not None and not chart.restarts
        found = []
        for p in p_values[start:stop].tolist():
            found.append(chart.step([growth(p) for growth in growths]))
            if found[-1] < chart.threshold or silent:
                continue
            k = start + len(found) - 1
            alarms[k], self.alarm_ = True, self.n_rows_ + k - start
            silent = True
            if chart.restarts:
                break
        stop = start + len(found)
        log_evidence[start:stop] = found
        return stop

    def _alert(self, scores: FloatArray, p_values: FloatArray, ties: FloatArray) -> BoolArray:
        if self.alerts is None:
            return np.zeros(len(p_values), bool)
        if len(self._reference):  # anomalies of the stream must not hide others
            p_values = p_values_among(self._reference, scores, ties)
        if isinstance(self.alerts, LORD | SAFFRON):
            return self.alerts.test(p_values)
        return p_values <= self.alerts

    def _keep(self, X: Table, scores: FloatArray, p_values: FloatArray, part: slice) -> None:
        """Keep rows for an explanation, until half a window after an alarm."""
        if self.alarm_ is not None and not self._chart.restarts:
            left = self.alarm_ + self._kept.window // 2 - self.n_rows_
            part = slice(part.start, min(part.stop, part.start + max(0, left)))
        if part.stop > part.start:
            rows = X.iloc[part] if isinstance(X, pd.DataFrame) else X[part]
            self._kept.add(rows, scores[part], p_values[part], self.n_rows_)

    # -- the reference ---------------------------------------------------------------------------

    @consistent
    def refit(
        self,
        model: BaseEstimator,
        calibration: MatrixLike | str | None = None,
        labels: VectorLike | None = None,
    ) -> Self:
        """Declare a new model: ranks begin again, with its scores.

        All scores compared come from one model, so a new stream begins here. With ``refits`` at
        most a share ``alpha`` of unchanged streams ever alarms, over all models together.

        Parameters
        ----------
        model : estimator
            The fitted model to watch with from now on.
        calibration : array-like of shape (n_calibration, n_features), "model" or None
            Rows that ``model`` was not trained on, as in the constructor. Rows of the stream will
            do if they weren't chosen by their scores or p-values.
        labels : array-like of shape (n_calibration,), default=None
            Classes of the calibration rows.

        Returns
        -------
        self
        """
        how = self._score.how
        self._epoch += 1
        self._kept.clear()
        self._start(model, how, calibration, labels)
        return self

    @consistent
    def accept(self) -> Self:
        """Declare the present rows the new normal: the next row begins a new stream.

        The model stays. Ranks and evidence begin again, with the full ``alpha``. Rows since the
        change began are what later rows are compared with in :meth:`change`.

        Returns
        -------
        self
        """
        if self._kept.recent:
            began = self._explain_alarm().began
            self._kept.since(began)
        self._epoch, self._labelled, self._reference = 1, None, np.zeros(0)
        self._begin_stream(self._chart_of(1))
        self.alarm_ = self._last_change = None
        return self

    @consistent
    def change(self) -> Change:
        """Explain the change before the last alarm: when, which features, which rows.

        Returns
        -------
        Change

        Raises
        ------
        ValueError
            If there was no alarm.
        """
        if self.alarm_ is None:
            raise ValueError("No alarm was raised, so there is no change to explain.")
        if not self.explains_:
            raise ValueError(
                "The chart restarted after the last alarm, and this monitor was resumed since: "
                "the rows that would explain the alarm are gone."
            )
        return self._last_change or self._explain_alarm()

    @property
    def explains_(self) -> bool:
        """bool: Whether :meth:`change` has the rows it needs, or its answer."""
        return self._last_change is not None or not self._chart.restarts

    @property
    def log_evidence_(self) -> float:
        return self._chart.log

    @property
    def threshold_(self) -> float:
        """The natural logarithm of the evidence that raises an alarm."""
        return self._chart.threshold

    # -- state -----------------------------------------------------------------------------------

    @property
    @consistent
    def state(self) -> dict[str, Any]:
        """dict: The state of ranks, bets and chart as plain numbers, without model and rows."""
        return {
            "n_rows": self.n_rows_,
            "alarm": self.alarm_,
            "epoch": self._epoch,
            "chart": self._chart.state,
            "bettors": [bettor.state for bettor in self._bettors],
            "alerts": self.alerts.state if isinstance(self.alerts, LORD | SAFFRON) else None,
        }

    @consistent
    def resume(
        self, state: dict[str, Any], scores: VectorLike, reference: VectorLike, kept: KeptContents
    ) -> Self:
        """Continue where another monitor with the same model and settings stopped.

        Parameters
        ----------
        state : dict
            Its ``state``.
        scores : array-like of shape (n_scores,)
            Its ``held_scores``.
        reference : array-like of shape (n_calibration,)
            Its ``reference_scores``.
        kept : tuple
            The ``contents`` of its ``kept_rows``.

        Returns
        -------
        self
        """
        self.n_rows_, self.alarm_, self._epoch = state["n_rows"], state["alarm"], state["epoch"]
        # Only charts that restart have a name.
        self._chart = self._chart_of(self._epoch, state["chart"].get("chart"))
        self._chart.state = state["chart"]
        for bettor, values in zip(self._bettors, state["bettors"], strict=True):
            bettor.state = values
        if isinstance(self.alerts, LORD | SAFFRON):
            self.alerts.state = state["alerts"]
        self._ranks.begin(np.asarray(scores, dtype=np.float64))
        self._ranks.count = self.n_rows_
        self._reference = np.sort(np.asarray(reference, dtype=np.float64))
        self._kept.contents = kept
        return self

    @property
    def held_scores(self) -> FloatArray:
        """Scores that the next one is ranked among, in the order of their slots."""
        return self._ranks.values

    @property
    def reference_scores(self) -> FloatArray:
        """Scores of the calibration rows, which alerts compare with."""
        return self._reference

    @property
    def kept_rows(self) -> KeptRows:
        """The rows kept to explain an alarm."""
        return self._kept

    # -- parts -----------------------------------------------------------------------------------

    def _start(
        self,
        model: BaseEstimator,
        how: str | Callable[[Table], FloatArray] | None,
        calibration: MatrixLike | str | None,
        labels: VectorLike | None,
    ) -> None:
        """Begin with a model and its calibration rows."""
        score, scores = Score(model, how), np.zeros(0)
        self._score = score
        if isinstance(calibration, str):
            if calibration != "model":
                raise ValueError(
                    f"calibration={calibration!r} is unknown; pass rows, 'model', or None."
                )
            scores = own_calibration(model, score.how)  # a frozen copy stores no rows
        elif calibration is not None:
            calibration = _rows(calibration)
            scores = check_scores(score(calibration), calibration.shape[0], what="Calibration row")
            self._kept.begin(calibration, scores)
        prior = getattr(model_of(score), "prior_", None)
        self._labelled = None if labels is None else scores_by_class(scores, labels, prior)
        self._reference = np.sort(scores)
        self._begin_stream(self._chart_of(self._epoch), scores)
        self.alarm_ = self._last_change = None

    def _begin_stream(self, chart: Chart, scores: VectorLike = ()) -> None:
        self._chart, self._bettors = chart, new_bettors()
        self._ranks.begin(np.asarray(scores))

    def _chart_of(self, epoch: int, chart: str | None = None) -> Chart:
        n = len(new_bettors())
        if self.run_length is not None:
            return CHARTS[chart or self.chart or _CHART](self.run_length, n)
        return Martingale(self.alpha / (epoch * (epoch + 1) if self.refits else 1), n)

    def _explain_alarm(self) -> Change:
        assert self.alarm_ is not None
        return explain(self._kept, self.alarm_, self._reference, self._labelled)


def _rows(X: MatrixLike) -> Table:
    """Return rows as an array, a sparse matrix in rows, or a data frame."""
    if isinstance(X, pd.DataFrame):
        return X
    if sp.issparse(X):
        return sp.csr_array(canonical(X))
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"X has shape {X.shape}; pass rows in two dimensions, (n_samples, n_features)."
        )
    return X


def _check_share(name: str, value: Any, others: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < 1.0:
        more = f", {others}" if others else ""
        raise ValueError(f"{name}={value!r} is not allowed; pass a number between 0 and 1{more}.")


def _check_count(name: str, value: Any, least: int, none: bool = False) -> None:
    if none and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        more = ", or None" if none else ""
        raise ValueError(
            f"{name}={value!r} is not allowed; pass a whole number from {least} on{more}."
        )
