"""From a fit to what its report says."""

import shlex
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from .._typing import RowMatrix
from .._util.messages import as_arguments, ref, render_all
from ..base.task import Task
from ..model_selection.comparison.result import BaselineComparison
from ..tables.formats.registry import extension_of
from ..tables.models.cautions import list_cautions, no_signal_headline
from ..tables.reading.training import TrainingFile
from ..tasks import METHODS, candidate_facts, method_of, task_of
from .contents import Contents, Findings
from .fit import Fit
from .page import words as write
from .reasons import find_distinctive_words

# ``found`` is what ``fit_table`` gave.
_USAGE_IN_MEMORY = [
    ("Score new rows", "scored = new.join(found.predict(new))"),
    ("Save the model (the command line reads it too)", 'found.save("model.fewlabels")'),
    ("Save this report", 'found.report.save("report.html")'),
]


def collect(
    *,
    model_path: str | PathLike[str] | None = None,
    command: str = "",
    words: Callable[[str], str] = as_arguments,
    **parts: Any,
) -> Contents:
    """Collect the contents of a report on a fit.

    Parameters
    ----------
    model_path : path-like, default=None
        The model file.
    command : str, default=""
        The command line that did the fit.
    words : callable, default=as_arguments
        Renders the options that messages name.
    **parts
        The table and the model: fields of ``fewlabels.report.fit.Fit``.

    Returns
    -------
    Contents

    Notes
    -----
    Models are trained again to score rows they have not seen: up to five (ten for two classes) of
    the size of the fit, no further one after a minute, or where the deadline would be missed.
    """
    fit = Fit(**parts)
    file, estimator, metadata, comparison = fit.file, fit.estimator, fit.metadata, fit.comparison
    training, task = metadata["training"], task_of(method_of(metadata))
    findings = _prepend_cautions(_findings_without_signal(fit) or _find(fit, task), training)
    notes = [_as_sentence(note) for note in training["notes"]] + list(findings.notes)
    if fit.deadline.cut:
        notes.append(_missing_parts_note(write.listing(fit.deadline.cut), training))
    if fit.is_sampled:
        notes.append(
            f"Scores and rows are from a random sample of {write.rows(len(fit.scored_rows))}. "
            "'fewlabels predict' scores all rows."
        )
    contents = Contents(
        source=file.name,
        model="" if model_path is None else Path(model_path).name,
        created=metadata["created"],
        version=metadata["versions"]["fewlabels"],
        command=command,
        method=metadata["method"],
        title=_method_title(metadata),
        task=task,
        reason=training["choice"],
        findings=findings,
        rows=_count_rows(file, fit.X),
        columns=list(fit.profile or ()),
        distinctive_words=find_distinctive_words(fit, findings.sides) if findings.groups else [],
        settings=estimator.get_params(),
        tuning=fit.tuning,
        history=list(getattr(estimator, "history_", ())),
        converged=training["converged"],
        limits=f"{ref('max_time')}, {ref('max_iter')}",
        certificate=_describe_solution(training, estimator, fit.X),
        **(
            {} if comparison is None else _comparison_fields(comparison, training.get("baselines"))
        ),
        replacement=(training.get("delivered") or {}).get("sentence", ""),
        notes=list(dict.fromkeys(notes)),
        usage=_usage_examples(metadata, model_path, file, findings),
    )
    return render_all(contents, words)


def _method_title(metadata: dict[str, Any]) -> str:
    """Return what the method is called in full; a candidate by its class."""
    candidate = candidate_facts(metadata)
    if candidate is None:
        return METHODS[metadata["method"]].title
    version = f" {candidate['version']}" if candidate["version"] else ""
    return f"candidate {candidate['class']} of {candidate['package']}{version}"


def _findings_without_signal(fit: Fit) -> Findings | None:
    """Return findings of a model that doesn't beat chance; None for other models."""
    if no_signal_headline(fit.training) is None:
        return None
    signal = fit.training["signal"]
    area = f"{signal['area']:.2f} ({signal['low']:.2f} to {signal['high']:.2f})"
    which = "labelled against unlabelled rows" if "positive" in fit.training else "rows"
    answer = [(f"ROC AUC of held-out {which}", area), ("ROC AUC of random scores", "0.5")]
    best, up_to = signal["best"], signal["up_to"]
    if best != 1.0:
        best = "1 - share of positives / 2" if best is None else f"{best:.3g}"
        answer.append(("ROC AUC of a perfect model", best))
    if up_to is not None:
        answer.append(("Largest share of positives without a signal", write.percent(up_to)))
    if "rows_labeled" in fit.training:
        labelled = fit.training["rows_labeled"]
        n = sum(labelled.values()) if isinstance(labelled, dict) else labelled
        answer.append(("Labelled rows", write.count(n)))
    return Findings("", answer, ("", ""), groups=[], rankings=[], rates=[])


def _missing_parts_note(cut: str, training: dict[str, Any]) -> str:
    """Describe the parts of a report that were cut short, and why."""
    if (training.get("budget") or {}).get("seconds") == 0:
        return f"The report was made with {ref('time_budget', 0)}: {cut}."
    return (
        f"The time budget ran out before the report was complete: {cut}; raise "
        f"{ref('time_budget')}."
    )


def _prepend_cautions(findings: Findings, training: dict[str, Any]) -> Findings:
    """Return findings whose headline begins with what speaks against the model."""
    first = " ".join(f"{sentence}." for sentence in list_cautions(training))
    return findings._replace(headline=f"{first} {findings.headline}".strip())


def _comparison_fields(
    comparison: BaselineComparison, facts: dict[str, Any] | None
) -> dict[str, Any]:
    """Return the contents of a report that come from a comparison with other methods."""
    names = ("measure", "verdict", "outcome", "protocol", "agreement")
    fields = {name: getattr(comparison, name) for name in names}
    if facts and facts.get("caution"):
        fields["verdict"] += f" {_as_sentence(facts['caution'])}"
    if facts and facts.get("instead"):
        fields["verdict"] += f" {_as_sentence(facts['instead'])}"
    return {**fields, "baselines": comparison.table, "worse_than": list(comparison.worse_than)}


def _as_sentence(note: str) -> str:
    return write.capital(note).rstrip(".") + "."


def _count_rows(file: TrainingFile, X: RowMatrix) -> list[tuple[str, str]]:
    """Count rows, by label."""
    counts = [("Rows in the file", write.count(file.n_rows))]
    if file.labels is not None:
        for name, n in zip(file.labels.names, file.labels.counts, strict=True):
            counts.append((f"{file.target} is '{name}'", write.count(n)))
        if file.labels.n_blank:
            marked = f"'{file.labels.mark}' or blank" if file.labels.mark else "blank"
            counts.append((f"{file.target} is {marked}", write.count(file.labels.n_blank)))
    counts.append(("Training rows", write.count(X.shape[0])))
    counts.append(("Features after encoding", write.count(X.shape[1])))
    return counts


def _describe_solution(
    training: dict[str, Any], estimator: BaseEstimator, X: RowMatrix
) -> list[tuple[str, str]]:
    """Return figures on the quality of the solution."""
    history = [entry for entry in getattr(estimator, "history_", ()) if "kernel_values" in entry]
    gap = training["duality_gap"]
    gap = None if gap is None else write.number(max(0.0, gap))
    vectors = training["support_vectors"]
    vectors = None if vectors is None else write.of_all(vectors, X.shape[0])
    lines = [
        ("Status", "converged" if training["converged"] else "stopped early"),
        ("Objective", write.number(training["objective"])),
        ("Optimality gap (upper bound)", gap),
        ("Support vectors", vectors),
        ("Steps", write.count(training["iterations"])),
        ("Kernel values", write.count(history[-1]["kernel_values"]) if history else None),
        ("Seconds", write.seconds(training["seconds"])),
    ]
    if hasattr(estimator, "kkt_violation_"):
        lines.insert(
            2, ("Violation of the optimality conditions", write.number(training["violation"]))
        )
    return [(name, value) for name, value in lines if value]


def _usage_examples(
    metadata: dict[str, Any],
    model_path: str | PathLike[str] | None,
    file: TrainingFile,
    findings: Findings,
) -> list[tuple[str, str]]:
    """Return headings and commands or Python for a model; no path for one not saved."""
    if model_path is None:
        return _USAGE_IN_MEMORY
    model, data = Path(model_path).name, file.name
    suffix = extension_of(data)
    new, quoted = f"new{suffix}", shlex.quote(model)
    types = (candidate_facts(metadata) or {}).get("types") or []
    trust, trusted = "".join(f" --trust {name}" for name in types), ""
    if types:
        trusted = f", trusted={types!r}"
    code = [("Score new rows", f"fewlabels predict {quoted} {new}{trust} -o scored.csv")]
    if findings.rankings and len(findings.rankings[0].rows):
        row = int(findings.rankings[0].rows["row"].iloc[0])
        command = f"fewlabels explain {quoted} {shlex.quote(data)}{trust} --row {row}"
        code.append(("Why a row has its score", command))
    if metadata["training"].get("rows_held"):
        title = "Add rows, with or without labels, without refitting"
        code.append((title, f"fewlabels update {quoted} more{suffix}"))
    code.append(("Show what the model contains", f"fewlabels inspect {quoted}"))
    # A file is read as the model was fitted: pandas would guess other types.
    call = f"pipeline.score({model!r}, {new!r}{trusted})"
    python = f'answers = {call}\nscores = answers["score"]'
    code.append(("From Python", f"from fewlabels import pipeline\n\n{python}"))
    return code


def _find(fit: Fit, task: Task) -> Findings:
    """Find what a report of a task says; its module is imported when it is first needed."""
    match task.name:
        case "one_class":
            from . import one_class

            return one_class.find(fit)
        case "positive_unlabelled":
            from . import positive_unlabelled

            return positive_unlabelled.find(fit)
        case _:
            from . import semi_supervised

            return semi_supervised.find(fit)
