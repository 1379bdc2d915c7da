"""Estimators with scikit-learn's interface."""

from .one_class import OneClassSVM
from .pu import PUSVM
from .svdd import SVDD

__all__ = ["PUSVM", "SVDD", "OneClassSVM"]
