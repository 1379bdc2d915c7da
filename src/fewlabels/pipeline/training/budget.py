"""The time budget of a training: one clock for the whole job, and who may take how much."""

import time

from ..._util.deadline import Deadline
from ..._util.messages import ref

# Shares of what is left for the choice of settings, and until when the machine is fitted and has
# probabilities: alone, and with a comparison to follow.
_CHOICE_ALONE, _CHOICE, _FITTED_ALONE, _FITTED = 0.85, 0.5, 0.95, 0.7
# Share of the budget for the test of the model against chance, at most, and for the test whether
# its labels are random, which usually ends after a few draws.
_TEST, _LABELS = 0.15, 0.25
# What is kept for the report: a share of the budget, and these seconds if that is no more than
# another share.
_REPORT, _LEAST_REPORT, _MOST_REPORT = 0.15, 2.0, 0.3
# What comes late still has this share of the budget, and these seconds.
_LATE, _LATE_SECONDS = 0.1, 0.5
# Share of the late seconds for the test of the labels: it needs few, and its verdict says whether
# figures can be trusted.
_LATE_LABELS = 0.4
# Share of the time for a comparison that is kept for the fit of a method that is better.
_DELIVERY = 0.25
# Seconds of a comparison that is asked for.
_LEAST_COMPARISON = 10.0
# Without a budget: seconds for what follows the fit and can be cut short, and the share of the
# seconds of the fit that probabilities may take if that is more.
_QUICK, _OF_FIT = 2.0, 0.2
# Share of what is left that the fits may take which have to be made.
_FITS = 0.6


class Budget:
    """``seconds`` for a whole job from when it ``started`` (by ``time.perf_counter``).

    With 0 seconds no settings are chosen and nothing is compared, and what can be cut short after
    the fit is. ``baselines`` says whether other methods are compared with, None: if there is a
    budget and a comparison is of use, for a report (``reported``) or since labels show which
    method is better (``ranked``).
    """

    def __init__(
        self,
        seconds: float,
        *,
        started: float | None = None,
        baselines: bool | None = None,
        reported: bool = False,
        ranked: bool = False,
    ) -> None:
        self.seconds = seconds
        self.started = time.perf_counter() if started is None else started
        self.baselines, self.reported, self.ranked = baselines, reported, ranked
        self.is_expired = False

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def is_compared(self) -> bool:
        """Whether other methods are compared with, if there is time."""
        return self.reported or self.ranked if self.baselines is None else self.baselines

    @property
    def left(self) -> float:
        """Seconds until the end, at least 0."""
        return 0.0 if self.is_expired else max(0.0, self.seconds - self.used)

    def expire(self) -> None:
        """Leave no more time than where the budget is spent: the user pressed Ctrl-C."""
        self.is_expired = True

    @property
    def _grace_seconds(self) -> float:
        return (0.0 if self.is_expired else _LATE * self.seconds) + _LATE_SECONDS

    @property
    def _seconds_before_report(self) -> float:
        return self.left - (self._report_seconds if self.reported else 0.0)

    @property
    def _report_seconds(self) -> float:
        return max(_REPORT * self.seconds, min(_LEAST_REPORT, _MOST_REPORT * self.seconds))

    def for_fits(self) -> float:
        """Seconds for the fits that have to be made; a little even where the budget is spent."""
        return _FITS * max(self.left, self._grace_seconds)

    def to_choose(self) -> float:
        """Seconds for the choice of settings."""
        share = _CHOICE if self.is_compared else _CHOICE_ALONE
        return max(share * self._seconds_before_report, 0.1 * self._grace_seconds)

    def to_fit(self) -> float:
        """Seconds for the choice, the fit and probabilities."""
        share = _FITTED if self.is_compared else _FITTED_ALONE
        return max(share * self._seconds_before_report, self._grace_seconds)

    def calibration(self, fit_seconds: float) -> Deadline:
        """When probabilities have to be calibrated after a fit of so many seconds."""
        return Deadline(self.to_fit() if self.seconds else max(_QUICK, _OF_FIT * fit_seconds))

    def test(self) -> Deadline:
        """When the test of the model against chance should end."""
        if not self.seconds:
            return Deadline(_QUICK)
        return Deadline(min(_TEST * self.seconds, max(0.3 * self.left, 0.2 * self._grace_seconds)))

    def test_labels(self) -> Deadline:
        """When the test whether labels are random should end; it comes before the comparison."""
        if not self.seconds:
            return Deadline(_QUICK)
        seconds = min(_LABELS * self.seconds, self._seconds_before_report)
        return Deadline(max(seconds, _LATE_LABELS * self._grace_seconds))

    def to_compare(self) -> float:
        """Seconds for the comparison with other methods; 0 for none."""
        if not self.is_compared:
            return 0.0
        share = 1.0 - _DELIVERY * self.ranked
        return max(
            _LEAST_COMPARISON if self.baselines else 0.0, share * self._seconds_before_report
        )

    def to_deliver(self) -> float:
        """Seconds for the fit of a method that the comparison found to be better."""
        return max(
            self._seconds_before_report,
            self._grace_seconds,
            _LEAST_COMPARISON if self.baselines else 0.0,
        )

    def to_report(self) -> Deadline:
        """When what takes long in a report has to end."""
        if not self.seconds:
            return Deadline(_QUICK)
        return Deadline(max(self._grace_seconds, self.left))


def describe_cut(cut: str, seconds: float) -> str:
    """A note on what was cut short, in words, because a budget of so many seconds was used up.

    Without a budget nobody expects it to be enough.
    """
    if not seconds:
        return f"with {ref('time_budget', 0)}: {cut}"
    return f"the time budget was too short: {cut}; raise {ref('time_budget')}"
