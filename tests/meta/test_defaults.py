"""Defaults that documents, help texts and docstrings state are those of the code."""

import importlib
import inspect
import re

import pytest
from tests.meta.prose import pages

import fewlabels
from fewlabels._util.option import help_text
from fewlabels.pipeline.options.fit import DEFAULT_BUDGET, FIT, ONE_CLASS_NU, TARGET_FPR
from fewlabels.pipeline.options.flags import as_flags
from fewlabels.tables import limits
from fewlabels.tables.formats import excel
from fewlabels.tasks import METHODS, estimator_class

PROBLEMS_OF = ["svdd", "svdd-ensemble", "one-class", "pusvm", "pu-ensemble", "s3vm"]


def default_of(machine, name):
    """A parameter's default, as ``fewlabels fit`` has it."""
    if (machine, name) == ("one-class", "nu"):
        return ONE_CLASS_NU
    return inspect.signature(estimator_class(machine)).parameters[name].default


# -- prose --------------------------------------------------------------------------------------

# How documents state a default, and what it is. Every statement in one of these forms is checked,
# and each form has to occur.
STATED = [
    (r"`--time-budget` \(seconds, default ([\d.]+)\)", lambda: DEFAULT_BUDGET),
    (
        r"`time_budget=` \(seconds, default ([\d.]+)\)",
        lambda: inspect.signature(fewlabels.tune).parameters["time_budget"].default,
    ),
    (r"([\d.]+) % of new normal rows fall outside", lambda: 100 * TARGET_FPR),
    (r"refused after ([\d.]+) s without rows", lambda: limits._DEFAULT_TIME_LIMIT),
    (r"more than ([\d,]+) rows are refused, as Excel", lambda: excel._MAX_ROWS),
    (r"at most ([\d,]+) rows, as in Excel", lambda: excel._MAX_ROWS),
]
# A number behind the word "default" that is none of the forms above.
# Defaults of other libraries, which this one can't check.
THEIRS = [("one-class.md", "default is 0.5")]
LOOSE = re.compile(r"\bdefaults?(?: is| of|:|,)? `?(\d[\d.,]*\d|\d)")


def documents(repository):
    paths = [repository / "README.md", *pages()]
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


@pytest.mark.parametrize(("pattern", "value"), STATED, ids=[form for form, _ in STATED])
def test_documents_state_the_defaults_of_the_code(repository, pattern, value):
    # Spaces may be line ends.
    pattern = pattern.replace(" ", r"\s+")
    found = [
        (name, number)
        for name, text in documents(repository).items()
        for number in re.findall(pattern, text)
    ]
    assert found, "no document states it any more; take the form out of this list"
    wrong = [one for one in found if float(one[1].replace(",", "")) != pytest.approx(value())]
    assert not wrong, f"it is {value()}: {wrong}"


def test_no_document_states_a_default_that_is_not_checked(repository):
    loose = []
    for name, text in documents(repository).items():
        if name in ("changelog.md", "benchmarks.md"):  # what was, not what is
            continue
        text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        known = [
            found.span()
            for pattern, _ in STATED
            for found in re.finditer(pattern.replace(" ", r"\s+"), text)
        ]
        loose += [
            (name, found[0])
            for found in LOOSE.finditer(text)
            if not any(start <= found.start(1) < end for start, end in known)
        ]
    assert [one for one in loose if one not in THEIRS] == [], "add how it is written to STATED"


# -- help ---------------------------------------------------------------------------------------


STATED_IN_HELP = re.compile(r"([^()]*)\(default(?: for ([\w-]+))?: ([^()]*)\)")


def helps():
    for name, option in FIT.items():
        if option.is_parameter or name in ("method", "memory"):
            yield name, as_flags(help_text(option))


def stated_in_help():
    """(parameter, machine, default as text) of every "(default: ...)" that names a value.

    The machines are those in front of the colon; "2, svdd-ensemble 0.1" states two.
    """
    for name, text in helps():
        for before, own, stated in STATED_IN_HELP.findall(text):
            words = own or before
            told = [m for m in PROBLEMS_OF if re.search(rf"(?<![\w-]){m}(?![\w-])", words)]
            owners = told or [m for m in PROBLEMS_OF if has(m, name)]
            first, *others = re.split(r"[,;] ", stated)
            special = {}
            for other in others:
                words = other.split()
                if len(words) == 2 and words[0] in PROBLEMS_OF:
                    special[words[0]] = words[1]
            for machine in owners:
                if has(machine, name):
                    yield name, machine, special.get(machine, first)


def has(machine, name):
    return name in inspect.signature(estimator_class(machine)).parameters


def same(value, text):
    if value is None:
        return text in ("none", "all cores")
    if isinstance(value, bool):
        return text in ({"true", "labels"} if value else {"false", "none"})
    if isinstance(value, int | float):
        if text == "none":
            return value == -1
        try:
            return float(text) == pytest.approx(value)
        except ValueError:
            return False
    return text == str(value)


def test_help_states_the_defaults_of_the_machines():
    # Elsewhere: the command has its own rate, and leaves the choice of a machine to the labels.
    own = {"method", "target_fpr", "memory"}
    stated = [one for one in stated_in_help() if one[0] not in own]
    assert len(stated) > 40 and {name for name, *_ in stated} >= {
        "C", "C_star", "nu", "n_bags", "bag_size", "trim", "lam", "kernel", "degree", "tol",
    }  # fmt: skip
    wrong = [
        (name, machine, text, default_of(machine, name))
        for name, machine, text in stated
        if not same(default_of(machine, name), text)
    ]
    assert not wrong


def test_help_states_the_rate_and_the_machines():
    texts = dict(helps())
    assert f"(default: {TARGET_FPR}; none with --nu)" in texts["target_fpr"]
    named = set(re.findall(r"[a-z0-9]+(?:-[a-z]+)*", texts["method"].rpartition("(default:")[2]))
    assert {"svdd-ensemble", "svdd", "pu-ensemble", "pusvm", "s3vm"} <= named & set(METHODS)


def test_every_text_names_the_machines_that_labels_lead_to(repository):
    """One class and blanks: an ensemble, else a pusvm. S3VM: two classes or more."""
    from fewlabels.cli.fit import fit
    from fewlabels.cli.predict import predict
    from fewlabels.pipeline.options.fit import FitOptions
    from fewlabels.pipeline.training.method import choose_method
    from fewlabels.tables.columns.target import count_labels

    def machine_of(values, **options):
        labels = count_labels(values, column="y", source="f")
        asked = FitOptions(**options)
        return choose_method(labels, asked, n_rows=len(values), seconds=60.0).method

    some = ["a", "", "", "a"] * 30
    assert machine_of(some) == "pu-ensemble" and machine_of(some, rows=True) == "pusvm"
    assert machine_of(["a", "b", "c", ""] * 30) == "s3vm"
    for text in (fit.__doc__, fewlabels.fit_table.__doc__.lower().replace("puens", "pu-ens")):
        one = (
            text.partition("One class and blanks")[2] or text.partition("one class and blanks")[2]
        )
        assert "pu-ensemble" in one[:80] and "pusvm" in one[:80]
    assert "of the two classes" not in predict.__doc__
    for name, text in documents(repository).items():
        assert "Not here yet" not in text and "of the two classes |" not in text, name


# -- docstrings ---------------------------------------------------------------------------------


def callables():
    for name in fewlabels.__all__:
        found = getattr(fewlabels, name)
        if callable(found):
            yield name, found
    for part in ("model_selection", "metrics", "class_prior", "querying"):
        module = importlib.import_module(f"fewlabels.{part}")
        for name in module.__all__:
            if callable(getattr(module, name)):
                yield f"{part}.{name}", getattr(module, name)


STATES = re.compile(r"^(?:    )?(\w+(?:, \w+)*) : .*?\bdefault=([^\n]+)$", re.MULTILINE)


@pytest.mark.parametrize(("name", "found"), [*callables()], ids=[name for name, _ in callables()])
def test_docstrings_state_the_defaults_of_signatures(name, found):
    try:
        parameters = inspect.signature(found).parameters
    except (TypeError, ValueError):
        pytest.skip("no signature")
    doc = (inspect.getdoc(found) or "").partition("\nReturns\n")[0].partition("\nAttributes\n")[0]
    for names, stated in STATES.findall(doc):
        for one in names.split(", "):
            if one not in parameters or parameters[one].default is inspect.Parameter.empty:
                continue
            value, stated = parameters[one].default, stated.strip().rstrip(".")
            shown = {repr(value), str(value), f'"{value}"'}
            if isinstance(value, float | int) and not isinstance(value, bool):
                try:
                    assert float(stated.rstrip(",")) == value or value != value, (one, stated)
                    continue
                except ValueError:
                    pass
            assert stated in shown, f"{one}: states {stated}, is {value!r}"
