"""What a model file says first of all: what speaks against the model, and what it assumes."""

from typing import Any

# What an estimated prior, and precision and recall in any case, rest on.
RANDOM_SAMPLE = "the labelled rows are a random sample of the positives"
# Outcomes of the test whether they are. With an estimated prior it can't tell: if obvious rows
# were labelled first, a smaller prior explains the labels as well as a random choice does.
REJECTED, NOT_REJECTED = "rejected", "not rejected"
CANNOT_TELL, NOT_TESTED = "can't tell", "not tested"


def no_signal(training):
    """The headline of a training whose columns do not tell its labels; None for any other."""
    return (training.get("signal") or {}).get("headline")


def cautions(training):
    """What to say of a training before anything else: sentences without their full stops."""
    signal = training.get("signal") or {}
    labels = training.get("labels_at_random") or {}
    sentences = (
        training.get("misspelt"),
        training.get("prior_contradiction"),
        signal.get("headline"),
        labels.get("caution"),
        signal.get("caution"),
    )
    return [sentence for sentence in sentences if sentence]


def reminders(training):
    """What a later reader of a model should remember of its cautions, briefly."""
    signal = training.get("signal") or {}
    labels = training.get("labels_at_random") or {}
    found = []
    if labels.get("rejected"):
        found.append("the labelled rows are not a random sample of the positives")
    elif training.get("prior_contradiction"):
        found.append("the estimated prior contradicts the labels, so too few rows may be positive")
    if signal.get("caution"):
        found.append("there were too few labels to tell whether the model beats chance")
    return found


def labels_words(training: dict[str, Any]) -> str | None:
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


def assumption(training):
    """What the figures of a model of positive and unlabelled rows assume; None for no figures.

    With a given prior, or with propensities, only error rates need random labels: these are
    counted on labelled rows as they are.
    """
    if "prior_estimated" not in training:
        return None
    weighted = training.get("weighted_by_propensities")
    if training["prior_estimated"] and not weighted:
        return RANDOM_SAMPLE
    if not training.get("expected"):
        return None
    unused = ", which don't use the propensities" if weighted else ""
    return f"{RANDOM_SAMPLE} (for precision and recall{unused})"
