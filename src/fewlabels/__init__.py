"""Learning when labels are scarce, exactly and at scale."""

from .estimators import SVDD, OneClassSVM

__version__ = "0.1.0"

__all__ = ["SVDD", "OneClassSVM", "__version__"]
