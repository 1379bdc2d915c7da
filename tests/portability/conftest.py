"""Machines with their rows, and graphs that are run."""

import numpy as np
import onnx
import onnxruntime
import pytest

from fewlabels.onnx import to_onnx


class Runner:
    """A graph in onnxruntime: outputs by name."""

    def __init__(self, graph):
        onnx.checker.check_model(graph, full_check=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(graph.SerializeToString(), options)
        self.inputs = {value.name: value.type for value in self.session.get_inputs()}
        self.outputs = [value.name for value in self.session.get_outputs()]

    def __call__(self, rows):
        feed = rows if isinstance(rows, dict) else {"X": rows}
        return dict(zip(self.outputs, self.session.run(None, feed), strict=True))

    def frame(self, frame):
        """Run over a table: a column per input, missing texts as empty ones."""
        types = {"tensor(string)": object, "tensor(float)": np.float32}
        feed = {}
        for name, kind in self.inputs.items():
            column = frame[[name]]
            if kind == "tensor(string)":
                column = column.astype(object).where(column.notna(), "")
            feed[name] = column.to_numpy(types.get(kind, np.float64))
        return self(feed)


@pytest.fixture(scope="session")
def exported():
    """Run a machine or pipeline as a graph: ``exported(model, dtype=..., ...)(rows)``."""
    return lambda model, **options: Runner(to_onnx(model, **options))


@pytest.fixture(scope="session")
def run_graph():
    """Run a graph: ``run_graph(graph)(rows)``."""
    return Runner


@pytest.fixture(scope="session")
def clouds():
    """Two clouds with other widths per column: rows, labels for PU and for semi-supervised."""
    rng = np.random.default_rng(0)
    truth = np.arange(240) % 2
    X = (rng.normal(size=(240, 4)) + 2.0 * truth[:, None] + 2.0) * [1.0, 2.0, 3.0, 0.5]
    positive = np.where((truth == 1) & (rng.random(240) < 0.4), 1, 0)
    few = np.where(rng.random(240) < 0.15, truth, -1)
    few[:4] = truth[:4]
    return X, positive, few
