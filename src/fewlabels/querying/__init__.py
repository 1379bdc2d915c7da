"""Which rows to label next: strategies with the call of scikit-activeml's."""

from .base import Strategy
from .central import Central
from .mixed import Mixed
from .targeted import ExpectedError, LikelyWrong, Positives
from .uncertainty import Diverse, Random, Typical, Uncertain

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
