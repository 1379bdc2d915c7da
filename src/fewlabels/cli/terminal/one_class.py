"""Lines about models of one class."""

from . import show


def answer(training):
    """What was found."""
    counted = training["rows_counted"]
    sample = "" if counted == training["rows"] else f" of {counted:,} counted"
    return [
        ("training rows outside", show.share(training["rows_outside"], counted) + sample),
        ("threshold", _threshold(training)),
    ]


def details(training):
    """What the model was fitted to, and what it is made of."""
    return [
        ("support vectors", show.support_vectors(training)),
        ("radius", show.number(training["radius"])),
    ]


def _threshold(training):
    rate = training.get("target_fpr")
    if rate is None:
        return None
    n = training["calibration_rows"]
    if n + 1 < 1 / rate:
        return f"flags no row: {n:,} rows are too few for a rate of {show.percent(rate)}"
    rows = f"{n:,} rows held out from training"
    if n == training["rows"]:
        rows = f"all {n:,} rows, each scored as if it were new"
    return f"{show.percent(rate)} of new normal rows expected outside; calibrated on {rows}"
