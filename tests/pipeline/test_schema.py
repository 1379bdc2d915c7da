"""Every interface has the options that are declared, and checks them alike."""

import dataclasses
import inspect
import subprocess
import sys

import pytest
import typer.main

from fewlabels import fit_table, pipeline
from fewlabels._util.messages import UserError
from fewlabels._util.option import (
    ANYWHERE,
    DETAILED,
    PYTHON,
    options_of_schema,
    refuse_unknown,
)
from fewlabels.cli import app
from fewlabels.kernels import KERNELS
from fewlabels.pipeline.options.fit import ENCODING, FIT, FitOptions
from fewlabels.pipeline.options.flags import as_flags, flags
from fewlabels.pipeline.options.score import ScoreFileOptions
from fewlabels.pipeline.options.update import UpdateOptions
from fewlabels.pipeline.options.watch import WatchOptions
from fewlabels.pipeline.table import TableFit
from fewlabels.tasks import METHODS, estimator_class, list_methods_with

FIELDS = {field.name: field for field in dataclasses.fields(FitOptions)}


# Commands, the functions that do the same, their options, and options that aren't flags.
INTERFACES = {
    "fit": (fit_table, FitOptions, ()),
    # The format of standard input and output is not that of any file.
    "predict": (pipeline.score_file, ScoreFileOptions, ("labels",)),
    "update": (pipeline.update, UpdateOptions, ("data", "labels")),
    "watch": (pipeline.watch, WatchOptions, ("files", "labels")),
}


@pytest.fixture(scope="module")
def commands():
    return typer.main.get_command(app).commands


@pytest.mark.parametrize("command", INTERFACES)
def test_the_command_line_has_every_option(commands, command):
    _, schema, others = INTERFACES[command]
    known = {parameter.name: parameter for parameter in commands[command].params}
    for name, option in options_of_schema(schema).items():
        if option.shown == PYTHON or name in others:
            continue
        found = known[name]
        on, off = flags(name)
        assert found.opts == [*filter(None, [option.letter]), on]
        assert found.rich_help_panel == (option.group or None)
        assert found.secondary_opts in ([], [off])
        assert found.default is None
        assert as_flags(option.help) in found.help


@pytest.mark.parametrize("command", INTERFACES)
def test_the_function_has_every_option_with_its_default(command):
    function, schema, _ = INTERFACES[command]
    signature = inspect.signature(function)
    fields = {field.name: field for field in dataclasses.fields(schema)}
    places = [one for one in signature.parameters.values() if one.name not in fields]
    assert all(one.default is one.empty for one in places)
    assert set(signature.parameters) == {*(one.name for one in places), *fields}
    for name in fields:
        assert signature.parameters[name].default == fields[name].default
        assert f"\n{name} : " in function.__doc__
    assert "\ue000" not in function.__doc__


def test_arguments_by_place():
    assert [*inspect.signature(fit_table).parameters][:2] == ["data", "target"]
    assert [*inspect.signature(pipeline.score).parameters][:2] == ["model", "data"]
    assert [*inspect.signature(TableFit.predict).parameters][:2] == ["self", "data"]
    assert [*inspect.signature(pipeline.score_file).parameters][:3] == ["model", "data", "out"]
    assert [*inspect.signature(pipeline.update).parameters][:3] == ["model", "data", "output"]
    assert [*inspect.signature(pipeline.watch).parameters][:2] == ["model", "files"]
    with pytest.raises(TypeError, match=r"^update\(\) takes at most 3 arguments by place"):
        pipeline.update("m", "a.csv", "n", "y")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ScoreFileOptions(fdr=2), "fdr=2 is out of range; it must be between 0 and 1."),
        (lambda: ScoreFileOptions(chunk_rows=0), "chunk_rows=0 is out of range; it must be 1"),
        (lambda: ScoreFileOptions(form="xls"), "Unknown form='xls'; choose "),
        (lambda: ScoreFileOptions(empty_rows="no"), "Unknown empty_rows='no'; choose blank or al"),
        (lambda: UpdateOptions(block=0), "block=0 is out of range; it must be 1 or more."),
        (lambda: WatchOptions(run_length=1), "run_length=1 is out of range; it must be 2 or more"),
        (lambda: WatchOptions.from_given({"alpa": 1}), "Unknown option 'alpa'; is 'alpha' meant?"),
    ],
)
def test_values_that_are_not_allowed(make, message):
    with pytest.raises(UserError) as error:
        make()
    assert str(error.value).startswith(message)


def test_a_single_file_or_class_may_stand_alone():
    assert WatchOptions("a.csv").files == ("a.csv",)
    assert UpdateOptions(new_classes="spam").new_classes == ("spam",)
    assert UpdateOptions("a.csv", sep=";").reading == {"sep": ";"}


def test_type_checkers_know_the_options(tmp_path):
    script = tmp_path / "calls.py"
    script.write_text(
        "from fewlabels import fit_table, pipeline\n"
        "reveal_type(fit_table('a.csv', 'y', method='svdd', C=2.0))\n"
        "fit_table('a.csv', target=3)\n"
        "fit_table('a.csv', nrmal='x')\n"
        "fit_table('a.csv').predict('b.csv', fdr='x')\n"
        "pipeline.score_file('m', 'a.csv', 'b.csv', prefx='x')\n"
        "pipeline.update('m', 'a.csv', 'n', block='x')\n"
        "pipeline.watch('m', ['a.csv'], alpha=0.1, every=5)\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-incremental", "--ignore-missing-imports",
         "--follow-imports=silent", script],
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    told = done.stdout
    assert 'Revealed type is "fewlabels.pipeline.table.TableFit"' in told
    assert 'calls.py:3: error: Argument "target"' in told
    assert 'calls.py:4: error: Unexpected keyword argument "nrmal"' in told
    assert 'calls.py:5: error: Argument "fdr"' in told
    assert 'calls.py:6: error: Unexpected keyword argument "prefx"' in told
    assert 'calls.py:7: error: Argument "block"' in told
    assert "calls.py:8" not in told


def test_parameters_belong_to_the_estimators_that_have_them():
    ours = [name for name, machine in METHODS.items() if not machine.is_baseline]
    for name, option in FIT.items():
        if option.is_parameter:
            owners = list_methods_with(name)
            assert owners, f"no estimator has {name}"
            assert option.group not in ("",)
    for machine in ours:
        assert machine in list_methods_with("kernel") and estimator_class(machine)
    assert list_methods_with("nu") == ["svdd", "one-class"]
    assert list_methods_with("C_star") == ["s3vm"]


@pytest.mark.parametrize("name", [name for name, option in FIT.items() if option.range])
def test_a_number_out_of_range_is_refused_alike(name):
    bad = {"n_jobs": 0, "balance": float("inf"), "coef0": float("nan")}.get(name, -2)
    with pytest.raises(UserError) as error:
        FitOptions(**{name: bad})
    assert str(error.value).startswith(f"{name}={bad}")
    assert as_flags(error.value).startswith(f"{flags(name)[0]} {bad}")
    assert FIT[name].range.words in as_flags(error.value) or name == "text_weight"
    assert error.value.options[0] == name


def test_words_and_numbers_are_read_alike():
    assert FitOptions(gamma="0.5").parameters == {"gamma": 0.5}
    assert FitOptions(gamma="scale").gamma == "scale"
    assert FitOptions(balance="none").balance is False
    assert FitOptions(balance="labels").balance is True
    assert FitOptions(missing=None).missing == "impute"
    assert FitOptions(drop="a", keep=["b", 3]).keep == ("b", "3")
    with pytest.raises(UserError, match=r"^prior='most' is not valid; it must be 'estimate'"):
        FitOptions(prior="most")
    with pytest.raises(UserError, match=r"^Unknown slack='cubic'; choose squared or lin"):
        FitOptions(slack="cubic")


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(UserError, match=r"^Unknown option 'gama'; is 'gamma' meant\?"):
        refuse_unknown(FitOptions, {"gama": 1})


def test_the_model_file_records_what_is_declared_so():
    options = FitOptions("y", clean=True)
    assert options.recorded == {"target": "y", "clean": True, "merge_case": None}
    assert FitOptions("y", sep=";", memory="1G", nu=0.1).in_memory().reading == {}


def test_declarations_are_complete():
    for name, option in FIT.items():
        assert option.help.endswith((".", ")")), name
        assert option.shown in (ANYWHERE, PYTHON)
        assert option.group or option.shown == PYTHON, name
        assert not option.words or option.range, f"{name} is a number or a word"
    assert set(ENCODING) <= set(FIT) and DETAILED
    # The help of the kernel names those that there are.
    named = FIT["kernel"].help
    assert all(name in named for name in KERNELS if name not in ("precomputed", "auto"))
