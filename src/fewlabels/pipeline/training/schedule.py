"""The schedule of a fit: its steps, and how much of the time each may take."""

from __future__ import annotations

import time
from typing import NamedTuple

from ..._util.deadline import Deadline
from ..._util.messages import ref


class Step(NamedTuple):
    """How much time a step may take.

    That is ``share`` of the time left (``share_if_compared``, if other methods will be compared
    with), at most ``max_share`` of the whole budget, and in any case ``grace`` of the seconds that
    are granted when the budget is used up. The time for the report comes off, if
    ``keeps_report``.
    """

    share: float
    share_if_compared: float | None = None
    max_share: float = 1.0
    grace: float = 0.0
    keeps_report: bool = True


# The steps in order. Each takes its share of what is left when it begins, so that a slow one
# leaves less to those after it.
STEPS = {
    "trial fits": Step(0.6, grace=0.6, keeps_report=False),
    "settings": Step(0.85, 0.5, grace=0.1),
    "training": Step(0.95, 0.7, grace=1.0),  # from the search to the probabilities
    "test against chance": Step(0.3, max_share=0.15, grace=0.2, keeps_report=False),
    # Usually ends early, and says whether figures can be trusted.
    "test of the labels": Step(1.0, max_share=0.25, grace=0.4),
    "comparison": Step(1.0),
    "comparison, to switch": Step(0.75),  # the rest is for the fit of a better method
    "better method": Step(1.0, grace=1.0),
    "report": Step(1.0, grace=1.0, keeps_report=False),
}
# Seconds that are granted when the budget is used up: a share of it, and these.
_GRACE_SHARE = 0.1
_GRACE_SECONDS = 0.5
# The report's time: a share of the budget, and at least so many seconds, unless that is more
# than the next share.
_REPORT_SHARE = 0.15
_MIN_REPORT_SECONDS = 2.0
_MAX_REPORT_SHARE = 0.3
# Seconds of a comparison that the user requested, at least.
_MIN_COMPARISON_SECONDS = 10.0
# Without a budget: seconds for a step that follows the fit and can be cut short.
_SECONDS_AFTER_FIT = 2.0
# Without a budget: share of the fit's seconds that probabilities may take if that is more.
_CALIBRATION_SHARE_OF_FIT = 0.2


class Schedule:
    """``seconds`` for a whole fit from when it ``started`` (by ``time.perf_counter``).

    With 0 seconds no settings are chosen and nothing is compared, and what can be cut short after
    the fit is. ``baselines`` says whether other methods are compared with, None: if there is a
    budget and a comparison is of use, for a report (``has_report``) or since labels show which
    method is better (``can_rank``).

    Attributes
    ----------
    spent : dict
        Seconds that each part of the fit has taken so far, by its name for people.
    """

    def __init__(
        self,
        seconds: float,
        *,
        started: float | None = None,
        baselines: bool | None = None,
        has_report: bool = False,
        can_rank: bool = False,
    ) -> None:
        self.seconds = seconds
        self.started = time.perf_counter() if started is None else started
        self.baselines, self.has_report, self.can_rank = baselines, has_report, can_rank
        self.is_expired = False
        self.spent: dict[str, float] = {}

    @property
    def used(self) -> float:
        """Return seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def is_compared(self) -> bool:
        """Return whether other methods are compared with, if there is time."""
        return self.has_report or self.can_rank if self.baselines is None else self.baselines

    @property
    def seconds_left(self) -> float:
        """Return seconds until the end, at least 0."""
        return 0.0 if self.is_expired else max(0.0, self.seconds - self.used)

    def expire(self) -> None:
        """Leave no more time than where the budget is spent: the user pressed Ctrl-C."""
        self.is_expired = True

    def record(self, part: str) -> None:
        """Record that a part of the fit has ended, which began where the one before ended."""
        self.spent[part] = self.used - sum(self.spent.values())

    def seconds_for(self, name: str) -> float:
        """Return the seconds that a step may take; some even if the budget is spent."""
        step = STEPS[name]
        share = step.share
        if self.is_compared and step.share_if_compared is not None:
            share = step.share_if_compared
        left = self.seconds_left
        if step.keeps_report and self.has_report:
            left -= self._report_seconds
        granted = min(share * left, step.max_share * self.seconds)
        return max(granted, step.grace * self._grace_seconds, 0.0)

    def deadline(self, name: str) -> Deadline:
        """Return when a step that can be cut short should end."""
        return Deadline(self.seconds_for(name) if self.seconds else _SECONDS_AFTER_FIT)

    def calibration_deadline(self, fit_seconds: float) -> Deadline:
        """Return when probabilities have to be calibrated after a fit of so many seconds."""
        if self.seconds:
            return self.deadline("training")
        return Deadline(max(_SECONDS_AFTER_FIT, _CALIBRATION_SHARE_OF_FIT * fit_seconds))

    def seconds_to_compare(self) -> float:
        """Return seconds for the comparison with other methods; 0 for none."""
        if not self.is_compared:
            return 0.0
        name = "comparison, to switch" if self.can_rank else "comparison"
        return max(self._requested_seconds, self.seconds_for(name))

    def seconds_to_switch(self) -> float:
        """Return seconds for the fit of a method that the comparison found to be better."""
        return max(self._requested_seconds, self.seconds_for("better method"))

    @property
    def _requested_seconds(self) -> float:
        return _MIN_COMPARISON_SECONDS if self.baselines else 0.0

    @property
    def _grace_seconds(self) -> float:
        return (0.0 if self.is_expired else _GRACE_SHARE * self.seconds) + _GRACE_SECONDS

    @property
    def _report_seconds(self) -> float:
        return max(
            _REPORT_SHARE * self.seconds,
            min(_MIN_REPORT_SECONDS, _MAX_REPORT_SHARE * self.seconds),
        )

    def describe_cut(self, cut: str) -> str:
        """Return a note on what was cut short, because the time was used up.

        With a budget of 0 the note doesn't call it too short.
        """
        if not self.seconds:
            return f"with {ref('time_budget', 0)}: {cut}"
        return f"the time budget was too short: {cut}; raise {ref('time_budget')}"
