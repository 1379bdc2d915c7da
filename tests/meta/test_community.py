"""Files that people expect from a project they can join."""

import re

import numpy as np
import pytest

import fewlabels


def test_links_of_llms_txt_lead_somewhere(repository):
    text = (repository / "llms.txt").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) > 10
    assert [target for target in targets if not (repository / target).is_file()] == []


def test_the_citation_names_this_version(repository):
    text = (repository / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (\S+)$", text, flags=re.MULTILINE)[1] == fewlabels.__version__


def test_issue_templates_can_be_read(repository):
    yaml = pytest.importorskip("yaml")
    for name in ("bug", "feature", "question"):
        path = repository / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml"
        template = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert {"name", "description", "body"} <= set(template)
    config = repository / ".github" / "ISSUE_TEMPLATE" / "config.yml"
    assert yaml.safe_load(config.read_text(encoding="utf-8")) == {"blank_issues_enabled": False}


def test_the_worked_example_of_contributing_works(repository, rng):
    """The class and the test that CONTRIBUTING.md shows, run as they are."""
    from fewlabels import S3VM
    from fewlabels.querying import uncertainty

    text = (repository / "CONTRIBUTING.md").read_text(encoding="utf-8")
    shown_test, shown_class = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    exec(f"{shown_class}\n\n{shown_test}", space := {**vars(uncertainty), "np": np})
    y = np.full(30, -1)
    y[[0, 29]] = 0, 1
    X = np.sort(rng.normal(size=(30, 2)), axis=0)
    space["test_farthest_rows_are_far_from_all_labels"]((X, y, None, S3VM().fit(X, y)))
