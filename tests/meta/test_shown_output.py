"""The comparison of shown output with what runs: what it allows and what it refuses."""

import pytest
from tests.meta.figures import check_output

SHOWN = """\
Result
  predicted  'a' 385 (68.9 %), ...
...
  accuracy   0.93
  seconds    0.2 s
"""
PRINTED = """\
Result
  predicted 'a'  385 (68.9 %), 'b' 174
  more
  lines
  accuracy  0.9312
  seconds   17.3 s
"""


def test_spaces_dots_and_seconds_may_differ():
    assert check_output("page.md", 1, SHOWN, PRINTED) == []
    assert check_output("page.md", 1, SHOWN.replace("385", "390"), PRINTED) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("0.9312", "0.8"), ("385", "185"), ("accuracy", "recall"), ("Result\n", ""), ("'a'", "'b'")],
)
def test_other_words_and_numbers_are_refused(old, new):
    (message,) = check_output("page.md", 7, SHOWN, PRINTED.replace(old, new))
    assert message.startswith("page.md:7:")


def test_nothing_may_follow_and_signs_count():
    for printed in ("1\n2\n", "-1\n", ""):
        assert check_output("page.md", 1, "1\n", printed)
    assert check_output("page.md", 1, "[0.5 1.  -2.]\n", "[ 0.5  1.  -2. ]\n") == []
    assert check_output("page.md", 1, "3e-16\n", "-2.1e-14\n") == []
