import importlib
import os

import numpy as np
import pytest
import scipy
import sklearn


def device_of(name, xp):
    """A device whose arrays NumPy does not take by itself, where there is one."""
    if name == "array_api_strict":
        return xp.Device("device1")
    if name == "torch":
        return "cuda" if xp.cuda.is_available() else "cpu"
    try:
        return xp.cuda.Device(0) if xp.cuda.is_available() else None
    except xp.cuda.runtime.CUDARuntimeError:
        return None


class Library:
    """A library of arrays: arrays of NumPy there, and back."""

    def __init__(self, name):
        self.name, self.xp = name, importlib.import_module(name)
        self.device = device_of(name, self.xp)

    def there(self, values):
        if self.name == "cupy":
            return self.xp.asarray(np.array(values))
        return self.xp.asarray(np.array(values), device=self.device)

    def back(self, array):
        if self.name == "array_api_strict":
            assert str(array.device) == str(self.device)
            return np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))
        if self.name == "cupy":
            assert isinstance(array, self.xp.ndarray)
            return array.get()
        assert isinstance(array, self.xp.Tensor) and array.device.type == self.device
        return array.cpu().numpy()


@pytest.fixture(params=["array_api_strict", "torch", "cupy"])
def library(request, monkeypatch):
    """Scikit-learn dispatches to the array API, and this library is installed."""
    pytest.importorskip(request.param)
    pytest.importorskip("array_api_compat")
    if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 14):
        pytest.skip("scikit-learn dispatches with scipy>=1.14 only")
    monkeypatch.setitem(os.environ, "SCIPY_ARRAY_API", "1")
    one = Library(request.param)
    if one.device is None:
        pytest.skip("CuPy needs a GPU")
    with sklearn.config_context(array_api_dispatch=True):
        yield one


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
