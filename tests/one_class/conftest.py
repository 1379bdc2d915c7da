"""Real data, small, from scikit-learn's own package."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

LOADERS = {
    "iris": load_iris,
    "wine": load_wine,
    "cancer": load_breast_cancer,
    "diabetes": load_diabetes,
    "digits": load_digits,
}


@pytest.fixture(scope="session")
def real_data():
    """Standardised rows of a real set by name, at most 600 of them."""

    def load(name):
        return StandardScaler().fit_transform(LOADERS[name]().data[:600])

    return load


@pytest.fixture
def blob(rng):
    """300 rows of one cloud in four dimensions."""
    return rng.normal(size=(300, 4))


@pytest.fixture
def both_machines():
    """Every estimator of the package with settings that suit ``blob``."""
    from fewlabels import SVDD, OneClassSVM

    return [
        OneClassSVM(nu=0.2),
        SVDD(C=0.5),
        SVDD(slack="linear", nu=0.2),
    ]


def dense(values):
    """An array, whatever the attribute was stored as."""
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


@pytest.fixture(name="dense")
def _dense():
    return dense
