"""Imports point downward, and Numba is reached through one door."""

import ast
import tomllib

import pytest


def test_import_contracts(repository, monkeypatch, capsys):
    from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

    monkeypatch.chdir(repository)
    status = lint_imports(config_filename="pyproject.toml", no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


def test_every_part_has_its_layer(repository, trees):
    # A new folder or file at the top must be given a place in the order.
    with open(repository / "pyproject.toml", "rb") as file:
        tool = tomllib.load(file)["tool"]["importlinter"]
    (layers,) = [c["layers"] for c in tool["contracts"] if c["type"] == "layers"]
    ordered = {name.removeprefix("fewlabels.") for layer in layers for name in layer.split(" | ")}
    parts = {path.split("/")[0].removesuffix(".py") for path in trees} - {"__init__"}
    assert parts == ordered


def _names_called(node):
    return {
        call.func.id
        for call in ast.walk(node)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    }


def _decorator_name(decorator):
    target = decorator.func if isinstance(decorator, ast.Call) else decorator
    return target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")


def _compiled(tree):
    """Functions that Numba compiles in a file: name to node."""
    return {
        node.name: node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
        and any(_decorator_name(d) in ("jit", "compiled_as") for d in node.decorator_list)
    }


def test_only_the_door_knows_numba(trees):
    for path, tree in trees.items():
        if path == "_jit.py":
            continue
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module]
            for name in names:
                assert name.split(".")[0] not in ("numba", "llvmlite"), path


def test_compiled_files_hold_compiled_code_only(trees):
    # Files with compiled functions start with an underscore: people find and read them
    # as such, and their tests run them against a slow twin.
    for path, tree in trees.items():
        if path != "_jit.py" and _compiled(tree):
            assert path.split("/")[-1].startswith("_"), f"{path} holds compiled functions"


def test_compiled_functions_call_compiled_functions_of_their_file_only(trees):
    # Numba's disk cache is keyed by the caller's file: a helper elsewhere could change
    # without its callers being compiled again.
    elsewhere = {}
    for path, tree in trees.items():
        for name in _compiled(tree):
            elsewhere.setdefault(name, set()).add(path)
    intrinsics = {n.name for n in ast.walk(trees["_jit.py"]) if isinstance(n, ast.FunctionDef)}
    found = 0
    for path, tree in trees.items():
        here = _compiled(tree)
        imported = {
            alias.asname or alias.name: node
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for name, node in here.items():
            found += 1
            for called in _names_called(node):
                if called in imported:
                    # The bit casts of the door are typed by it and have no body to go stale.
                    assert called in intrinsics, f"{path}: {name} calls {called} of another file"
                    assert path == "_jit.py" or imported[called].module == "_jit"
                elif called in elsewhere:
                    assert path in elsewhere[called], f"{path}: {name} calls {called}"
    assert found > 5


def test_compiled_functions_neither_print_nor_raise(trees):
    for path, tree in trees.items():
        for name, node in _compiled(tree).items():
            assert "print" not in _names_called(node), f"{path}: {name} prints"
            raised = [n for n in ast.walk(node) if isinstance(n, ast.Raise)]
            assert not raised, f"{path}: {name} raises; return a code, Python turns it into words"


def test_fast_maths_is_a_named_set(trees):
    for path, tree in trees.items():
        if path == "_jit.py":
            continue
        for name, node in _compiled(tree).items():
            for decorator in node.decorator_list:
                if not isinstance(decorator, ast.Call):
                    continue
                values = [*decorator.args, *(k.value for k in decorator.keywords)]
                for value in values:
                    text = ast.unparse(value)
                    is_flag = isinstance(value, ast.Constant) and value.value is True
                    assert not is_flag and "{" not in text, f"{path}: {name} names its own flags"


def test_flags_keep_infinities_meaningful():
    from fewlabels import _jit

    sets = [value for value in vars(_jit).values() if isinstance(value, frozenset)]
    assert len(sets) >= 2
    for flags in sets:
        assert not flags & {"ninf", "afn", "fast"}
    # Kernel values feed comparisons and tests for NaN.
    assert not _jit.KERNEL_MATH & {"nnan", "reassoc"}


@pytest.mark.parametrize("name", ["print"])
def test_the_library_prints_only_when_asked(trees, name):
    for path, tree in trees.items():
        if path.startswith("cli/"):
            continue
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef):
                continue
            prints = [
                n
                for n in ast.walk(node)
                if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == name
            ]
            if prints and node.name != "report":
                inner = [n for n in ast.walk(node) if isinstance(n, ast.FunctionDef)]
                assert any(n.name == "report" for n in inner), f"{path}: {node.name} prints"
    # `report` is what estimators use with verbose=True.
    with_report = [p for p, t in trees.items() if "def report" in ast.unparse(t)]
    assert with_report == ["estimators/calls.py"]
