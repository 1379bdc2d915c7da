"""Machines that hold training rows, as plain values for files.

Such a machine keeps a *stream* in ``_stream``: rows, labels and where their path stands. A file
holds numbers and texts only, so a stream is written as a dict, by two methods of the machine:

* ``_stream_state()`` gives the dict. Its values are arrays, CSR arrays, numbers, texts, None, and
  dicts of these; "X" are the training rows as they were given, "history" is ``history_`` as JSON;
* ``_restore_stream(state)`` puts the stream back that the dict describes.

What else a machine needs to be updated from a file is ``partial_fit(X, y)``.
"""

from __future__ import annotations

import copy
import json


def holds_rows(machine):
    """Whether a machine can be updated: it has ``partial_fit`` and its rows."""
    return hasattr(machine, "partial_fit") and machine.__dict__.get("_stream") is not None


def with_plain_stream(machine, keep_rows):
    """A copy of a fitted machine without objects that only this library knows.

    Parameters
    ----------
    machine : estimator
        Fitted.
    keep_rows : bool
        Whether the copy holds the stream as plain values, or none.
    """
    if machine.__dict__.get("_stream") is None:
        return machine
    for name in ("support_", "objective_"):  # what is made only when asked for
        getattr(machine, name)
    state = machine._stream_state() if keep_rows else None
    plain = copy.copy(machine)
    plain._stream = state
    if state is not None:  # no row twice, and texts instead of many small objects
        del plain.support_vectors_, plain.history_
    return plain


def with_stream(machine):
    """Put back what ``with_plain_stream`` took from a machine; returns the machine."""
    state = machine.__dict__.get("_stream")
    if isinstance(state, dict):
        machine.support_vectors_ = state["X"][machine.support_]
        machine.history_ = json.loads(state["history"])
        machine._restore_stream(state)
    return machine
