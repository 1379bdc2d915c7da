"""The demo, on both data sets, without its timing part."""

import json

import pandas as pd
import pytest

from fewlabels.cli.demo.run import compare_libraries, make_moved_images
from fewlabels.tables.models.files import load_model


@pytest.mark.parametrize(
    ("data", "rows", "auc"), [("digits", 116, 0.97), ("breast-cancer", 238, 0.94)]
)
def test_demo(run, tmp_path, data, rows, auc):
    folder = tmp_path / "new" / "folder"
    result = run("demo", "--quick", "--data", data, "-o", folder)
    assert result.code == 0, result.err
    for words in ("AUC", "radius", "duality gap", "scikit-learn OneClassSVM", "$ fewlabels fit"):
        assert words in result.out
    figures = json.loads((folder / "figures.json").read_text())
    ours, peer = figures["fewlabels OneClassSVM"], figures["scikit-learn OneClassSVM"]
    assert figures["fewlabels SVDD"]["auc"] > auc
    assert ours["auc"] == pytest.approx(peer["auc"], abs=2e-3)
    assert ours["objective"] == pytest.approx(peer["objective"], rel=1e-4)
    assert load_model(folder / "svdd.skops")[2]["training"]["rows"] == rows
    assert "score" in pd.read_csv(folder / "svdd-scores.csv", nrows=1).columns
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_timing(capsys):
    found = compare_libraries(make_moved_images()[::20], nu=0.1)
    ours, peer = found["fewlabels"], found["scikit-learn"]
    assert ours["objective"] == pytest.approx(peer["objective"], rel=1e-4)
    assert "scikit-learn" in capsys.readouterr().out


def test_folder_that_is_a_file(run, tmp_path):
    (tmp_path / "out").write_text("old")
    result = run("demo", "-o", tmp_path / "out")
    assert result.code == 2
    assert "is a file; name a folder" in result.err
