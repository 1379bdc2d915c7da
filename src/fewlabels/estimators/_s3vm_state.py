"""The stream of an S3VM as plain values; see ``_stream_state.py``."""

from __future__ import annotations

import json

import numpy as np

from ._s3vm_path import S3VMStream


class SavedStream:
    """What reading and writing files needs of an S3VM."""

    def _stream_state(self):
        """Rows, labels, counts and the solution that the path goes on from.

        Raises
        ------
        ValueError
            While rows are on their way.
        """
        stream = self._stream
        if stream.path is not None and not stream.done:
            raise ValueError(
                "a stream cannot be written while the path is on its way; call resume() first."
            )
        places = stream.places
        weight = stream.weight[places]
        return {
            "parameters": dict(stream.machine_parameters),
            "X": stream.rows(places),
            "label": stream.label[places].astype(np.int8),
            "weight": None if np.all(weight == 1.0) else weight,
            "start": _solution(stream, places),
            "steps": stream.n_steps,
            "flips": stream.n_flips,
            "iterations": int(stream.iterations_before),
            "rows_at_training": int(stream._n_rebuilt),
            "changed_since": int(stream._n_changed),
            "history": json.dumps(stream.history, default=float),
        }

    def _restore_stream(self, state):
        """Put the stream back; its path begins with the first operation."""
        stream = S3VMStream(self, state["X"], state["label"].astype(float), state["weight"])
        stream.machine_parameters = state["parameters"]
        start = state["start"]
        stream.start = None if start is None else {**start, "sign": start["sign"].astype(float)}
        stream.steps_before, stream.flips_before = state["steps"], state["flips"]
        stream.iterations_before = state["iterations"]
        stream.history_before = json.loads(state["history"])
        stream._n_rebuilt, stream._n_changed = state["rows_at_training"], state["changed_since"]
        self._stream = stream


def _solution(stream, places):
    """Where the path stands, or begins; None before both classes have a label."""
    start = stream.start
    if start is None and stream.path is None:
        return None
    if start is not None:
        a, sign = np.zeros(len(places)), np.ones(len(places))
        known = places < len(start["a"])  # others came later
        a[known], sign[known] = start["a"][places[known]], start["sign"][places[known]]
        virtual, multiplier = start["virtual"], start["multiplier"]
    else:
        now = stream.now()
        a, sign = now.a[places], now.f[places]
        virtual, multiplier = stream.path.virtual, now.multiplier
    return {
        "a": a,
        "sign": np.where(sign >= 0, 1, -1).astype(np.int8),
        "virtual": float(virtual),
        "multiplier": float(multiplier),
    }
