"""Paths of a stream follow its rows; where one breaks down, batch training takes its place."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._typing import FloatArray
from .._util.warn import warn
from ..base.status import warn_of_rounding
from ..kernels.operators import make_gram
from ..rows.row_store import BREAKDOWNS
from ..solvers import Status
from .branching import Search, search_near_last
from .class_path import ClassPath
from .data import S3VMSolution
from .sign_relaxation import SignSolution
from .stream import S3VMStream
from .trainer import Trainer


def follow_rows(
    stream: S3VMStream,
    trainer: Trainer,
    operation: str,
    max_steps: int | None = None,
    *,
    by_training: bool = True,
) -> bool:
    """Let all paths follow their rows; return whether they have reached their ends.

    Paths begin at the outcome of batch training, or row by row unless ``by_training``.
    ``operation`` is what warnings call it.
    """
    done, last = True, stream.n_steps + (max_steps or 0)
    for place, path in enumerate(stream.paths):
        left = None if max_steps is None else max(0, last - stream.n_steps)
        try:
            begun = path.has_path or path.has_start
            if not begun and by_training and path.ready:
                _train(path, place, trainer)
                path.mark_rebuilt()
            done &= path.run(left)
        except BREAKDOWNS as error:
            _train_again(path, place, trainer, operation, error)
    if done:
        stream.compact()
    # Training has said so itself.
    paths = [path for path in stream.paths if done and path.has_path]
    rough = max((path.rounding_violation(trainer.tol) for path in paths), default=0.0)
    if rough:
        warn_of_rounding(operation, rough)
    return done


def _train_again(
    path: ClassPath, place: int, trainer: Trainer, operation: str, error: Exception
) -> None:
    """After a breakdown: find a minimum from the last signs, or else from scratch.

    Should no path begin there either, the batch solution stands until the next operation.
    """
    warn(
        f"exact path following failed during {operation} ({error}); batch training continued "
        "from the last state. Scaling the columns may prevent this.",
        ConvergenceWarning,
    )
    signs = path.last_signs()
    for sign in [None] if signs is None else [signs, None]:
        found = _train(path, place, trainer, sign)
        if found.result.status is Status.STALLED:
            break  # by rounding, which ends other paths and trainings as well
        with suppress(*BREAKDOWNS):
            path.begin()
            break


def _train(
    path: ClassPath, place: int, trainer: Trainer, signs_before: FloatArray | None = None
) -> S3VMSolution:
    """Train on the present rows, and record that."""
    found = trainer.train_path(path, signs_before)
    trainer.record = trainer.record.with_training(place, found)
    return found


def search_near_newest(path: ClassPath, trainer: Trainer, n_neighbors: int) -> Search:
    """Return the ``SignSearch`` around the newest row.

    The path continues from better signs.
    """
    places = path.rows.places
    gram = make_gram(
        path.kernel, path.kernel_rows(places), dtype=np.float64, n_jobs=trainer.n_jobs
    )
    label, weight = path.training_labels
    search = search_near_last(
        gram,
        path.class_objective,
        label,
        weight,
        path.current_solution().at(places),
        n_neighbors,
        trainer.settings(),
    )
    trainer.record = trainer.record.with_search(search.n_nodes)
    if search.solution is not None:
        assert isinstance(search.solution, SignSolution)
        path.restart_from(search.solution)
    return search
