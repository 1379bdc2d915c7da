"""What a model file says first of all: what speaks against the model, and what it assumes."""

# An interval that is wider has no value that stands for it.
_UNDETERMINED = 0.7
# What an estimated prior, and precision and recall in any case, rest on.
RANDOM_SAMPLE = "the labelled rows are a random sample of the positives"

# The same for the accuracy of classes: where labels have the class ratio of all rows, and where it
# is estimated.
RANDOM_OF_ALL = "the labelled rows are a random sample of all rows"
RANDOM_PER_CLASS = "the labelled rows of each class are a random sample of it"


def no_signal(training):
    """The headline of a training whose columns do not tell its labels; None for any other."""
    return (training.get("signal") or {}).get("headline")


def cautions(training):
    """What to say of a training before anything else: sentences without their full stops."""
    signal = training.get("signal") or {}
    labels = training.get("labels_at_random") or {}
    sentences = (
        training.get("prior_contradiction"),
        signal.get("headline"),
        labels.get("caution"),
        signal.get("caution"),
        (training.get("labelled_rows") or {}).get("caution"),
        _never_predicted(training),
    )
    return [sentence for sentence in sentences if sentence]


def are_unlike(training):
    """Whether the labelled rows are unlike all others: error rates hold for rows like these."""
    return bool((training.get("labelled_rows") or {}).get("unlike"))


def _never_predicted(training):
    """The sentence on classes that no unlabelled row is given although some should be."""
    shares = (training.get("class_shares") or {}).get("classes") or {}
    counts, n = training.get("unlabeled_predicted") or {}, training.get("rows_unlabeled")
    missing = []
    for name, own in shares.items():
        if counts.get(name) != 0 or not n or own["share"] * n < 1.0:
            continue
        low, high = (f"{100.0 * own[end]:.2g}" for end in ("low", "high"))
        about = f"about {100.0 * own['share']:.2g} % ({low} to {high} %)"
        if own["high"] - own["low"] > _UNDETERMINED:
            about = f"{low} to {high} %"
        missing.append(f"'{name}', although {about} are expected")
    return f"No row is predicted {', or '.join(missing)}" if missing else None


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
    if are_unlike(training):
        found.append("the labelled rows are unlike the unlabelled ones")
    return found


def assumption(training):
    """What the figures of a model assume; None for no figures, or for nothing.

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
