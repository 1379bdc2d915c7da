"""Messages in terms of options, and the same in terms of arguments."""

import pytest

from fewlabels.jobs.wording import as_arguments, as_options


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("pass the normal one as --normal VALUE.", "... normal=VALUE."),
        ("'id' (counts the rows); --keep COLUMN keeps one", "...; keep=[COLUMN] keeps one"),
        ("leave it out with --drop 'a b', or keep", "... drop=['a b'], or keep"),
        ("leave it out with --drop \"''\".", "... drop=[\"''\"]."),
        ("--missing skip leaves such rows out", "missing='skip' leaves such rows out"),
        ("fill them in, or pass --missing skip to leave", "... missing='skip' to leave"),
        ("pass --skip-missing to leave out", "... skip_missing=True to leave out"),
        ("pass --machine svdd to learn", "... machine='svdd' to learn"),
        ("needs --machine svdd or one-class, but", "... machine='svdd' or one-class, but"),
        ("set with --machine", "set with machine"),
        ("pass --positive no if it is sought, or --normal no to learn",
         "... positive='no' if it is sought, or normal='no' to learn"),
        ("pass --positive -1 if it is sought", "... positive=-1 if it is sought"),
        ("--nu needs --machine svdd", "nu needs machine='svdd'"),
        ("--nu and --C set the same cost", "nu and C set the same cost"),
        ("--C-star 0 is out of range", "C_star=0 is out of range"),
        ("--target-fpr 0.001 needs at least", "target_fpr=0.001 needs at least"),
        ("(--target-fpr none)", "(target_fpr='none')"),
        ("defaults (--time-budget 0)", "defaults (time_budget=0)"),
        ("leave out --target to train on all rows", "... target to train on all rows"),
        ("with --slack squared pass --C.", "with slack='squared' pass C."),
        ("--clean is for one-class models", "clean=True is for one-class models"),
        ("--rows stores rows for", "rows=True stores rows for"),
        ("fit it again without --no-rows.", "... rows=False."),
        ("pass --no-labels to add", "... no_labels=True to add"),
        ("--bags 0 and --seed -1", "n_bags=0 and random_state=-1"),
        ("well-known -- and a--b stay", "well-known -- and a--b stay"),
    ],
)  # fmt: skip
def test_arguments(said, read):
    found = as_arguments(said)
    assert found.endswith(read.removeprefix("...")), found
    assert as_arguments(found) == found


def test_what_estimators_say_comes_back():
    for said in ("gamma=3 is odd", "pass target_fpr=0.1", "nu=0.5 or C=2"):
        assert "--" in as_options(said)
        assert as_arguments(as_options(said)) == said
