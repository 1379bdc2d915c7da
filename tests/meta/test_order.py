"""Siblings have the same order, so that one who knows a kernel finds the place in every kernel.

A base class lists what it is, what a subclass must define, and what it may. Subclasses follow it,
and have methods of their own behind.
"""

import ast
import re
from itertools import pairwise

import pytest

# Classes that have the methods of another, a protocol or the first of its kind, and don't inherit.
LIKE = {
    "Backend": ("NumpyBackend", "ArrayBackend"),
    "GramOperator": ("ArrayGram",),
    "GrowingGram": ("GrowingLinear", "GrowingColumns", "BorderedGrowing"),
    "Relaxation": ("SignRelaxation",),
    "Martingale": ("ShiryaevRoberts",),
    "Mixture": ("Histogram",),
    "ValueStore": ("FeatureStore", "CellStore", "FormedStore", "MatrixStore", "RepeatedStore"),
}
# Bases whose subclasses have all that is their own behind what they override.
FAMILIES = {
    "Backend", "Formulation", "GramOperator", "GrowingGram", "Kernel", "Observer",
    "PiecewiseLinear", "PriorEstimator", "RowSource", "Rows", "Shard", "Strategy", "ValueStore",
}  # fmt: skip
ESTIMATORS = {"KernelEstimator", "Baseline", "OnCluster"}
# What users call, in the order in which they do.
FIT = ["__init__", "fit", "path", "fit_predict"]
UPDATES = ["partial_fit", "relabel", "forget", "reprice", "widen", "consolidate", "resume"]
UPDATES += ["release_rows"]
PREDICTIONS = ["score_samples", "decision_function", "predict", "predict_proba"]
PREDICTIONS += ["predict_log_proba", "p_values", "score", "curve_within"]
PREDICTIONS += ["leave_one_out_decisions"]
CALLS = [*FIT, *UPDATES, *PREDICTIONS]
# The functions of a module by the folder or files that have them.
FUNCTIONS = {
    r"tables/formats/(?!matrices)\w+\.py": [
        "names",
        "pieces",
        "remark",
        "size",
        "parts",
        "writer",
    ],
    r"tables/formats/matrices/\w+\.py": ["read", "memory", "pieces"],
}
OPENINGS = {
    r"model_selection/\w+/comparison\.py": r"compare",
    r"model_selection/\w+/tuning\.py": r"tune_\w+",
    r"report/(one_class|positive_unlabelled|semi_supervised)\.py": r"find",
}


def name_of(base):
    """The name of the class that a class statement has as a base."""
    if isinstance(base, ast.Subscript):
        return name_of(base.value)
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", None)


def is_function(node):
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def name_in_class(node):
    """The name that a statement of a class body defines; None for others."""
    if is_function(node):
        return node.name
    if isinstance(node, ast.AnnAssign):
        return ast.unparse(node.target)
    return ast.unparse(node.targets[0]) if isinstance(node, ast.Assign) else None


def statements(node):
    """Names and statements of a class body from its first method on, each name once."""
    start = next((i for i, item in enumerate(node.body) if is_function(item)), len(node.body))
    found = {}
    for item in node.body[start:]:
        found.setdefault(name_in_class(item), item)
    found.pop(None, None)
    return found


def decorators(item):
    return [ast.unparse(each) for each in getattr(item, "decorator_list", [])]


class Classes:
    """All classes by name, and what they inherit."""

    def __init__(self, trees):
        self.nodes, self.paths = {}, {}
        for path, tree in trees.items():
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    # A protocol may be named like the class that it describes.
                    is_protocol = "Protocol" in map(name_of, node.bases)
                    if node.name not in self.nodes or not is_protocol:
                        self.nodes[node.name], self.paths[node.name] = node, path

    def bases(self, name):
        named = [name_of(base) for base in self.nodes[name].bases]
        named += [base for base, classes in LIKE.items() if name in classes]
        return [base for base in named if base in self.nodes and base != name]

    def ancestors(self, name):
        """The classes above one, the most basic first."""
        found = []
        for base in reversed(self.bases(name)):
            found += [each for each in [*self.ancestors(base), base] if each not in found]
        return found

    def order(self, name):
        """The place of every name that is inherited: as the bases have them."""
        names = [
            name_in_class(item) for each in self.ancestors(name) for item in self.nodes[each].body
        ]
        return {each: place for place, each in enumerate(dict.fromkeys(names)) if each}

    def belongs(self, name, roots):
        return bool(roots & {name, *self.ancestors(name)})


@pytest.fixture(scope="module")
def classes(trees):
    return Classes(trees)


def check_order(names, order, where):
    """Each name behind the one before it."""
    for first, second in pairwise(names):
        assert order[first] <= order[second], f"{where}: put {second} before {first}, as its base"


def test_overriding_methods_come_in_the_order_of_the_base(classes):
    for name, node in classes.nodes.items():
        order = classes.order(name)
        known = [each for each in statements(node) if each in order and each[:2] != "__"]
        where = f"{classes.paths[name]}, {name}"
        check_order([each for each in known if each.startswith("_")], order, where)
        if not classes.belongs(name, ESTIMATORS):  # they have an order of their own, below
            check_order([each for each in known if not each.startswith("_")], order, where)


def test_methods_of_their_own_come_behind(classes):
    # What makes an instance may come before.
    for name, node in classes.nodes.items():
        if not FAMILIES & set(classes.ancestors(name)) or classes.belongs(name, ESTIMATORS):
            continue
        order, own = classes.order(name), None
        for each, item in statements(node).items():
            if each in order and not each.startswith("_"):
                assert own is None, f"{classes.paths[name]}, {name}: put {own} behind {each}"
            elif not each.startswith("_") and "classmethod" not in decorators(item):
                own = each


def part_of(name, item):
    """Return the part of an estimator that a name belongs to."""
    for part, names in enumerate((FIT, UPDATES, PREDICTIONS)):
        if name in names:
            return part
    if name.startswith("_"):
        return 5
    is_called = is_function(item) and not {"property", "cached_property"} & set(decorators(item))
    return 3 if is_called else 4


def test_estimators_list_calls_then_values_then_private_methods(classes):
    # In parts: fit, updates, predictions, other calls, what a fit has found, and how it is done.
    for name, node in classes.nodes.items():
        if not classes.belongs(name, ESTIMATORS):
            continue
        found, where = statements(node), f"{classes.paths[name]}, {name}"
        values = [item.value for item in found.values() if isinstance(item, ast.Assign)]
        used = {each.id for v in values for each in ast.walk(v) if isinstance(each, ast.Name)}
        # A function that a property is made of comes before it.
        parts = {each: part_of(each, i) for each, i in found.items() if each not in used}
        for first, second in pairwise(parts):
            assert parts[first] <= parts[second], f"{where}: put {second} before {first}"
        calls = [each for each in parts if each in CALLS]
        check_order(calls, {each: place for place, each in enumerate(CALLS)}, where)


def test_modules_list_functions_in_the_order_of_their_kind(trees, classes):
    steps = [item.name for item in classes.nodes["TaskSteps"].body if is_function(item)]
    kinds = FUNCTIONS | {r"pipeline/tasks/\w+\.py": steps}
    seen = set()
    for path, tree in trees.items():
        for kind, names in kinds.items():
            if re.fullmatch(kind, path):
                places = {name: place for place, name in enumerate(names)}
                known = [n.name for n in tree.body if is_function(n) and n.name in places]
                check_order(known, places, path)
                seen |= {kind} if known else set()
    assert seen == set(kinds)


def test_modules_of_tasks_begin_with_what_others_call(trees):
    seen = []
    for path, tree in trees.items():
        for kind, opening in OPENINGS.items():
            if re.fullmatch(kind, path):
                first = next(node.name for node in tree.body if is_function(node))
                assert re.fullmatch(opening, first), f"{path} begins with {first}"
                seen.append(kind)
    assert len(seen) == 3 * len(OPENINGS)
