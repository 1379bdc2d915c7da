"""Calls that change or read a model: one at a time, and until its ``max_time`` is over.

Every model has one lock. Whatever changes the model holds it from beginning to end, and so
does whatever reads more than one of its values: copies, pickles, attributes that combine several.
Rows are scored outside of it, by immutable values that were read together within. The lock is
re-entrant. No pickle, copy or forked process inherits it.
"""

import os
import threading
from contextlib import contextmanager
from copy import copy
from functools import wraps
from weakref import WeakKeyDictionary

from sklearn import get_config
from sklearn.exceptions import ConvergenceWarning

from .._deadline import ENDLESS, Deadline
from .._warn import warn

# The lock of every machine that has been used.
_LOCKS: WeakKeyDictionary = WeakKeyDictionary()


def lock_of(machine):
    """The lock of a model, as a context."""
    lock = _LOCKS.get(machine)
    # One step for Python, so that no second lock is left behind by Ctrl-C.
    return _LOCKS.setdefault(machine, threading.RLock()) if lock is None else lock


def _free_locks():
    """In a forked process, give a new lock to each model whose lock another thread held."""
    for machine, lock in list(_LOCKS.items()):
        if lock.acquire(blocking=False):
            lock.release()
        else:  # the thread that would release it is not in this process
            _LOCKS[machine] = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)


def snapshot_of(model):
    """A fitted model, or a pipeline that ends in one, as it is now: updates don't change it."""
    from sklearn.pipeline import Pipeline  # which takes its time

    if isinstance(model, Pipeline):
        *before, (name, last) = model.steps
        model = copy(model)
        model.steps = [*before, (name, snapshot_of(last))]
        return model
    is_ours = hasattr(model, "snapshot") and model.__sklearn_is_fitted__()
    return model.snapshot() if is_ours else model


def one_at_a_time(method):
    """A method that changes its model: other threads wait, those that read it too."""

    @wraps(method)
    def alone(machine, *args, **kwargs):
        with lock_of(machine):
            return within_time(machine, method, machine, *args, **kwargs)

    return alone


def consistent(method):
    """A method or getter that reads several values of its model, all of one moment."""

    @wraps(method)
    def unchanged(machine, *args, **kwargs):
        with lock_of(machine):
            return method(machine, *args, **kwargs)

    return unchanged


def within_time(machine, method, *args, **kwargs):
    """Call a function that has until the model's ``max_time`` is over, and say what it cut."""
    if machine._deadline is not ENDLESS:  # part of a longer call
        return method(*args, **kwargs)
    machine._deadline = Deadline(machine.max_time)
    try:
        result = method(*args, **kwargs)
        cut = machine._deadline.cut
    finally:
        del machine._deadline
    if cut:
        warn(
            f"{type(machine).__name__} stopped after max_time: {'; '.join(cut)}.",
            ConvergenceWarning,
        )
    return result


def fitting(method):
    """The same, once parameters have been checked; not again with every ``partial_fit``."""
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
    """What is refused within leaves no model; nor does Ctrl-C, if so ``interrupted``."""
    try:
        yield
    except BaseException as error:
        if interrupted or isinstance(error, Exception):
            machine._hold(None)
            machine._late = None
        raise
