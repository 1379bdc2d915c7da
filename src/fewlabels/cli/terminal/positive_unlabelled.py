"""Lines about models of positive and unlabelled rows."""

from ...io.errors import quoted
from . import show


def answer(training):
    """What was found."""
    unlabeled = training["rows_unlabeled"]
    found = training["unlabeled_predicted_positive"]
    if found is not None:
        found = f"{show.share(found, unlabeled)} of the unlabelled rows"
    return [
        ("predicted positive", found),
        ("class prior", _prior(training)),
    ]


def details(training):
    """What the model was fitted to, and what it is made of."""
    vectors, unlabeled = show.support_vectors(training), training["support_vectors_unlabeled"]
    if vectors is not None:
        vectors += f", {unlabeled:,} of them unlabelled rows"
    return [
        ("positive", f"{training['rows_labeled']:,} rows labelled {quoted(training['positive'])}"),
        ("unlabelled", show.unlabelled_rows(training)),
        ("lambda", show.number(training["lam"])),
        ("support vectors", vectors),
    ]


def _pooled(training):
    """The prior among all rows; blank if only a sample of the table was used."""
    if training["rows"] < training["rows_read"]:
        return ""
    labeled, unlabeled = training["rows_labeled"], training["rows_unlabeled"]
    share = (labeled + training["prior"] * unlabeled) / (labeled + unlabeled)
    return f" ({share:.3g} of all rows)"


def _prior(training):
    if training["prior"] is None:
        return None
    value = f"{training['prior']:.3g} of the unlabelled rows{_pooled(training)}"
    if not training["prior_estimated"]:
        return f"{value}, as given"
    ends = show.interval(training["prior_low"], training["prior_high"])
    return f"{value}, estimated; {show.percent(training['prior_confidence'])} CI {ends}"
