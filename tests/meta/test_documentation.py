"""Docstrings say everything, and what documents show works."""

import ast
import doctest
import importlib
import importlib.util
import inspect
import os
import re
import tomllib
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from quick import examples
from tests.meta.prose import GENERATED, pages

import fewlabels
from fewlabels.tables.formats.registry import matrices, tables, writable

PARTS = [
    "fewlabels",
    "fewlabels.kernels",
    "fewlabels.kernels.operators",
    "fewlabels.problem",
    "fewlabels.solvers",
    "fewlabels.class_prior",
    "fewlabels.metrics",
    "fewlabels.model_selection",
    "fewlabels.inspection",
    "fewlabels.onnx",
    "fewlabels.report",
    "fewlabels.pipeline",
    "fewlabels.labelling",
    "fewlabels.querying",
    "fewlabels.monitoring",
]
EXPECTED_PUBLIC = ["PUSVM", "S3VM", "SVDD", "OneClassSVM", "PUEnsemble", "SVDDEnsemble"]
EXPECTED_PUBLIC += ["TableEncoder", "__version__", "fit_table", "label", "load"]
EXPECTED_PUBLIC += ["show_versions", "stored_rows", "tune"]


# -- the public names ------------------------------------------------------------------


def test_public_names():
    assert fewlabels.__all__ == EXPECTED_PUBLIC
    for name in fewlabels.__all__:
        assert hasattr(fewlabels, name)
    assert dir(fewlabels) == sorted(EXPECTED_PUBLIC)
    namespace = {}
    exec("from fewlabels import *", namespace)
    assert set(EXPECTED_PUBLIC) <= set(namespace)
    with pytest.raises(AttributeError, match="no attribute 'SVD'"):
        _ = fewlabels.SVD


@pytest.mark.parametrize("part", PARTS)
def test_all_is_sorted_complete_and_true(part):
    module = importlib.import_module(part)
    names = module.__all__
    assert len(set(names)) == len(names)
    for name in names:
        assert hasattr(module, name), f"{part}.{name}"


def test_version_has_one_value(repository):
    with open(repository / "pyproject.toml", "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    assert version == fewlabels.__version__
    citation = (repository / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {version}\n" in citation


# -- docstrings --------------------------------------------------------------------------


def public_objects():
    """Public classes and functions by qualified name, with their public methods."""
    for part in PARTS:
        module = importlib.import_module(part)
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{part}.{name}", value


OBJECTS = dict(public_objects())
ESTIMATORS = {"fewlabels.SVDD": fewlabels.SVDD, "fewlabels.OneClassSVM": fewlabels.OneClassSVM}


def section(docstring, title):
    """Text of one numpydoc section, or None."""
    lines = inspect.cleandoc(docstring).split("\n")
    for i in range(len(lines) - 1):
        if lines[i].strip() == title and set(lines[i + 1].strip()) == {"-"}:
            body = []
            for j in range(i + 2, len(lines)):
                after = lines[j + 1].strip() if j + 1 < len(lines) else ""
                if lines[j] and not lines[j][0].isspace() and after and set(after) == {"-"}:
                    break
                body.append(lines[j])
            return "\n".join(body)
    return None


def documented(docstring, title):
    """Names in a section, in order; ``a, b : type`` counts as two."""
    body = section(docstring, title)
    if body is None:
        return []
    names = []
    for line in body.split("\n"):
        if line and not line[0].isspace():
            head = line.split(" : ")[0]
            names += [name.strip().lstrip("*") for name in head.split(",")]
    return names


def signature_names(function):
    return [n for n in inspect.signature(function).parameters if n not in ("self", "cls")]


@pytest.mark.parametrize("name", OBJECTS)
def test_every_public_object_has_a_docstring(name):
    value = OBJECTS[name]
    assert value.__doc__ and len(value.__doc__.split()) >= 3, f"{name} says nothing"
    first = inspect.cleandoc(value.__doc__).split("\n\n")[0]
    assert first.rstrip().endswith((".", "``.", "?")), f"{name}: {first!r}"


# Parameters that mean the same everywhere need no words of their own.
UNDERSTOOD = {"n_jobs", "kernel", "changes", "args", "kwargs"}


@pytest.mark.parametrize("name", OBJECTS)
def test_parameter_sections_name_the_parameters(name):
    value = OBJECTS[name]
    doc = value.__doc__
    if inspect.isclass(value) and issubclass(value, Enum | Exception):
        return
    if inspect.isclass(value) and value.__init__ is object.__init__:
        return
    wanted = signature_names(value)
    told = documented(doc, "Parameters")
    assert not set(told) - set(wanted), f"{name} documents what it does not take"
    # Docstrings list parameters in the order of importance, each once.
    assert len(set(told)) == len(told), f"{name}: documents a parameter twice"
    missing = [p for p in wanted if not re.search(rf"\b{p}\b", doc)]
    if "Parameters as :class:" not in doc:
        assert not set(missing) - UNDERSTOOD, f"{name}: {missing}"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_document_everything(name):
    cls = ESTIMATORS[name]
    doc = cls.__doc__
    parameters = documented(doc, "Parameters")
    assert sorted(parameters) == sorted(signature_names(cls.__init__))
    # Defaults in the text are those of the signature.
    for parameter in inspect.signature(cls.__init__).parameters.values():
        if parameter.name == "self":
            continue
        text = re.search(rf"^{parameter.name} : .*?default=(\S+)$", doc_lines(doc), re.MULTILINE)
        assert text, f"{name}: {parameter.name} has no default"
        assert ast.literal_eval(text.group(1)) == parameter.default, f"{name}: {parameter.name}"
    for needed in ("Attributes", "Notes", "References", "Examples"):
        assert section(doc, needed), f"{name} has no section {needed}"
    rng = np.random.default_rng(0)
    fitted = cls().fit(rng.normal(size=(40, 3)))
    told = set(documented(doc, "Attributes"))
    there = {a for a in vars(fitted) if a.endswith("_") and not a.startswith("_")}
    assert there <= told, there - told
    for attribute in told - {"feature_names_in_", "coef_"}:
        assert hasattr(fitted, attribute), f"{name}.{attribute} is documented and missing"


def doc_lines(doc):
    """Docstring with continued lines joined."""
    return re.sub(r"\\\n\s*|,\s*\n\s+(?=default)", " ", inspect.cleandoc(doc))


@pytest.mark.parametrize("name", ESTIMATORS)
def test_methods_of_estimators_document_their_parameters(name):
    cls = ESTIMATORS[name]
    for method_name in ("fit", "predict", "decision_function", "score_samples"):
        method = getattr(cls, method_name)
        told = documented(method.__doc__, "Parameters")
        assert told == signature_names(method), f"{name}.{method_name}"
        assert section(method.__doc__, "Returns"), f"{name}.{method_name}"


def test_same_parameter_same_words():
    # What both estimators have is described once, in the same words.
    def entries(doc):
        body = section(doc, "Parameters")
        parts = re.split(r"^(?=\S)", body, flags=re.MULTILINE)
        return {part.split(" : ")[0]: part.strip() for part in parts if part.strip()}

    one, two = (entries(cls.__doc__) for cls in ESTIMATORS.values())
    same = {"degree", "gamma", "cache_size", "n_jobs", "random_state", "verbose"}
    for name in same & set(one) & set(two):
        first = [text.split("\n")[0].split("default")[0] for text in (one[name], two[name])]
        assert first[0] == first[1], name


def modules_with_examples():
    """Names of the modules whose docstrings hold examples."""
    source = Path(fewlabels.__file__).parent
    paths = (p for p in sorted(source.rglob("*.py")) if ">>> " in p.read_text(encoding="utf-8"))
    return [
        ".".join(["fewlabels", *path.relative_to(source).with_suffix("").parts]) for path in paths
    ]


@pytest.mark.parametrize("name", modules_with_examples())
def test_docstring_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


# -- documents -----------------------------------------------------------------------------


def test_pages_are_short():
    short = [path for path in pages() if path.name != "benchmarks.md"]
    texts = {path.name: path.read_text(encoding="utf-8").split() for path in short}
    words = {name: sum(1 for w in text if re.search(r"\w", w)) for name, text in texts.items()}
    assert {name: n for name, n in words.items() if n > 1800} == {}


def test_lines_of_documents_are_wrapped(repository):
    long = []
    for document in [*repository.glob("*.md"), *repository.glob("*/*.md"), *pages()]:
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.S | re.M)
        long += [
            f"{document.name}: {line}"
            for line in text.split("\n")
            if len(line) > 100 and "](" not in line and not line.startswith(("|", "    "))
        ]
    assert not long, "\n".join(long)


def test_links_between_documents_lead_somewhere(repository):
    generated = tuple(repository / "docs" / folder for folder in GENERATED)
    for document in [*repository.glob("*.md"), *pages()]:
        text = document.read_text(encoding="utf-8")
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if not target.startswith(("http:", "https:", "mailto:")):
                path = Path(os.path.normpath(document.parent / target))
                assert path.exists(), f"{document.name}: {target}"
                # Nor to pages that only the site has, though they may lie here after a build.
                assert not any(map(path.is_relative_to, generated)), f"{document.name}: {target}"


def test_names_that_documents_mention_exist(repository):
    sources = "\n".join(
        path.read_text(encoding="utf-8")
        for folder in ("src", "tests/reference")
        for path in (repository / folder).rglob("*.py")
    )
    foreign = {"KeyboardInterrupt", "ConvergenceWarning", "OMP_NUM_THREADS", "PUSVM", "S3VM"}
    foreign |= {"TabICLClassifier", "TabPFNClassifier"}
    foreign |= {"all_rows", "check_estimator", "set_output", "solve_name", "CalibrationDisplay"}
    for document in [repository / "README.md", *pages()]:
        if document.name == "migrate.md":  # names of other libraries
            continue
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.S | re.M)
        for quoted in re.findall(r"`([^`]+)`", text):
            if "::" in quoted:  # a test, see test_papers.py
                continue
            for name in re.findall(
                r"\b(?:[A-Z][a-z]+[A-Z]\w+|[a-z]+(?:_[a-z]+)*_[a-z]{2,})\b", quoted
            ):
                known = name in foreign or re.search(rf"\b{name}", sources)
                known = known or any((repository / "benchmarks").rglob(f"{name}.py"))
                known = known or (repository / "core" / f"{name}.py").exists()
                assert known, f"{document.name} mentions {name}"


def test_make_targets_that_documents_name_exist(repository):
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, flags=re.MULTILINE))
    for document in ("README.md", "CONTRIBUTING.md"):
        text = (repository / document).read_text(encoding="utf-8")
        named = set(re.findall(r"`make ([a-z]+)`|^make ([a-z]+)", text, flags=re.MULTILINE))
        assert {a or b for a, b in named} <= targets


def test_every_example_is_listed(repository):
    listed = (repository / "examples" / "README.rst").read_text(encoding="utf-8")
    assert examples() and all(name in listed for name in examples())


def test_formats_of_files_are_listed(repository):
    page = (repository / "docs/reference/tables.md").read_text(encoding="utf-8")
    _, table, scores, _ = page.split("## Files")[1].split("\n\n", 3)
    names, packed = set(), set()
    for row in table.splitlines():
        found = set(re.findall(r"`(\.\w+)`", row.split("|")[1]))
        names |= found - {".gz"}
        packed |= {f"{name}.gz" for name in found - {".gz"} if ".gz" in found}
    known = [*tables(), *matrices()]
    assert names == {name for each in known for name in each.extensions}
    assert names | packed == {name for each in known for name in each.all_extensions}
    assert re.findall(r"`(\.\w+)`", scores) == [each.extensions[0] for each in writable()]
