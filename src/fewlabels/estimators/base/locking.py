"""Calls that change or read a model, one at a time.

Every model has one lock. Whatever changes the model holds it from beginning to end, and so
does whatever reads more than one of its values: copies, pickles, attributes that combine several.
Rows are scored outside of it, by immutable values that were read together within. The lock is
re-entrant. No pickle, copy or forked process inherits it.
"""

import os
import threading
from copy import copy
from functools import wraps
from weakref import WeakKeyDictionary

from sklearn import get_config

# The lock of every model that has been used.
_LOCKS: WeakKeyDictionary = WeakKeyDictionary()


def lock_of(model):
    """The lock of a model, as a context."""
    lock = _LOCKS.get(model)
    # One step for Python, so that no second lock is left behind by Ctrl-C.
    return _LOCKS.setdefault(model, threading.RLock()) if lock is None else lock


def _free_locks():
    """In a forked process, give a new lock to each model whose lock another thread held."""
    for model, lock in list(_LOCKS.items()):
        if lock.acquire(blocking=False):
            lock.release()
        else:  # the thread that would release it is not in this process
            _LOCKS[model] = threading.RLock()


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
    def alone(model, *args, **kwargs):
        with lock_of(model):
            return model._within_time(method, model, *args, **kwargs)

    return alone


def consistent(method):
    """A method or getter that reads several values of its model, all of one moment."""

    @wraps(method)
    def unchanged(model, *args, **kwargs):
        with lock_of(model):
            return method(model, *args, **kwargs)

    return unchanged


def fitting(method):
    """The same, once parameters have been checked; not again with every ``partial_fit``."""
    alone, is_update = one_at_a_time(method), method.__name__ == "partial_fit"

    @wraps(method)
    def checked(model, *args, **kwargs):
        is_known = get_config()["skip_parameter_validation"] or (
            is_update and model.__sklearn_is_fitted__()
        )
        if not is_known:
            model._validate_params()
        return alone(model, *args, **kwargs)

    return checked
