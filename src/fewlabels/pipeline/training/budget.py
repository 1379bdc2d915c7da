"""The time budget of a training: one clock for the whole job, and who may take how much."""

import time

from ..._util.deadline import Deadline
from ..._util.messages import ref

# Share of the time left until which settings are chosen, without a comparison to follow.
_CHOICE_SHARE = 0.85
# The same with a comparison.
_CHOICE_SHARE_IF_COMPARED = 0.5
# Share of the time left until which the model is fitted and has probabilities.
_FIT_SHARE = 0.95
# The same with a comparison.
_FIT_SHARE_IF_COMPARED = 0.7
# Share of the budget for the test of the model against chance, at most.
_MAX_TEST_SHARE = 0.15
# Share of the budget for the test whether labels are random, which usually ends early.
_MAX_LABELS_TEST_SHARE = 0.25
# Share of the budget that is kept for the report.
_REPORT_SHARE = 0.15
# Seconds that are kept for it at least, unless they are more than the next share.
_MIN_REPORT_SECONDS = 2.0
# Share of the budget that these seconds may take.
_MAX_REPORT_SHARE = 0.3
# Share of the budget that a step still gets when the budget is used up.
_GRACE_SHARE = 0.1
# Seconds that it gets in addition.
_GRACE_SECONDS = 0.5
# Share of the late seconds for the test of the labels, which says whether figures can be
# trusted.
_GRACE_SHARE_OF_LABELS_TEST = 0.4
# Share of the time for a comparison that is kept for the fit of a better method.
_SWITCH_SHARE = 0.25
# Seconds of a comparison that the user requested, at least.
_MIN_COMPARISON_SECONDS = 10.0
# Without a budget: seconds for a step that follows the fit and can be cut short.
_SECONDS_AFTER_FIT = 2.0
# Without a budget: share of the fit's seconds that probabilities may take if that is more.
_CALIBRATION_SHARE_OF_FIT = 0.2
# Share of the time left for the fits that have to be made.
_FITS_SHARE = 0.6


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
        """Return seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def is_compared(self) -> bool:
        """Return whether other methods are compared with, if there is time."""
        return self.reported or self.ranked if self.baselines is None else self.baselines

    @property
    def seconds_left(self) -> float:
        """Return seconds until the end, at least 0."""
        return 0.0 if self.is_expired else max(0.0, self.seconds - self.used)

    def expire(self) -> None:
        """Leave no more time than where the budget is spent: the user pressed Ctrl-C."""
        self.is_expired = True

    @property
    def _grace_seconds(self) -> float:
        return (0.0 if self.is_expired else _GRACE_SHARE * self.seconds) + _GRACE_SECONDS

    @property
    def _seconds_before_report(self) -> float:
        return self.seconds_left - (self._report_seconds if self.reported else 0.0)

    @property
    def _report_seconds(self) -> float:
        return max(
            _REPORT_SHARE * self.seconds,
            min(_MIN_REPORT_SECONDS, _MAX_REPORT_SHARE * self.seconds),
        )

    def for_fits(self) -> float:
        """Return seconds for the fits that have to be made: some even if the budget is spent."""
        return _FITS_SHARE * max(self.seconds_left, self._grace_seconds)

    def to_choose(self) -> float:
        """Return seconds for the choice of settings."""
        share = _CHOICE_SHARE_IF_COMPARED if self.is_compared else _CHOICE_SHARE
        return max(share * self._seconds_before_report, 0.1 * self._grace_seconds)

    def to_fit(self) -> float:
        """Return seconds for the choice, the fit and probabilities."""
        share = _FIT_SHARE_IF_COMPARED if self.is_compared else _FIT_SHARE
        return max(share * self._seconds_before_report, self._grace_seconds)

    def calibration(self, fit_seconds: float) -> Deadline:
        """Return when probabilities have to be calibrated after a fit of so many seconds."""
        return Deadline(
            self.to_fit()
            if self.seconds
            else max(_SECONDS_AFTER_FIT, _CALIBRATION_SHARE_OF_FIT * fit_seconds)
        )

    def test(self) -> Deadline:
        """Return when the test of the model against chance should end."""
        if not self.seconds:
            return Deadline(_SECONDS_AFTER_FIT)
        return Deadline(
            min(
                _MAX_TEST_SHARE * self.seconds,
                max(0.3 * self.seconds_left, 0.2 * self._grace_seconds),
            )
        )

    def test_labels(self) -> Deadline:
        """Return when the test whether labels are random should end."""
        if not self.seconds:
            return Deadline(_SECONDS_AFTER_FIT)
        seconds = min(_MAX_LABELS_TEST_SHARE * self.seconds, self._seconds_before_report)
        return Deadline(max(seconds, _GRACE_SHARE_OF_LABELS_TEST * self._grace_seconds))

    def to_compare(self) -> float:
        """Return seconds for the comparison with other methods; 0 for none."""
        if not self.is_compared:
            return 0.0
        share = 1.0 - _SWITCH_SHARE * self.ranked
        return max(
            _MIN_COMPARISON_SECONDS if self.baselines else 0.0, share * self._seconds_before_report
        )

    def to_deliver(self) -> float:
        """Return seconds for the fit of a method that the comparison found to be better."""
        return max(
            self._seconds_before_report,
            self._grace_seconds,
            _MIN_COMPARISON_SECONDS if self.baselines else 0.0,
        )

    def to_report(self) -> Deadline:
        """Return when what takes long in a report has to end."""
        if not self.seconds:
            return Deadline(_SECONDS_AFTER_FIT)
        return Deadline(max(self._grace_seconds, self.seconds_left))


def describe_cut(cut: str, seconds: float) -> str:
    """Return a note on what was cut short, because a budget of so many seconds was used up.

    Without a budget nobody expects it to be enough.
    """
    if not seconds:
        return f"with {ref('time_budget', 0)}: {cut}"
    return f"the time budget was too short: {cut}; raise {ref('time_budget')}"
