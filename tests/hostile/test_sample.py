"""A sample of the hostile cases, and that their judge sees what is wrong."""

import tempfile
import warnings

import numpy as np
import pytest

from fewlabels import S3VM, SVDD, OneClassSVM
from hostile import machines, sequences
from hostile.run import AREAS, make_case, run_case
from hostile.verdict import Wrong, judge, require

# First seed and number of cases: a few seconds each.
SAMPLE = {
    "classes": (0, 30),
    "sequences": (0, 10),
    "models": (0, 20),
    "files": (0, 8),
    "commands": (0, 8),
    "attacks": (0, 8),
    "units": (0, 60),
    "forks": (0, 4),
    "replacing": (0, 3),
    "blanks": (0, 12),
    "graphs": (1, 10),
    "leaks": (0, 12),
    "unseen": (0, 3),
    "far rows": (0, 12),
}


@pytest.mark.parametrize("area", list(AREAS))
def test_sample(area, tmp_path, monkeypatch):
    # What other workers leave among temporary files is not what a case leaves.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    first, count = SAMPLE[area]
    wrong = []
    for seed in range(first, first + count):
        accident = any(word in make_case(area, seed)[0] for word in ("flips", "cut", "noise"))
        if area == "models" and not accident:  # forged ones are for the whole suite
            continue
        described, verdict, _ = run_case(area, seed)
        if verdict.kind == "wrong":
            wrong.append(f"{area} {seed}: {described}: {verdict.text}")
    assert not wrong, "\n".join(wrong)


def test_cases_are_decided_by_their_seed():
    for area in AREAS:
        shown = [make_case(area, seed)[0] for seed in range(40)]
        again = [make_case(area, seed)[0] for seed in range(40)]
        assert [s.split(" at 0x")[0] for s in shown] == [s.split(" at 0x")[0] for s in again]
        assert len(set(shown)) > 20


def test_the_judge_tells_sentences_from_what_comes_from_inside():
    def bare():
        np.ones(3) + np.ones(2)

    def leaking():
        np.float64(1e300) * np.float64(1e300)

    def advice():
        warnings.warn("few rows; pass more of them", UserWarning, stacklevel=1)

    def sentence():
        SVDD().fit([[np.nan]])

    verdicts = [judge(f).kind for f in (bare, leaking, advice, sentence, lambda: None)]
    assert verdicts == ["wrong", "wrong", "warned", "refused", "right"]
    assert judge(lambda: require(False, "why")) == ("wrong", "why")
    assert judge(lambda: np.seterr(over="ignore") and None).kind == "wrong"
    with np.errstate(all="ignore"):  # as something before may have left it
        assert judge(leaking).kind == "wrong"


def test_the_judge_sees_wrong_answers():
    X = np.random.default_rng(0).normal(size=(40, 2))
    machine = OneClassSVM(nu=0.3).fit(X)
    machines.check_fitted(machine, X)
    machines.check_certificate(machine, X, np.ones(40))
    with pytest.raises(Wrong, match=r"objective_ is not|optimality"):
        machines.check_certificate(machine, X[::-1] + X, np.ones(40))
    machine.decision_function = lambda X: np.full(len(X), np.nan)
    with pytest.raises(Wrong, match="not finite"):
        machines.check_fitted(machine, X)


def test_the_judge_knows_machines_of_several_classes():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 2)) + 4.0 * np.eye(3)[y, :2]
    y[::4] = -1
    machine = S3VM(probability="sigmoid").fit(X, y)
    machines.check_fitted(machine, X)
    f, p = machine.decision_function(X), machine.predict_proba(X)
    for name, answer, what in [
        ("decision_function", f[:, 0], "scores of shape"),
        ("decision_function", f[:, :2], "scores of shape"),
        ("predict", machine.classes_[f.argmin(axis=1)], "column of the largest"),
        ("predict_proba", p[:, :2], "probabilities of shape"),
        ("predict_proba", p[:, ::-1], "do not follow"),
        ("predict_proba", 0.9 * p, "do not sum"),
    ]:
        setattr(machine, name, lambda X, answer=answer: answer)
        with pytest.raises(Wrong, match=what):
            machines.check_fitted(machine, X)
        delattr(machine, name)


def test_the_judge_sees_rows_that_are_lost():
    sequence = sequences.Sequence(0)
    sequence.program, sequence.seeds = ["add"], [0]
    sequence._added = lambda X, y: None
    with pytest.raises(Wrong, match="rows where"):
        sequence()
