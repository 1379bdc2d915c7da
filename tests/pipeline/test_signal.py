"""What a training says of a table whose columns tell nothing."""

import json

import numpy as np
import pandas as pd
import pytest
from outcomes import fit_outcome


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("names", [["p"], ["p", "q"], []], ids=["pile", "classes", "normal"])
def test_noise_is_said_to_be_noise(names, rng):
    table = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    if names:
        labels = np.full(400, "", dtype=object)
        labels[:200] = np.resize(names, 200)
        table["t"] = labels
    found = fit_outcome(table, "t" if names else None, time_budget=0)
    told = found.facts["signal"]
    if not names:
        assert found.evidence.tests is None and told is None
        return
    signal = found.evidence.tests.signal
    assert signal.outcome == "no signal" and signal.labels == 200
    assert signal.low < 0.5 < signal.high < 0.7
    assert json.loads(json.dumps(told)) == told
    assert signal._asdict().items() <= told.items() and "headline" in told
