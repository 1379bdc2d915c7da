"""After the fit: the comparison with other methods."""

import json

import numpy as np

from ...io.errors import UserError, quoted
from ...io.tables.training import rows_for
from ...options.words import ref, template
from ..observer import listening


def too_short(seconds, of_a_fit):
    """A note on a comparison that there is no time for."""
    return (
        f"not compared with other methods: a fit takes about {of_a_fit:.2g} s, and {seconds:.2g} "
        f"s of the time budget are left; raise {ref('time_budget')}, or pass "
        f"{ref('baselines', True)} to compare anyway"
    )


def compare(estimator, X, y, *, others, classes, seconds, seed, observer):
    """Compare a model, with its settings, with other methods; and what the user should know.

    ``others`` are rows known to be of other classes, for models of one class; ``classes`` the
    names of the classes that labels 0, 1, ... represent.
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
        return None, [f"not compared with other methods: {template(error).rstrip('.')}"]
    except KeyboardInterrupt:
        return None, ["not compared with other methods, because of Ctrl-C"]
    return comparison, messages


def comparison_facts(comparison, training):
    """What a model that says this of its ``training`` keeps of a comparison, plain values only."""
    if comparison is None:
        return None
    table = json.loads(comparison.table.to_json(orient="records"))
    return {
        "measure": comparison.measure,
        "verdict": comparison.verdict,
        "caution": _on_doubtful_labels(comparison, training),
        "worse_than": list(comparison.worse_than),
        "offer": comparison.offer or None,
        "instead": None,
        "table": table,
    }


def _on_doubtful_labels(comparison, training):
    """What to remember of scores on labels that may be no random sample, or None."""
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


def rows_of_others(file, roles):
    """Positions of rows of classes that a model of one class does not learn from."""
    if roles.y is not None or file.labels is None:
        return np.empty(0, np.intp)
    return np.flatnonzero(~roles.keep & (file.labels.index >= 0))


def encoded_rows_of_others(file, roles, encoder, schema):
    """These rows, encoded, None where there are none, and remarks."""
    others = rows_of_others(file, roles)
    if not others.size:
        return None, []
    try:
        return encoder.transform(rows_for(file, schema, others)[0]), []
    except UserError as error:
        return None, [
            f"rows of other classes not used for the comparison: {template(error).rstrip('.')}"
        ]


def are_ranked(prepared):
    """Whether labels can show which method is better."""
    found = prepared.found.y is not None
    return found or bool(rows_of_others(prepared.file, prepared.roles).size)
