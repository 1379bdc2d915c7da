"""Every interface has the options that are declared, and checks them alike."""

import dataclasses
import inspect
import subprocess
import sys

import pytest
import typer.main

from fewlabels import fit_table
from fewlabels._util.messages import UserError
from fewlabels._util.option import ANYWHERE, DETAILED, PYTHON, refuse_unknown
from fewlabels.cli import app
from fewlabels.kernels import KERNELS
from fewlabels.pipeline.options.fit import ENCODING, FIT, FitOptions
from fewlabels.pipeline.options.flags import as_flags, flags
from fewlabels.tasks import METHODS, estimator_class, list_methods_with

FIELDS = {field.name: field for field in dataclasses.fields(FitOptions)}


@pytest.fixture(scope="module")
def command():
    return typer.main.get_command(app).commands["fit"]


def test_the_command_line_has_every_option(command):
    known = {parameter.name: parameter for parameter in command.params}
    for name, option in FIT.items():
        if option.shown == PYTHON:
            continue
        found = known[name]
        on, off = flags(name)
        assert found.opts == [on] and found.rich_help_panel == option.group
        assert found.secondary_opts in ([], [off])
        assert found.default is None
        assert as_flags(option.help) in found.help


def test_the_function_has_every_option_with_its_default():
    signature = inspect.signature(fit_table)
    assert [*signature.parameters][:2] == ["data", "target"]
    assert set(signature.parameters) == {"data", *FIT}
    for name in FIT:
        assert signature.parameters[name].default == FIELDS[name].default
        assert f"\n{name} : " in fit_table.__doc__
    assert "\ue000" not in fit_table.__doc__


def test_type_checkers_know_the_options(tmp_path):
    script = tmp_path / "calls.py"
    script.write_text(
        "from fewlabels import fit_table\n"
        "reveal_type(fit_table('a.csv', 'y', method='svdd', C=2.0))\n"
        "fit_table('a.csv', target=3)\n"
        "fit_table('a.csv', nrmal='x')\n"
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
