"""Evidence for a model: whether it beats chance, and whether its prior agrees with its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from ..._util.messages import quoted, ref
from ...tables.models.cautions import CANNOT_TELL, NOT_REJECTED, NOT_TESTED, REJECTED
from .encoding import EncodedRows
from .fitting import FittedModel, Run
from .schedule import Schedule

if TYPE_CHECKING:
    from ...model_selection import BaselineComparison
    from ...model_selection.permutation import PermutationTest
    from ...model_selection.positive_unlabelled.random_labels import LabelledAtRandomTest
    from ...report.evidence.model_tests import Tests

# Missed labelled rows, as a share of all, that a message gives as its reason.
_MANY_MISSED_SHARE = 0.45


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence for a model, and against it.

    ``tests`` say whether it beats chance and whether its prior agrees with its labels; None
    without labels. ``comparison`` is with other methods, if they were compared. ``notes`` are for
    the user.
    """

    tests: Tests | None = None
    comparison: BaselineComparison | None = None
    notes: tuple[str, ...] = ()


def examine(
    rows: EncodedRows, model: FittedModel, run: Run, before: Tests | None = None
) -> Evidence:
    """Test a fitted model; ``before`` are the tests of another model of these rows."""
    if rows.found.y is None:
        return Evidence()
    run.observer.report_stage("testing the model against chance")
    tests, notes = test_model(rows, model, run.schedule, before)
    tests, more = compare_labelled(rows, model, run.schedule, tests)
    return Evidence(tests, notes=(*notes, *more))


def test_model(
    rows: EncodedRows, model: FittedModel, schedule: Schedule, before: Tests | None = None
) -> tuple[Tests, list[str]]:
    """Return the ``Tests`` of a model that was fitted to labels, and notes for the user.

    ``before`` are the ``Tests`` of another model of these rows. The test whether labels are random
    doesn't depend on the model, so it isn't made again.
    """
    from ...report.evidence.class_shares import class_shares
    from ...report.evidence.model_tests import check_labels, run_tests
    from ...report.evidence.separating_columns import SEPARATE, find_separating_columns
    from ...rows.grouped_folds import count_once

    X, y, groups, estimator = rows.X, rows.found.y, rows.groups, model.estimator
    assert y is not None  # the model was fitted to labels
    has_prior = estimator.task.has_prior
    deadline = schedule.deadline("test against chance")
    tests, cut = run_tests(estimator, X, y, deadline, model.seconds, groups), deadline.cut
    once = slice(None) if groups is None else count_once(np.arange(len(y)), y, groups)
    if has_prior and tests.signal and tests.signal.beats_chance:
        known = before is not None and (before.labels, before.labels_untested)
        if not known or not any(known):
            deadline = schedule.deadline("test of the labels")
            known = check_labels(estimator, X[once], y[once], deadline)
            cut = cut + deadline.cut
        tests = tests._replace(labels=known[0], labels_untested=known[1])
    if tests.contradiction:
        assert tests.signal is not None  # a contradiction follows from it
        if tests.signal.area >= SEPARATE:
            tests = tests._replace(apart=find_separating_columns(rows.found.rows, y == 1))
    if not has_prior and not tests.has_no_signal:
        deadline = schedule.deadline("test of the labels")
        tests = tests._replace(shares=class_shares(estimator, X[once], y[once], deadline))
        cut = cut + deadline.cut
    notes = [schedule.describe_cut(what) for what in cut]
    if tests.signal is None:
        notes.append(f"it is unknown whether the model beats chance: {tests.reason.rstrip('.')}")
    return tests, notes


def compare_labelled(
    rows: EncodedRows, model: FittedModel, schedule: Schedule, tests: Tests
) -> tuple[Tests, list[str]]:
    """Return tests that say whether labelled rows are unlike the unlabelled ones, and notes.

    Propensities allow for that, so a model with these isn't tested.
    """
    from ...report.evidence.covariate_shift import find_covariate_shift, find_shift_of_positives

    found, y, deadline = rows.found, rows.found.y, schedule.deadline("test of the labels")
    if (
        y is None
        or tests.has_no_signal
        or getattr(model.estimator, "propensity_weights_", None) is not None
    ):
        return tests, []
    shares = tests.shares
    if shares is None:
        dates = found.schema.names("date")
        return tests._replace(unlike=find_shift_of_positives(found.rows, y, dates)), []
    unlike = find_covariate_shift(found.rows, rows.X, y, shares.draws, deadline)
    if unlike is not None and unlike.is_significant:  # and then the rows don't show the ratio
        shares = shares._replace(at_random=1.0)
    notes = [schedule.describe_cut(what) for what in deadline.cut]
    return tests._replace(unlike=unlike, shares=shares), notes


def unlike_facts(tests: Tests | None, facts: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a model keeps of ``CovariateShift``, with a caution if labelled rows are so.

    Columns that contradict the prior have a caution already.
    """
    if tests is None or tests.unlike is None:
        return None
    unlike = tests.unlike
    kept = {
        "area": float(unlike.area),
        "column": unlike.column,
        "unlike": bool(unlike.is_significant),
    }
    if not unlike.is_significant or tests.apart:
        return kept
    column, area = quoted(unlike.column), f"ROC AUC {unlike.area:.2f}"
    how = f"the columns separate them ({area})"
    if unlike.column:
        how = f"the columns separate them ({area}), {column} best"
    if unlike.is_one_column and unlike.column:
        how = f"column {column} alone separates them ({area})"
    if "classes" not in facts:
        how += ", as no hidden positives explain"
    kept["caution"] = (
        f"The labelled rows are unlike the unlabelled ones: {how}. Error rates hold for rows like "
        "the labelled ones only; label some rows drawn at random, or leave out the column if it "
        "only says which rows were labelled"
    )
    return kept


def tests_facts(
    tests: Tests | None, estimator: BaseEstimator, facts: dict[str, Any]
) -> dict[str, Any]:
    """Return what a model keeps of its ``Tests``."""
    if tests is None:
        return {"signal": None, "prior_contradiction": None, "labels_at_random": None}
    prior = getattr(estimator, "prior_", None)
    contradiction = contradiction_words(tests.contradiction, prior, facts, tests.apart)
    if contradiction is not None:
        name = quoted(facts["positive"])
        advice = (
            f"Pass {ref('prior', some='SHARE')} if you know the share of {name}, or review the "
            "top-ranked rows: the order depends on the prior less than the counts do"
        )
        if tests.apart:
            advice = f"Pass {ref('drop', tests.apart)} to learn from what was known before"
        contradiction += f". {advice}. The report omits everything that depends on the prior"
    labels, at_random = tests.labels, _labels_facts(tests)
    if at_random is not None and labels is not None and labels.rejected:
        at_random["caution"] = _selection_words(labels, facts)
        if not labels.prior_is_known:
            contradiction = contradiction or at_random.pop("caution")
    return {
        "signal": _signal_facts(tests, facts),
        "prior_contradiction": contradiction,
        "labels_at_random": at_random,
    }


def _labels_facts(tests: Tests) -> dict[str, Any] | None:
    """Return what a model keeps of the test whether labels are random; None where none is due."""
    if tests.labels is None:
        why = tests.labels_untested
        return {"rejected": None, "outcome": NOT_TESTED, "why": why} if why else None
    outcome = REJECTED if tests.labels.rejected else CANNOT_TELL
    if tests.labels.prior_is_known and not tests.labels.rejected:
        outcome = NOT_REJECTED
    return {**tests.labels._asdict(), "outcome": outcome}


def _selection_words(labels: LabelledAtRandomTest, facts: dict[str, Any]) -> str:
    """Return the sentence on labelled rows that aren't a random sample."""
    name = quoted(facts["positive"])
    which = "obvious" if labels.shift > 0.5 else "unusual"
    found = (
        f"The labelled rows are not a random sample of {name} (p = {labels.p_value:.2g}): {which} "
        "ones were labelled more often"
    )
    if labels.prior_is_known:
        return (
            f"{found}, given a prior of {labels.prior:.2g}. Precision and recall are probably "
            f"{'too high' if labels.shift > 0.5 else 'wrong'}; the ranking suffers less. Pass "
            f"{ref('propensity', some='COLUMN')} if you know how likely rows were to be labelled"
        )
    return (
        f"{found}. Pass {ref('prior', some='SHARE')} if you know the share of {name}, or "
        f"{ref('propensity', some='COLUMN')} if you know how likely each row was to be labelled, "
        "or review the top-ranked rows. The report omits everything that depends on the estimated "
        "share"
    )


def _signal_facts(tests: Tests, facts: dict[str, Any]) -> dict[str, Any] | None:
    """Return what a model keeps of a ``PermutationTest``, with a headline or caution."""
    signal = tests.signal
    if signal is None:
        return None
    kept = {**signal._asdict(), "found": signal.beats_chance}
    if signal.beats_chance:
        return kept
    names = facts.get("classes") or (facts["positive"], None)
    one, other = "rows of each class", "rows of the others"
    if len(names) == 2:
        one, other = (f"rows of {quoted(name)}" if name else "unlabelled rows" for name in names)
    area = _area_words(signal, names)
    unless, and_pass = "", ""
    if signal.best is None:
        share = f"the share of {quoted(facts['positive'])} among the unlabelled rows"
        and_pass = f"pass {ref('prior', some='SHARE')} if you know {share}, "
    if signal.up_to is not None:
        unless = (
            f", unless more than {100 * signal.up_to:.0f} % of the unlabelled rows are "
            f"{quoted(facts['positive'])} too"
        )
    if tests.has_no_signal:
        kept["headline"] = (
            f"No signal: the features do not separate held-out {one} from {other} better than "
            f"chance{unless} ({area}), so no share, precision, ranking or probability is given; "
            f"{and_pass}use features that are related to the labels, or label more rows"
        )
    else:
        kept["caution"] = (
            f"Too few labels to tell whether the model separates held-out {one} from {other} "
            f"better than chance ({area}); {and_pass}check some of its answers, or label more rows"
        )
    return kept


def _area_words(signal: PermutationTest, names: Sequence[str | None]) -> str:
    """Return the ROC AUC with its interval, and what chance and a perfect model reach."""
    of_what = "ROC AUC" if len(names) == 2 else "mean ROC AUC"
    area = f"{signal.area:.2f}, 99 % interval {signal.low:.2f} to {signal.high:.2f}"
    if names[1] is not None:
        return f"{of_what} {area}; chance is 0.5"
    best = (
        f"1 minus half the share of {quoted(names[0])} among them"
        if signal.best is None
        else f"{signal.best:.3g}, as the others hold a share of {2 - 2 * signal.best:.2g} of "
        f"{quoted(names[0])}"
    )
    return (
        f"{of_what} against unlabelled rows {area}; chance is 0.5, and a perfect model has {best}"
    )


def contradiction_words(
    contradiction: tuple[int, int] | None,
    prior: float | None,
    facts: dict[str, Any],
    apart: Sequence[str] = (),
) -> str | None:
    """Return the sentences on a prior that contradicts the labelled rows; None where it doesn't.

    ``apart`` are columns that separate these from unlabelled rows, if there are any.
    """
    if contradiction is None:
        return None
    hits, n = contradiction
    name = quoted(facts["positive"])
    share = f"{prior:.2g} of the unlabelled rows"
    if n - hits >= _MANY_MISSED_SHARE * n:
        why = (
            f"if {share} were {name}, the model would miss {n - hits} of {n} held-out labelled "
            "rows, although it ranks them high"
        )
    else:
        why = f"{share} is less than one row"
    cause = f"The labelled rows may not be a random sample of {name}"
    if apart:
        alone, probably = "alone separates", "it probably came with the labels"
        if len(apart) > 1:
            alone, probably = "together separate", "they probably came with the labels"
        columns = f"column{'s' * (len(apart) > 1)} {' and '.join(map(quoted, apart))}"
        cause = f"The {columns} {alone} the labelled from the unlabelled rows, so {probably}"
    return f"The estimated prior contradicts the labels: {why}. {cause}"
