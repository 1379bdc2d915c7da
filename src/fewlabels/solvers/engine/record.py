"""The history of a run, its limits, and whether it gets anywhere."""

import math
import time

from ..result import Status

# Rounds without a relative decrease of the objective by this much, nor of the violation by
# a tenth, before giving up.
_IDLE_ROUNDS = 50
_NO_PROGRESS = 1e-14
# As many, or fewer of many steps each, without the latter, while the objective falls by less than
# this share of the violation times the sum of the variables' sizes.
_PLATEAU, _STEPS_OF_A_ROUND, _SHARE = 150, 5_000, 0.1
# If rounding is this small a part of the violation, progress is slow but real, and a round counts
# as this part of one.
_NO_NOISE, _SLOW_ROUND = 1e-6, 0.25
# Times that a gradient computed afresh lets all counts begin again.
_RENEWALS = 20
# Rounds with a violation within the bound on rounding, before giving up.
_NOISY_ROUNDS = 30


class Record:
    """History and limits of a run, perhaps of one that continues from an earlier Result."""

    def __init__(self, settings, before=None):
        self.settings = settings
        self.n_iter = before.n_iter if before else 0
        self.history = [*before.history] if before else []
        last = self.history[-1] if self.history else {"kernel_values": 0, "seconds": 0.0}
        self.values_before, self._seconds_before = last["kernel_values"], last["seconds"]
        self._started = time.perf_counter()
        self._stop_asked = False

    def add(self, violation, tolerance, n_working, n_moved, steps, n_values):
        """Note a round with what it began with, and tell the callback."""
        self.n_iter += steps
        entry = {
            "round": len(self.history) + 1,
            "violation": violation,
            "tolerance": tolerance,
            "working_set": n_working,
            "moved": n_moved,
            "steps": steps,
            "kernel_values": self.values_before + n_values,
            "seconds": self._seconds_before + time.perf_counter() - self._started,
        }
        self.history.append(entry)
        if self.settings.callback is not None and self.settings.callback(entry):
            self._stop_asked = True

    def continue_from(self, other, n_values):
        """Count what another run over a sample, with its kernel values, has cost."""
        self.n_iter += other.n_iter
        self.values_before += other.values_before + n_values

    def steps_left(self):
        """Pair steps that the limit leaves; inf without a limit."""
        limit = self.settings.max_iter
        return math.inf if limit < 0 else max(0, limit - self.n_iter)

    def seconds_left(self):
        """Seconds that the limit leaves."""
        return self.settings.max_time - (time.perf_counter() - self._started)

    def limit_reached(self):
        """The Status of a run that must end here, or None."""
        if self.steps_left() == 0:
            return Status.MAX_ITER
        if self.seconds_left() <= 0:
            return Status.MAX_TIME
        return Status.STOPPED if self._stop_asked else None


class Progress:
    """Whether rounds still lead anywhere."""

    def __init__(self):
        self._renewed = 0
        self._begin()

    def _begin(self):
        self._best = self._closest = self._before = math.inf
        self._idle = self._noisy = self._plateau = 0

    def renew(self):
        """The gradient was computed afresh: another chance, as long as there were not many."""
        self._renewed += 1
        if self._renewed <= _RENEWALS:
            self._begin()

    def is_idle(self, totals, violation, noise, steps):
        """Whether neither the objective nor the violation has improved for some rounds."""
        # Less than rounding is no progress: of the objective, and of the gradient in it.
        objective = totals.objective
        rounding = _NO_PROGRESS * abs(objective) + 0.01 * noise * totals.reach
        better = not objective >= self._best - rounding
        closer = violation < 0.9 * self._closest
        self._idle = 0 if better or closer else self._idle + 1
        self._best = objective if better else self._best
        if closer:
            self._closest, self._before, self._plateau = violation, objective, 0
        is_slow = noise < _NO_NOISE * violation
        self._plateau += (_SLOW_ROUND if is_slow else 1.0) + steps / _STEPS_OF_A_ROUND
        # What such a violation promises, and hardly anything of it has come.
        promised = _SHARE * self._closest * totals.reach
        in_vain = self._plateau > _PLATEAU and self._before - objective < promised
        return self._idle >= _IDLE_ROUNDS or in_vain

    def is_noise(self, noise):
        """Whether rounds have followed one whose violation was within the bound on rounding.

        The bound is pessimistic, so more rounds are worth trying, but not for ever. They may end
        at larger violations, as thousands of steps add rounding of their own.
        """
        self._noisy += self._closest <= 2.0 * noise
        return self._noisy > _NOISY_ROUNDS
