"""What callers do with their arrays after a fit changes no machine and no update."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from fewlabels import PUSVM, S3VM, SVDD, OneClassSVM

MACHINES = {
    "svdd": lambda **kw: SVDD(C=0.2, **kw),
    "one-class": lambda **kw: OneClassSVM(nu=0.2, **kw),
    "pu": lambda **kw: PUSVM(prior=0.3, threshold="risk", **kw),
    "s3vm": lambda **kw: S3VM(unlabeled=None, **kw),
}
KERNELS = {
    "rbf": dict(gamma=0.3),
    "linear": dict(kernel="linear"),
    "function": dict(
        kernel=lambda X, Z: np.asarray((X @ Z.T).todense() if sp.issparse(X) else X @ Z.T)
    ),
}


def spoil(array):
    (array.data if sp.issparse(array) else array)[:] = 3.0


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("machine", MACHINES)
def test_updates_know_the_rows_as_they_were(rng, machine, kernel, storage):
    X = rng.normal(size=(60, 3)) + np.tile([[1.0], [-1.0]], (30, 1))
    y = np.tile([1.0, -1.0], 30)
    y[10:55] = 0.0 if machine == "pu" else np.nan
    y = np.maximum(y, 0.0) if machine == "pu" else y
    weight = np.ones(60)

    def followed(spoiled):
        """A machine that gets rows twice, and decisions after every step."""
        model = MACHINES[machine](**KERNELS[kernel])
        labelled = machine in ("pu", "s3vm")
        arrays = [storage(part.copy()) for part in (X[:50], X[50:55], X[55:])]
        given, w = (y[:50].copy(), y[50:55].copy(), y[55:].copy()), weight[:50].copy()
        model.fit(arrays[0], given[0] if labelled else None, sample_weight=w)
        for k in (1, 2):
            for array in (arrays[k - 1], given[k - 1], w) if spoiled else ():
                spoil(array)
            yield model.decision_function(X)
            model.partial_fit(arrays[k], given[k] if labelled else None)
        with pytest.raises(ValueError, match="read-only"):
            spoil(model.training_rows_.X)
        model.forget([3])
        yield model.decision_function(X)

    for whole, hurt in zip(followed(False), followed(True), strict=True):
        assert np.array_equal(whole, hurt)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_loaded_machine_owns_its_rows(rng, machine):
    X = rng.normal(size=(40, 3)) + np.repeat([[1.0], [-1.0]], 20, axis=0)
    y = None
    if machine in ("pu", "s3vm"):
        y = np.where(np.arange(40) < 20, 1, 0)
        y = y.astype(float)
        y[5:35] = 0 if machine == "pu" else np.nan
    model = MACHINES[machine]().fit(X, y)
    buffers = []
    saved = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    memory = [bytearray(buffer.raw()) for buffer in buffers]
    loaded = pickle.loads(saved, buffers=memory)
    places = [np.frombuffer(part, np.uint8) for part in memory]
    for model_now in (model, loaded):
        if model_now is loaded:
            rows = loaded.training_rows_.X
            assert not any(np.shares_memory(rows, place) for place in places)
        model_now.partial_fit(X[:3] + 0.1, None if y is None else y[:3])
    assert np.array_equal(model.decision_function(X), loaded.decision_function(X))
