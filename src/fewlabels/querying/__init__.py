"""Which rows to label next: strategies with the call of scikit-activeml's."""

from .base import Strategy
from .central import Central
from .doubt import Diverse, Random, Typical, Uncertain
from .hunting import ExpectedError, LikelyWrong, Positives
from .mixed import Mixed

__all__ = [
    "Central",
    "Diverse",
    "ExpectedError",
    "LikelyWrong",
    "Mixed",
    "Positives",
    "Random",
    "Strategy",
    "Typical",
    "Uncertain",
]
