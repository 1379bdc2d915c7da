"""The first picture of a report."""

from ...contents import Findings
from ..elements import Html
from .histograms import draw_score_overview
from .rates import draw_class_overview


def draw_overview(findings: Findings) -> Html | None:
    """Draw the rates of classes, or the scores of rows; None if there are neither."""
    if findings.classes:
        return draw_class_overview(findings.classes)
    groups = [group for group in findings.groups if group.in_overview and len(group.scores)]
    return draw_score_overview(groups, findings.sides) if groups else None
