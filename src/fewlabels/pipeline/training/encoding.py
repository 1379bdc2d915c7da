"""From rows of a file to numbers: what texts count next to other columns, and what is left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sklearn.base import TransformerMixin

from ..._typing import IntArray, RowMatrix
from ..._util.messages import UserError, quoted, ref
from ...rows.repeats import Groups
from ...tables.columns.schema import Schema
from ...tables.columns.target import RowSelection
from ...tables.encoding.fit import (
    explain_common_unit,
    fit_encoder,
    text_encoders,
    weigh_by_labels,
    weigh_texts,
)
from ...tables.reading.training import TableRows, TrainingFile

if TYPE_CHECKING:
    from ...model_selection.weighing import ColumnWeights


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows ``found`` in a ``file``, and as ``X`` by an ``encoder`` of the columns in ``schema``.

    ``weighing`` says what texts count next to other columns, if labels chose that; ``notes``: for
    the user. ``groups`` of rows are held out together and count once, None where each row is one.
    """

    file: TrainingFile
    found: TableRows
    encoder: TransformerMixin
    X: RowMatrix
    schema: Schema
    weighing: ColumnWeights | None
    notes: list[str]
    groups: Groups | None = None

    @property
    def n_rows(self) -> int:
        """Return how many rows there are."""
        return self.X.shape[0]


@dataclass(frozen=True)
class EncodingOptions:
    """The way columns are encoded; the first three as in :func:`fewlabels.fit_table`.

    Without a ``text_weight`` held-out labels choose one, if ``by_labels``. Rare categories count
    less if ``weigh_rare``; None means where there are no labels. ``spare`` columns are for
    categories of later updates, and ``empty_rows`` says what becomes of rows to score without any
    value.
    """

    missing: str
    scale: str | bool
    text_weight: float | None = None
    by_labels: bool = True
    weigh_rare: bool | None = None
    spare: int = 0
    empty_rows: str = "blank"


def encode(
    file: TrainingFile,
    roles: RowSelection,
    options: EncodingOptions,
    *,
    y: IntArray | None = None,
    known: IntArray | None = None,
) -> EncodedRows:
    """Choose rows, and encode them, with texts weighed by labels or as the user says.

    Labels are the rows' labels, or ``y``; ``known`` are codes of labels that roles lack. Columns
    are dropped if held-out labels are predicted better without them.
    """
    missing, empty_rows, spare = options.missing, options.empty_rows, options.spare
    scale, weight = options.scale, options.text_weight
    found = file.choose(roles, missing, empty_rows, known)
    y = found.y if y is None else y
    rare = y is None if options.weigh_rare is None else options.weigh_rare
    if scale not in ("auto", True, False):
        raise UserError(f"scale={quoted(scale)} is not valid; pass 'auto', True or False.")
    unit = explain_common_unit(found.schema, found.rows) if scale == "auto" else None
    scale = unit is None if scale == "auto" else scale
    notes = (
        [
            f"numbers are not standardised, because {unit} (pass {ref('scale', True)} to "
            "standardise them)"
        ]
        if unit
        else []
    )
    encoder, X, schema = fit_encoder(found.schema, found.rows, file.path, scale, rare, spare)
    if weight is not None or not options.by_labels:
        X = X if weight in (None, 1.0) else weigh_texts(encoder, X, weight)
        return EncodedRows(file, found, encoder, X, schema, None, notes)
    asked = file.asked if schema.names("text") else ()
    weighing = weigh_by_labels(encoder, schema, X, y, asked)
    if weighing is None:
        return EncodedRows(file, found, encoder, X, schema, None, notes)
    if weighing.left_out:
        file = replace(file, dropped_columns=weighing.left_out)
        found = file.choose(roles, missing, empty_rows, known)
        encoder, X, schema = fit_encoder(found.schema, found.rows, file.path, scale, rare, spare)
    if weighing.ratio != 1.0:
        X = weigh_texts(encoder, X, weighing.ratio)
    return EncodedRows(
        file, found, encoder, X, schema, weighing, [*notes, _describe_weights(weighing, schema)]
    )


def text_facts(
    encoder: TransformerMixin,
    schema: Schema,
    weighing: ColumnWeights | None,
    weight: float | None = None,
) -> dict[str, Any] | None:
    """Return what a model keeps of its columns of texts, plain values only; None without any.

    The weight of texts next to no other columns is None.
    """
    encoders = text_encoders(encoder, schema)
    if not encoders:
        return None
    if weighing is not None:
        weight = None if schema.only_texts else weighing.ratio
    elif weight is None:
        weight = 1.0
    return {
        "columns": {
            name: {"unit": texts.unit_, "words": len(texts.words())}
            for name, texts in encoders.items()
        },
        "weight": weight,
        "areas": None
        if weighing is None
        else [{"weight": ratio, "area": area} for ratio, area in weighing.areas.items()],
        "left_out": [] if weighing is None else list(weighing.left_out),
    }


def _describe_weights(weighing: ColumnWeights, schema: Schema) -> str:
    usual = weighing.areas[1.0]
    if schema.only_texts:
        weight_words = "only the texts are used"
    else:
        weight_words = f"texts count {_ratio_words(weighing.ratio)} all other columns together"
    if weighing.area == usual:
        return f"{weight_words} (held-out ROC AUC {usual:.3f}; no other weight is clearly better)"
    same = "if they counted the same"
    if weighing.left_out:
        same = "with all columns, counting the same"
    return f"{weight_words} (held-out ROC AUC {weighing.area:.3f}, {usual:.3f} {same})"


def _ratio_words(ratio: float) -> str:
    if ratio == 1.0:
        return "as much as"
    return f"{ratio:g} times as much as" if ratio > 1.0 else f"1/{1.0 / ratio:g} as much as"
