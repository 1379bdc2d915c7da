"""A model that follows the last rows of its stream, with alarm rates that still hold.

The model is frozen for an epoch of ``window`` rows. A quarter of these rows, chosen by random
numbers that belong to their positions, never trains a model. At the end of the epoch the others
are learned (``partial_fit``), the oldest training rows are forgotten, and the quarter calibrates
the next epoch. It is chosen without looking at scores, so it stays exchangeable with later rows.
Rows that score below one in a hundred calibration rows of their epoch are suspicious and not
learned. After an alarm nothing is learned until the change is accepted.
"""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from ..._typing import PathLike
from ..._util.messages import UserError, ref
from ...monitoring import Monitor
from ...monitoring.ranks import uniform_numbers
from ...tables.columns.schema import Schema
from ...tables.columns.tally import UnknownValues
from ...tables.encoding.fit import encoded_categories, learn_categories
from ...tables.models.files import load_model_bytes, model_bytes
from ..updating import no_rows_message

# Share of the rows of an epoch that calibrate the next one.
_CALIBRATION_SHARE = 0.25
# Quantile of the calibration scores below which a row is suspicious.
_SUSPICIOUS_QUANTILE = 0.01
# Which stream of random numbers chooses calibration rows; others belong to the monitor.
_RANDOM_STREAM = 6
# Rows of a window, at least.
_MIN_WINDOW = 100


class Follower:
    """The training window of a model: which rows it learns, and when."""

    def __init__(
        self,
        pipeline: Pipeline,
        metadata: dict[str, Any],
        window: int,
        seed: int,
        began: int = 0,
        epoch: int = 1,
    ) -> None:
        self.pipeline, self.metadata = pipeline, metadata
        self.schema = Schema.from_dict(metadata["schema"])
        self.window, self.seed, self.began, self.epoch = window, seed, began, epoch

    def rows_left(self, n_rows: int) -> int:
        """Return rows until the epoch ends."""
        return self.began + self.window - n_rows

    def learn(self, monitor: Monitor, since: int | None = None) -> tuple[int, int]:
        """End the epoch: learn its rows, or those ``since`` a change that was accepted.

        Gives how many rows were learned and how many were left out as suspicious.
        """
        recent, _, _, _ = monitor.kept_rows.contents
        first = self.began if since is None else since
        rows = [row for row in recent if row.number is not None and row.number >= first]
        draws = uniform_numbers(self.seed, _RANDOM_STREAM, first, len(rows))
        is_held_out = draws < _CALIBRATION_SHARE
        scores = np.array([row.score for row in rows])
        is_suspicious = np.zeros(len(rows), bool)
        reference = monitor.reference_scores
        if since is None and len(reference):
            is_suspicious = scores < np.quantile(reference, _SUSPICIOUS_QUANTILE)
        new = np.flatnonzero(~is_held_out & ~is_suspicious)
        held = np.flatnonzero(is_held_out)
        estimator = self.pipeline[-1]
        if len(new):
            frame = monitor.kept_rows.assemble([rows[k] for k in new])
            encoder, not_own = self.pipeline[0], UnknownValues()
            not_own.add(frame, encoded_categories(encoder, self.schema))
            learn_categories(encoder, self.schema, not_own.counts)
            estimator.partial_fit(self.pipeline[:-1].transform(frame))
            n_over = estimator.training_rows_.X.shape[0] - self.window
            if n_over > 0:
                estimator.forget(np.arange(n_over))
        calibration = None
        if len(held):
            calibration = monitor.kept_rows.assemble([rows[k] for k in held])
        self.began, self.epoch = monitor.n_rows_, self.epoch + 1
        monitor.refit(self.pipeline, calibration)
        return len(new), int((is_suspicious & ~is_held_out).sum())

    @property
    def content(self) -> bytes:
        """Return the model as the bytes of a model file."""
        return model_bytes(self.pipeline, self.metadata)


def load_adapted(content: bytes) -> tuple[Pipeline, dict[str, Any]]:
    """Load the pipeline and metadata from a model file's bytes."""
    pipeline, _, metadata = load_model_bytes(content, "The adapted model")
    return pipeline, metadata


def read_window(text: str) -> int:
    """Parse the number of rows in ``window=N``."""
    name, _, value = str(text).partition("=")
    if name.strip() != "window" or not value.strip().isdigit() or int(value) < _MIN_WINDOW:
        raise UserError(
            f"{ref('adapt', text=text)} is not valid; it must be window=N with N of at least "
            f"{_MIN_WINDOW}."
        )
    return int(value)


def check_can_adapt(model: PathLike, metadata: dict[str, Any], estimator: BaseEstimator) -> None:
    """Refuse a model that can't follow its rows."""
    if not hasattr(estimator, "partial_fit") or not hasattr(estimator, "score_samples"):
        raise UserError(
            f"{model} is a model of type {metadata['method']}, which {ref('adapt')} can't "
            f"update; fit an svdd or one-class model, or omit {ref('adapt')}."
        )
    if not estimator.holds_rows_:
        raise UserError(
            f"{ref('adapt')} updates the model, but {no_rows_message(model, metadata)}"
        )
