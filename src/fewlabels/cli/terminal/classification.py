"""Lines about models of a few labels."""

from ...io.errors import quoted
from . import show


def answer(training):
    """What was found."""
    unlabeled, found = training["rows_unlabeled"], training["unlabeled_predicted"] or {}
    shares = ", ".join(f"{quoted(k)} {show.share(n, unlabeled)}" for k, n in found.items())
    return [("predicted", f"{shares} of the unlabelled rows" if unlabeled and shares else None)]


def details(training):
    """What the model was fitted to, and what it is made of."""
    labeled = training["rows_labeled"]
    return [
        ("labelled", f"{sum(labeled.values()):,} rows: {show.counted(labeled)}"),
        ("unlabelled", show.unlabelled_rows(training)),
        ("support vectors", show.support_vectors(training)),
        ("KKT violation", show.number(training["violation"])),
    ]
