"""Lines for people about a model."""

from ...io.errors import quoted
from ...io.models.machines import MACHINES, cautions
from . import show

# What a caution may begin with to be the name of its line.
_LONGEST_NAME = 10


def summary_lines(summary):
    """Names and values for people, of a model's metadata in any format."""
    training = summary["training"]
    rows = training["rows"]
    read = f" of {training['rows_read']:,} read" if rows != training["rows_read"] else ""
    tuning = training.get("tuning")
    seconds = show.number(training["seconds"])
    if tuning:
        seconds += f", choosing settings {show.number(tuning['seconds'] - training['seconds'])}"
    if "seconds_in_all" in training:
        seconds += f", all in all {show.number(training['seconds_in_all'])}"
    beside = training.get("baselines") or {}
    why = training.get("choice")
    return [
        *(_caution(sentence) for sentence in cautions(training)),
        ("delivered", (training.get("delivered") or {}).get("sentence")),
        ("machine", None if why is None else f"{summary['machine']}: {why}"),
        ("odd rows", training.get("odd_rows")),
        ("settings", training.get("settings")),
        ("rows", f"{rows:,}{read}"),
        ("columns", show.columns(summary["schema"])),
        *_LINES[MACHINES[summary["machine"]].learns_from](training),
        ("objective", show.number(training["objective"])),
        ("duality gap", show.gap(training["duality_gap"])),
        ("rounds", f"{training['rounds']:,}" if training["rounds"] else None),
        ("converged", None if training["converged"] else "no, stopped before its tolerance"),
        ("beside others", beside.get("verdict")),
        ("instead", beside.get("instead")),
        ("seconds", seconds),
        ("rows held", _held(training)),
        ("updates", _updates(training.get("updates"))),
    ]


def _caution(sentence):
    """A line that begins with what is wrong."""
    start, colon, rest = sentence.partition(": ")
    is_short = colon and len(start) <= _LONGEST_NAME
    return (start.lower(), rest) if is_short else ("caution", sentence)


def _normal_lines(training):
    counted = training["rows_counted"]
    sample = "" if counted == training["rows"] else f" of {counted:,} counted"
    return [
        ("support vectors", _support(training)),
        ("threshold", _threshold(training)),
        ("training rows outside", show.share(training["rows_outside"], counted) + sample),
        ("radius", show.number(training["radius"])),
    ]


def _positive_lines(training):
    unlabeled = training["rows_unlabeled"]
    found = training["unlabeled_predicted_positive"]
    if found is not None:
        found = f"{show.share(found, unlabeled)} of the unlabelled rows"
    vectors, in_pile = _support(training), training["support_vectors_unlabeled"]
    if vectors is not None:
        vectors += f", {in_pile:,} of them unlabelled rows"
    return [
        ("positive", f"{training['rows_labeled']:,} rows labelled {quoted(training['positive'])}"),
        ("unlabelled", f"{unlabeled:,} rows, {show.mark(training['unlabeled'])}"),
        ("class prior", _prior(training)),
        ("lambda", show.number(training["lam"])),
        ("predicted positive", found),
        ("support vectors", vectors),
    ]


def _class_lines(training):
    labeled, found = training["rows_labeled"], training["unlabeled_predicted"]
    unlabeled = training["rows_unlabeled"]
    shares = ", ".join(f"{quoted(k)} {show.share(n, unlabeled)}" for k, n in (found or {}).items())
    return [
        ("labelled", f"{sum(labeled.values()):,} rows: {show.counted(labeled)}"),
        ("unlabelled", f"{unlabeled:,} rows, {show.mark(training['unlabeled'])}"),
        ("predicted", f"{shares} of the unlabelled rows" if unlabeled and shares else None),
        ("support vectors", _support(training)),
        ("violation", show.number(training["violation"])),
    ]


_LINES = {"normal": _normal_lines, "positive": _positive_lines, "classes": _class_lines}


def _support(training):
    """Support vectors; None of methods that have none."""
    found = training["support_vectors"]
    return None if found is None else show.share(found, training["rows"])


def _threshold(training):
    rate = training.get("target_fpr")
    if rate is None:
        return None
    n = training["calibration_rows"]
    if n + 1 < 1 / rate:
        return f"no row is called outside: {n:,} rows are too few for {show.percent(rate)}"
    return f"{show.percent(rate)} of new normal rows fall outside, by {n:,} rows scored as if new"


def _held(training):
    if not training.get("rows_held"):
        return None
    return f"{training['rows']:,}, so that 'fewlabels update' can add to them"


def _updates(updates):
    if not updates:
        return None
    return f"{updates['rows']:,} rows in {updates['count']:,}, the last one at {updates['last']}"


def _prior(training):
    if training["prior"] is None:
        return None
    value = f"{training['prior']:.3g} of the unlabelled rows"
    if not training["prior_estimated"]:
        return f"{value}, as given"
    ends = show.interval(training["prior_low"], training["prior_high"])
    return f"{value}, estimated; {show.percent(training['prior_confidence'])} interval {ends}"
