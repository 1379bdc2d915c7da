"""Tables that do not fit in memory: settings from a sample, the model from all rows on disk."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone

from ..._typing import AnyArray, BoolArray, FloatArray, IntArray, ObjectArray, RowMatrix
from ..._util.messages import ref
from ..._util.paths import file_size, is_folder
from ...rows.files import on_pass
from ...rows.shards import choose_rows
from ...rows.validation import memory_requirement
from ...tables.arrays import ArrayData, read_arrays, release_pages, take_rows
from ...tables.columns.column import are_blank, text
from ...tables.columns.tally import Tally
from ...tables.columns.target import RowSelection, target_as_text
from ...tables.folders import parquet_files
from ...tables.formats.registry import is_compressed
from ...tables.limits import free_memory, parse_size, report_full_disk
from ...tables.names import value_key
from ...tables.reading.chunks import iterate_chunks
from ...tables.reading.read import iterate_tables
from ...tables.sources import InMemory, Source
from ...tables.stored import ArrayWriter, SparseWriter
from ...tables.temporary_folders import temporary_folder
from ...tasks import METHODS, estimator_class, task_of
from ..observer import interruptible
from ..options.fit import FitOptions
from ..tasks.steps import steps_of
from .cost import predict_cost
from .encoding import EncodedRows
from .figures import collect_figures, count_answers, count_labels, describe_anomalies
from .fitting import FitData, Run, fit_model
from .outcome import Outcome
from .plan import Plan

# Bytes that reading and learning take for every cell.
_BYTES_PER_CELL = 40
# Bytes that a byte of a compressed file may hold.
_MAX_COMPRESSION = 100
# Rows of a sample that have no label.
_MAX_UNLABELLED_ROWS = 20_000
# Rows of a sample that have the same label.
_MAX_ROWS_PER_LABEL = 10_000
# Labels that are sampled; more values than this are no classes.
_MAX_LABELS = 20
# Rows that are read or copied at a time.
_ROWS_PER_PIECE = 1 << 16
# Rows that are predicted at a time.
_ROWS_PER_PREDICTION = 1 << 20
# Seconds from which on a fit of all rows is long; the time budget may be less.
_LONG_FIT_SECONDS = 3600.0
# Rows are stored in single precision if its rounding is less than this share of their spread.
_MAX_ROUNDING_SHARE = 1e-6


class RowSample(Protocol):
    """A random sample of ``size`` of the ``n_rows`` of a table."""

    n_rows: int

    @property
    def size(self) -> int: ...

    def rows(self) -> InMemory: ...


class AllRows(Protocol):
    """All rows of a table that doesn't fit in memory, to which a model can be fitted.

    ``why`` says why a sample is drawn, and ``where`` all rows are.
    """

    options: FitOptions
    run: Run
    why: str
    where: str

    @property
    def file(self) -> Source | InMemory: ...

    def fit(
        self, outcome: Outcome, estimator: BaseEstimator, n_rows: int
    ) -> tuple[Outcome, int, Sequence[IntArray] | IntArray | None]: ...


class FitSample(Protocol):
    """A function that fits a sample; ``spread`` makes the context of search and fit."""

    def __call__(
        self, rows: InMemory, spread: Callable[[], AbstractContextManager[object]] = ...
    ) -> Outcome: ...


def exceeds_memory(data: Source | InMemory, options: FitOptions) -> bool:
    """Return whether rows need more than ``options.memory``, or half of the free memory."""
    beside = any(options.reading.get(name) is not None for name in ("labels", "features"))
    factor = data.format.memory_factor
    if beside or (data.format.is_table and factor is None):
        return False
    allowed = 0.5 * free_memory() if options.memory is None else parse_size(options.memory)
    if not data.format.is_table:
        return data.format.load().memory(data) > allowed
    assert isinstance(data, Source) and factor is not None  # rows in memory have no factor
    path = data.path
    files = parquet_files(path) if is_folder(path) else [path]
    factor *= _MAX_COMPRESSION if is_compressed(path) else 1
    if factor * sum(map(file_size, files)) <= allowed:
        return False
    with contextlib.closing(iterate_tables(data, _ROWS_PER_PIECE)) as pieces:
        table, _, share = next(pieces)
    n_rows = table.num_rows / max(share, 1e-12)
    return _BYTES_PER_CELL * n_rows * table.num_columns > allowed


class TableSample:
    """Rows drawn at random from pieces of a table: of each label, and of those without one."""

    def __init__(
        self, target: str | None, mark: str | None, seed: int | Sequence[int] | None
    ) -> None:
        self.target, self.mark = target, mark
        self._rng = np.random.default_rng(seed)
        self.kept: dict[str, tuple[FloatArray, pa.Table]] = {}  # by label: keys, and rows
        self.n_rows = 0

    def add(self, table: pa.Table) -> None:
        """Look at the next piece."""
        labels = np.full(table.num_rows, "", object)
        if self.target is not None and self.target in table.column_names:
            labels = text(table.column(self.target)).astype(object)
            labels[_find_unlabelled(labels, self.mark)] = ""
        self.n_rows += table.num_rows
        for label in np.unique(labels.astype(str)):
            rows = np.flatnonzero(labels == label)
            few = label == "" or (label not in self.kept and len(self.kept) > _MAX_LABELS)
            self._draw("" if few else label, table, rows)

    def _draw(self, label: str, table: pa.Table, rows: IntArray) -> None:
        size = _MAX_ROWS_PER_LABEL if label else _MAX_UNLABELLED_ROWS
        keys = self.kept.get(label, (np.empty(0), None))[0]
        new = self._rng.random(len(rows))
        limit = np.inf if len(keys) < size else keys.max()
        rows, new = rows[new < limit], new[new < limit]
        if not len(rows):
            return
        self._keep(label, new, table.take(rows))

    def _keep(self, label: str, new: FloatArray, part: pa.Table) -> None:
        size = _MAX_ROWS_PER_LABEL if label else _MAX_UNLABELLED_ROWS
        keys, kept = self.kept.get(label, (np.empty(0), None))
        kept = part if kept is None else pa.concat_tables([kept, part])
        keys = np.concatenate([keys, new])
        if len(keys) > size:
            best = np.sort(np.argpartition(keys, size)[:size])
            keys, kept = keys[best], kept.take(best).combine_chunks()
        self.kept[label] = keys, kept

    def join(self, other: TableSample) -> None:
        """Take over what was drawn from other pieces."""
        self.n_rows += other.n_rows
        for label, (keys, kept) in other.kept.items():
            few = label not in self.kept and len(self.kept) > _MAX_LABELS
            self._keep("" if few else label, keys, kept)

    @property
    def columns(self) -> list[str]:
        """list of str: The names of the columns; empty before any row was drawn."""
        return next((kept.column_names for _, kept in self.kept.values()), [])

    @property
    def size(self) -> int:
        """Return how many rows were drawn."""
        return sum(kept.num_rows for _, kept in self.kept.values())

    def rows(self) -> InMemory:
        """Return the rows that were drawn."""
        kept = [kept for _, kept in self.kept.values()]
        return InMemory("frame", pa.concat_tables(kept).combine_chunks())


class ArraySample:
    """Rows drawn at random from ``ArrayData``."""

    def __init__(
        self, source: InMemory, target: str | None, mark: str | None, seed: int | None
    ) -> None:
        rng, data = np.random.default_rng(seed), source.content
        self._source, self._data, self.n_rows = source, data, data.X.shape[0]
        if target not in data.labels:
            self._places = choose_rows(self.n_rows, _MAX_UNLABELLED_ROWS, rng)
            return
        where, values = pd.factorize(np.asarray(data.labels[target]))
        named = np.flatnonzero(~_find_unlabelled(target_as_text(values), mark))[:_MAX_LABELS]
        groups = [(where == k, _MAX_ROWS_PER_LABEL) for k in named] + [
            (~np.isin(where, named), _MAX_UNLABELLED_ROWS)
        ]
        parts = []
        for among, size in groups:
            places = np.flatnonzero(among)
            parts.append(places[choose_rows(len(places), size, rng)])
        self._places = np.sort(np.concatenate(parts))

    @property
    def size(self) -> int:
        return len(self._places)

    def rows(self) -> InMemory:
        data, places = self._data, self._places
        labels = {name: np.asarray(values)[places] for name, values in data.labels.items()}
        X = take_rows(data.X, places)
        self._source.check_unchanged()
        return InMemory("matrix", ArrayData(X, labels, data.zero_based))


def _find_unlabelled(texts: ObjectArray, mark: str | None) -> BoolArray:
    """Find texts of a target that are blank, or the mark of unlabelled rows."""
    codes, found = pd.factorize(np.asarray(texts, dtype=object))
    marked = np.array([mark is not None and value_key(t) == value_key(mark) for t in found], bool)
    return (are_blank(found) | marked)[codes]


class StoredLabels:
    """Texts of a target, piece by piece: the ``values`` that occur, and where."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self._where: list[IntArray] = []

    def add(self, texts: ObjectArray) -> None:
        """Take the next ones."""
        codes, found = pd.factorize(texts)
        known = [self.values.setdefault(value, len(self.values)) for value in found]
        self._where.append(np.array(known, np.int32)[codes])

    def roles(self, plan: Plan, rows: EncodedRows) -> tuple[BoolArray, IntArray | None]:
        """Return which rows to learn from, and their labels; None if the model takes none."""
        roles = select_rows_by_value(plan, rows, list(self.values))
        where = np.concatenate(self._where)
        return roles.keep[where], None if roles.y is None else roles.y[where]


def select_rows_by_value(plan: Plan, rows: EncodedRows, values: list[str]) -> RowSelection:
    """Select the rows to learn from by their values of the target."""
    file = replace(rows.file, values=np.array(values, dtype=object))
    return steps_of(plan.task).roles(file, plan.method, plan.options)


def train_large(
    data: Source | InMemory, options: FitOptions, fit_sample: FitSample, run: Run
) -> Outcome:
    """Learn from rows on disk: settings from a sample, then the model from all rows."""
    with temporary_folder() as place:
        with interruptible("no model was written", run.output):
            rows = _OnDisk(data, options, run, place)
            sample = rows.draw_sample()
        return train_on_all(rows, sample, fit_sample(sample.rows()))


def train_on_all(rows: AllRows, sample: RowSample, outcome: Outcome) -> Outcome:
    """Fit the model of a sample's outcome to all ``rows``, if the model can.

    ``rows`` have ``options``, the ``run``, a ``file``, the words ``why`` a sample was drawn and
    ``where`` all rows are, and ``fit`` a model to them.
    """
    words, why, of_sample = rows.run.observer.words, rows.why, outcome.rows
    schema = replace(of_sample.schema, header=rows.options.reading.get("header") is not False)
    file = replace(of_sample.file, path=rows.file)
    outcome = replace(outcome, rows=replace(of_sample, file=file, schema=schema))
    method, estimator = outcome.plan.method, clone(outcome.model.estimator)
    if "probability" in estimator.get_params():
        estimator.set_params(probability=None)
    takes_files = METHODS[method].takes_files
    missing = memory_requirement(estimator) if takes_files else "it trains on samples"
    if missing:
        note = (
            f"{why}: {method} was trained on {sample.size:,} random rows of {sample.n_rows:,} "
            f"({missing}; {steps_of(task_of(method)).ON_ALL_ROWS} on all rows)"
        )
        return _describe_all_rows(outcome, sample.n_rows, words(note))
    with interruptible("no model was written", rows.run.output):
        outcome, n_used, counts = rows.fit(outcome, estimator, sample.n_rows)
    note = (
        f"{why}: settings, columns and the report are based on {sample.size:,} random rows, and "
        f"the model was trained on all rows{rows.where}"
    )
    return _describe_all_rows(outcome, sample.n_rows, words(note), n_used, counts)


class _OnDisk:
    """All rows of a table that doesn't fit in memory; files are made in the folder ``place``."""

    where = ", on disk"

    def __init__(
        self, data: Source | InMemory, options: FitOptions, run: Run, place: Path
    ) -> None:
        self.file, self.options, self.run, self._place = data, options, run, place
        self.why = f"the {'table does' if data.format.is_table else 'rows do'} not fit in memory"
        if options.memory is not None:
            self.why += f" ({ref('memory', options.memory)})"
        run.observer.report_stage(f"drawing a sample of the rows, because {self.why}")
        self._source = data
        if not data.format.is_table:
            self._source = InMemory("matrix", read_arrays(data, place=place))
            self._source.check_unchanged()  # from here on
            data.check_unchanged()

    def draw_sample(self) -> RowSample:
        """Draw rows at random."""
        options, observer = self.options, self.run.observer
        asked = options.target, options.unlabeled, options.parameters.get("random_state")
        if isinstance(self._source, InMemory) and not self._source.format.is_table:
            return ArraySample(self._source, *asked)
        drawn = TableSample(*asked)
        with contextlib.closing(iterate_tables(self._source, _ROWS_PER_PIECE)) as pieces:
            for table, _, share in pieces:
                drawn.add(table)
                observer.rows(drawn.n_rows, share, what="looked at")
        return drawn

    def fit(
        self, outcome: Outcome, estimator: BaseEstimator, n_rows: int
    ) -> tuple[Outcome, int, Sequence[IntArray] | IntArray | None]:
        """Fit a model to all rows; also returns how many it used, and their counts."""
        observer = self.run.observer
        outcome, estimator, cost = self._limit_cost(outcome, estimator, n_rows)
        X, y = self._encode_all_rows(outcome, n_rows)
        observer.report_stage(f"training on all rows, on disk{cost}")
        with on_pass(observer.passes):
            model = fit_model(estimator, FitData(X, y), self.run, self.options.parameters)
        outcome = replace(outcome, model=replace(model, tuning=outcome.model.tuning))
        counts = None
        if y is not None:
            observer.report_stage("counting the classes of all rows")
            counts = _count_all_answers(estimator, X, y, outcome.plan.method)
        return outcome, X.shape[0], counts

    def _limit_cost(
        self, outcome: Outcome, estimator: BaseEstimator, n_rows: int
    ) -> tuple[Outcome, BaseEstimator, str]:
        """Return the model that learns from all rows, and what that costs in words.

        Settings that were chosen on a sample, and not by the user, give way to the defaults if
        they would take very long, and the defaults a tenth of that.
        """
        plan, X, facts = outcome.plan, outcome.rows.X, outcome.facts
        if plan.task.takes_labels:
            return outcome, estimator, ""
        self.run.observer.report_stage("estimating the cost of a fit to all rows")
        most = min(_LONG_FIT_SECONDS, self.options.time_budget or _LONG_FIT_SECONDS)
        cost = predict_cost(estimator, X, n_rows)
        if cost.seconds > most and outcome.model.tuning is not None:
            plain = estimator_class(plan.method)(**plan.settings)
            plain.set_params(target_fpr=estimator.target_fpr)
            other = predict_cost(plain, X, n_rows)
            if other.seconds < 0.1 * cost.seconds:
                instead = (
                    f"settings are defaults, because the chosen ones would take {cost.words()}"
                )
                facts |= {
                    "settings": f"defaults, which take {other.words()} for all rows",
                    "tuning": None,
                }
                facts["notes"] = [instead, *facts["notes"]]
                outcome = replace(outcome, model=replace(outcome.model, tuning=None))
                estimator, cost = plain, other
        if cost.seconds > most:
            facts["notes"] = [f"a fit to all rows takes {cost.words()}", *facts["notes"]]
        return outcome, estimator, f": {cost.words()}"

    def _encode_all_rows(self, outcome: Outcome, n_rows: int) -> tuple[RowMatrix, IntArray | None]:
        """Encode all rows to learn from in a file; also returns their labels."""
        options, observer, place = self.options, self.run.observer, self._place
        plan, of_sample = outcome.plan, outcome.rows
        labels = StoredLabels()
        tally = Tally(of_sample.file.path, options.missing == "skip", ref("missing", "skip"))
        observer.report_stage("encoding all rows into a temporary file")
        done, target, sample = 0, options.target, of_sample.X
        is_sparse = sp.issparse(sample)  # as rows to predict will be
        dtype, width = _choose_dtype(sample), sample.shape[1]
        per_row: float = dtype.itemsize * width
        if not isinstance(sample, np.ndarray):
            per_row = 8 + 8 * sample.nnz / sample.shape[0]
        chunks = iterate_chunks(self._source, of_sample.schema, tally, target=target)
        with (
            report_full_disk(place, n_rows * per_row),
            _open_writer(place / "all", width, dtype, is_sparse) as written,
            contextlib.closing(chunks),
        ):
            for chunk in chunks:
                X = of_sample.encoder.transform(chunk.rows)
                written.write(X)
                if target is not None:
                    assert chunk.target is not None
                    labels.add(chunk.target[chunk.complete])
                done += len(chunk.complete)
                observer.rows(done, chunk.share, n_rows, "encoded")
        X = written.mapped()
        if target is None:
            return X, None
        # Roles of all rows, by their labels.
        keep, y = labels.roles(plan, of_sample)
        if keep.all():
            return X, y
        with (
            report_full_disk(place),
            _open_writer(place / "kept", width, dtype, is_sparse) as kept,
        ):
            for start in range(0, X.shape[0], _ROWS_PER_PIECE):
                part = slice(start, start + _ROWS_PER_PIECE)
                kept.write(X[part][keep[part]])
                release_pages(X)
        shutil.rmtree(place / "all")
        return kept.mapped(), None if y is None else y[keep]


def _count_all_answers(
    estimator: BaseEstimator, X: RowMatrix, y: IntArray, method: str
) -> IntArray:
    """``count_answers`` of all rows, predicted in pieces."""
    total = np.zeros((2, 2), np.intp)
    for start in range(0, X.shape[0], _ROWS_PER_PREDICTION):
        part = slice(start, start + _ROWS_PER_PREDICTION)
        found = np.array(count_answers(estimator.predict(X[part]), y[part], method))
        release_pages(X)
        width = max(total.shape[1], found.shape[1]) - np.array([total.shape[1], found.shape[1]])
        total = np.pad(total, ((0, 0), (0, width[0]))) + np.pad(found, ((0, 0), (0, width[1])))
    return total


def _choose_dtype(sample: RowMatrix) -> np.dtype[np.floating[Any]]:
    """Single precision, if it makes no difference between rows that counts."""
    values: AnyArray = sample if isinstance(sample, np.ndarray) else sample.data
    spread = np.std(values, axis=0).max() if values.ndim == 2 else np.abs(values).max(initial=0.0)
    lost = np.abs(values - values.astype(np.float32)).max(initial=0.0)
    return np.dtype(np.float32 if lost <= _MAX_ROUNDING_SHARE * spread else np.float64)


def _open_writer(
    place: Path, width: int, dtype: np.dtype[np.floating[Any]], is_sparse: bool
) -> ArrayWriter | SparseWriter:
    place.mkdir()
    if is_sparse:
        return SparseWriter(place, width, dtype)
    return ArrayWriter(place / "rows.npy", width, dtype)


def _describe_all_rows(
    outcome: Outcome,
    n_rows: int,
    note: str,
    n_used: int | None = None,
    counts: Sequence[IntArray] | IntArray | None = None,
) -> Outcome:
    """Return the outcome with what its model says of the table it came from.

    ``n_used`` rows were learned from, of which there are ``counts``, as of ``count_answers``.
    """
    rows, model = outcome.rows, outcome.model
    facts = {**outcome.facts, "data": Path(str(rows.file.path)).name, "rows_read": n_rows}
    facts["in_pieces"] = True
    facts["notes"] = [note, *facts["notes"]]
    if n_used is not None:
        estimator, about = model.estimator, outcome.plan.selection.facts
        counted = None
        labeled = count_labels(about, rows.found.y)
        if counts is not None:
            of_class, counted = (each.tolist() for each in counts)
            labeled = dict(zip(labeled, of_class[-len(labeled) :], strict=True))
        facts |= collect_figures(estimator, rows.X, labeled, counted)
        facts |= {"rows": n_used, "rows_held": False, "seconds": model.seconds}
        facts["odd_rows"] = describe_anomalies(estimator, facts.get("clean"))
    return replace(outcome, metadata=outcome.metadata | {"training": facts})
