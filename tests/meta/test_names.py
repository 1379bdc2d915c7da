"""Names say what a thing is, and docstrings what a function does."""

import ast
import re

import pytest

# Not to be used as a name of a function or class, with or without underscores, and what to use.
AVOID = {
    "owe owed debt pay": "count_pending_updates, pending_columns, apply_pending",
    "ask tell told hear heard listening": "call_all, warn_about, report, capture_warnings",
    "rest settle settled settles snap snapped": "reset_to_feasible, set_to_minimiser, round",
    "met meet may_meet look go find_out": "evaluate_rows, measure, run",
    "of one own those ours theirs there here": "name the thing",
    "shown shown_there hidden known kept held left gone": "a noun, or a verb",
    "found stated solved prepared fitted encoded described taken learnt measured": "a noun",
    "scored ranked refused delivered estimated isolated bagged drawn seen unseen": "a noun",
    "beside against over fresh beginning leaving joining wanted followed": "a noun, or a verb",
    "caught_up at_rest set_off withdraw put_in take_out aim late outside": "what is done",
    "hurry in_haste judge verdict led_by deliver instead_of unhelpful helped": "what is done",
    "hunts hunted hunting let_some_wait withheld is_worn virtual_lack": "what is done",
    "why notice absorbs room lined_up handed_over is_sound receive": "what is done",
    "machine machines": "model, estimator, method",
}
WORDS = {word: instead for words, instead in AVOID.items() for word in words.split()}
# Names that have one of these words for a reason: where, name, why.
ALLOWED = {
    ("_util/deadline.py", "left"),  # deadline.left(): the seconds that are left
}
RIDDLE = re.compile(r"(What|Which|Where|Whether|The same)\b")
MAX_PARAMETERS = 8
# Functions with more, whose parameters are options of users: public functions and estimators,
# and commands, where each parameter is an option of the command line.
LONG_SIGNATURES = {
    ("adapters/river.py", "__init__"),
    ("class_prior/estimate.py", "estimate_prior"),
    ("cli/explain.py", "explain"),
    ("cli/fit.py", "fit"),
    ("cli/label.py", "label"),
    ("model_selection/compare.py", "compare_with_baselines"),
    ("model_selection/tune.py", "tune"),
    ("monitoring/monitor.py", "__init__"),
}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def trees(repository):
    root = repository / "src" / "fewlabels"
    return {
        path.relative_to(root).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.py"))
    }


def _definitions(trees, kinds):
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, kinds):
                yield path, node


def _parameters(node):
    given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [argument.arg for argument in given if argument.arg not in ("self", "cls")]


def test_names_are_terms(trees):
    found = [
        f"{path}:{node.lineno}: {node.name} (use: {WORDS[node.name.strip('_').lower()]})"
        for path, node in _definitions(trees, FUNCTIONS | ast.ClassDef)
        if node.name.strip("_").lower() in WORDS and (path, node.name) not in ALLOWED
    ]
    assert not found, "\n".join(found)


def test_models_are_not_machines(trees):
    found = [
        f"{path}:{node.lineno}: {node.name}"
        for path, node in _definitions(trees, FUNCTIONS)
        if "machine" in _parameters(node)
    ]
    assert not found, "\n".join(found)


def test_docstrings_begin_with_what_is_done(trees):
    found = []
    for path, node in _definitions(trees, FUNCTIONS | ast.ClassDef):
        text = ast.get_docstring(node) or ""
        if RIDDLE.match(text):
            found.append(f"{path}:{node.lineno}: {node.name}: {text.splitlines()[0]}")
    assert not found, "\n".join(found)


def test_constants_are_assigned_one_by_one(trees):
    found = [
        f"{path}:{node.lineno}"
        for path, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and sum(getattr(name, "id", "").isupper() for name in node.targets[0].elts) > 2
    ]
    assert not found, "\n".join(found)


def test_signatures_are_short(trees):
    found = {
        (path, node.name): node.lineno
        for path, node in _definitions(trees, FUNCTIONS)
        if len(_parameters(node)) > MAX_PARAMETERS
    }
    long = [
        f"{path}:{line}: {name}"
        for (path, name), line in found.items()
        if (path, name) not in LONG_SIGNATURES
    ]
    assert not long, "\n".join(long)
    assert len(trees) == 1 or {*found} == LONG_SIGNATURES  # no exception that isn't needed


def test_signatures_have_types(trees):
    """mypy checks this too; a decorator can hide a function from it."""
    found = [
        f"{path}:{node.lineno}: {node.name}"
        for path, node in _definitions(trees, FUNCTIONS)
        if node.returns is None
        or any(
            argument.annotation is None
            for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            if argument.arg not in ("self", "cls")
        )
    ]
    assert not found, "\n".join(found)


def test_what_is_found():
    tree = ast.parse(
        "A, B, C = 1, 2, 3\ndef _tell(machine):\n    'What is told.'\nclass Kept:\n    pass\n"
        "def add(a, b, c, d, e, f, g, h, i):\n    pass\n"
    )
    trees = {"module.py": tree}
    for test in (
        test_names_are_terms,
        test_models_are_not_machines,
        test_docstrings_begin_with_what_is_done,
        test_constants_are_assigned_one_by_one,
        test_signatures_are_short,
        test_signatures_have_types,
    ):
        with pytest.raises(AssertionError, match=r"module\.py"):
            test(trees)
