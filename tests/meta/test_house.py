"""What keeps the next change cheap: methods in classes, small folders, short functions."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections import defaultdict

import fewlabels

# The parts that meet fitted machines from outside.
OUTSIDE = ["onnx", "report", "cli", "inspection", "adapters", "tables", "model_selection"]
OUTSIDE += ["labelling", "monitoring", "pipeline", "querying"]
MACHINES = [fewlabels.PUSVM, fewlabels.S3VM, fewlabels.SVDD, fewlabels.OneClassSVM]
MACHINES += [fewlabels.PUEnsemble, fewlabels.SVDDEnsemble]
TASKS = ("one_class", "positive_unlabelled", "semi_supervised")
MADE_OF = ("base/", "calibration/", "rows/", *(f"{task}/" for task in TASKS))
# The parts that users import from.
PARTS = ["fewlabels", *(f"fewlabels.{part}" for part in (
    "baselines", "class_prior", "inspection", "kernels", "kernels.operators", "labelling",
    "metrics", "model_selection", "monitoring", "onnx", "pipeline", "problem", "querying",
    "report", "rows.device", "solvers",
))]  # fmt: skip
# A name that tells files of a folder apart where a folder of their own would do.
PREFIXES = re.compile(r"^_?(s3vm|pu|convex|probability|tuning|baselines)_")


def functions(tree):
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


def free_functions(node, in_class=False):
    """Functions and lambdas that don't stand in a class, also those within methods."""
    for child in ast.iter_child_nodes(node):
        is_function = isinstance(child, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and not in_class:
            yield child
        in_this = isinstance(child, ast.ClassDef) or (in_class and not is_function)
        yield from free_functions(child, in_this)


def test_no_free_function_takes_self(trees):
    found = []
    for path, tree in trees.items():
        for node in free_functions(tree):
            names = [argument.arg for argument in [*node.args.posonlyargs, *node.args.args]]
            if names[:1] == ["self"]:
                found.append(f"{path}:{node.lineno}")
    assert not found, found


def test_no_method_is_bound_by_assignment(trees):
    # A method is defined in its class: not as a function there or in another module.
    found = []
    for path, tree in trees.items():
        functions = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
        imports = [n for n in tree.body if isinstance(n, ast.ImportFrom)]
        modules = {a.asname or a.name for n in imports for a in n.names}
        for node in ast.walk(tree):
            for item in node.body if isinstance(node, ast.ClassDef) else ():
                if not isinstance(item, ast.Assign) or ast.unparse(item.targets[0]).isupper():
                    continue  # constants of the compiled core
                value = item.value
                of_module = (
                    isinstance(value, ast.Attribute)
                    and isinstance(value.value, ast.Name)
                    and value.value.id in modules
                    and value.value.id.islower()
                )
                if of_module or (isinstance(value, ast.Name) and value.id in functions):
                    found.append(f"{path}:{item.lineno}: {ast.unparse(item)}")
    assert not found, found


def test_no_class_is_changed_from_outside(trees):
    # ``Machine.fit = fit`` or ``setattr(Machine, "fit", fit)`` would bind one unseen.
    found = []
    for path, tree in trees.items():
        classes = {n.name for n in ast.walk(tree) if isinstance(n, ast.ClassDef)}
        imports = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
        classes |= {a.asname or a.name for n in imports for a in n.names if a.name[:1].isupper()}
        for node in ast.walk(tree):
            targets = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "setattr",
                "type.__setattr__",
            ):
                targets = [ast.Attribute(node.args[0], "")]
            for target in targets:
                owner = target.value if isinstance(target, ast.Attribute) else None
                # A private class of its own module holds values that threads share.
                is_own = isinstance(owner, ast.Name) and owner.id.startswith("_")
                if isinstance(owner, ast.Name) and owner.id in classes and not is_own:
                    found.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    assert not found, found


def test_every_public_class_is_defined_once(trees):
    """A public name means one class, wherever it is read."""
    places = defaultdict(list)
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    public = {name for part in PARTS for name in importlib.import_module(part).__all__}
    twice = {name: found for name, found in places.items() if name in public and len(found) > 1}
    assert twice == {}


def test_a_path_is_one_object():
    from fewlabels.solvers.path import PathFollower

    assert PathFollower.__bases__ == (object,)


def test_no_part_outside_reads_private_state(repository):
    folders = [f"src/fewlabels/{part}" for part in OUTSIDE]
    done = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--ignore-noqa",
         "--select", "SLF001", *folders],
        cwd=repository, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_no_part_outside_imports_private_modules_of_estimators(trees):
    for path, tree in trees.items():
        if path.split("/")[0] not in OUTSIDE:
            continue
        for node in ast.walk(tree):
            parts = (getattr(node, "module", None) or "").split(".")
            is_ours = isinstance(node, ast.ImportFrom) and node.level > 0
            if is_ours and {"base", *TASKS} & set(parts):
                names = [*parts, *(a.name for a in node.names)]
                assert not any(name.startswith("_") for name in names), path


def test_no_tricks_with_attributes(trees):
    for path, tree in trees.items():
        if not path.startswith(MADE_OF):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                assert node.name not in ("__getattr__", "__getattribute__"), path
            if isinstance(node, ast.Attribute):
                assert node.attr != "__dict__", f"{path}:{node.lineno}"
            if isinstance(node, ast.Expr):  # a statement run for its side effect
                assert not isinstance(node.value, ast.Attribute | ast.Name), (
                    f"{path}:{node.lineno}"
                )


def test_files_are_told_apart_by_folders(trees):
    found = {path for path in trees if PREFIXES.match(path.rpartition("/")[2])}
    # Model files name the module of each machine.
    assert found <= {"positive_unlabelled/pu_ensemble.py"}


def test_functions_are_short(trees, repository):
    long = []
    for path, tree in trees.items():
        lines = (repository / "src" / "fewlabels" / path).read_text(encoding="utf-8").split("\n")
        for function in functions(tree):
            first = function.body[0]
            is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            skipped = range(first.lineno, first.end_lineno + 1) if is_doc else ()
            code = [
                number
                for number in range(first.lineno, function.end_lineno + 1)
                if number not in skipped and lines[number - 1].split("#")[0].strip()
            ]
            if len(code) > 80:
                long.append(f"{path}: {function.name} has {len(code)} lines of code")
    assert not long, "\n".join(long)


def test_breakpoints_are_the_penaltys_business(trees, repository):
    # "Strictly between breakpoints" compares with kinks, and slopes are chosen by them. The solver
    # of a paper has one kink, and the quadratic programme has variables for them.
    allowed = (
        "problem/penalty.py",
        "problem/penalty.py",
        "solvers/papers/usmo.py",
        "solvers/qp.py",
    )
    found = []
    for path, tree in trees.items():
        if path.startswith(allowed):
            continue
        found += [
            f"{path}:{node.lineno}: {ast.unparse(node)}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and node.attr in ("kinks", "KINK")
        ]
    assert not found, "\n".join(found)


def test_public_docstrings_tell_parameters(modules):
    # numpydoc for what users call: every parameter of a public function has its line.
    missing = []
    for machine in MACHINES:
        for name, method in inspect.getmembers(machine, inspect.isfunction):
            if name.startswith("_") or not method.__module__.startswith("fewlabels"):
                continue
            doc = inspect.getdoc(method) or ""
            parameters = [p for p in inspect.signature(method).parameters if p != "self"]
            for parameter in parameters:
                if not re.search(rf"^(.*\b)?{parameter}\b.*", doc, re.M):
                    missing.append(f"{machine.__name__}.{name}: {parameter}")
    assert not missing, missing


def test_one_module_asks_the_file_system(trees):
    # Path.exists raises where a folder is closed, a name is too long or a disk has errors.
    questions = {"exists", "is_dir", "is_file", "lexists", "isdir", "isfile", "getsize"}
    found = [
        f"{path}:{node.lineno}: {ast.unparse(node)}"
        for path, tree in trees.items()
        if path != "_util/paths.py" and not path.startswith("_core/")  # which asks for its own
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in questions
    ]
    assert not found, f"ask with fewlabels._util.paths: {found}"
