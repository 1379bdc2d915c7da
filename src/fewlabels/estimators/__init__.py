"""Estimators with scikit-learn's interface."""

from .one_class import OneClassSVM
from .pu import PUSVM
from .pu_ensemble import PUEnsemble
from .s3vm import S3VM
from .svdd import SVDD
from .svdd_ensemble import SVDDEnsemble

__all__ = ["PUSVM", "S3VM", "SVDD", "OneClassSVM", "PUEnsemble", "SVDDEnsemble"]
