"""Watch a deployed model: raise an alarm when its rows change, and say what changed."""

from .changes import Change
from .class_shift import ClassShift
from .false_discovery import LORD, SAFFRON
from .features import FeatureChange, PairChange
from .monitor import Monitor, Update

__all__ = [
    "LORD",
    "SAFFRON",
    "Change",
    "ClassShift",
    "FeatureChange",
    "Monitor",
    "PairChange",
    "Update",
]
