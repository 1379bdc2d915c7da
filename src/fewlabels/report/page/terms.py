"""Words of the report for people who meet them the first time."""

_ALWAYS = [
    (
        "Interval",
        "A 90 % confidence interval: it contains the true value in nine of ten cases, if the "
        "stated assumptions hold. Few rows give wide intervals.",
    ),
    (
        "Held-out rows",
        "Labelled rows that a model wasn't trained on. Its errors on them predict its errors "
        "on new rows. Its errors on training rows don't.",
    ),
    (
        "Support vectors",
        "The training rows that define the boundary. Without the other rows, the boundary "
        "would be the same.",
    ),
    (
        "Kernel",
        "A function that measures how similar two rows are. The width of the Gaussian kernel "
        "(rbf) is set by gamma: the larger gamma, the closer two rows must be to count as "
        "similar.",
    ),
]


def terms(task):
    """Words that a report of a task uses, with what they mean."""
    return [*task.terms, *_ALWAYS]
