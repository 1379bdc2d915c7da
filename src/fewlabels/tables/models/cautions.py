"""What a model file says first of all: what speaks against the model, and what it assumes."""

from collections.abc import Mapping
from typing import Any

# What an estimated prior, and precision and recall in any case, rest on.
RANDOM_SAMPLE = "the labelled rows are a random sample of the positives"
# Outcomes of the test whether they are. With an estimated prior it can't tell: if obvious rows
# were labelled first, a smaller prior explains the labels as well as a random choice does.
REJECTED, NOT_REJECTED = "rejected", "not rejected"
CANNOT_TELL, NOT_TESTED = "can't tell", "not tested"

# The same for the accuracy of classes: where labels have the class ratio of all rows, and where it
# is estimated.
RANDOM_OF_ALL = "the labelled rows are a random sample of all rows"
RANDOM_PER_CLASS = "the labelled rows of each class are a random sample of it"


def no_signal_headline(training: Mapping[str, Any]) -> str | None:
    """Return the headline of a training whose features don't predict its labels, or None."""
    return (training.get("signal") or {}).get("headline")


def list_cautions(training: Mapping[str, Any]) -> list[str]:
    """Return the cautions about a training, which come first: sentences without full stops."""
    signal = training.get("signal") or {}
    labels = training.get("labels_at_random") or {}
    sentences = (
        training.get("misspelt"),
        training.get("prior_contradiction"),
        signal.get("headline"),
        labels.get("caution"),
        signal.get("caution"),
        (training.get("labelled_rows") or {}).get("caution"),
        _describe_never_predicted(training),
    )
    return [sentence for sentence in sentences if sentence]


def are_unlike(training: Mapping[str, Any]) -> bool:
    """Return whether labelled rows are unlike all others: error rates hold for rows like these."""
    return bool((training.get("labelled_rows") or {}).get("unlike"))


def _describe_never_predicted(training: Mapping[str, Any]) -> str | None:
    """Describe classes that are predicted for no unlabelled row although some are expected."""
    shares = (training.get("class_shares") or {}).get("classes") or {}
    counts, n = training.get("unlabeled_predicted") or {}, training.get("rows_unlabeled")
    missing = []
    for name, own in shares.items():
        share = own["share"]
        most = own["high"] if share is None else share
        if counts.get(name) != 0 or not n or most * n < 1.0:
            continue
        low, high = (f"{100.0 * own[end]:.2g}" for end in ("low", "high"))
        about = f"{low} to {high} %"
        if share is not None:
            about = f"about {100.0 * share:.2g} % ({low} to {high} %)"
        missing.append(f"'{name}', although {about} are expected")
    return f"No row is predicted {', or '.join(missing)}" if missing else None


def list_reminders(training: Mapping[str, Any]) -> list[str]:
    """Return brief reminders of a model's cautions for a later reader."""
    signal = training.get("signal") or {}
    labels = training.get("labels_at_random") or {}
    found = []
    if labels.get("rejected"):
        found.append("the labelled rows are not a random sample of the positives")
    elif training.get("prior_contradiction"):
        found.append("the estimated prior contradicts the labels, so too few rows may be positive")
    if signal.get("caution"):
        found.append("there were too few labels to tell whether the model beats chance")
    if are_unlike(training):
        found.append("the labelled rows are unlike the unlabelled ones")
    return found


def describe_label_test(training: Mapping[str, Any]) -> str | None:
    """Return a sentence on whether labels were found to be random; None if they were rejected."""
    labels = training.get("labels_at_random") or {}
    return {
        NOT_TESTED: f"It was not tested whether {RANDOM_SAMPLE}, because {labels.get('why')}.",
        CANNOT_TELL: (
            f"The test could not tell whether {RANDOM_SAMPLE}: if obvious ones were labelled "
            "first, a smaller share of positives explains the labels as well."
        ),
        NOT_REJECTED: (
            f"Given the prior, the test found nothing against the assumption that {RANDOM_SAMPLE}."
        ),
    }.get(labels.get("outcome", ""))


def describe_assumption(training: Mapping[str, Any]) -> str | None:
    """Name what the figures of a model assume; None for no figures, or for nothing.

    With a given prior, or with propensities, only error rates need random labels: these are
    counted on labelled rows as they are.
    """
    if "classes" in training and training.get("expected"):
        is_weighted = (training.get("class_shares") or {}).get("weighted")
        return RANDOM_PER_CLASS if is_weighted else RANDOM_OF_ALL
    if "prior_estimated" not in training:
        return None
    weighted = training.get("weighted_by_propensities")
    if training["prior_estimated"] and not weighted:
        return RANDOM_SAMPLE
    if not training.get("expected"):
        return None
    unused = ", which don't use the propensities" if weighted else ""
    return f"{RANDOM_SAMPLE} (for precision and recall{unused})"
