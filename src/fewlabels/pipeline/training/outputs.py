"""The files that a training leaves: the model and its report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._typing import PathLike
from ..._util.messages import Interrupted, UserError, ref
from ...tables.models.files import is_model
from ...tables.paths import check_output
from ...tables.sources import InMemory, Source
from ..observer import Observer, capture_warnings
from .result import Training

if TYPE_CHECKING:
    from ...report import Contents
    from ...report.contents import Rate


def collect_contents(training: Training, observer: Observer, **about: Any) -> Contents:
    """Collect the contents of a training's report, and add its facts to the training's.

    ``about`` are the path of the model and the command that fitted it, if there are any.
    """
    from ...report import collect  # slow to import

    facts = training.metadata["training"]
    with capture_warnings() as messages:
        contents = collect(words=observer.words, **about, **training.parts_of_report())
    facts["notes"] += [observer.words(note) for note in messages]
    facts["expected"] = rates_by_term(contents.findings.rates)
    return contents


def write_training_report(
    training: Training, path: PathLike, observer: Observer, *, model_path: PathLike, command: str
) -> None:
    """Write the report of a model that is saved already."""
    from ...report import write_report  # slow to import

    try:
        about = dict(model_path=model_path, command=command)
        write_report(path, collect_contents(training, observer, **about))
    except KeyboardInterrupt:
        raise Interrupted(f"The model {model_path} is written, but not its report.") from None


def expected_rates(training: Training) -> dict[str, dict[str, float | None]]:
    """Return the error rates of a training without a report, as ``rates_by_term`` has them.

    These are rates that its tests have measured anyway: for positive and unlabelled rows, whose
    rates take more fits, there are none.
    """
    tests = training.tests
    held = tests and tests.held
    classes = training.metadata["training"].get("classes")
    if tests is None or not held or not classes or tests.has_no_signal:
        return {}
    from ...report.semi_supervised import estimate_rates  # slow to import

    shares, y = tests.shares, training.prepared.found.y
    assert y is not None  # there are classes
    found, _ = estimate_rates(held, y, classes, training.comparison, shares)
    return rates_by_term(found)


def rates_by_term(rates: Iterable[Rate]) -> dict[str, dict[str, float | None]]:
    """Return rates by their usual names, such as "precision", with the ends of their intervals.

    A rate that the data don't determine has ends only.
    """
    return {
        rate.term: {
            "value": rate.value if rate.is_determined else None,
            "low": rate.interval and rate.interval[0],
            "high": rate.interval and rate.interval[1],
        }
        for rate in rates
        if rate.term
    }


def check_model_output(model: PathLike, force: bool, inputs: Sequence[Source | InMemory]) -> None:
    """Refuse a model file that cannot be written, or that would replace another file."""
    check_output(model, inputs=inputs)
    if Path(model).exists() and not (force or is_model(model)):
        raise UserError(
            f"{model} exists and is not a fewlabels model; choose another name, or pass "
            f"{ref('force', True)} to replace it."
        )


def check_report_output(
    path: PathLike, force: bool, inputs: Sequence[Source | InMemory | PathLike]
) -> None:
    """Refuse a report that cannot be written, or that would replace another file."""
    from ...report import is_report  # slow to import

    check_output(path, inputs=inputs)
    if Path(path).exists() and not (force or is_report(path)):
        raise UserError(
            f"{path} exists and is not a fewlabels report; pass another file as {ref('report')}, "
            f"{ref('no_report', True)}, or {ref('force', True)} to replace it."
        )
