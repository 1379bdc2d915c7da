"""After the fit: the comparison with other methods."""

import json

import numpy as np

from ..._deadline import Deadline
from ...io.errors import UserError, quoted
from ...io.models.machines import MACHINES
from ...io.tables.training import rows_for
from ..wording import as_options, listening

# Shares of the time budget: of the choice of settings (alone, and with a comparison to follow),
# until when the machine is fitted and has probabilities (likewise), and the test against chance.
_CHOICE_ALONE, _CHOICE, _FITTED_ALONE, _FITTED, _TEST = 0.8, 0.45, 0.9, 0.65, 0.15
# What is kept for the report, in seconds at least; what comes late has these shares at least.
_REPORT, _LEAST_REPORT, _LATE_CHOICE, _LATE_COMPARISON, _LATE_REPORT = 0.15, 2.0, 0.1, 0.03, 0.05
# Seconds of a comparison that is asked for.
_LEAST = 10.0


def is_compared(asked, reported):
    """Whether other methods are compared with: as asked for; else (None) if there is a report."""
    return reported if asked is None else asked


def seconds_to_choose(asked, reported, time_budget, used=0.0):
    """Seconds for the choice of settings and the fit, what was ``used`` before taken off."""
    share = _CHOICE if is_compared(asked, reported) else _CHOICE_ALONE
    return max(_LATE_CHOICE, share - used / time_budget) * time_budget if time_budget else 0.0


def seconds_to_fit(asked, reported, time_budget, used):
    """Seconds for the choice, the fit and probabilities, what was ``used`` before taken off."""
    share = _FITTED if is_compared(asked, reported) else _FITTED_ALONE
    return max(_LATE_CHOICE * time_budget, share * time_budget - used)


def deadline_of_test(time_budget):
    """When the test against chance should end, in a time budget."""
    return Deadline(_TEST * time_budget if time_budget else None)


def comparison_seconds(asked, reported, time_budget, used):
    """Seconds for the comparison with other methods, what was ``used`` taken off; 0 for none."""
    if not is_compared(asked, reported):
        return 0.0
    left = time_budget - used - (_of_report(time_budget) if reported else 0.0)
    return max(_LEAST if asked else 0.0, _LATE_COMPARISON * time_budget, left)


def too_short(seconds, of_a_fit):
    """A note on a comparison that there is no time for."""
    return (
        f"not compared with other methods: one more fit takes some {of_a_fit:.2g} s, and the time "
        f"budget has {seconds:.2g} s left; --time-budget SECONDS gives more, and --baselines "
        "compares in any case"
    )


def deadline_of_report(time_budget, used):
    """When what takes long in a report has to end, if settings were chosen in a time budget."""
    if not time_budget:
        return Deadline()
    return Deadline(max(_LATE_REPORT * time_budget, time_budget - used))


def _of_report(time_budget):
    return max(_LEAST_REPORT, _REPORT * time_budget)


def compare(estimator, X, y, *, others, classes, seconds, seed, observer):
    """Compare a machine, with its settings, with other methods; and what the user should know.

    ``others`` are rows known to be of other classes, for machines of one class; ``classes`` the
    names of the classes that labels 0, 1, ... stand for.
    """
    from ...model_selection import compare_with_baselines

    title = f"comparing with other methods, at most {seconds:.0f} s"
    try:
        with listening() as messages, observer.handed_over(title) as bar:
            comparison = compare_with_baselines(
                estimator, X, y, known_other=others,
                class_names=classes and [quoted(name) for name in classes],
                time_budget=seconds, random_state=seed, progress=bar,
            )  # fmt: skip
    except ValueError as error:
        return None, [f"not compared with other methods: {as_options(str(error)).rstrip('.')}"]
    except KeyboardInterrupt:
        return None, ["not compared with other methods, as Ctrl-C ended that"]
    return comparison, messages


def instead(comparison):
    """How to have a baseline that is clearly ahead; None where none is."""
    if not comparison.offer:
        return None
    title = MACHINES[comparison.offer].title
    return f"--machine {comparison.offer} takes {title}, with its threshold, figures and report"


def comparison_facts(comparison):
    """What a model keeps of the comparison, plain values only."""
    if comparison is None:
        return None
    table = json.loads(comparison.table.to_json(orient="records"))
    return {
        "measure": comparison.measure,
        "verdict": comparison.verdict,
        "worse_than": list(comparison.worse_than),
        "offer": comparison.offer or None,
        "instead": instead(comparison),
        "table": table,
    }


def rows_of_others(file, roles, encoder, schema):
    """Encoded rows of classes that a machine of one class does not learn from, and remarks."""
    if roles.y is not None or file.labels is None:
        return None, []
    others = np.flatnonzero(~roles.keep & (file.labels.index >= 0))
    if not others.size:
        return None, []
    try:
        return encoder.transform(rows_for(file, schema, others)[0]), []
    except UserError as error:
        return None, [f"rows of other classes not used for the comparison: {str(error)[:-1]}"]
