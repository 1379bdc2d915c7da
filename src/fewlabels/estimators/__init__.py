"""Estimators with scikit-learn's interface."""

from .one_class import OneClassSVM
from .svdd import SVDD

__all__ = ["SVDD", "OneClassSVM"]
