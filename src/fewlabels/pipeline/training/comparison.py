"""The comparison with other methods, and the switch to one that is better."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..._util.messages import UserError, quoted, ref, template
from ...tables.models.cautions import no_signal_headline
from ...tables.models.trust import describe_candidate, trust_in_words
from ...tasks import METHODS, estimator_class, list_methods_with, simple_method_of
from ..observer import capture_warnings
from ..tasks import Choice, finite
from .anomalies import encode_other_rows
from .evidence import examine
from .fitting import FitData, FittedModel, Run, fit_model
from .outcome import Outcome, conclude
from .plan import Plan
from .settings import collect_parameters, with_target_fpr

if TYPE_CHECKING:
    from ...baselines.candidates import Candidates
    from ...baselines.methods import ComparedMethod
    from ...model_selection import BaselineComparison


def deliver_best(outcome: Outcome, run: Run) -> Outcome:
    """Compare the model with other methods, and deliver the one that is better.

    Without time for that, or without a signal, the outcome is as it was.
    """
    options, facts, schedule = outcome.plan.options, outcome.facts, run.schedule
    seconds, of_a_fit = schedule.seconds_to_compare(), outcome.model.seconds
    if seconds < of_a_fit and options.baselines is None and schedule.seconds:
        if schedule.is_compared and not schedule.is_expired:
            facts["notes"].append(run.observer.words(_no_time_note(seconds, of_a_fit)))
        return outcome
    if not seconds or not (options.baselines or no_signal_headline(facts) is None):
        return outcome
    outcome = _switch_if_better(_compare(outcome, seconds, run), run)
    schedule.record("comparison")
    return outcome


def _compare(outcome: Outcome, seconds: float, run: Run) -> Outcome:
    """Compare the model, with its settings, with other methods."""
    from ...model_selection import compare_with_baselines  # slow to import

    plan, rows, observer, facts = outcome.plan, outcome.rows, run.observer, outcome.facts
    others, notes = encode_other_rows(plan, rows)
    classes = plan.selection.facts.get("classes")
    title = f"comparing with other methods, at most {seconds:.0f} s"
    comparison = None
    try:
        with capture_warnings() as messages, observer.progress_bar(title) as bar:
            comparison = compare_with_baselines(
                outcome.model.estimator,
                rows.X,
                rows.found.y,
                known_other=others,
                groups=rows.groups,
                class_names=classes and [quoted(name) for name in classes],
                candidates=plan.options.candidates or None,
                time_budget=seconds,
                random_state=plan.settings.get("random_state"),
                progress=bar,
            )
        notes += messages + _describe_missing(comparison, plan.options.candidates)
    except ValueError as error:
        notes.append(f"not compared with other methods: {template(error).rstrip('.')}")
    except KeyboardInterrupt:
        notes.append("not compared with other methods, because of Ctrl-C")
    facts["notes"] += [observer.words(note) for note in notes]
    facts["baselines"] = comparison_facts(comparison, facts)
    return replace(outcome, evidence=replace(outcome.evidence, comparison=comparison))


def _describe_missing(comparison: BaselineComparison, candidates: Candidates) -> list[str]:
    """Return why candidates could not be compared, in words."""
    if not candidates:
        return []
    from ...baselines.candidates import candidate_title  # slow to import
    from ...model_selection.comparison.method_comparison import UNFINISHED

    notes = dict(zip(comparison.table["name"], comparison.table["note"], strict=True))
    found = []
    for name, estimator in dict(candidates).items():
        title = candidate_title(name, estimator)
        note = notes.get(title, "")
        if note == UNFINISHED:
            found.append(f"the candidate {title} had no time; raise {ref('time_budget')}")
        elif note.startswith("failed: "):
            found.append(f"the candidate {title} {note}")
    return found


def _switch_if_better(outcome: Outcome, run: Run) -> Outcome:
    """Switch to the method that the comparison prefers, unless the model is kept."""
    plan, comparison = outcome.plan, outcome.evidence.comparison
    if comparison is None:
        return outcome
    method = comparison.clearly_better if plan.kept_because else comparison.preferred
    if method is None or not method.key:
        return outcome
    if plan.kept_because:
        instead = _describe_other(method, plan)
    else:
        switch, instead = _switch_method(method, outcome, comparison, run)
        if switch is not None:
            return _conclude_switch(switch, outcome, comparison.with_winner(method), run)
    outcome.facts["baselines"]["instead"] = run.observer.words(instead)
    return outcome


def _conclude_switch(
    switch: _Switch, outcome: Outcome, comparison: BaselineComparison, run: Run
) -> Outcome:
    """Examine the method that takes the model's place, and state its facts."""
    evidence = examine(outcome.rows, switch.model, run, before=outcome.evidence.tests)
    evidence = replace(evidence, comparison=comparison)
    found = conclude(switch.plan, outcome.rows, switch.model, evidence, run.observer)
    sentence = run.observer.words(switch.facts["sentence"])
    found.facts["delivered"] = {**switch.facts, "sentence": sentence}
    found.facts["baselines"] = comparison_facts(comparison, found.facts)
    return found


def _no_time_note(seconds: float, of_a_fit: float) -> str:
    """Return a note on a comparison that there is no time for."""
    return (
        f"not compared with other methods: a fit takes about {of_a_fit:.2g} s, and {seconds:.2g} "
        f"s of the time budget are left; raise {ref('time_budget')}, or pass "
        f"{ref('baselines', True)} to compare anyway"
    )


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


class _Switch(NamedTuple):
    """A method that takes the place of the model; ``facts`` are what the model file says of it."""

    plan: Plan
    model: FittedModel
    facts: dict[str, Any]


def _describe_other(method: ComparedMethod, plan: Plan) -> str:
    """Return how to get a method although the model was kept."""
    title, kept = _method_title(method), f"{plan.method} is kept {plan.kept_because}"
    if method.is_candidate:
        return f"{title} is clearly better, but {kept}"
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


def _switch_method(
    method: ComparedMethod, outcome: Outcome, comparison: BaselineComparison, run: Run
) -> tuple[_Switch | None, str]:
    """Fit the method to all rows; None, and why in words, where it can't be delivered."""
    plan, rows, name = outcome.plan, outcome.rows, method.key
    seconds = run.schedule.seconds_to_switch()
    title, expected = _method_title(method), comparison.seconds_of(method, rows.n_rows)
    facts, why, is_clear = _switch_facts(method, comparison, plan)
    is_better = "is clearly better" if is_clear else "has a higher held-out score"
    better = f"{title} {is_better}, but"
    by_name = "" if method.is_candidate else f"pass {ref('method', name)}"
    if expected > seconds:
        return None, (
            f"{better} fitting it takes about {expected:.2g} s, and {seconds:.2g} s of the time "
            f"budget are left; raise {ref('time_budget')}{by_name and ', or ' + by_name}"
        )
    choice, parameters = Choice(name, why), plan.options.parameters
    if method.is_candidate:
        name = simple_method_of(plan.task)  # which has the parameters of a candidate's model
    given = {k: v for k, v in parameters.items() if k in ("n_jobs", "random_state")}
    given |= {
        k: v if k == "target_fpr" else plan.settings.get(k, v)
        for k, v in parameters.items()
        if k in ("prior", "target_fpr") and name in list_methods_with(k)
    }
    run.observer.report_stage(f"fitting {title}, which {is_better}")
    try:
        settings, _ = collect_parameters(Choice(name, why), {**method.settings, **given})
        settings, notes = with_target_fpr(name, settings, rows.n_rows)
        estimator = estimator_class(name)(**settings)
        data = FitData(rows.X, rows.found.y)
        model = fit_model(estimator, data, Run(run.observer, run.schedule), given)
        if method.is_candidate:
            candidate = describe_candidate(model.estimator, run.save is not None)
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
    model.messages.extend(notes)
    model = replace(model, anomalies=outcome.model.anomalies)
    plan = replace(
        plan,
        choice=choice,
        settings=settings,
        is_searched=False,
        settings_source="defaults",
        keeps_rows=False,
    )
    return _Switch(plan, model, facts), ""


def _switch_facts(
    method: ComparedMethod, comparison: BaselineComparison, plan: Plan
) -> tuple[dict[str, Any], str, bool]:
    """Return scores of both methods with the interval, why, and whether it is clear."""
    ours = comparison.table["name"][comparison.table["ours"]].iloc[0]
    beside = comparison.with_winner(method)
    line = beside.differences.set_index("name").loc[ours]
    score = float(comparison.table.set_index("name").loc[method.name, "score"])
    task = plan.task
    of_other = score - float(line["difference"])
    than = "clearly better than" if line["clear"] else "higher than"
    interval = (
        f"95 % CI of the difference {task.format_score(float(line['low']))} to "
        f"{task.format_score(float(line['high']))}"
    )
    if not np.isfinite(line["high"] - line["low"]):
        interval = "on a single split"
    why = (
        f"its held-out {task.score} is {than} {plan.method}'s ({task.format_score(score)} vs "
        f"{task.format_score(of_other)}, {interval})"
    )
    sentence = f"{_method_title(method)}, because {why}"
    if METHODS[plan.method].keeps_rows:
        sentence += (
            f"; it can't be updated, and {ref('rows', True)} keeps the {plan.method}, which can"
        )
    facts = {
        "method": method.key,
        "instead_of": plan.method,
        "measure": comparison.measure,
        "score": score,
        "score_of_other": of_other,
        "low": finite(line["low"]),
        "high": finite(line["high"]),
        "sentence": sentence,
    }
    return facts, why, bool(line["clear"])
