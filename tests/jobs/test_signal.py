"""What a training says of a table whose columns tell nothing."""

import json

import numpy as np
import pandas as pd
import pytest

from fewlabels.jobs.training.train import train


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", [["p"], ["p", "q"], []], ids=["pile", "classes", "normal"])
def test_noise_is_said_to_be_noise(names, rng):
    table = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd"))
    if names:
        labels = np.full(200, "", dtype=object)
        labels[:30] = np.resize(names, 30)
        table["t"] = labels
    found = train(table, "t" if names else None, time_budget=0)
    told = found.metadata["training"]["signal"]
    if not names:
        assert found.signal is None and told is None
        return
    assert not found.signal.found and found.signal.labels == 30
    assert found.signal.low < 0.5 < found.signal.high
    assert json.loads(json.dumps(told)) == told
    assert found.signal._asdict().items() <= told.items() and "headline" in told
