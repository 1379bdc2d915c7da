"""The lower bounds that are tested are those that are promised."""

import re
import tomllib


def test_oldest_versions_are_the_lower_bounds(repository):
    with open(repository / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    extras = project["optional-dependencies"]
    promised = {}
    names = ("app", "tables", "models", "plots", "qp", "onnx", "label", "dask", "array-api")
    tested = [text for name in names for text in extras[name] if "fewlabels[" not in text]
    for text in [*project["dependencies"], *tested]:
        name, bound = re.fullmatch(r"([\w-]+)>=([\d.]+)", text).groups()
        promised[name] = bound
    lines = (repository / "requirements" / "oldest.txt").read_text(encoding="utf-8").split("\n")
    found = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert set(found) == set(promised)
    for name, bound in promised.items():
        padded = [*bound.split("."), "0", "0"][:3]
        assert found[name].split(".") == padded, f"{name}>={bound} and {name}=={found[name]}"
