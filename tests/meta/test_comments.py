"""Figures in comments of shown code are seen, and compared with what is printed."""

import pytest
from tests.meta import figures

VALUES = "prior, interval, n = 0.2404, (0.1283, 0.3066), 121\n"


def wrong(code):
    printed = figures.Printed()
    exec(compile("\n" * 10 + code, "page.md", "exec"), {"print": printed})
    return figures.check("page.md", code, 10, "", printed)


@pytest.mark.parametrize(
    "code",
    [
        f"{VALUES}print(prior, interval)  # 0.24 (0.13 to 0.31)",
        f"{VALUES}print(prior, interval)  # 24 % are positive, 13 to 31 %",
        f"{VALUES}print(f'{{prior:.0%}}', n)  # 24 % of 121",
        f"{VALUES}print(interval, prior)  # .2: what is printed between may be left out",
        f"{VALUES}print(n, prior)  # about 100 rows",
        f"{VALUES}print(prior)  # more than 0.2",
        f"{VALUES}print(prior)  # at most 0.3",
        f"{VALUES}print(\n    prior,\n    n,\n)  # 0.2404 and 121",
        "print(3e-15)  # about 1e-14",
        "print(1234567)  # 1,234,567 rows",
        "print(1 / 501)  # 1 / 501",
        "for x in (1, 2):\n    print(x)  # 1, 2",
        "x = [0] * 30  # 30 rows",
        "x = 0.05  # 5 % of them",
        "print([1], 2)  # its 90 % interval",
        "print('S3VM', 3)  # 3 of S3VM, x86-64 and Python 3.11.2",
        "x = 1  # no figure at all",
    ],
)
def test_right_comments(code):
    assert wrong(code) == []


@pytest.mark.parametrize(
    ("code", "prints"),
    [
        (f"{VALUES}print(prior, interval)  # 0.27 (0.13 to 0.31)", "0.2404 (0.1283, 0.3066)"),
        (f"{VALUES}print(prior, interval)  # 24 % are positive, 21 to 32 %", "0.2404"),
        (f"{VALUES}print(interval, prior)  # 0.24, 0.13", "0.2404"),
        (f"{VALUES}print(n)  # 120 rows", "121"),
        (f"{VALUES}print(n)  # 121 rows, 120 of them right", "121"),
        (f"{VALUES}print(prior)  # about 0.4", "0.2404"),
        (f"{VALUES}print(prior)  # more than 0.3", "0.2404"),
        (f"{VALUES}print(prior)  # 0", "0.2404"),
        ("print(1.0)  # 1.1", "1.0"),
        ("x = sum(range(5))  # 11", "nothing here prints or holds that"),
        ("# 10 rows\nx = 1", "nothing here prints or holds that"),
    ],
)
def test_wrong_comments_are_shown_with_what_is_printed(code, prints):
    (message,) = wrong(code)
    line = next(k for k, text in enumerate(code.split("\n"), 11) if "#" in text)
    assert message.startswith(f"page.md:{line}: ") and prints in message


def test_a_block_may_speak_of_numbers_in_earlier_ones():
    code, printed = "y = 1  # one of 30", figures.Printed()
    assert figures.check("page.md", code, 0, "x = 30\n", printed) == []
    assert figures.check_command("page.md", " --fdr 0.1 bounds errors", "") == []
    assert figures.check_command("page.md", " 12 rows", "read 12 rows") == []
    assert "prints read 13" in figures.check_command("page.md", " 12 rows", "read 13 rows")[0]
