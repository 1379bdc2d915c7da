"""After the fit: whether the model beats chance, and whether its prior agrees with its labels."""

from ...io.errors import quoted

# Missed labelled rows, as a share of all, that a message gives as its reason.
_MANY = 0.45


def test_model(fitted, X, y, deadline):
    """The ``Tests`` of a model that was fitted to labels, and notes for the user."""
    from ...report.evidence.testing import tested

    tests = tested(fitted.estimator, X, y, deadline, fitted.seconds)
    notes = [f"the time budget was short: {cut}" for cut in deadline.cut]
    if tests.signal is None:
        notes.append(f"whether the model beats chance is not known, as {tests.reason.rstrip('.')}")
    return tests, notes


def tests_facts(tests, estimator, facts):
    """What a model keeps of its ``Tests``."""
    if tests is None:
        return {"signal": None, "prior_contradiction": None}
    return {
        "signal": _signal_facts(tests, facts),
        "prior_contradiction": _contradiction_words(tests.contradiction, estimator, facts),
    }


def _signal_facts(tests, facts):
    """What a model keeps of a ``PermutationTest``, with a headline or caution if it needs one."""
    signal = tests.signal
    if signal is None:
        return None
    told = {**signal._asdict(), "found": signal.found}
    if signal.found:
        return told
    names = facts.get("classes") or (facts["positive"], None)
    one, other = "rows of each class", "rows of the others"
    if len(names) == 2:
        one, other = (f"rows of {quoted(name)}" if name else "unlabelled rows" for name in names)
    of_what = "ROC AUC" if len(names) == 2 else "mean ROC AUC"
    area = (
        f"{of_what} {signal.area:.2f}, 99 % interval {signal.low:.2f} to {signal.high:.2f}; "
        "chance is 0.5"
    )
    if tests.silences:
        told["headline"] = (
            f"No signal: the features do not separate held-out {one} from {other} better than "
            f"chance ({area}), so no share, precision, ranking or probability is given; use "
            "features that are related to the labels, or label more rows"
        )
    else:
        told["caution"] = (
            f"Too few labels to tell whether the model separates held-out {one} from {other} "
            f"better than chance ({area}); check some of its answers, or label more rows"
        )
    return told


def _contradiction_words(contradiction, estimator, facts):
    """The sentence on a prior that contradicts the labelled rows; None where it doesn't."""
    if contradiction is None:
        return None
    hits, n = contradiction
    name = quoted(facts["positive"])
    prior = f"{estimator.prior_:.2g} of the unlabelled rows"
    if n - hits >= _MANY * n:
        why = (
            f"if {prior} were {name}, the model would miss {n - hits} of {n} labelled rows that "
            "it was not trained on, although it ranks them high"
        )
    else:
        why = f"{prior} are less than one row, as if none of them were like the labelled ones"
    return (
        f"The estimated prior contradicts the labels: {why}. The labelled rows may not be a "
        f"random sample of {name}. Pass --prior SHARE if you know the share of {name}, or review "
        "the top-ranked rows, whose order hardly depends on the prior; no figure or list that "
        "depends on it is given"
    )
