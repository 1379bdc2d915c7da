"""The options of ``fewlabels update`` and :func:`fewlabels.pipeline.update`."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

from ..._util.messages import ref
from ..._util.option import OUTPUT, OptionRecord, at_least, declare, option, options_of_schema
from ...tables.reading.options import ReadingOptions
from .fit import FIT
from .score import SCORE_FILE


@dataclass(frozen=True, eq=False, repr=False)
class UpdateOptions(OptionRecord, ReadingOptions):
    """The options of adding rows to a model; the values are what was given."""

    data: Any = option(
        None,
        "Rows to add: a table with the model's columns, or a matrix. Optional with "
        f"{ref('consolidate', True)}.",
        metavar="[MORE]",
        accepts="path-like, DataFrame, ndarray or sparse matrix",
    )
    output: Any = option(
        None,
        "Model file to write.",
        letter="-o",
        metavar="FILE",
        unset="MODEL",
        accepts="path-like",
    )
    _: KW_ONLY
    target: str | None = option(
        None,
        "Column with the classes, blank where unknown.",
        metavar="COLUMN",
        unset="the model's target, if MORE has it",
    )
    no_labels: bool = option(False, "Treat all rows as unlabelled.")
    skip_missing: bool = option(False, "Skip rows with missing numbers.", OUTPUT)
    block: int = option(
        1,
        "Add N rows at a time; faster, but in a different order.",
        OUTPUT,
        metavar="N",
        range=at_least(1),
    )
    consolidate: bool = option(False, "Then retrain on all rows and keep the better solution.")
    probability: bool = option(
        True,
        "Recalibrate probabilities, which takes as long as a few fits. Without it, 'predict' "
        "gives none.",
        OUTPUT,
        unset="yes",
    )
    new_classes: Any = option(
        (),
        "Accept a class that MODEL doesn't have.",
        flag="--new-class",
        metavar="CLASS",
        accepts="str or sequence of str",
    )
    force: bool = option(False, "Replace the output even if it is not a model.", OUTPUT)
    chunk_rows: int | None = declare(None, SCORE_FILE["chunk_rows"])
    observer: Any = declare(None, FIT["observer"])


UPDATE = options_of_schema(UpdateOptions)
