"""Messages name options as flags on the command line and as arguments in Python."""

import pickle

import pytest

from fewlabels._util.messages import (
    Interrupted,
    Message,
    UserError,
    as_arguments,
    ordinal,
    plural,
    printable,
    ref,
    referenced_options,
    template,
    with_settings,
)
from fewlabels._util.warn import warn
from fewlabels.pipeline.observer import capture_warnings
from fewlabels.pipeline.options.flags import as_flags


@pytest.mark.parametrize(
    ("message", "flags", "arguments"),
    [
        (f"is normal with {ref('normal', some='VALUE')}.", "--normal VALUE.", "normal=VALUE."),
        (f"; {ref('keep', some=['COLUMN'])} keeps", "--keep COLUMN keeps", "keep=[COLUMN] keeps"),
        (f"with {ref('drop', ['a b'])}, or", "with --drop 'a b', or", "with drop=['a b'], or"),
        (f"{ref('missing', 'skip')} leaves", "--missing skip leaves", "missing='skip' leaves"),
        (f"pass {ref('skip_missing', True)}", "pass --skip-missing", "pass skip_missing=True"),
        (f"{ref('method', ('svdd', 's3vm'))}, but", "--method svdd or s3vm, but",
         "method='svdd' or s3vm, but"),
        (f"as {ref('method')} says", "as --method says", "as method says"),
        (f"{ref('method', 'svdd')} to", "--method svdd to", "method='svdd' to"),
        (f"pass {ref('positive', -1)} if", "pass --positive -1 if", "pass positive=-1 if"),
        (f"{ref('normal', text='no')} to", "--normal 'no' to", "normal='no' to"),
        (f"{ref('nu')} and {ref('C')} set", "--nu and --C set", "nu and C set"),
        (f"{ref('C_star', 0)} is", "--C-star 0 is", "C_star=0 is"),
        (f"{ref('target_fpr', 0.001)} is", "--target-fpr 0.001 is", "target_fpr=0.001 is"),
        (f"as {ref('clean', True)} says", "as --clean says", "as clean=True says"),
        (f"as {ref('clean', False)} says", "as --maybe-dirty says", "as clean=False says"),
        (f"without {ref('rows', False)}.", "without --no-rows.", "without rows=False."),
        (f"{ref('n_bags', 0)}, {ref('random_state', -1)}", "--bags 0, --seed -1",
         "n_bags=0, random_state=-1"),
        (f"pass {ref('prior', ...)}", "pass --prior NUMBER", "pass prior=..."),
        (f"{ref('pos_label', some='x')}", "--positive x", "pos_label=x"),
        ("-- and --no-thing stay, and so does a=3", "-- and --no-thing stay, and so does a=3",
         "-- and --no-thing stay, and so does a=3"),
    ],
)  # fmt: skip
def test_a_reader_decides_how_options_are_named(message, flags, arguments):
    assert as_flags(message).endswith(flags)
    assert as_arguments(message).endswith(arguments)


def test_an_error_carries_its_options_and_is_an_argument_as_text():
    error = UserError(f"the matrix has {ref('nu', 0.5)} and {ref('clean', True)}.")
    assert str(error) == "The matrix has nu=0.5 and clean=True."
    assert as_flags(error) == "The matrix has --nu 0.5 and --clean."
    assert error.options == ["nu", "clean"]
    again = pickle.loads(pickle.dumps(error))
    assert as_flags(again) == as_flags(error)
    assert as_flags(UserError(error)) == as_flags(error)
    assert str(Interrupted(f"raise {ref('max_time')}")) == "raise max_time"
    assert as_flags(KeyError("a")) == "'a'"


def test_settings_that_nobody_gave_are_named_as_such():
    message = Message(f"{ref('gamma', 3)} and {ref('nu', 0.5)}")
    assert message == "gamma=3 and nu=0.5"
    assert as_flags(with_settings(message, {"gamma"})) == "gamma 3 and --nu 0.5"
    assert template(message) != message and referenced_options(message) == ["gamma", "nu"]
    assert pickle.loads(pickle.dumps(message)).template == message.template


def test_what_estimators_warn_of_names_flags_and_settings():
    with capture_warnings(chosen={"gamma"}) as messages:
        warn(f"pass {ref('prior', ...)}, {ref('gamma', 3.0)} or {ref('n_bags', 5)}.", UserWarning)
    assert [*map(as_flags, messages)] == ["pass --prior NUMBER, gamma 3 or --bags 5"]
    assert [*map(as_arguments, messages)] == ["pass prior=..., gamma 3 or n_bags=5"]
    with pytest.warns(UserWarning, match="^pass prior=...$"):
        warn(f"pass {ref('prior', ...)}", UserWarning)


def test_what_looks_like_a_reference_in_a_file_is_left_alone():
    for text in ("a\ue000b", "a\ue000b\ue001c\ue002", "\ue002\ue001"):
        assert as_flags(text) == as_arguments(text) == text


def test_ordinals():
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 22, 23, 101, 112)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "22nd", "23rd", "101st",
        "112th",
    ]  # fmt: skip


def test_names_that_differ_in_unicode_form_alone_do_not_print_alike():
    composed, decomposed = "\u00e9clair", "e\u0301clair"
    error = UserError(f"there isn't a column '{decomposed}' (is '{composed}' meant?).")
    assert str(error) == r"there isn't a column 'e\u0301clair' (is '\xe9clair' meant?)."
    for single in (f"no column '{composed}', but 'tea'", f"'{composed}' and '{composed}'"):
        assert printable(single) == single


def test_counts_of_one():
    assert [plural(n, "row") for n in (0, 1, 2, 2000)] == [
        "0 rows",
        "1 row",
        "2 rows",
        "2,000 rows",
    ]
    assert plural(2, "entry") == "2 entries"
