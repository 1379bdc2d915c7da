"""From a model, a table and numbers of rows to what drives their scores."""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import scipy.sparse as sp

from .._typing import FloatArray, IntArray, PathLike, RowMatrix, TableLike
from .._util.messages import UserError, listing, plural, quoted, ref
from ..inspection import explain as explain_model
from ..inspection.words import word_changes
from ..tables.columns.schema import REFUSE, Schema
from ..tables.columns.tally import Tally
from ..tables.encoding.texts import find_words
from ..tables.names import value_key
from ..tables.reading.chunks import iterate_chunks
from ..tables.sources import InMemory, Source
from ..tables.user_data import make_source
from .options.fit import check
from .scoring.scorer import FittedTable, Scorer
from .tasks import finite

# Rows to compare with, at most and at least.
_MAX_BACKGROUND_ROWS = 50
_MIN_BACKGROUND_ROWS = 5
# Words of a row's texts that are listed.
_MAX_WORDS = 20


TakenRows: TypeAlias = pd.DataFrame | RowMatrix


def explain(
    model: PathLike | FittedTable,
    data: TableLike,
    rows: Sequence[int],
    *,
    background: TableLike | None = None,
    seed: int = 0,
    trusted: Collection[str] = (),
    n_jobs: int | None = None,
    of: str | None = None,
    **reading: Any,
) -> dict[str, Any]:
    """Explain the scores of some rows of a table.

    Parameters
    ----------
    model : path-like or TableFit
        The model file, or what ``fit_table`` returned.
    data : path-like, DataFrame, ndarray or sparse matrix
        The table.
    rows : sequence of int
        Rows to explain, counted from 1.
    background : path-like, DataFrame, ndarray or sparse matrix, optional
        Rows to compare with; else other rows of the data, among those read up to the
        last row to explain and at least a piece of the file.
    seed : int
        Seed of their draw.
    trusted : collection of str
        As in :func:`fewlabels.pipeline.score`.
    n_jobs : int, optional
        Threads; None means all cores.
    of : str, optional
        Of a model of several classes, the class whose score is explained; by default the label.
    **reading
        ``sep``, ``decimal``, ``encoding``, ``header`` and ``features`` as in
        :func:`fewlabels.fit_table`.

    Returns
    -------
    dict
        Plain values. Of columns of texts also ``words``: what the score loses without each.
    """
    check(random_state=seed, n_jobs=n_jobs)
    numbers = list(dict.fromkeys(rows))
    for number in (min(numbers), max(numbers)):
        if not 1 <= number <= sys.maxsize:
            raise UserError(f"{ref('row', number)} is out of range; rows are counted from 1.")
    data = make_source(data, **reading)
    scorer = Scorer(model, n_jobs, trusted=trusted)
    chosen, usual, remarks = _read(data, scorer.schema, numbers, background is None, seed)
    source = data
    if background is not None:
        source = make_source(background, **{**reading, "features": None})
        _, usual, more_remarks = _read(source, scorer.schema, [], True, seed)
        remarks += more_remarks
    if usual is None or usual.shape[0] < _MIN_BACKGROUND_ROWS:
        found = 0 if usual is None else usual.shape[0]
        raise UserError(
            f"{source} has {plural(found, 'row')} to compare with, and at least "
            f"{_MIN_BACKGROUND_ROWS} are needed; pass typical rows, such as the training file, as "
            f"{ref('background')}."
        )
    place = None if of is None else _find_class(scorer, of)
    columns = scorer.schema.names() if scorer.schema.layout == "table" else None
    try:
        explanation = explain_model(
            scorer.pipeline, chosen, background=usual, columns=columns, random_state=seed, of=place
        )
    except ValueError as error:
        raise UserError(error) from error
    scored = scorer.score_complete(chosen)
    scores, certainty = scored.scores, scored.extra
    texts = scorer.schema.names("text")

    def explained(changed: pd.DataFrame) -> FloatArray:
        found = scorer.score_complete(changed).scores
        return found if place is None else found[:, place]

    words = {name: word_changes(explained, chosen, name, find_words) for name in texts}
    labels = scored.columns["label"].to_pylist()
    extra: list[dict[str, Any]] = [{}] * len(numbers)
    if explanation.classes is not None:
        cells = np.arange(len(numbers)), explanation.classes
        scores, certainty = scores[cells], None if certainty is None else certainty[cells]
        names = scorer.columns.labels_in_order
        extra = [
            {"class": names[code], "usual_score": finite(explanation.base_of(k))}
            for k, code in enumerate(explanation.classes)
        ]
    return {
        "model": scorer.source,
        "data": str(data),
        "background": str(source),
        "background_rows": int(usual.shape[0]),
        "method": explanation.method,
        "usual_score": finite(float(explanation.base)) if explanation.classes is None else None,
        "notes": remarks,
        "rows": [
            {
                "row": number,
                "score": finite(scores[k]),
                "label": labels[k],
                **extra[k],
                **({} if certainty is None else {f"{scorer.columns.extra}": finite(certainty[k])}),
                "contributions": [
                    {name: _plain(value) for name, value in line.items()}
                    | ({"usual": None} if line["column"] in texts else {})
                    for line in explanation.frame(k).to_dict("records")
                ],
                **({"words": _words(words, k)} if texts else {}),
            }
            for k, number in enumerate(numbers)
        ],
    }


def _find_class(scorer: Scorer, name: str) -> int:
    """Return the position of a class that the user named."""
    classes = scorer.metadata["training"].get("classes", [])
    if len(classes) < 3:
        raise UserError(
            f"{ref('class', text=name)} is for models with several classes; this model has a "
            "single score per row, so omit the option."
        )
    keys = [value_key(known) for known in classes]
    if value_key(name) not in keys:
        raise UserError(f"The model has no class {quoted(name)}; it has {listing(classes)}.")
    return keys.index(value_key(name))


def _words(words: dict[str, list[list[tuple[str, float]]]], row: int) -> list[dict[str, Any]]:
    """Return the words of a row's texts, the strongest first."""
    listed: list[dict[str, Any]] = [
        {"column": name, "word": word, "change": finite(change)}
        for name, changes in words.items()
        for word, change in changes[row]
        if change
    ]
    return sorted(listed, key=lambda one: -abs(one["change"]))[:_MAX_WORDS]


def _read(
    data: Source | InMemory, schema: Schema, numbers: Sequence[int], draws: bool, seed: int
) -> tuple[TakenRows | None, TakenRows | None, list[str]]:
    """Return the rows with these numbers, others drawn at random to compare with, and remarks."""
    tally = Tally(data, skip_missing=schema.missing == REFUSE)
    rng = np.random.default_rng(seed)
    wanted = np.array(sorted(numbers), dtype=int)
    found, keys, drawn = {}, np.zeros(0), None
    last = wanted[-1] if wanted.size else None
    done = 0
    for chunk in iterate_chunks(data, schema, tally, lines=True):
        n = len(chunk.complete)
        places = np.cumsum(chunk.complete) - 1
        here = wanted[(wanted > done) & (wanted <= done + n)]
        for number in here:
            at = number - done - 1
            if not chunk.complete[at]:
                if chunk.empty[at]:
                    raise UserError(
                        f"Row {number} of {data} has no value in any column of the model, so "
                        "there is nothing to explain; choose another row."
                    )
                raise UserError(
                    f"Row {number} of {data} has missing numbers, so it has no score to explain; "
                    "fill them in."
                )
            found[number] = _take(chunk.rows, [places[at]])
        if draws:
            free = chunk.complete.copy()
            free[here - done - 1] = False
            key = rng.random(int(free.sum()))
            best = np.argsort(key, kind="stable")[:_MAX_BACKGROUND_ROWS]
            part = _take(chunk.rows, places[free][best])
            keys = np.concatenate([keys, key[best]])
            drawn = part if drawn is None else _stack([drawn, part])
            best = np.argsort(keys, kind="stable")[:_MAX_BACKGROUND_ROWS]
            keys, drawn = keys[best], _take(drawn, best)
        done += n
        # Another file is read as a whole, for usual rows from all of it.
        if last is not None and done >= last:
            break
    tally.check()
    if last is not None and done < last:
        raise UserError(f"{data} has {plural(done, 'row')}, so there is no row {last}.")
    rows = _stack([found[number] for number in numbers]) if numbers else None
    return rows, drawn, tally.remarks


def _take(rows: TakenRows, places: Sequence[int] | IntArray) -> TakenRows:
    return rows.iloc[places] if hasattr(rows, "iloc") else rows[places]


def _stack(parts: list[TakenRows]) -> TakenRows:
    if hasattr(parts[0], "iloc"):
        return pd.concat(parts, ignore_index=True)
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return sp.csr_array(sp.vstack(parts))


def _plain(value: Any) -> str | float | None:
    """Return a value for JSON."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, str | bool | int) else finite(value)
