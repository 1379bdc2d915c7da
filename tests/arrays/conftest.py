import importlib
import os

import numpy as np
import pytest
import scipy
import sklearn


class Library:
    """A library of arrays: arrays of NumPy there, and back."""

    def __init__(self, name):
        self.name, self.xp = name, importlib.import_module(name)
        # A device whose arrays NumPy does not take by itself, where there is one.
        self.device = self.xp.Device("device1") if name == "array_api_strict" else "cpu"

    def there(self, values):
        return self.xp.asarray(np.array(values), device=self.device)

    def back(self, array):
        if self.name == "array_api_strict":
            assert str(array.device) == str(self.device)
            return np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))
        assert isinstance(array, self.xp.Tensor)
        return array.numpy()


@pytest.fixture(params=["array_api_strict", "torch"])
def library(request, monkeypatch):
    """Scikit-learn dispatches to the array API, and this library is installed."""
    pytest.importorskip(request.param)
    pytest.importorskip("array_api_compat")
    if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 14):
        pytest.skip("scikit-learn dispatches with scipy>=1.14 only")
    monkeypatch.setitem(os.environ, "SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield Library(request.param)


@pytest.fixture
def strict(monkeypatch):
    """The namespace that checks what the standard says, dispatched to."""
    xp = pytest.importorskip("array_api_strict")
    pytest.importorskip("array_api_compat")
    if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 14):
        pytest.skip("scikit-learn dispatches with scipy>=1.14 only")
    monkeypatch.setitem(os.environ, "SCIPY_ARRAY_API", "1")
    with sklearn.config_context(array_api_dispatch=True):
        yield xp
