"""A model in lines for people, from what its file says: what was found, and how it was fitted.

The command line prints these names and values, and so does a ``TableFit``. A line is there if the
file has the fact that it shows. Values may name options, for whoever shows them to render.
"""

from collections.abc import Iterator
from typing import Any

from .._util.messages import plural, quoted, ref
from ..tables.models.cautions import (
    CANNOT_TELL,
    NOT_REJECTED,
    NOT_TESTED,
    RANDOM_OF_ALL,
    RANDOM_SAMPLE,
    REJECTED,
    are_unlike,
    describe_assumption,
    list_cautions,
)
from . import formatting

# A fit that takes so many times the time budget says what took so long.
_OVER_BUDGET_FACTOR = 1.1
# Characters that a caution may begin with to be the name of its line.
_MAX_NAME_LENGTH = 10


def answer(metadata: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return what speaks against the model, and what was found."""
    return [*map(_caution, list_cautions(metadata["training"])), *findings(metadata)]


def findings(metadata: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return what was found and how certain it is: names and values, None for no line."""
    training = metadata["training"]
    return [
        ("delivered", (training.get("delivered") or {}).get("sentence")),
        ("training rows outside", _rows_outside(training)),
        ("threshold", _threshold(training)),
        ("predicted", _predicted(training)),
        ("predicted positive", _predicted_positive(training)),
        ("class prior", _prior(training)),
        *_expected(training),
        ("held-out ROC AUC", _area(training)),
        ("assumes", _assumption(training)),
        *_compared(training.get("baselines") or {}),
        ("converged", None if training["converged"] else "no, stopped early"),
    ]


def details(metadata: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return how a model was fitted: names and values, None for no line."""
    training = metadata["training"]
    rows = training["rows"]
    read = f" of {training['rows_read']:,} read" if rows != training["rows_read"] else ""
    why = training.get("choice")
    return [
        ("model", None if why is None else f"{metadata['method']}: {why}"),
        ("anomalies", training.get("odd_rows")),
        *_settings(training.get("settings")),
        ("rows", f"{rows:,}{read}"),
        ("columns", _columns(metadata["schema"])),
        *_labels(training),
        ("lambda", formatting.number(training.get("lam"))),
        ("support vectors", _support_vectors(training)),
        ("radius", formatting.number(training.get("radius"))),
        ("KKT violation", _violation(training)),
        ("objective", formatting.number(training["objective"])),
        ("duality gap", formatting.gap(training["duality_gap"])),
        ("rounds", f"{training['rounds']:,}" if training["rounds"] else None),
        ("seconds", _seconds(training)),
        ("over budget", _over_budget(training)),
        ("rows stored", _kept_rows(training)),
        ("updates", _updates(training.get("updates"))),
    ]


def _caution(sentence: str) -> tuple[str, str]:
    """Return a line that begins with what is wrong."""
    start, colon, rest = sentence.partition(": ")
    is_short = colon and len(start) <= _MAX_NAME_LENGTH
    return (start.lower(), rest) if is_short else ("caution", sentence)


# -- findings -------------------------------------------------------------------------------------


def _rows_outside(training: dict[str, Any]) -> str | None:
    """Return rows outside the boundary, perhaps counted on some of the rows."""
    if "rows_outside" not in training:
        return None
    counted = training["rows_counted"]
    sample = "" if counted == training["rows"] else f" of {counted:,} counted"
    return formatting.share(training["rows_outside"], counted) + sample


def _threshold(training: dict[str, Any]) -> str | None:
    """Return which rate of false alarms the threshold is calibrated for, and on what."""
    rate = training.get("target_fpr")
    if rate is None:
        return None
    n = training["calibration_rows"]
    if n + 1 < 1 / rate:
        few = f"{plural(n, 'row')} {'is' if n == 1 else 'are'} too few"
        return f"flags no row: {few} for a rate of {formatting.percent(rate)}"
    rows = f"{plural(n, 'row')} held out from training"
    if n == training["rows"]:
        rows = f"all {plural(n, 'row')}, each scored as if it were new"
    most = "" if training.get("clean") else "at most about "
    outside = f"{most}{formatting.percent(rate)} of new normal rows expected outside"
    return f"{outside}; calibrated on {rows}"


def _predicted(training: dict[str, Any]) -> str | None:
    """Return the classes that unlabelled rows are given."""
    found = training.get("unlabeled_predicted")
    if not found or not training["rows_unlabeled"]:
        return None
    whole = training["rows_unlabeled"]
    shares = ", ".join(f"{quoted(name)} {formatting.share(n, whole)}" for name, n in found.items())
    return f"{shares} of the unlabelled rows"


def _predicted_positive(training: dict[str, Any]) -> str | None:
    found = training.get("unlabeled_predicted_positive")
    if found is None:
        return None
    return f"{formatting.share(found, training['rows_unlabeled'])} of the unlabelled rows"


def _prior(training: dict[str, Any]) -> str | None:
    """Return the class prior, whether it was given, and how certain it is."""
    if training.get("prior") is None and training.get("prior_low") is None:
        return None
    low, high = training["prior_low"], training["prior_high"]
    level = training["prior_confidence"]
    if training["prior"] is None:
        return (
            f"between {low:.3g} and {high:.3g} of the unlabelled rows, "
            f"{_counts(training)} ({formatting.percent(level)} CI): the data don't determine it, "
            f"and the threshold uses {training['prior_used']:.3g}"
        )
    value = f"{training['prior']:.3g} of the unlabelled rows{_pooled(training)}"
    if not training["prior_estimated"]:
        return f"{value}, as given"
    ends = formatting.interval(low, high)
    return f"{value}, estimated; {formatting.percent(level)} CI {ends}, {_counts(training)}"


def _counts(training: dict[str, Any]) -> str:
    """Return ends of the interval of the number of positive rows."""
    ends = (training[f"prior_{end}"] * training["rows_unlabeled"] for end in ("low", "high"))
    return "{:,.0f} to {:,.0f} rows".format(*ends)


def _pooled(training: dict[str, Any]) -> str:
    """Return the prior among all rows; blank if only a sample of the table was used."""
    if training["rows"] < training["rows_read"]:
        return ""
    labeled, unlabeled = training["rows_labeled"], training["rows_unlabeled"]
    share = (labeled + training["prior"] * unlabeled) / (labeled + unlabeled)
    return f" ({share:.3g} of all rows)"


def _expected(training: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield error rates that the report estimated, by their usual names."""
    labels = training.get("labels_at_random") or {}
    is_high = labels.get("rejected") and labels.get("shift", 0.0) > 0.5
    doubted = ", probably too high" if is_high else ""
    doubted += ", on rows like the labelled ones" if are_unlike(training) else ""
    for name, rate in (training.get("expected") or {}).items():
        value = "not determined by the data" if rate["value"] is None else f"{rate['value']:.3g}"
        if rate["low"] is not None:
            value += f" (90 % CI {formatting.interval(rate['low'], rate['high'])})"
        yield name, value + doubted


def _area(training: dict[str, Any]) -> str | None:
    """Return the ROC AUC of the test against chance, where no error rates are known."""
    signal = training.get("signal") or {}
    if training.get("expected") or not signal.get("found"):
        return None
    ends = formatting.interval(signal["low"], signal["high"])
    about = f"99 % CI {ends}; chance is 0.5"
    if "positive" in training:
        best = signal.get("best")
        about = f"against unlabelled rows; {about}"
        about += "" if best is None else f", and a perfect model has {best:.3g}"
    return f"{signal['area']:.3g} ({about})"


def _assumption(training: dict[str, Any]) -> str | None:
    """Return what the figures assume, and what to do if that is wrong."""
    assumption = describe_assumption(training)
    if assumption is None:
        return None
    assumed = assumption
    outcome = (training.get("labels_at_random") or {}).get("outcome")
    tested = {
        REJECTED: "which the test rejects",
        CANNOT_TELL: "which the test could not decide",
        NOT_TESTED: "which was not tested",
        NOT_REJECTED: "which the test does not reject",
    }
    if outcome in tested:
        assumed += f", {tested[outcome]}"
    if are_unlike(training):
        return f"{assumed}, which the columns contradict"
    option = {RANDOM_OF_ALL: "class_ratio", RANDOM_SAMPLE: "prior"}.get(assumption)
    if outcome == REJECTED or option is None:
        return assumed
    return f"{assumed} (if not, pass {ref(option)})"


def _compared(facts: dict[str, Any]) -> list[tuple[str, str | None]]:
    """Return what a comparison with other methods has found, and on which rows."""
    measure, verdict = facts.get("measure") or "", facts.get("verdict")
    is_scored = verdict and facts.get("table") and not measure.startswith("none")
    return [
        ("comparison", verdict),
        ("", f"Measured: {measure}." if is_scored else None),
        ("", f"{facts['caution']}." if facts.get("caution") else None),
        ("instead", facts.get("instead")),
    ]


# -- details --------------------------------------------------------------------------------------


def _settings(text: str | None) -> list[tuple[str, str | None]]:
    """Return a line for the settings, and one for each thing that follows from the labels."""
    first, *others = [None] if text is None else text.split("; ")
    return [("settings", first), *(("", other) for other in others)]


def _columns(schema: dict[str, Any]) -> str:
    """Describe the columns of a schema (as a dict) in a few words."""
    total = schema["n_columns"]
    if schema["layout"] != "table":
        return f"{total:,} ({schema['layout']} matrix)"
    categories = [c["categories"] for c in schema["columns"] if c["kind"] == "category"]
    dates, truth = (sum(c["kind"] == k for c in schema["columns"]) for k in ("date", "boolean"))
    texts = [c["words"] for c in schema["columns"] if c["kind"] == "text"]
    parts = []
    if numbers := total - len(categories) - dates - truth - len(texts):
        parts.append(f"{numbers:,} of numbers")
    if dates:
        parts.append(f"{dates:,} of dates")
    if truth:
        parts.append(f"{truth:,} of yes and no")
    if categories:
        parts.append(f"{len(categories):,} of categories with {sum(categories):,} values")
    if texts:
        parts.append(f"{len(texts):,} of texts with {sum(texts):,} terms")
    return f"{total:,} ({', '.join(parts)})"


def _labels(training: dict[str, Any]) -> list[tuple[str, str]]:
    """Return labelled and unlabelled rows."""
    if "rows_labeled" not in training:
        return []
    labeled, unlabeled = training["rows_labeled"], training["rows_unlabeled"]
    if isinstance(labeled, dict):
        known = (
            "labelled",
            f"{plural(sum(labeled.values()), 'row')}: {formatting.counted(labeled)}",
        )
    else:
        known = "positive", f"{plural(labeled, 'row')} labelled {quoted(training['positive'])}"
    return [
        known,
        ("unlabelled", f"{plural(unlabeled, 'row')}, {formatting.mark(training['unlabeled'])}"),
    ]


def _support_vectors(training: dict[str, Any]) -> str | None:
    """Return how many there are, and their share of the rows; None without any."""
    found = training["support_vectors"]
    if found is None:
        return None
    shown = formatting.share(found, training["rows"])
    unlabeled = training.get("support_vectors_unlabeled")
    return shown if unlabeled is None else f"{shown}, {unlabeled:,} of them unlabelled rows"


def _violation(training: dict[str, Any]) -> str | None:
    """Return how exact the local optimum of a model of classes is."""
    return formatting.number(training["violation"]) if "classes" in training else None


def _seconds(training: dict[str, Any]) -> str:
    seconds, choosing = f"{formatting.number(training['seconds'])}", _seconds_choosing(training)
    if choosing is not None:
        seconds += f", choosing settings {formatting.number(choosing)}"
    if "seconds_in_all" in training:
        seconds += f", total {formatting.number(training['seconds_in_all'])}"
    return seconds


def _seconds_choosing(training: dict[str, Any]) -> float | None:
    """Return how long the search took without the fit at its end; None without a search."""
    tuning = training.get("tuning")
    if not tuning:
        return None
    return tuning["seconds"] - tuning["fit_seconds"]


def _over_budget(training: dict[str, Any]) -> str | None:
    """Return what took the time of a fit that clearly exceeded its budget."""
    spent, total = training.get("budget") or {}, training.get("seconds_in_all", 0.0)
    budget = spent.get("seconds")
    if not budget or total <= _OVER_BUDGET_FACTOR * budget:
        return None
    shown = dict(spent.get("spent", {}))
    shown["the rest"] = max(0.0, total - sum(shown.values()))
    listed = ", ".join(f"{name} {formatting.number(seconds)}" for name, seconds in shown.items())
    return f"{formatting.number(total)} of {budget:g} s: {listed}"


def _kept_rows(training: dict[str, Any]) -> str | None:
    if not training.get("rows_held"):
        return None
    return f"{training['rows']:,}, so that 'fewlabels update' can add to them"


def _updates(updates: dict[str, Any] | None) -> str | None:
    if not updates:
        return None
    rows = plural(updates["rows"], "row")
    return f"{rows} in {updates['count']:,}, the last one at {updates['last']}"
