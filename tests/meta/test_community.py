"""Files that people expect from a project they can join."""

import re

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
    for name in ("bug", "feature"):
        path = repository / ".github" / "ISSUE_TEMPLATE" / f"{name}.yml"
        template = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert {"name", "description", "body"} <= set(template)
