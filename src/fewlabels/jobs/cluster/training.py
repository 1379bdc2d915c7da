"""Learning from files on a cluster: settings from a sample, the model from all rows."""

import contextlib
from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ...io.errors import plural
from ...io.paths import input_format
from ...io.tables.chunks import iterate_chunks
from ...io.tables.columns import text
from ...io.tables.read import iterate_tables
from ...io.tables.tally import Tally
from ...options.words import ref
from ...tasks.machines import task_of
from ..observer import interruptible
from ..tasks import steps_of
from ..training.choice import SearchPlan
from ..training.figures import count_answers
from ..training.fitting import fit_machine
from ..training.large import Drawn, described_as_large, from_sample
from .files import cluster_of, files_of, parts_of, told_by_workers

_ROWS = 1 << 16


def train_on_cluster(data, options, learn, run):
    """Learn from files that the workers of a cluster read."""
    from joblib import parallel_config  # which takes its time

    files, observer = files_of(data), run.observer
    with (
        cluster_of(options.scheduler, options.workers) as client,
        interruptible("no model was written", run.model or ""),
        told_by_workers(),
    ):
        on = plural(len(files), "file")
        observer.step(f"drawing a sample of the rows {on}")
        parts = parts_of(files, client)
        if len(parts) > len(files):
            on += f" in {len(parts)} parts"
        drawn, values = _drawn(client, parts, options)
        on += f" on {plural(len(client.nthreads()), 'worker')}"
        spread = partial(parallel_config, "dask", client=client)
        training, estimator = from_sample(
            learn(drawn.rows(), spread),
            drawn,
            files[0].whole,
            options,
            f"the table is {on}",
            observer,
        )
        if estimator is not None:
            note = (
                f"the table is {on}: settings, columns and the report are based on "
                f"{drawn.size:,} random rows, and the model was trained on all rows"
            )
            training, n_rows, counts = _fitted(
                client, parts, training, estimator, values, options, run
            )
            training = described_as_large(training, drawn.n_rows, note, n_rows, counts)
    training.metadata["training"]["data"] = Path(str(data)).name
    return training


def _drawn(client, files, options):
    """Rows drawn from all files, and how often each value of the target occurs."""
    seed = options.parameters.get("random_state")
    seeds = [None if seed is None else [seed, k] for k in range(len(files))]
    target, mark = options.target, options.unlabeled
    found = client.map(
        draw, files, seeds, target=target, mark=mark, pure=False, key="fewlabels-draw"
    )
    drawn, values = Drawn(target, mark, seed), Counter()
    for future in found:
        some, counts = future.result()
        drawn.join(some)
        values.update(counts)
    return drawn, values


def draw(file, seed, target, mark):
    """What is drawn from a file, and how often each value of the target occurs in it."""
    drawn, values = Drawn(target, mark, seed), Counter()
    with contextlib.closing(iterate_tables(file, input_format(file), _ROWS)) as pieces:
        for table, _, _ in pieces:
            drawn.add(table)
            if target in table.column_names:
                values.update(text(table.column(target)).tolist())
    return drawn, values


def _fitted(client, files, training, estimator, values, options, run):
    """The training with a machine that has learnt from all rows, how many, and their counts."""
    from dask import delayed

    import fewlabels.dask as machines

    prepared = training.prepared
    meaning = None
    if options.target is not None:  # roles follow from values, the most frequent first
        distinct = np.array([value for value, _ in values.most_common()], dtype=object)
        file = replace(prepared.file, values=distinct)
        name = prepared.choice.machine
        roles = steps_of(task_of(name)).roles(file, name, options)
        meaning = pd.DataFrame({"keep": roles.keep}, index=distinct)
        meaning["y"] = 0 if roles.y is None else roles.y
    with_labels = meaning is not None and roles.y is not None
    encode = delayed(encoded, nout=2, pure=False)
    schema, encoder = delayed(prepared.schema), delayed(prepared.encoder)
    parts = [
        encode(file, schema, encoder, options.target, options.missing, meaning) for file in files
    ]
    kind = getattr(machines, f"Dask{type(estimator).__name__}")
    machine = kind(**estimator.get_params(deep=False), client=client)
    run.observer.step("training on all rows on the cluster")
    fitted = fit_machine(
        machine,
        [X for X, _ in parts],
        [y for _, y in parts] if with_labels else None,
        run,
        given=options.parameters,
        search=SearchPlan(0.0),
    )
    counts = None
    if with_labels:
        count, answers = delayed(count_answers), machine.predict([X for X, _ in parts])
        each = [
            count(answer, y, prepared.choice.machine)
            for answer, (_, y) in zip(answers, parts, strict=True)
        ]
        counts = [_summed(some) for some in zip(*client.gather(client.compute(each)), strict=True)]
    fitted = fitted._replace(estimator=machine.to_local(), tuning=training.fitted.tuning)
    return replace(training, fitted=fitted), machine.shape_fit_[0], counts


def _summed(counts):
    """Counts by class of several files, the last of which some may lack."""
    return sum(np.pad(one, (0, max(map(len, counts)) - len(one))) for one in counts)


def encoded(file, schema, encoder, target, missing, meaning):
    """The rows of a file to learn from, encoded, and their labels.

    ``meaning`` has ``keep`` and ``y`` of every value of the target; None without one.
    """
    tally = Tally(file, missing == "skip", ref("missing", "skip"))
    rows, labels = [], []
    with contextlib.closing(iterate_chunks(file, schema, tally, target=target)) as chunks:
        for chunk in chunks:
            X = encoder.transform(chunk.rows).astype(np.float32)
            if meaning is not None:
                of_rows = meaning.loc[chunk.target[chunk.complete]]
                keep = of_rows["keep"].to_numpy()
                X = X[keep]
                labels.append(of_rows["y"].to_numpy()[keep])
            rows.append(X)
    tally.check()
    X = sp.csr_array(sp.vstack(rows)) if sp.issparse(rows[0]) else np.concatenate(rows)
    return X, np.concatenate(labels) if labels else None
