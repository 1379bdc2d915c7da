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
_BY_SITUATION = {
    "normal": [
        (
            "Score",
            "How far inside the boundary a row lies. Below 0 it is outside. Scores rank "
            "rows; their absolute size has no meaning.",
        ),
        (
            "P-value",
            "The share of normal rows that look at least as strange as this one. One normal "
            "row in twenty has a p-value below 0.05.",
        ),
        (
            "Inside and outside",
            "Rows inside the boundary resemble the training rows. Rows outside don't, for "
            "whatever reason.",
        ),
    ],
    "positive": [
        (
            "Score",
            "Rows above 0 are predicted positive. Scores rank rows; their absolute size has "
            "no meaning.",
        ),
        (
            "Unlabelled rows",
            "Rows whose label is unknown. Some of them are positive, so the model doesn't "
            "treat them as negatives.",
        ),
        (
            "Share expected (prior)",
            "The share of positives among the unlabelled rows. The estimate assumes that the "
            "labelled rows are a random sample of all positives. If only obvious cases were "
            "labelled, it is too low. If no row is clearly negative, it may be too high. The "
            "interval covers neither.",
        ),
    ],
    "classes": [
        (
            "Score",
            "The sign is the side of the boundary, the size the distance from it. Near 0 the "
            "model is uncertain. With several classes, it is the score of the predicted "
            "class.",
        ),
        (
            "Unlabelled rows",
            "Rows without a class. The model puts the boundary where they are rare, so they "
            "improve it too.",
        ),
    ],
}


def terms(situation):
    """Words that a report of this situation uses, with what they mean."""
    return [*_BY_SITUATION[situation], *_ALWAYS]
