"""Tables that do not fit in memory: settings from a sample, the machine from all rows on disk."""

import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.base import clone

from ...estimators.elsewhere.places import what_is_missing
from ...io.errors import plural
from ...io.limits import free_memory, size_of
from ...io.memory import InMemory
from ...io.paths import input_format, is_compressed
from ...io.stored import ArrayWriter, temporary_folder
from ...io.tables.chunks import iterate_chunks
from ...io.tables.columns import text
from ...io.tables.read import iterate_tables
from ...io.tables.tally import Tally
from ..observer import interruptible
from .choice import choose_roles
from .figures import count_answers, count_labels, figures_of
from .fitting import fit_machine
from .search import Search

# Bytes that reading and learning take for every cell; formats that are read in pieces, and what a
# byte of theirs comes to at most.
_PER_CELL = 40
_MOST = {"csv": 20, "tsv": 20, "parquet": 1000, "folder": 1000}
# Rows of a sample that have no label, and of each label; more labels than this are no classes.
_SAMPLE, _LABELLED, _LABELS = 20_000, 10_000, 20
_ROWS = 1 << 16
# Machines that learn from all rows of a file; others learn from samples in any case.
_FROM_ALL = ("svdd", "one-class", "pusvm", "s3vm")


def does_not_fit(data, request):
    """Whether a table takes more memory than it may: ``request.memory``, or half of the free."""
    form = input_format(data)
    beside = any(request.reading.get(name) is not None for name in ("labels", "features"))
    if isinstance(data, InMemory) or form not in _MOST or beside:
        return False
    allowed = 0.5 * free_memory() if request.memory is None else size_of(request.memory)
    path = data.path
    files = path.rglob("*.parquet") if path.is_dir() else [path]
    most = _MOST[form] * (100 if is_compressed(path) else 1)
    if most * sum(file.stat().st_size for file in files) <= allowed:
        return False
    with contextlib.closing(iterate_tables(data, form, _ROWS)) as pieces:
        table, _, share = next(pieces)
    n_rows = table.num_rows / max(share, 1e-12)
    return _PER_CELL * n_rows * table.num_columns > allowed


class Drawn:
    """Rows drawn at random from pieces of a table: of each label, and of those without one."""

    def __init__(self, target, mark, seed):
        self.target, self.mark = target, mark
        self._rng = np.random.default_rng(seed)
        self.kept = {}  # by label: keys, and rows
        self.n_rows = 0

    def add(self, table):
        """Look at the next piece."""
        labels = np.full(table.num_rows, "", object)
        if self.target is not None and self.target in table.column_names:
            labels = text(table.column(self.target)).astype(object)
            labels[labels == self.mark] = ""
        self.n_rows += table.num_rows
        for label in np.unique(labels.astype(str)):
            rows = np.flatnonzero(labels == label)
            few = label == "" or (label not in self.kept and len(self.kept) > _LABELS)
            self._draw("" if few else label, table, rows)

    def _draw(self, label, table, rows):
        size = _LABELLED if label else _SAMPLE
        keys = self.kept.get(label, (np.empty(0), None))[0]
        new = self._rng.random(len(rows))
        limit = np.inf if len(keys) < size else keys.max()
        rows, new = rows[new < limit], new[new < limit]
        if not len(rows):
            return
        self._keep(label, new, table.take(rows))

    def _keep(self, label, new, part):
        size = _LABELLED if label else _SAMPLE
        keys, kept = self.kept.get(label, (np.empty(0), None))
        kept = part if kept is None else pa.concat_tables([kept, part])
        keys = np.concatenate([keys, new])
        if len(keys) > size:
            best = np.sort(np.argpartition(keys, size)[:size])
            keys, kept = keys[best], kept.take(best).combine_chunks()
        self.kept[label] = keys, kept

    def join(self, other):
        """Take over what was drawn from other pieces."""
        self.n_rows += other.n_rows
        for label, (keys, kept) in other.kept.items():
            few = label not in self.kept and len(self.kept) > _LABELS
            self._keep("" if few else label, keys, kept)

    @property
    def size(self):
        """How many rows were drawn."""
        return sum(kept.num_rows for _, kept in self.kept.values())

    def table(self):
        """The rows that were drawn."""
        return pa.concat_tables([kept for _, kept in self.kept.values()]).combine_chunks()


def train_large(data, request, options, train, *, model, observer):
    """Learn from a table in pieces: ``train`` from a sample, then the machine from all rows."""
    with interruptible("no model was written", model or ""):
        seed = request.parameters.get("random_state")
        drawn = Drawn(request.target, request.unlabeled, seed)
        observer.step("drawing a sample of the rows, as the table does not fit in memory")
        with contextlib.closing(iterate_tables(data, input_format(data), _ROWS)) as pieces:
            for table, _, share in pieces:
                drawn.add(table)
                observer.rows(drawn.n_rows, share)
    why = "the table does not fit in memory"
    training, estimator = from_sample(drawn, data, request, options, train, why, observer=observer)
    if estimator is None:
        return training
    told = (
        f"{why}: settings, columns and what the report shows are from {drawn.size} rows drawn at "
        "random, the machine has learnt from all, on disk"
    )
    with temporary_folder() as place, interruptible("no model was written", model or ""):
        X, y = _encoded(training, data, request, place, observer)
        fitted = fit_machine(
            estimator, X, y, given=request.parameters, model=model, search=Search(0.0),
            observer=observer,
        )  # fmt: skip
        training = replace(training, fitted=fitted._replace(tuning=training.fitted.tuning))
        machine = training.prepared.choice.machine
        counts = None if y is None else count_answers(estimator.predict(X), y, machine)
        return told_of(training, drawn.n_rows, told, X.shape[0], counts)


def from_sample(drawn, data, request, options, train, why, *, observer):
    """A training from rows that were drawn, and its machine to be fitted to all rows.

    None in place of the machine where it learns from a sample only; the training says so then, and
    ``why`` a sample was drawn.
    """
    training = train(InMemory("frame", drawn.table()), observer=observer, **options)
    header = request.reading.get("header") is not False
    schema = replace(training.prepared.schema, header=header)
    file = replace(training.prepared.file, path=data)
    training = replace(training, prepared=replace(training.prepared, file=file, schema=schema))
    machine, estimator = training.prepared.choice.machine, clone(training.fitted.estimator)
    if "probability" in estimator.get_params():
        estimator.set_params(probability=None)
    missing = what_is_missing(estimator) if machine in _FROM_ALL else "it learns from samples"
    if not missing:
        return training, estimator
    told = (
        f"{why}: {machine} learnt from {drawn.size} of {plural(drawn.n_rows, 'row')}, drawn at "
        f"random ({missing}; --machine svdd, one-class or pusvm learn from all rows)"
    )
    return told_of(training, drawn.n_rows, told), None


def _encoded(training, data, request, place, observer):
    """All rows to learn from in a file, encoded, and their labels."""
    prepared, values = training.prepared, []
    tally = Tally(data, request.missing == "skip", "--missing skip")
    observer.step("encoding all rows into a temporary file")
    n_rows, target = 0, request.target
    width = prepared.X.shape[1]
    with ArrayWriter(place / "all.npy", width, np.float32) as written:
        chunks = iterate_chunks(data, prepared.schema, tally, target=target)
        with contextlib.closing(chunks):
            for chunk in chunks:
                X = prepared.encoder.transform(chunk.rows)
                written.write(X.toarray() if hasattr(X, "toarray") else X)
                if target is not None:
                    values.append(chunk.target[chunk.complete])
                n_rows += len(chunk.complete)
                observer.rows(n_rows, chunk.share)
    tally.check()
    X = written.mapped()
    if target is None:
        return X, None
    # Roles of all rows, by their labels.
    file = replace(prepared.file, values=np.concatenate(values))
    roles = choose_roles(file, prepared.choice.machine, request.normal, request.positive)
    y = None if roles.y is None else roles.y[roles.keep]
    if roles.keep.all():
        return X, y
    with ArrayWriter(place / "kept.npy", width, np.float32) as kept:
        for start in range(0, len(X), _ROWS):
            part = slice(start, start + _ROWS)
            kept.write(X[part][roles.keep[part]])
    (place / "all.npy").unlink()
    return kept.mapped(), y


def told_of(training, n_rows, note, n_used=None, counts=None):
    """The training with what its model says of the table it came from.

    ``n_used`` rows were learnt from, of which there are ``counts``, as of ``count_answers``.
    """
    metadata = dict(training.metadata)
    facts = dict(metadata["training"])
    facts |= {"data": Path(str(training.prepared.file.path)).name, "rows_read": n_rows}
    facts["notes"] = [note, *facts["notes"]]
    if n_used is not None:
        estimator, machine = training.fitted.estimator, training.prepared.choice.machine
        about, counted = training.prepared.roles.facts, None
        labeled = count_labels(about, training.prepared.found.y)
        if counts is not None:
            of_class, counted = (each.tolist() for each in counts)
            labeled = dict(zip(labeled, of_class[-len(labeled) :], strict=True))
        facts |= figures_of(machine, estimator, training.prepared.X, labeled, counted)
        facts |= {"rows": n_used, "rows_held": False, "seconds": training.fitted.seconds}
    return replace(training, metadata=metadata | {"training": facts})
