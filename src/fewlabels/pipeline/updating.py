"""From a model and more rows to an updated model."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._typing import BoolArray, IntArray, PathLike, RowMatrix
from .._util.messages import UserError, plural, quoted, ref
from ..tables.columns.tally import (
    Tally,
    UnknownValues,
    describe_filled,
    describe_learned_values,
    describe_unknown_values,
)
from ..tables.encoding.fit import (
    encoded_categories,
    known_categories,
    learn_categories,
    text_encoders,
)
from ..tables.models.files import LoadedModel, describe_model, read_model, save_model
from ..tables.names import check_class_names, value_key
from ..tables.reading.chunks import Chunk, iterate_chunks
from ..tables.reading.new_labels import NewLabels
from ..tables.sources import InMemory, Source, input_format
from ..tables.user_data import make_source
from ..tasks import METHODS, candidate_facts
from .observer import Observer, capture_warnings, interruptible
from .options.documentation import takes
from .options.update import UpdateOptions
from .training.figures import collect_figures, drop_meaningless_figures
from .training.outputs import check_model_output

# What says how a model was fitted, and is left as it is by rows that are added.
_FIT_ONLY_KEYS = ("rounds", "iterations")
# What a model's description of its training must hold for more rows to be counted.
_NEEDED = {"rows", "rows_read", "target"}


@takes(UpdateOptions)
def update(model: PathLike, **options: Any) -> dict[str, Any]:
    """Add rows to a model that holds its own, and save it.

    Parameters
    ----------
    model : path-like
        The model file.
    **options
        The fields of ``fewlabels.pipeline.options.update.UpdateOptions``.

    Returns
    -------
    dict
        Counts, figures and seconds.
    """
    started = time.perf_counter()
    asked = UpdateOptions.from_given(options)
    _check_request(asked)
    observer = asked.observer or Observer()
    output = model if asked.output is None else asked.output
    with interruptible("no row was added", output):
        read = read_model(model)  # whether it is a model at all is said first
        data = None if asked.data is None else make_source(asked.data, **asked.reading)
        if data is not None:
            input_format(data)
        check_model_output(output, asked.force, inputs=[] if data is None else [data])
        if candidate_facts(read.metadata) is not None:
            raise _not_updatable_error(model, read.metadata)
        loaded = read.load()
        _check_updatable(model, loaded, asked.consolidate)
        _check_new(asked.new_classes, loaded.metadata)
        changed = _Update(loaded, MoreRows(loaded, data, asked))
        went = changed.run(asked.block, asked.consolidate, observer)
        seconds, remarks = changed.calibrate() if asked.probability else (None, [])
        described = changed.updated_metadata()
        is_same = os.path.realpath(output) == os.path.realpath(model)
        n_bytes = save_model(
            output, loaded.pipeline, described, read.identity if is_same else None
        )
    more = changed.more
    notes = more.notes + went["notes"] + remarks
    went |= {"notes": [observer.words(note) for note in notes], "seconds_calibrating": seconds}
    return {
        "model": str(model),
        "data": None if data is None else str(data),
        "output": str(output),
        "method": described["method"],
        **changed.counts(described["training"]),
        **went,
        "unseen_categories": more.unseen.rows,
        "unseen_values": more.unseen.most_frequent,
        "new_words": more.new_words,
        "bytes": n_bytes,
        "seconds": time.perf_counter() - started,
    }


def _check_request(asked: UpdateOptions) -> None:
    """Refuse options that contradict each other, or leave nothing to do."""
    if asked.data is None and not asked.consolidate:
        raise UserError(
            f"There is nothing to do; pass a file with rows to add, or {ref('consolidate', True)}."
        )
    if asked.target is not None and asked.no_labels:
        raise UserError(
            f"{ref('target')} and {ref('no_labels', True)} contradict each other; pass one of "
            "them."
        )


def no_rows_message(model: PathLike, metadata: dict[str, Any]) -> str:
    """Return a sentence on a model file that doesn't store its rows, and what to do."""
    option = (
        f"without {ref('rows', False)}"
        if METHODS[metadata["method"]].keeps_rows
        else f"with {ref('rows', True)}"
    )
    if metadata["training"].get("in_pieces"):
        return (
            f"{model} was fitted to a table that was read in pieces, whose rows no model can "
            "store, so it can't be updated; fit a new model to the old and the new rows, or fit "
            f"one {option} to a part of them that fits in memory."
        )
    return (
        f"{model} doesn't store its training rows, so it can't be updated; fit it again {option}."
    )


def _not_updatable_error(model: PathLike, metadata: dict[str, Any]) -> UserError:
    """Return the error for a model whose method can't learn further rows."""
    return UserError(
        f"{model} is a model of type {metadata['method']}, which can't be updated; fit a new "
        "model to all rows."
    )


def _check_updatable(model: PathLike, loaded: LoadedModel, consolidate: bool) -> None:
    """Refuse a model that cannot be updated as asked."""
    metadata, estimator = loaded.metadata, loaded.pipeline[-1]
    name = metadata["method"]
    if not hasattr(estimator, "partial_fit"):
        raise _not_updatable_error(model, metadata)
    if not estimator.holds_rows_:
        raise UserError(no_rows_message(model, metadata))
    if not metadata["training"].keys() >= _NEEDED:
        raise UserError(
            f"{model} doesn't say which rows and labels it was fitted to, so it can't be updated; "
            "fit a new model to all rows."
        )
    if consolidate and not hasattr(estimator, "consolidate"):
        raise UserError(
            f"A model of type {name} has a single solution, so there is nothing to consolidate; "
            f"omit {ref('consolidate', True)}."
        )


def _check_new(new_classes: Sequence[str], metadata: dict[str, Any]) -> None:
    """Refuse classes that a model cannot get."""
    known = metadata["training"].get("classes")
    for name in new_classes:
        if known is None:
            raise UserError(
                f"{ref('new_classes', text=name)} needs an s3vm, and this model is of type "
                f"{metadata['method']}; fit a new model with the labels of all classes."
            )
        if value_key(name) in [value_key(other) for other in known]:
            raise UserError(
                f"The model already has the class {quoted(name)}; omit {ref('new_classes')}."
            )
    check_class_names(new_classes, known or ())


class _Update:
    """A model that gets ``more`` rows: what that takes, and what the model says afterwards."""

    def __init__(self, loaded: LoadedModel, more: MoreRows) -> None:
        self.schema, self.metadata, self.more = loaded.schema, loaded.metadata, more
        self.estimator = loaded.pipeline[-1]
        self._has_curve = getattr(self.estimator, "has_curve_", False)

    def run(self, block: int, consolidate: bool, observer: Observer) -> dict[str, Any]:
        """Add the rows, so many at a time, and consolidate; gives what it took."""
        estimator, replaced, consolidating = self.estimator, None, None
        try:
            with capture_warnings() as notes:
                if hasattr(estimator, "resume"):
                    estimator.resume()  # the path begins here and not with the first row
                before = self._path()
                times = self._add(block, observer)
                after = self._path()
                if consolidate:
                    since = time.perf_counter()
                    replaced = bool(estimator.consolidate())
                    consolidating = time.perf_counter() - since
        except ValueError as error:
            raise UserError(error) from error
        except ArithmeticError as error:
            raise UserError(
                f"The update failed ({error}), so no row was added; fit a new model to all rows."
            ) from error
        except MemoryError as error:
            raise UserError(
                "There is not enough memory to add the rows, so no row was added; add fewer rows."
            ) from error
        steps, flips = (
            None if a is None or b is None else a - b for a, b in zip(after, before, strict=True)
        )
        return {
            "milliseconds_per_row": _milliseconds(times),
            "seconds_adding": sum(seconds for _, seconds in times),
            "steps": steps,
            "flips": flips,
            "consolidated": replaced,
            "seconds_consolidating": consolidating,
            "notes": notes,
        }

    def _path(self) -> tuple[int | None, int | None]:
        """Return steps and sign changes so far, None for models that count none."""
        return getattr(self.estimator, "n_steps_", None), getattr(self.estimator, "n_flips_", None)

    def _add(self, block: int, observer: Observer) -> list[tuple[int, float]]:
        """Add all rows; gives the rows and seconds of every call."""
        more, times, done = self.more, [], 0
        for X, y in more.blocks(block):
            since = time.perf_counter()
            options = {"classes": range(more.n_classes)} if more.new_classes else {}
            self.estimator.partial_fit(*((X,) if y is None else (X, y)), **options)
            times.append((X.shape[0], time.perf_counter() - since))
            done += X.shape[0]
            observer.rows(done, done / more.n_rows, more.n_rows, "added")
        return times

    def calibrate(self) -> tuple[float | None, list[str]]:
        """Have the curve to probabilities fitted, which the model then keeps; seconds, notes."""
        if not self._has_curve:
            return None, []
        since = time.perf_counter()
        with capture_warnings() as notes:
            self.estimator.predict_proba(self.estimator.support_vectors_[:1])
        return time.perf_counter() - since, notes

    def updated_metadata(self) -> dict[str, Any]:
        """Return the metadata of the updated model."""
        metadata, training, more = self.metadata, self.metadata["training"], self.more
        if more.new_classes:
            training = {**training, "classes": [*training["classes"], *more.new_classes]}
        labeled = training.get("rows_labeled", {})
        if "positive" in training:
            labeled = {training["positive"]: labeled}
        labeled = {**labeled, **dict.fromkeys(more.new_classes, 0)}
        labeled = {key: count + more.labels.n_labeled[key] for key, count in labeled.items()}
        training = _with_update(
            training,
            _changed_figures(self.estimator, labeled),
            {"rows": more.n_rows, "rows_read": more.n_read},
            None if more.data is None else Path(str(more.data)).name,
        )
        described = describe_model(
            metadata["method"], metadata["parameters"], self.schema, training
        )
        return {**described, "created": metadata["created"]}

    def counts(self, training: dict[str, Any]) -> dict[str, Any]:
        """Return rows and figures of the summary; ``training`` describes the updated model."""
        labels, counted = self.more.labels, "rows_labeled" in training
        return {
            "rows": self.more.n_rows,
            "rows_labeled": dict(labels.n_labeled) if counted else {},
            "rows_unlabeled": labels.n_unlabeled if counted else 0,
            "rows_before": self.metadata["training"]["rows"],
            "rows_after": training["rows"],
            **{k: training[k] for k in ("objective", "violation", "duality_gap", "converged")},
            "consolidation_due": training.get("consolidation_due"),
        }


def _changed_figures(estimator: BaseEstimator, labeled: dict[str, int]) -> dict[str, Any]:
    """Return the figures that change when rows are added."""
    figures = collect_figures(estimator, estimator.training_rows_.X, labeled)
    return {key: value for key, value in figures.items() if key not in _FIT_ONLY_KEYS}


def _with_update(
    training: dict[str, Any], figures: dict[str, Any], more: dict[str, int], data: str | None
) -> dict[str, Any]:
    """Return the facts of a training after an update: new figures, and ``more`` rows."""
    updates = training.get("updates", {"count": 0, "rows": 0})
    return drop_meaningless_figures(
        {
            **training,
            **figures,
            **{name: training[name] + count for name, count in more.items()},
            "updates": {
                "count": updates["count"] + 1,
                "rows": updates["rows"] + max(0, more["rows"]),
                "data": data,
                "last": datetime.now(UTC).isoformat(timespec="seconds"),
            },
        }
    )


def current_metadata(metadata: dict[str, Any], estimator: BaseEstimator) -> dict[str, Any]:
    """Return metadata of a model whose rows may have changed in Python.

    Only a model that holds its rows can change.
    """
    training = metadata["training"]
    if not getattr(estimator, "holds_rows_", False) or "rows" not in training:
        return metadata
    held = estimator.training_rows_
    # Labels of training rows: 1 and -1 for two classes, 1, 2, ... for several.
    codes: Sequence[int] = (1,)
    names = [training.get("positive")]
    if "classes" in training:
        names = training["classes"]
        codes = (-1, 1) if len(names) == 2 else range(1, len(names) + 1)
    labeled = {}
    if "rows_labeled" in training:
        labeled = {n: int(np.sum(held.label == c)) for n, c in zip(names, codes, strict=True)}
    figures, n = _changed_figures(estimator, labeled), held.X.shape[0]
    known = {
        "rows": n,
        "support_vectors": figures["support_vectors"],
        "objective": figures["objective"],
    }
    if all(training.get(key) == value for key, value in known.items()):
        return metadata
    more = n - training["rows"]
    more = {"rows": more, "rows_read": max(0, more)}
    return {**metadata, "training": _with_update(training, figures, more, None)}


def _milliseconds(times: list[tuple[int, float]]) -> dict[str, float] | None:
    """Return milliseconds per row; None where none was added."""
    if not times:
        return None
    rows, seconds = np.array(times).T
    each = np.repeat(1e3 * seconds / rows, rows.astype(int))
    return {name: float(getattr(np, name)(each)) for name in ("median", "mean", "max")}


# -- the rows to add ----------------------------------------------------------------------------


class MoreRows:
    """The rows to add: checked as a whole first, then encoded piece by piece.

    Labels come from the target that was asked for, else from the model's target where the data
    have it. ``n_read`` counts the rows of the table (None has none), ``n_rows`` those that will be
    added, ``labels`` their labels; ``filled``, ``unseen`` and ``new_words`` count by column the
    missing numbers that the model fills in, and the rows with categories and the words that it
    does not know. ``learned`` are categories that the encoder knows from now on.
    """

    def __init__(
        self, loaded: LoadedModel, data: Source | InMemory | None, asked: UpdateOptions
    ) -> None:
        pipeline, self.schema, self.metadata = loaded
        self.data, self._asked = data, asked
        training, schema = self.metadata["training"], self.schema
        self.new_classes = check_class_names(asked.new_classes, training.get("classes", ()))
        self.n_classes = len(training.get("classes", ())) + len(self.new_classes)
        self.encoder = pipeline[:-1]
        known = known_categories(pipeline[0], schema)
        fitted_to = training["target"]
        if asked.target is not None and fitted_to is None and data is not None:
            raise UserError(
                "The model was fitted without a target, so it can't use labels; omit "
                f"{ref('target', text=asked.target)}."
            )
        self.target = None if asked.no_labels else asked.target or fitted_to
        texts = text_encoders(pipeline[0], schema)
        self.n_rows = self.n_read = 0
        self.unseen = UnknownValues()
        new_words: dict[str, set[str]] = {name: set() for name in texts}
        not_own, own = UnknownValues(), encoded_categories(pipeline[0], schema)
        for chunk, keep, _ in self._pieces():
            self.n_rows += int(keep.sum())
            self.n_read += len(keep)
            self.unseen.add(chunk.rows, known)
            not_own.add(chunk.rows[keep[chunk.complete]], own)
            for name, encoder in texts.items():
                new_words[name] |= encoder.new_words(chunk.rows[name])
        self.new_words = {name: len(words) for name, words in new_words.items()}
        self._check()
        self._check_new()
        self.learned = learn_categories(pipeline[0], schema, not_own.counts)
        self.notes = self._notes()

    def _pieces(self) -> Iterator[tuple[Chunk, BoolArray, IntArray | None]]:
        """Yield pieces of the file with the rows kept and their labels; raises at the end."""
        asked, tally = self._asked, Tally(self.data, self._asked.skip_missing)
        self.filled, self.tally = tally.filled, tally
        self.labels = NewLabels(self.metadata, self.data, self.target, self.new_classes)
        if self.data is None:
            return
        done = 0
        needed = asked.target is not None
        for chunk in iterate_chunks(
            self.data, self.schema, tally, asked.chunk_rows, self.target, needed
        ):
            yield (chunk, *self.labels.read(chunk.target, chunk.complete, done + 1))
            done += len(chunk.complete)

    def _check(self) -> None:
        if not self.n_rows and self.data is not None:
            raise UserError(
                f"{self.data} has no row that could be added: {plural(self.n_read, 'row')} with "
                "missing numbers or of other classes; check the file."
            )

    def _check_new(self) -> None:
        for name in self.new_classes:
            if not self.labels.n_labeled[name]:
                raise UserError(
                    f"No row of {self.data} has the new class {quoted(name)}; label one, or omit "
                    f"{ref('new_classes')}."
                )

    def _notes(self) -> list[str]:
        notes = [*self.tally.remarks]
        if learned := self.unseen.only(self.learned):
            notes.append(describe_learned_values(learned))
        if rest := self.unseen.without(self.learned):
            notes.append(describe_unknown_values(rest.rows, rest.most_frequent))
        for name, count in self.new_words.items():
            if count:
                words = f"{plural(count, 'new word')} in {quoted(name)}"
                notes.append(f"{words} are ignored; fit a new model to all rows to use them")
        if self.filled:
            notes.append(describe_filled(self.filled))
        if self.tally.empty:
            notes.append(f"{plural(self.tally.empty, 'row')} without any value skipped")
        n_missing = self.n_read - self.n_rows - self.labels.n_left_out - self.tally.empty
        if n_missing:
            notes.append(f"{plural(n_missing, 'row')} with missing numbers skipped")
        if self.labels.n_left_out:
            notes.append(
                f"{plural(self.labels.n_left_out, 'row')} of another or unknown class skipped"
            )
        return notes

    def blocks(self, size: int) -> Iterator[tuple[RowMatrix, IntArray | None]]:
        """Yield encoded rows and their labels, at most ``size`` at a time."""
        for chunk, keep, y in self._pieces():
            kept = keep[chunk.complete]
            if not kept.any():
                continue
            X = self.encoder.transform(chunk.rows[kept])
            for start in range(0, X.shape[0], size):
                part = slice(start, start + size)
                yield X[part], None if y is None else y[part]
