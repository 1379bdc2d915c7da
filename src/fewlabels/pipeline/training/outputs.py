"""The files that a training leaves: the model and its report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ..._typing import PathLike
from ..._util.messages import Interrupted, UserError, ref
from ..._util.paths import path_exists
from ...tables.models.files import is_model
from ...tables.paths import check_output
from ...tables.sources import InMemory, Source
from ..observer import Observer, capture_warnings
from .outcome import Outcome
from .schedule import Schedule

if TYPE_CHECKING:
    from ...report import Contents
    from ...report.contents import Rate


def collect_contents(
    outcome: Outcome, schedule: Schedule, observer: Observer, **about: Any
) -> Contents:
    """Collect the contents of a fit's report, and add its facts to the fit's.

    ``about`` are the path of the model and the command that fitted it, if there are any.
    """
    from ...report import collect  # slow to import

    facts = outcome.facts
    with capture_warnings() as messages:
        parts = outcome.report_parts(schedule.deadline("report"))
        contents = collect(words=observer.words, **about, **parts)
    facts["notes"] += [observer.words(note) for note in messages]
    facts["expected"] = rates_by_term(contents.findings.rates)
    return contents


def write_outcome_report(
    outcome: Outcome,
    path: PathLike,
    schedule: Schedule,
    observer: Observer,
    model: PathLike,
    command: str,
) -> None:
    """Write the report of a model that is saved already."""
    from ...report import write_report  # slow to import

    try:
        about = dict(model_path=model, command=command)
        write_report(path, collect_contents(outcome, schedule, observer, **about))
    except KeyboardInterrupt:
        raise Interrupted(f"The model {model} is written, but not its report.") from None


def expected_rates(outcome: Outcome) -> dict[str, dict[str, float | None]]:
    """Return the error rates of a fit without a report, as ``rates_by_term`` has them.

    These are rates that its tests have measured anyway: for positive and unlabelled rows, whose
    rates take more fits, there are none.
    """
    tests, classes = outcome.evidence.tests, outcome.facts.get("classes")
    held = tests and tests.held
    if tests is None or not held or not classes or tests.has_no_signal:
        return {}
    from ...report.semi_supervised import estimate_rates  # slow to import

    y = outcome.rows.found.y
    assert y is not None  # there are classes
    found, _ = estimate_rates(held, y, classes, outcome.evidence.comparison, tests.shares)
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
    if path_exists(model) and not (force or is_model(model)):
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
    if path_exists(path) and not (force or is_report(path)):
        raise UserError(
            f"{path} exists and is not a fewlabels report; pass another file as {ref('report')}, "
            f"{ref('no_report', True)}, or {ref('force', True)} to replace it."
        )
