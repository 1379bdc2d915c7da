"""Before the fit: the rows of a table, encoded, and the model with its settings."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin

from ..._typing import RowMatrix
from ..._util.messages import UserError, listing, ref
from ...rows.repeats import Groups
from ...tables.columns.schema import Schema
from ...tables.columns.target import RowSelection
from ...tables.reading.training import TableRows, TrainingFile, read_training
from ...tables.sources import InMemory, Source
from ...tasks import added_columns, estimator_class, task_of
from ..grouping import find_groups, one_of_each, with_identifier
from ..options.fit import TARGET_FPR, FitOptions
from ..tasks import Choice
from ..tasks.one_class import BAG_PARAMETERS
from ..tasks.steps import steps_of
from .budget import Budget
from .choice import (
    SearchPlan,
    choose_method,
    collect_parameters,
    count_different_rows,
    keeps_rows,
    plan_search,
    with_target_fpr,
)
from .cost import (
    CostModel,
    choose_sample,
    count_affordable_rows,
    count_encodable_rows,
    estimate_cost,
    take_subset,
)
from .encoding import EncodedRows, EncodingOptions, encode
from .propensities import check_takes_propensities

if TYPE_CHECKING:
    from ...model_selection.weighing import ColumnWeights

# Encoded columns for categories that a model of one class gets in updates.
_SPARE_COLUMNS = 16
# Why an ensemble has no trees.
_FASTER = "Gaussian kernels only, because trees would take too much of the time budget"


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table that is ready to be learned from.

    ``choice`` is the model with ``settings``, ``roles`` say which rows of the ``file`` it learns
    from, ``found`` are these rows, ``encoder`` makes ``X`` of them. ``search``: whether settings
    are searched for; ``keeps_rows``: whether the model will hold its rows; ``notes``: for the
    user; ``weighing`` says what texts count next to other columns, if labels chose that;
    ``expected`` are the seconds of a fit, as far as that is known; ``groups`` of rows are held out
    together and count once, None where each row is one.
    """

    file: TrainingFile
    choice: Choice
    roles: RowSelection
    found: TableRows
    encoder: TransformerMixin
    X: RowMatrix
    schema: Schema
    settings: dict[str, Any]
    search: SearchPlan
    keeps_rows: bool
    notes: list[str]
    weighing: ColumnWeights | None = None
    expected: float = 0.0
    groups: Groups | None = None


def prepare(data: Source | InMemory, options: FitOptions, budget: Budget) -> PreparedTable:
    """Read a table, and choose the method and the rows it learns from."""
    since = time.perf_counter()
    file = read_training(data, options.columns)
    read = time.perf_counter() - since
    planned = _make_plan(file, options, budget.seconds)
    file, roles = _limit_rows(file, planned, read, budget)
    file = with_identifier(file, roles, task_of(planned.choice.method))
    encoding = EncodingOptions(
        options.missing,
        options.scale,
        text_weight=options.text_weight,
        by_labels=planned.search.seconds > 0,
        spare=_SPARE_COLUMNS if planned.keeps_rows else 0,
        empty_rows=options.empty_rows,
    )
    encoded = encode(file, roles, encoding)
    if options.text_weight is not None and not encoded.schema.names("text"):
        raise UserError(
            f"{ref('text_weight')} needs a text column, and {data} has none; omit the option, or "
            f"declare one with {ref('text', some=['COLUMN'])}."
        )
    n_rows, cost = encoded.X.shape[0], None
    if budget.seconds:
        planned, cost = _with_cost(planned, file, encoded, options, budget)
        n_rows = count_affordable_rows(cost, n_rows, budget.for_fits(), planned.choice.method)
    if n_rows < encoded.X.shape[0]:
        task = task_of(planned.choice.method)
        encoded = take_subset(
            encoded, choose_sample(encoded.found.y, encoded.X.shape[0], n_rows, task)
        )
    n_rows, task = encoded.X.shape[0], task_of(planned.choice.method)
    takes_labels = task.takes_labels
    grouping = find_groups(encoded.file, encoded.found, encoded.X, task)
    if not takes_labels and grouping.groups is not None:
        encoded = take_subset(encoded, one_of_each(grouping.groups))
        grouping = grouping._replace(groups=None)
    file, found, encoder, X, schema, weighing, text_notes = encoded
    n_different = None if takes_labels else count_different_rows(X)
    planned = _without_bags(planned, file, options, n_different)
    settings, more = with_target_fpr(
        planned.choice.method,
        planned.settings,
        X.shape[0],
        searched=planned.search.seconds > 0,
        n_different=n_different,
    )
    notes = _fewer_rows_note(n_rows, int(planned.roles.keep.sum()), budget)
    notes += (
        planned.notes + found.notes + more + _name_clash_note(file, planned.choice) + text_notes
    )
    expected = 0.0 if cost is None else cost.predict_seconds(X.shape[0])
    notes += grouping.notes
    return PreparedTable(
        file,
        planned.choice,
        roles,
        found,
        encoder,
        X,
        schema,
        settings,
        planned.search,
        planned.keeps_rows,
        notes,
        weighing,
        expected,
        grouping.groups,
    )


class _Plan(NamedTuple):
    """A model, its settings, and the rows it learns from."""

    choice: Choice
    settings: dict[str, Any]
    search: SearchPlan
    keeps_rows: bool
    roles: RowSelection
    notes: list[str]


def _make_plan(file: TrainingFile, options: FitOptions, seconds: float) -> _Plan:
    """Plan the fit of a file, with so many seconds for all."""
    choice = choose_method(file.labels, options, n_rows=file.n_rows, seconds=seconds)
    if options.candidates:
        from ...baselines.candidates import check_candidates  # slow to import

        check_candidates(options.candidates, task_of(choice.method))
    settings, notes = collect_parameters(choice, options.parameters)
    search = plan_search(choice, options)
    if options.weighing:
        check_takes_propensities(options, choice)
        settings = {"sampling": "one-sample", **settings}
        search = SearchPlan(0.0, f"defaults, because of {ref(options.weighing)}")
    held = keeps_rows(choice, options.rows)
    steps = steps_of(task_of(choice.method))
    roles = steps.roles(file, choice.method, options)
    settings = steps.adapt_settings(settings | search.settings, roles, options)
    return _Plan(choice, settings, search, held, roles, notes)


def _limit_rows(
    file: TrainingFile, planned: _Plan, read: float, budget: Budget
) -> tuple[TrainingFile, RowSelection]:
    """Limit the rows of a file to as many as can be encoded in time."""
    roles, content = planned.roles, file.content
    width = content.num_columns if hasattr(content, "num_columns") else content.X.shape[1]
    size = file.n_rows
    if budget.seconds:
        size = count_encodable_rows(file.n_rows, width, read, budget.seconds_left)
    places = np.flatnonzero(roles.keep)
    if size >= len(places):
        return file, roles
    y = None if roles.y is None else roles.y[places]
    task = task_of(planned.choice.method)
    keep = np.zeros(len(roles.keep), bool)
    keep[places[choose_sample(y, len(places), size, task)]] = True
    return replace(file, sample=keep), roles._replace(keep=keep)


def _with_cost(
    planned: _Plan, file: TrainingFile, encoded: EncodedRows, options: FitOptions, budget: Budget
) -> tuple[_Plan, CostModel | None]:
    """Return the plan and what it costs: a quicker plan where an ensemble takes long."""

    def measure(plan: _Plan) -> CostModel | None:
        estimator = estimator_class(plan.choice.method)(**plan.settings)
        return estimate_cost(estimator, encoded.X, encoded.found.y, budget.for_fits())

    found, n_rows = measure(planned), encoded.X.shape[0]
    chosen = options.method is None and planned.choice.method == "pu-ensemble"
    if found is None or not chosen or "n_bags" in options.parameters:
        return planned, found
    if count_affordable_rows(found, n_rows, budget.for_fits(), "pu-ensemble") >= n_rows:
        return planned, found
    if "kernel" not in planned.settings:  # Gaussian kernels alone are several times as fast
        choice = planned.choice._replace(why=f"{planned.choice.why}; {_FASTER}")
        settings = {**planned.settings, "kernel": "rbf"}
        gaussian = planned._replace(settings=settings, choice=choice)
        other = measure(gaussian)
        if count_affordable_rows(other, n_rows, budget.for_fits(), "pu-ensemble") >= n_rows:
            return gaussian, other
    planned = _make_plan(file, options, 0.0)
    return planned, measure(planned)


def _without_bags(
    planned: _Plan, file: TrainingFile, options: FitOptions, n_different: int | None
) -> _Plan:
    """Plan a single ball, if too few rows differ for bags of them to have a threshold.

    That is so for the usual rate of false alarms; whoever asks for bags or a rate gets these.
    """
    asked = options.parameters.keys() & {"target_fpr", *BAG_PARAMETERS}
    if planned.choice.method != "svdd-ensemble" or options.method is not None or asked:
        return planned
    if n_different is None or n_different + 1 >= 1 / TARGET_FPR:
        return planned
    clean = options.clean if planned.search.seconds else None
    planned = _make_plan(
        file, replace(options, method="svdd", clean=clean), planned.search.seconds
    )
    rows = "row is" if n_different == 1 else "rows are"
    why = f"{n_different} different {rows} too few for an ensemble"
    return planned._replace(choice=Choice("svdd", why))


def _fewer_rows_note(n_rows: int, all_rows: int, budget: Budget) -> list[str]:
    """Return a note where time allows for some of the rows only."""
    if n_rows >= all_rows or not budget.seconds:
        return []
    return [
        f"the time budget of {budget.seconds:g} s is enough for {n_rows:,} of {all_rows:,} rows "
        f"(labelled rows first, then random ones); raise {ref('time_budget')} to use more"
    ]


def _name_clash_note(file: TrainingFile, choice: Choice) -> list[str]:
    """Return a note on columns with the names of those that 'predict' adds."""
    names = [] if file.target is None else [file.target]
    names += getattr(file.content, "column_names", [])
    taken = set(added_columns(choice.method)) & {*names}
    if not taken:
        return []
    return [
        f"{listing(sorted(taken))}: 'predict' adds columns with these names; for files that have "
        f"them, pass {ref('prefix', some='NAME_')} to it"
    ]
