"""What a fit leaves behind: immutable values that are evaluated, saved, shown and exported."""

from .bags import Bag, BaggedFunction, BagsSolution, Isolated, Part
from .classes import ClassCurves, ClassFunctions
from .conformal import Conformal
from .curve import Curve, TwoSidedCurve, agreeing, class_of
from .function import Function
from .late import Late
from .positive_unlabelled import PUEnsembleFit, PUFit, PUSVMFit
from .propensity import PropensityWeights
from .rows import TrainingRows
from .solution import OneClassSolution, Solution

__all__ = [
    "Bag",
    "BaggedFunction",
    "BagsSolution",
    "ClassCurves",
    "ClassFunctions",
    "Conformal",
    "Curve",
    "Function",
    "Isolated",
    "Late",
    "OneClassSolution",
    "PUEnsembleFit",
    "PUFit",
    "PUSVMFit",
    "Part",
    "PropensityWeights",
    "Solution",
    "TrainingRows",
    "TwoSidedCurve",
    "agreeing",
    "class_of",
]
