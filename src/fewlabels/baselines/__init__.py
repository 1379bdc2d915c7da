"""Simple methods of scikit-learn as models: with thresholds, a prior's cut and probabilities.

They are what comparisons compare with. ``fewlabels fit`` delivers one that is clearly better.
"""

from .one_class import OneClassBaseline
from .positive_unlabelled import PUBaseline
from .semi_supervised import SemiSupervisedBaseline

__all__ = ["OneClassBaseline", "PUBaseline", "SemiSupervisedBaseline"]
