"""Learning from files on a cluster: settings from a sample, the model from all rows."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin

from ..._typing import IntArray, RowMatrix
from ..._util.messages import UserError, plural, ref
from ...tables.columns.column import text
from ...tables.columns.schema import Schema
from ...tables.columns.tally import Tally
from ...tables.reading.chunks import iterate_chunks
from ...tables.reading.read import iterate_tables
from ...tables.sources import InMemory, Source
from ..cluster_files import connect_cluster, list_files, split_files, translate_worker_errors
from ..observer import interruptible
from ..options.fit import FitOptions
from .figures import count_answers
from .fitting import FitData, Run, fit_model
from .large import FitSample, TableSample, select_rows_by_value, train_on_all
from .outcome import Outcome

if TYPE_CHECKING:
    from distributed import Client

# Rows that are read at a time.
_ROWS_PER_PIECE = 1 << 16


def train_on_cluster(
    data: Source | InMemory, options: FitOptions, fit_sample: FitSample, run: Run
) -> Outcome:
    """Learn from files that the workers of a cluster read."""
    from joblib import parallel_config  # which takes its time

    files = list_files(data)
    with (
        connect_cluster(options.scheduler, options.workers) as client,
        interruptible("no model was written", run.output),
        translate_worker_errors(),
    ):
        rows = _OnCluster(files, client, options, run)
        sample = rows.draw_sample()
        spread = partial(parallel_config, "dask", client=client)
        outcome = train_on_all(rows, sample, fit_sample(sample.rows(), spread))
    outcome.facts["data"] = Path(str(data)).name
    return outcome


class _OnCluster:
    """All rows of files that the workers of a cluster read, large files in parts."""

    where = ""

    def __init__(self, files: list[Source], client: Client, options: FitOptions, run: Run) -> None:
        self.file, self.options, self.run = files[0].whole, options, run
        self._client, self._parts = client, split_files(files, client)
        on = plural(len(files), "file")
        run.observer.report_stage(f"drawing a sample of the rows {on}")
        if len(self._parts) > len(files):
            on += f" in {len(self._parts)} parts"
        self.why = f"the table is {on} on {plural(len(client.nthreads()), 'worker')}"
        self._values: Counter[str] = Counter()  # how often each value of the target occurs

    def draw_sample(self) -> TableSample:
        """Return rows drawn at random from all files; values of the target are counted."""
        seed, parts = self.options.parameters.get("random_state"), self._parts
        seeds = [None if seed is None else [seed, k] for k in range(len(parts))]
        asked: dict[str, Any] = dict(target=self.options.target, mark=self.options.unlabeled)
        found = self._client.map(
            draw_sample, parts, seeds, **asked, pure=False, key="fewlabels-draw"
        )
        drawn = TableSample(**asked, seed=seed)
        for part, future in zip(parts, found, strict=True):
            some, counts = future.result()
            if drawn.columns and some.columns and some.columns != drawn.columns:
                raise UserError(
                    f"{part} has other columns than {parts[0]}, or in another order; give all "
                    "files the same columns."
                )
            drawn.join(some)
            self._values.update(counts)
        return drawn

    def fit(
        self, outcome: Outcome, estimator: BaseEstimator, n_rows: int
    ) -> tuple[Outcome, int, Sequence[IntArray] | IntArray | None]:
        """Fit a model to all rows; also returns how many it used, and their counts."""
        from dask import delayed

        import fewlabels.dask as machines

        plan, of_sample, options = outcome.plan, outcome.rows, self.options
        meaning = None
        if options.target is not None:  # roles follow from values, the most frequent first
            distinct = [value for value, _ in self._values.most_common()]
            roles = select_rows_by_value(plan, of_sample, distinct)
            meaning = pd.DataFrame({"keep": roles.keep}, index=np.array(distinct, dtype=object))
            meaning["y"] = 0 if roles.y is None else roles.y
        with_labels = meaning is not None and roles.y is not None
        encode = delayed(encode_file, nout=2, pure=False)
        how = (
            delayed(of_sample.schema),
            delayed(of_sample.encoder),
            options.target,
            options.missing,
        )
        parts = [encode(file, *how, meaning) for file in self._parts]
        kind = getattr(machines, f"Dask{type(estimator).__name__}")
        model = kind(**estimator.get_params(deep=False), client=self._client)
        self.run.observer.report_stage("training on all rows on the cluster")
        labels = [y for _, y in parts] if with_labels else None
        data = FitData([X for X, _ in parts], labels)
        fitted = fit_model(model, data, self.run, options.parameters)
        counts = None
        if with_labels:
            count, answers = delayed(count_answers), model.predict([X for X, _ in parts])
            each = [
                count(answer, y, plan.method)
                for answer, (_, y) in zip(answers, parts, strict=True)
            ]
            each = self._client.gather(self._client.compute(each))
            counts = [_sum_counts(some) for some in zip(*each, strict=True)]
        fitted = replace(fitted, estimator=model.to_local(), tuning=outcome.model.tuning)
        return replace(outcome, model=fitted), model.shape_fit_[0], counts


def draw_sample(
    file: Source, seed: Sequence[int] | None, target: str | None, mark: str | None
) -> tuple[TableSample, Counter[str]]:
    """Return what is drawn from a file, and how often each value of the target occurs in it."""
    drawn = TableSample(target, mark, seed)
    values: Counter[str] = Counter()
    with contextlib.closing(iterate_tables(file, _ROWS_PER_PIECE)) as pieces:
        for table, _, _ in pieces:
            drawn.add(table)
            if target in table.column_names:
                values.update(text(table.column(target)).tolist())
    return drawn, values


def _sum_counts(counts: Sequence[IntArray]) -> IntArray:
    """Add counts by class of several files, some of which may lack the last classes."""
    total = np.zeros(max(map(len, counts)), np.intp)
    for one in counts:
        total[: len(one)] += one
    return total


def encode_file(
    file: Source,
    schema: Schema,
    encoder: TransformerMixin,
    target: str | None,
    missing: str,
    meaning: pd.DataFrame | None,
) -> tuple[RowMatrix, IntArray | None]:
    """Encode the rows of a file to learn from; also returns their labels.

    ``meaning`` has ``keep`` and ``y`` of every value of the target; None without one.
    """
    tally = Tally(file, missing == "skip", ref("missing", "skip"))
    rows, labels = [], []
    chunks_of = iterate_chunks(
        file, schema, tally, target=target, target_needed=meaning is not None
    )
    with contextlib.closing(chunks_of) as chunks:
        for chunk in chunks:
            X = encoder.transform(chunk.rows).astype(np.float32)
            if meaning is not None:
                assert chunk.target is not None
                of_rows = meaning.loc[chunk.target[chunk.complete]]
                keep = of_rows["keep"].to_numpy()
                X = X[keep]
                labels.append(of_rows["y"].to_numpy()[keep])
            rows.append(X)
    X = sp.csr_array(sp.vstack(rows)) if sp.issparse(rows[0]) else np.concatenate(rows)
    return X, np.concatenate(labels) if labels else None
