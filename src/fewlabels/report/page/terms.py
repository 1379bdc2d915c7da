"""Words of the report for people who meet them the first time."""

_ALWAYS = [
    ("Interval", "Where the true figure lies in nine of ten cases, if what the text assumes is "
     "true. Few rows give wide intervals."),
    ("Held-out rows", "Rows with a known answer that a machine was not trained on. How it does on "
     "them tells how it will do on new rows; how it does on its own training rows does not."),
    ("Support vectors", "The training rows that the boundary is made from. The other rows could "
     "be left out and the boundary would be the same."),
    ("Kernel", "How alike two rows are, as a number. The Gaussian kernel (rbf) has a width, set "
     "by gamma: the larger gamma, the nearer two rows must be to count as alike."),
]  # fmt: skip
_BY_SITUATION = {
    "normal": [
        ("Score", "How far inside the boundary a row lies. Below 0 it is outside. Scores compare "
         "rows; their size has no meaning of its own."),
        ("P-value", "The share of normal rows that look at least as strange as this one. A normal "
         "row has a p-value below 0.05 in one of twenty cases."),
        ("Inside and outside", "Inside the boundary are rows like the training rows. Outside is "
         "what is unlike them, whatever the cause."),
    ],
    "positive": [
        ("Score", "Above 0 a row is marked, below 0 it is not. Scores compare rows; their size "
         "has no meaning of its own."),
        ("Unlabelled rows", "Rows whose label is unknown. The machine does not take them for "
         "negatives: some of them are what is looked for."),
        ("Share expected (prior)", "How many of the unlabelled rows are what is looked for. The "
         "estimate is right if the labelled rows are a random sample of all such rows; if only "
         "the obvious cases were labelled, it is too low. Where the columns tell no row clearly "
         "from the others, it may be too high. Its interval covers neither."),
    ],
    "classes": [
        ("Score", "Which side of the boundary a row lies on, and how far from it. Near 0 the "
         "machine is not certain. Of several classes it is that of the class that a row got, "
         "which has the largest."),
        ("Unlabelled rows", "Rows without a class. The machine lays the boundary where few of "
         "them are, and so learns from them, too."),
    ],
}  # fmt: skip


def terms(situation):
    """Words that a report of this situation uses, with what they mean."""
    return [*_BY_SITUATION[situation], *_ALWAYS]
