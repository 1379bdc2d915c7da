"""Calls that change a machine: one at a time, and until its ``max_time`` is over."""

import threading
from contextlib import contextmanager, nullcontext
from functools import wraps
from weakref import WeakKeyDictionary

from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning

from .._deadline import ENDLESS, Deadline
from .._warn import warn

# A machine's lock, which no pickle or copy of it has.
_LOCKS: WeakKeyDictionary = WeakKeyDictionary()


def one_at_a_time(method):
    """A method that changes its machine: other threads wait, those that read it too."""

    @wraps(method)
    def alone(machine, *args, **kwargs):
        # One step for Python, so that no second lock is left behind by Ctrl-C.
        lock = _LOCKS.setdefault(machine, threading.RLock())
        with lock, nullcontext() if machine._late is None else machine._late.locked():
            return within_time(machine, method, machine, *args, **kwargs)

    return alone


def within_time(machine, method, *args, **kwargs):
    """Call a function that has until the machine's ``max_time`` is over, and say what it cut."""
    if machine._deadline is not ENDLESS:  # part of a longer call
        return method(*args, **kwargs)
    machine._deadline = Deadline(machine.max_time)
    try:
        result = method(*args, **kwargs)
        cut = machine._deadline.cut
    finally:
        del machine._deadline
    if cut:
        warn(f"{type(machine).__name__} ended by max_time: {'; '.join(cut)}.", ConvergenceWarning)
    return result


def fitting(method):
    """The same, once parameters have been checked; not anew with every ``partial_fit``."""
    alone, is_update = one_at_a_time(method), method.__name__ == "partial_fit"

    @wraps(method)
    def checked(machine, *args, **kwargs):
        is_known = get_config()["skip_parameter_validation"] or (
            is_update and machine.__sklearn_is_fitted__()
        )
        if not is_known:
            machine._validate_params()
        return alone(machine, *args, **kwargs)

    return checked


@contextmanager
def fitted_or_not(machine, *, interrupted=False):
    """What is refused within leaves no machine; nor does Ctrl-C, if so ``interrupted``."""
    try:
        yield
    except BaseException as error:
        if interrupted or isinstance(error, Exception):
            machine._hold(None)
            machine._late = None
        raise


def reporter(name, callback, verbose):
    """A callback that prints a line per round as well, if so ``verbose``."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback is {callback!r}; pass a function of an entry, or None.")
    if not verbose:
        return callback

    def report(entry):
        n = entry.get("kernel_values")
        values = "" if n is None else f", {n:.3g} kernel values"
        print(
            f"[{name}] round {entry['round']}: violation "
            f"{entry['violation']:.3g}{values}, {entry['seconds']:.1f} s"
        )
        return callback is not None and callback(entry)

    return report
