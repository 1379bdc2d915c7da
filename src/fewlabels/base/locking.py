"""Calls that change or read a model, one at a time.

Every model has one lock. Whatever changes the model holds it from beginning to end, and so
does whatever reads more than one of its values: copies, pickles, attributes that combine several.
Rows are scored outside of it, by immutable values that were read together within. The lock is
re-entrant. No pickle, copy or forked process inherits it.

A fork copies memory as it is at that moment, so it waits until no other thread is within a model
(``_before_fork``). Meanwhile no thread may begin, but one that is within a model may go on to
others: it ends sooner or later, and the fork holds nothing that it could wait for. Locks are the
C ones of Python alone, because Ctrl-C can't come between one of these and its release.
"""

import concurrent.futures.thread  # noqa: F401 (its lock at forks has to be taken after ours)
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from copy import copy
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar
from weakref import WeakKeyDictionary

from sklearn import get_config

from ..rows.files import copy_mapped, mapped_files_among

T = TypeVar("T")
P = ParamSpec("P")
M = TypeVar("M")
Trained = TypeVar("Trained", bound="_Trainable")

# The lock of every model that has been used; ``_NEW_LOCK`` is held where one is added.
_LOCKS: WeakKeyDictionary = WeakKeyDictionary()
_NEW_LOCK: Any = threading.RLock()
# Seconds that a fork waits for the updates of other threads.
_MAX_FORK_WAIT_SECONDS = 60.0


class _Trainable(Protocol):
    """A model whose parameters are checked, and whose calls have a time limit."""

    def _within_time(self, method: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Call a method within the time limit."""

    def _validate_params(self) -> None:
        """Check the parameters."""

    def _discard_on_error(self) -> AbstractContextManager[None]:
        """Leave no model where the body raises."""

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the model is fitted."""


class _Forks:
    """Threads that are about to fork, the locks that each holds, and when all of them are done."""

    held: dict[int, list[Any]] = {}  # noqa: RUF012
    over = threading.Event()


def lock_of(model: Any) -> Any:
    """Return the lock of a model, as a context.

    New ones are given out when no thread is to fork.
    """
    if _Forks.held and not any(lock._is_owned() for _, lock in _known_locks()):
        _Forks.over.wait(_MAX_FORK_WAIT_SECONDS)
    lock = _LOCKS.get(model)
    if lock is None:
        with _NEW_LOCK:
            lock = _LOCKS.setdefault(model, threading.RLock())
    return lock


def _known_locks() -> Iterator[tuple[Any, Any]]:
    """Models that are alive, and their locks."""
    for reference in _LOCKS.keyrefs():  # a list, which other threads don't change
        model = reference()
        lock = None if model is None else _LOCKS.get(model)
        if lock is not None:
            yield model, lock


def _before_fork() -> None:
    """Hold the locks of all models, as soon as no other thread has any of them."""
    held: list[Any] = []
    _Forks.over.clear()
    _Forks.held[threading.get_ident()] = held
    end = time.monotonic() + _MAX_FORK_WAIT_SECONDS
    while (busy := _take_all(held)) is not None and time.monotonic() < end:
        _release(held)  # its owner may need others to come to an end
        if busy.acquire(timeout=max(0.0, end - time.monotonic())):
            busy.release()


def _take_all(held: list[Any]) -> Any:
    """Take what is free without waiting; one that isn't, or None."""
    _NEW_LOCK.acquire()  # nobody waits for anything while holding it
    held.append(_NEW_LOCK)
    busy = None
    for _, lock in _known_locks():
        if lock.acquire(blocking=False):
            held.append(lock)
        else:
            busy = lock
    return busy


def _release(held: list[Any]) -> None:
    while held:
        held.pop().release()


def _after_fork() -> None:
    """In the process that has forked, let other threads continue."""
    _release(_Forks.held.pop(threading.get_ident(), []))
    while _NEW_LOCK._is_owned():  # Ctrl-C came before it was on the list
        _NEW_LOCK.release()
    if not _Forks.held:
        _Forks.over.set()


def _after_fork_in_child() -> None:
    """In a forked process, refuse the models whose locks are with threads it doesn't have."""
    global _NEW_LOCK
    mine = _Forks.held.pop(threading.get_ident(), [])
    for model, lock in list(_known_locks()):
        if not any(lock is one for one in mine):
            _LOCKS[model] = _Lost(type(model).__name__)
            if getattr(model, "_cache", None) is not None:
                model._cache = None  # which is read without a lock
    _release(mine)
    _Forks.held, _Forks.over, _NEW_LOCK = {}, threading.Event(), threading.RLock()


class _Lost:
    """The lock of a model that may be half changed, and stays so in this process."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        raise RuntimeError(
            f"Another thread was changing this {self.name} when the process was forked, and "
            f"wasn't done within {_MAX_FORK_WAIT_SECONDS:g} s, so this process has no whole "
            "model; fork when the change is done, or load or fit another one here."
        )

    def __exit__(self, *error: object) -> None:
        """Never reached."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """For a fork of this process, which needs nothing of such a model."""
        return True

    def release(self) -> None:
        """Nothing to release."""

    def _is_owned(self) -> bool:
        return False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork,
        after_in_child=_after_fork_in_child,
    )


def take_snapshot(model: T) -> T:
    """Return a fitted model, or a pipeline that ends in one, as it is now.

    Updates don't change it.
    """
    from sklearn.pipeline import Pipeline  # which takes its time

    fitted: Any = model
    if isinstance(fitted, Pipeline):
        *before, (name, last) = fitted.steps
        fitted = copy(fitted)
        fitted.steps = [*before, (name, take_snapshot(last))]
        return fitted
    is_ours = hasattr(fitted, "snapshot") and fitted.__sklearn_is_fitted__()
    return fitted.snapshot() if is_ours else fitted


def exclusive(
    method: Callable[Concatenate[Trained, P], T],
) -> Callable[Concatenate[Trained, P], T]:
    """Return a method that changes its model: other threads wait, those that read it too."""

    @wraps(method)
    def alone(model: Trained, *args: P.args, **kwargs: P.kwargs) -> T:
        with lock_of(model):
            return model._within_time(method, model, *args, **kwargs)

    return alone


def consistent(method: Callable[Concatenate[M, P], T]) -> Callable[Concatenate[M, P], T]:
    """A method or getter that reads, or sets, several values of its model, all of one moment."""

    @wraps(method)
    def unchanged(model: M, *args: P.args, **kwargs: P.kwargs) -> T:
        with lock_of(model):
            return method(model, *args, **kwargs)

    return unchanged


def fitting(method: Callable[Concatenate[Trained, P], T]) -> Callable[Concatenate[Trained, P], T]:
    """Return a method that fits: as ``exclusive``, once parameters have been checked.

    Rows of a mapped file are refused if somebody writes into it meanwhile.
    """
    alone: Callable[..., T] = exclusive(method)
    is_update = method.__name__ == "partial_fit"

    @wraps(method)
    def checked(model: Trained, *args: P.args, **kwargs: P.kwargs) -> T:
        is_known = get_config()["skip_parameter_validation"] or (
            is_update and model.__sklearn_is_fitted__()
        )
        if not is_known:
            model._validate_params()
        files = mapped_files_among(*args, *kwargs.values())
        if files is None:
            return alone(model, *args, **kwargs)
        if is_update:  # rows that were added can't be taken back
            copies = tuple(map(copy_mapped, args))
            named = {name: copy_mapped(value) for name, value in kwargs.items()}
            files.check()
            return alone(model, *copies, **named)
        with lock_of(model), model._discard_on_error(), files.checked():
            return alone(model, *args, **kwargs)

    return checked
