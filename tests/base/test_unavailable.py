"""Methods that settings take away: the error itself says why, and what to do."""

import inspect
import pickle

import numpy as np
import pytest

from fewlabels import PUSVM, S3VM, SVDD


@pytest.mark.parametrize("method", ["predict_proba", "predict_log_proba"])
def test_the_message_says_how_to_get_probabilities(method):
    for machine in (S3VM(probability=None), PUSVM(probability=None)):
        with pytest.raises(AttributeError, match=r"has no probabilities.* pass probability='iso"):
            getattr(machine, method)
        assert not hasattr(machine, method)
    assert hasattr(S3VM(probability="sigmoid"), method)


def test_the_message_says_why_there_are_no_updates():
    with pytest.raises(AttributeError, match="loss='ramp' has many local minima"):
        _ = PUSVM(loss="ramp").partial_fit


def test_methods_of_a_class_are_functions():
    """What documentation, pickles and scikit-learn's request for metadata look at."""
    assert "probabilities of the classes" in S3VM.predict_proba.__doc__
    assert list(inspect.signature(S3VM.predict_proba).parameters) == ["self", "X"]
    assert "sample_weight" in inspect.signature(SVDD().partial_fit).parameters
    model = SVDD().fit(np.arange(12.0).reshape(6, 2))
    assert pickle.loads(pickle.dumps(model.partial_fit)).__self__.n_features_in_ == 2
