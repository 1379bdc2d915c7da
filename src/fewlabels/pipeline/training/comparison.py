"""After the fit: the comparison with other methods, and the one that is delivered."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import TransformerMixin

from ..._typing import IntArray, RowMatrix
from ..._util.messages import UserError, quoted, ref, template
from ...tables.columns.schema import Schema
from ...tables.columns.target import RowSelection
from ...tables.models.trust import describe_candidate, trust_in_words
from ...tables.reading.training import TrainingFile, select_encoder_rows
from ...tasks import METHODS, estimator_class, list_methods_with, simple_method_of, task_of
from ..observer import Observer, capture_warnings
from ..options.fit import FitOptions
from ..tasks import Choice, finite
from .choice import SearchPlan, collect_parameters, with_target_fpr
from .fitting import FitData, FitResult, Run, fit_estimator
from .preparing import PreparedTable
from .result import Training

if TYPE_CHECKING:
    from ...baselines.candidates import Candidates
    from ...baselines.methods import ComparedMethod
    from ...model_selection import BaselineComparison

# Parameters that say how much effort is made, or what holds for every method.
_SHARED_PARAMETERS = {
    "n_jobs",
    "random_state",
    "prior",
    "target_fpr",
    "tol",
    "max_iter",
    "max_time",
    "cache_size",
}


def no_time_note(seconds: float, of_a_fit: float) -> str:
    """Return a note on a comparison that there is no time for."""
    return (
        f"not compared with other methods: a fit takes about {of_a_fit:.2g} s, and {seconds:.2g} "
        f"s of the time budget are left; raise {ref('time_budget')}, or pass "
        f"{ref('baselines', True)} to compare anyway"
    )


def compare(
    training: Training,
    others: RowMatrix | None,
    candidates: Candidates,
    seconds: float,
    observer: Observer,
) -> tuple[BaselineComparison | None, list[str]]:
    """Compare a model, with its settings, with other methods; and what the user should know.

    ``others`` are rows known to be of other classes, for models of one class.
    """
    from ...model_selection import compare_with_baselines  # slow to import

    prepared, classes = training.prepared, training.prepared.roles.facts.get("classes")
    title = f"comparing with other methods, at most {seconds:.0f} s"
    try:
        with capture_warnings() as messages, observer.progress_bar(title) as bar:
            comparison = compare_with_baselines(
                training.fitted.estimator,
                prepared.X,
                prepared.found.y,
                known_other=others,
                groups=prepared.groups,
                class_names=classes and [quoted(name) for name in classes],
                candidates=candidates or None,
                time_budget=seconds,
                random_state=prepared.settings.get("random_state"),
                progress=bar,
            )
    except ValueError as error:
        return None, [f"not compared with other methods: {template(error).rstrip('.')}"]
    except KeyboardInterrupt:
        return None, ["not compared with other methods, because of Ctrl-C"]
    return comparison, messages + _describe_missing(comparison, candidates)


def _describe_missing(comparison: BaselineComparison, candidates: Candidates) -> list[str]:
    """Return why candidates could not be compared, in words."""
    notes = dict(zip(comparison.table["name"], comparison.table["note"], strict=True))
    found = []
    for name, estimator in dict(candidates).items():
        from ...baselines.candidates import candidate_title  # slow to import
        from ...model_selection.comparison.method_comparison import UNFINISHED

        title = candidate_title(name, estimator)
        note = notes.get(title, "")
        if note == UNFINISHED:
            found.append(f"the candidate {title} had no time; raise {ref('time_budget')}")
        elif note.startswith("failed: "):
            found.append(f"the candidate {title} {note}")
    return found


def comparison_facts(
    comparison: BaselineComparison | None, training: dict[str, Any]
) -> dict[str, Any] | None:
    """Return what a model with this ``training`` keeps of a comparison, plain values only."""
    if comparison is None:
        return None
    table = json.loads(comparison.table.to_json(orient="records"))
    return {
        "measure": comparison.measure,
        "verdict": comparison.verdict,
        "caution": _caution_about_labels(comparison, training),
        "worse_than": list(comparison.worse_than),
        "offer": comparison.offer or None,
        "instead": None,
        "table": table,
    }


def _caution_about_labels(comparison: BaselineComparison, training: dict[str, Any]) -> str | None:
    """Return what to remember of scores on labels that may be no random sample, or None."""
    doubtful = (
        (training.get("labels_at_random") or {}).get("rejected")
        or training.get("prior_contradiction")
        or training.get("weighted_by_propensities")
    )
    if comparison.outcome == "unknown" or not doubtful:
        return None
    return (
        "All methods are scored on labelled rows that may not be a random sample, so another one "
        "may rank the other positives best"
    )


def find_other_rows(file: TrainingFile, roles: RowSelection) -> IntArray:
    """Return positions of rows of classes that a model of one class does not learn from."""
    if roles.y is not None or file.labels is None:
        return np.empty(0, np.intp)
    return np.flatnonzero(~roles.keep & (file.labels.index >= 0))


def encode_other_rows(
    file: TrainingFile, roles: RowSelection, encoder: TransformerMixin, schema: Schema
) -> tuple[RowMatrix | None, list[str]]:
    """Encode rows of other classes: None where there are none, and remarks."""
    others = find_other_rows(file, roles)
    if not others.size:
        return None, []
    try:
        return encoder.transform(select_encoder_rows(file, schema, others)[0]), []
    except UserError as error:
        return None, [
            f"rows of other classes not used for the comparison: {template(error).rstrip('.')}"
        ]


def can_rank_methods(prepared: PreparedTable) -> bool:
    """Return whether labels can show which method is better."""
    found = prepared.found.y is not None
    return found or bool(find_other_rows(prepared.file, prepared.roles).size)


class MethodSwitch(NamedTuple):
    """A method that takes the place of the model; ``facts`` are what the model file says of it."""

    prepared: PreparedTable
    fitted: FitResult
    facts: dict[str, Any]


def explain_keeping(options: FitOptions, method: str, switch: bool) -> str:
    """Return why the model is kept in any case; empty where a better one may replace it.

    ``switch``: whether other models than ours can be delivered at all.
    """
    if options.method is not None:
        return f"{method} is kept because of {ref('method')}"
    fixed = [name for name in options.parameters if name not in _SHARED_PARAMETERS]
    if options.parameters.get("target_fpr") == "none":
        fixed.append("target_fpr")
    if fixed:
        given = " and ".join(ref(name) for name in fixed)
        return f"{method} is kept because of {given}"
    if options.weighing:
        return f"{method} is kept because of {ref(options.weighing)}"
    if options.rows:
        return f"{method} is kept because of {ref('rows', True)}"
    return "" if switch else f"{method} is kept because it was trained on all rows of the file"


def fallback_note(kept: str, method: ComparedMethod) -> str:
    """Return how to get a method although the model was ``kept``."""
    title = _method_title(method)
    if method.is_candidate:
        return f"{title} is clearly better; it can be the model without this option ({kept})"
    settings = "".join(
        f" {ref(name, value)}"
        for name, value in method.settings.items()
        if name != "gamma" and isinstance(value, str | int | float)
    )
    updates = "" if METHODS[method.key].keeps_rows else "; it can't be updated"
    return f"{ref('method', method.key)}{settings} fits {title}{updates} ({kept})"


def _method_title(method: ComparedMethod) -> str:
    """Return what a method that can be delivered is called."""
    return method.title or METHODS[method.key].title


def switch_method(
    method: ComparedMethod, training: Training, options: FitOptions, seconds: float, run: Run
) -> tuple[MethodSwitch | None, str]:
    """Fit the method to all rows; None, and why in words, where it can't be delivered."""
    prepared, name, comparison = training.prepared, method.key, training.comparison
    assert comparison is not None  # it found the method
    title, expected = _method_title(method), comparison.seconds_of(method, prepared.X.shape[0])
    facts, why, is_clear = _facts(method, comparison, prepared.choice.method)
    is_better = "is clearly better" if is_clear else "has a higher held-out score"
    better = f"{title} {is_better}, but"
    by_name = "" if method.is_candidate else f"pass {ref('method', name)}"
    if expected > seconds:
        return None, (
            f"{better} fitting it takes about {expected:.2g} s, and {seconds:.2g} s of the time "
            f"budget are left; raise {ref('time_budget')}{by_name and ', or ' + by_name}"
        )
    choice, task = Choice(name, why), task_of(prepared.choice.method)
    if method.is_candidate:
        name = simple_method_of(task)  # which has the parameters of a candidate's model
    given = {k: v for k, v in options.parameters.items() if k in ("n_jobs", "random_state")}
    given |= {
        k: v if k == "target_fpr" else prepared.settings.get(k, v)
        for k, v in options.parameters.items()
        if k in ("prior", "target_fpr") and name in list_methods_with(k)
    }
    run.observer.report_stage(f"fitting {title}, which {is_better}")
    try:
        settings, _ = collect_parameters(Choice(name, why), {**method.settings, **given})
        settings, notes = with_target_fpr(name, settings, prepared.X.shape[0])
        estimator = estimator_class(name)(**settings)
        search = SearchPlan(0.0, "defaults")
        fitted = fit_estimator(
            estimator,
            FitData(prepared.X, prepared.found.y),
            Run(run.observer),
            given=given,
            search=search,
            budget=training.budget,
        )
        if method.is_candidate:
            candidate = describe_candidate(fitted.estimator, run.save is not None)
            facts["candidate"] = candidate
            facts["sentence"] += f"; its model file needs {trust_in_words(candidate['types'])}"
    except UserError as error:
        return None, f"{better} can't be delivered: {template(error).rstrip('.')}"
    except KeyboardInterrupt:
        use_it = f"; {by_name} to use it" if by_name else ""
        return None, f"{better} Ctrl-C ended its fit{use_it}"
    except Exception as error:
        if not method.is_candidate:
            raise
        from ...baselines.candidates import describe_error  # slow to import

        return None, f"{better} can't be delivered: {describe_error(error)}"
    fitted.messages.extend(notes)
    prepared = replace(
        prepared, choice=choice, settings=settings, search=search, keeps_rows=False, expected=0.0
    )
    return MethodSwitch(prepared, fitted, facts), ""


def _facts(
    method: ComparedMethod, comparison: BaselineComparison, fitted_method: str
) -> tuple[dict[str, Any], str, bool]:
    """Return scores of both methods with the interval, why, and whether it is clear."""
    ours = comparison.table["name"][comparison.table["ours"]].iloc[0]
    beside = comparison.with_winner(method)
    line = beside.differences.set_index("name").loc[ours]
    score = float(comparison.table.set_index("name").loc[method.name, "score"])
    task = task_of(fitted_method)
    of_other = score - float(line["difference"])
    than = "clearly better than" if line["clear"] else "higher than"
    interval = (
        f"95 % CI of the difference {task.format_score(float(line['low']))} to "
        f"{task.format_score(float(line['high']))}"
    )
    if not np.isfinite(line["high"] - line["low"]):
        interval = "on a single split"
    why = (
        f"its held-out {task.score} is {than} {fitted_method}'s ({task.format_score(score)} vs "
        f"{task.format_score(of_other)}, {interval})"
    )
    sentence = f"{_method_title(method)}, because {why}"
    if METHODS[fitted_method].keeps_rows:
        sentence += (
            f"; it can't be updated, and {ref('rows', True)} keeps the {fitted_method}, which can"
        )
    facts = {
        "method": method.key,
        "instead_of": fitted_method,
        "measure": comparison.measure,
        "score": score,
        "score_of_other": of_other,
        "low": finite(line["low"]),
        "high": finite(line["high"]),
        "sentence": sentence,
    }
    return facts, why, bool(line["clear"])
