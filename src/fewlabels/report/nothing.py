"""The findings of a model that doesn't beat chance: the test, and no figure about rows."""

from ..io.models.contents import no_signal
from .contents import Findings
from .page import words


def find(fit):
    """Findings of a fit without signal; None for any other."""
    if no_signal(fit.training) is None:
        return None
    signal = fit.training["signal"]
    area = f"{signal['area']:.2f} ({signal['low']:.2f} to {signal['high']:.2f})"
    answer = [("ROC AUC of held-out rows", area), ("ROC AUC of random scores", "0.5")]
    if "rows_labeled" in fit.training:
        labelled = fit.training["rows_labeled"]
        n = sum(labelled.values()) if isinstance(labelled, dict) else labelled
        answer.append(("Labelled rows", words.count(n)))
    return Findings("", answer, ("", ""), groups=[], rankings=[], rates=[])
