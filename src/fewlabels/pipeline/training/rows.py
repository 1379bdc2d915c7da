"""The rows that a model learns from: as many as the time allows for, encoded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..._util.messages import UserError, listing, ref
from ...tables.columns.target import RowSelection
from ...tables.reading.training import TrainingFile
from ...tasks import added_columns, estimator_class
from ..grouping import find_groups, one_of_each, with_identifier
from ..options.fit import TARGET_FPR
from .cost import (
    CostModel,
    choose_sample,
    count_affordable_rows,
    count_encodable_rows,
    estimate_cost,
    take_subset,
)
from .encoding import EncodedRows, EncodingOptions, encode
from .plan import Plan
from .schedule import Schedule
from .settings import count_different_rows, with_target_fpr

# Encoded columns for categories that a model of one class gets in updates.
_SPARE_COLUMNS = 16


def encode_rows(table: TrainingFile, plan: Plan, schedule: Schedule) -> tuple[Plan, EncodedRows]:
    """Encode the rows to learn from, and return the plan that suits them.

    Where the time isn't enough for all rows, there are as many as can be encoded and learned from.
    The plan has the settings that depend on the rows.
    """
    table, selection = _limit_rows(table, plan, schedule)
    table = with_identifier(table, selection, plan.task)
    rows = encode(table, selection, _encoding_options(plan))
    if plan.options.text_weight is not None and not rows.schema.names("text"):
        raise UserError(
            f"{ref('text_weight')} needs a text column, and {table.path} has none; omit the "
            f"option, or declare one with {ref('text', some=['COLUMN'])}."
        )
    n_encoded, all_rows = rows.n_rows, int(plan.selection.keep.sum())
    if schedule.seconds:
        plan, rows = _fit_into_time(plan, rows, schedule)
    notes = []
    if rows.n_rows < n_encoded or selection.keep.sum() < all_rows:
        notes.append(_describe_fewer_rows(rows.n_rows, all_rows, schedule.seconds))
    rows, of_groups = _group(rows, plan)
    plan, of_threshold = _suit_rows(plan, rows)
    notes += plan.notes + rows.found.notes + of_threshold + _describe_name_clash(table, plan)
    return replace(plan, notes=notes + rows.notes + of_groups), rows


def _encoding_options(plan: Plan) -> EncodingOptions:
    options = plan.options
    return EncodingOptions(
        options.missing,
        options.scale,
        text_weight=options.text_weight,
        by_labels=plan.is_searched,
        spare=_SPARE_COLUMNS if plan.keeps_rows else 0,
        empty_rows=options.empty_rows,
    )


def _limit_rows(
    table: TrainingFile, plan: Plan, schedule: Schedule
) -> tuple[TrainingFile, RowSelection]:
    """Limit the rows of a table to as many as can be encoded in time."""
    selection, content = plan.selection, table.content
    width = content.num_columns if hasattr(content, "num_columns") else content.X.shape[1]
    size = table.n_rows
    if schedule.seconds:
        read = schedule.spent["reading"]
        size = count_encodable_rows(table.n_rows, width, read, schedule.seconds_left)
    places = np.flatnonzero(selection.keep)
    if size >= len(places):
        return table, selection
    y = None if selection.y is None else selection.y[places]
    keep = np.zeros(len(selection.keep), bool)
    keep[places[choose_sample(y, len(places), size, plan.task)]] = True
    return replace(table, sample=keep), selection._replace(keep=keep)


def _fit_into_time(plan: Plan, rows: EncodedRows, schedule: Schedule) -> tuple[Plan, EncodedRows]:
    """Return the first plan that the time allows for with all rows, or the last with fewer.

    Only ensembles of positive and unlabelled rows have plans that are quicker.
    """
    plans: Sequence[Plan] = (plan, *plan.alternatives) if plan.task.has_prior else (plan,)
    for candidate in plans:
        cost = _estimate_cost(candidate, rows, schedule)
        seconds = schedule.seconds_for("trial fits")
        n_rows = count_affordable_rows(cost, rows.n_rows, seconds, candidate.method)
        if n_rows >= rows.n_rows:
            break
    if n_rows < rows.n_rows:
        places = choose_sample(rows.found.y, rows.n_rows, n_rows, candidate.task)
        rows = take_subset(rows, places)
    if cost is None:
        return candidate, rows
    return replace(candidate, expected_seconds=cost.predict_seconds(rows.n_rows)), rows


def _estimate_cost(plan: Plan, rows: EncodedRows, schedule: Schedule) -> CostModel | None:
    estimator = estimator_class(plan.method)(**plan.settings)
    seconds = schedule.seconds_for("trial fits")
    return estimate_cost(estimator, rows.X, rows.found.y, seconds)


def _group(rows: EncodedRows, plan: Plan) -> tuple[EncodedRows, list[str]]:
    """Find rows that belong together: without labels only one of each is kept."""
    grouping = find_groups(rows.file, rows.found, rows.X, plan.task)
    if grouping.groups is None:
        return rows, grouping.notes
    if plan.task.takes_labels:
        return replace(rows, groups=grouping.groups), grouping.notes
    return take_subset(rows, one_of_each(grouping.groups)), grouping.notes


def _suit_rows(plan: Plan, rows: EncodedRows) -> tuple[Plan, list[str]]:
    """Return the plan with a threshold that so many rows allow for, and notes.

    That is a single ball, if too few rows differ for bags of them to have the usual threshold.
    """
    n_different = None if plan.task.takes_labels else count_different_rows(rows.X)
    is_few = n_different is not None and n_different + 1 < 1 / TARGET_FPR
    if is_few and plan.method == "svdd-ensemble" and plan.alternatives:
        plan = plan.alternatives[0]
        words = "row is" if n_different == 1 else "rows are"
        why = f"{n_different} different {words} too few for an ensemble"
        plan = replace(plan, choice=plan.choice._replace(why=why))
    settings, notes = with_target_fpr(
        plan.method,
        plan.settings,
        rows.n_rows,
        searched=plan.is_searched,
        n_different=n_different,
    )
    return replace(plan, settings=settings), notes


def _describe_fewer_rows(n_rows: int, all_rows: int, seconds: float) -> str:
    return (
        f"the time budget of {seconds:g} s is enough for {n_rows:,} of {all_rows:,} rows "
        f"(labelled rows first, then random ones); raise {ref('time_budget')} to use more"
    )


def _describe_name_clash(table: TrainingFile, plan: Plan) -> list[str]:
    """Return a note on columns with the names of those that 'predict' adds."""
    names = [] if table.target is None else [table.target]
    names += getattr(table.content, "column_names", [])
    taken = set(added_columns(plan.method)) & {*names}
    if not taken:
        return []
    return [
        f"{listing(sorted(taken))}: 'predict' adds columns with these names; for files that have "
        f"them, pass {ref('prefix', some='NAME_')} to it"
    ]
