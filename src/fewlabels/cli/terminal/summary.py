"""Lines for people about a model: the answer first, then how it was fitted.

Those that differ between tasks are in a module of the task's name, as ``answer`` and ``details``.
"""

from ...io.models.contents import RANDOM_SAMPLE, assumption, cautions
from ...tasks.machines import task_of
from . import show

# A fit that takes so many times the time budget says what took so long.
_OVER = 1.1
# What a caution may begin with to be the name of its line.
_LONGEST_NAME = 10


def answer_lines(summary):
    """What was found and how certain it is: names and values, of metadata in any format."""
    training = summary["training"]
    return [
        *(_caution(sentence) for sentence in cautions(training)),
        ("delivered", (training.get("delivered") or {}).get("sentence")),
        *_lines_of(summary).answer(training),
        *_expected(training),
        ("assumes", _assumption(training)),
        *_compared(training.get("baselines") or {}),
        ("converged", None if training["converged"] else "no, stopped early"),
    ]


def how_lines(summary):
    """How a model was fitted: names and values, of metadata in any format."""
    training = summary["training"]
    rows = training["rows"]
    read = f" of {training['rows_read']:,} read" if rows != training["rows_read"] else ""
    why = training.get("choice")
    return [
        ("model", None if why is None else f"{summary['machine']}: {why}"),
        ("anomalies", training.get("odd_rows")),
        *_settings(training.get("settings")),
        ("rows", f"{rows:,}{read}"),
        ("columns", show.columns(summary["schema"])),
        *_lines_of(summary).details(training),
        ("objective", show.number(training["objective"])),
        ("duality gap", show.gap(training["duality_gap"])),
        ("rounds", f"{training['rounds']:,}" if training["rounds"] else None),
        ("seconds", _seconds(training)),
        ("over budget", _over_budget(training)),
        ("rows stored", _held(training)),
        ("updates", _updates(training.get("updates"))),
    ]


def _lines_of(summary):
    """The module of the model's task, with its lines of the answer and of the details."""
    return task_of(summary["machine"]).part(__package__)


def _settings(text):
    """A line for the settings, and one for each thing that follows from the labels."""
    first, *others = [None] if text is None else text.split("; ")
    return [("settings", first), *(("", other) for other in others)]


def _seconds(training):
    seconds, tuning = show.number(training["seconds"]), training.get("tuning")
    if tuning:
        seconds += f", choosing settings {show.number(tuning['seconds'] - training['seconds'])}"
    if "seconds_in_all" in training:
        seconds += f", total {show.number(training['seconds_in_all'])}"
    return seconds


def _over_budget(training):
    """What took the time of a fit that took clearly longer than it should have."""
    spent, total = training.get("budget") or {}, training.get("seconds_in_all", 0.0)
    budget = spent.get("seconds")
    if not budget or total <= _OVER * budget:
        return None
    parts = {
        "start and reading": spent.get("reading"),
        "settings and fit": spent.get("choosing"),
        "comparison": spent.get("comparing"),
        "report": spent.get("reporting"),
    }
    shown = {name: seconds for name, seconds in parts.items() if seconds is not None}
    rest = "training on all rows and others" if training.get("in_pieces") else "tests and others"
    shown[rest] = max(0.0, total - sum(shown.values()))
    words = ", ".join(f"{name} {show.number(seconds)}" for name, seconds in shown.items())
    return f"{show.number(total)} of {budget:g} s: {words}"


def _expected(training):
    """Error rates that the report estimated, by their usual names."""
    labels = training.get("labels_at_random") or {}
    is_high = labels.get("rejected") and labels.get("shift", 0.0) > 0.5
    doubted = ", probably too high" if is_high else ""
    for name, rate in (training.get("expected") or {}).items():
        value = f"{rate['value']:.3g}"
        if rate["low"] is not None:
            value += f" (90 % CI {show.interval(rate['low'], rate['high'])})"
        yield name, value + doubted


def _compared(facts):
    """What a comparison with other methods has found, and on which rows."""
    measure, verdict = facts.get("measure") or "", facts.get("verdict")
    is_scored = verdict and facts.get("table") and not measure.startswith("none")
    return [
        ("comparison", verdict),
        ("", f"Measured: {measure}." if is_scored else None),
        ("", f"{facts['caution']}." if facts.get("caution") else None),
        ("instead", facts.get("instead")),
    ]


def _assumption(training):
    """What the figures assume, and what to do if that is wrong."""
    assumed = assumption(training)
    if assumed is None:
        return None
    if (training.get("labels_at_random") or {}).get("rejected"):
        return f"{assumed}, which the test rejects"
    return f"{assumed} (if not, pass --prior)" if assumed == RANDOM_SAMPLE else assumed


def _caution(sentence):
    """A line that begins with what is wrong."""
    start, colon, rest = sentence.partition(": ")
    is_short = colon and len(start) <= _LONGEST_NAME
    return (start.lower(), rest) if is_short else ("caution", sentence)


def _held(training):
    if not training.get("rows_held"):
        return None
    return f"{training['rows']:,}, so that 'fewlabels update' can add to them"


def _updates(updates):
    if not updates:
        return None
    return f"{updates['rows']:,} rows in {updates['count']:,}, the last one at {updates['last']}"
