"""What documents and examples show works: their code blocks, commands and scripts are run.

The figures in comments, and shown output, are compared with what the code prints (``figures.py``).

All run in this process: importing the package anew for each would take most of the time. What
only a process of its own can show has tests in ``tests/cli/test_process.py``.
"""

import doctest
import importlib.util
import re
import runpy

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from quick import documents_with_code, examples
from tests.meta import figures
from typer.testing import CliRunner

from fewlabels.cli import app


def blocks(text):
    """Fenced code blocks: (language, code, the line before the code)."""
    pattern = r"^```(\w+)\n(.*?)^```$"
    for found in re.finditer(pattern, text, flags=re.MULTILINE | re.DOTALL):
        yield *found.groups(), text.count("\n", 0, found.start(2))


def write_tables(folder):
    """The files that README and docs speak of, with few rows."""
    import pandas as pd

    rng = np.random.default_rng(0)

    def machines(n):
        return pd.DataFrame(
            {
                "temperature": rng.normal(60.0, 3.0, n),
                "vibration": rng.normal(0.5, 0.1, n),
                "model": rng.choice(["A", "B"], n),
            }
        )

    machines(200).to_csv(folder / "healthy.csv", index=False)
    machines(50).to_csv(folder / "today.csv", index=False)
    labelled = machines(200).assign(state=["ok"] * 180 + ["broken"] * 20)
    labelled.to_csv(folder / "labelled.csv", index=False)
    words = np.array(["please refund my money", "the login fails again"])
    which = rng.integers(0, 2, 60)
    tickets = {"ticket": words[which], "words": rng.integers(3, 90, 60)}
    pd.DataFrame(tickets).to_csv(folder / "tickets.csv", index=False)


def give_labels(path):
    """What people would do on the page of ``fewlabels label``: label a few rows."""
    from fewlabels.labelling.session import Session

    session = Session(path)
    for row in range(20):
        cells = session.rows.card(row)
        label = "refund" if "refund" in cells[0]["text"] else "login"
        session.answer(id=f"{row}", annotator="me", row=row, kind="label", label=label)
    session.close()


# Documents show what warns, too.
pytestmark = pytest.mark.filterwarnings("default")

# Libraries that the tests don't need. Blocks that import one run where it is installed.
PEERS = {"river"}


def imports_missing_peer(code):
    """Whether a block imports another library that isn't installed here."""
    names = set(re.findall(r"^(?:from|import) (\w+)", code, flags=re.MULTILINE))
    return any(importlib.util.find_spec(name) is None for name in names & PEERS)


def run_command(line):
    """Run a command as it is shown, or so that it doesn't take long; what it prints."""
    words = line.split()[1:]
    if words[0] == "demo" and "--quick" not in words:
        words.append("--quick")
    if words[0] == "fit" and "--time-budget" not in words:
        words += ["--time-budget", "2"]
    if words[0] == "label" and "--export" not in words:
        words += ["--export", "so-far.csv"]  # it would wait for people
    result = CliRunner().invoke(app, words)
    alarm = 3 * (words[0] == "watch")
    assert result.exit_code in (0, alarm), f"{line}\n{result.output}{result.exception!r}"
    if words[0] == "label":
        give_labels(words[1])
    return result.output


@pytest.mark.parametrize("document", documents_with_code())
def test_code_of_documents_runs(document, repository, tmp_path, monkeypatch):
    text = (repository / document).read_text(encoding="utf-8")
    write_tables(tmp_path)
    monkeypatch.chdir(tmp_path)
    namespace, earlier, wrong = {}, "", []
    ran, output = 0, None
    for language, code, start in blocks(text):
        if language == "python":
            if imports_missing_peer(code):
                continue
            printed = namespace["print"] = figures.Printed()
            exec(compile("\n" * start + code, document, "exec"), namespace)
            wrong += figures.check(document, code, start, earlier, printed)
            earlier += code
            output = printed.text
            ran += 1
        elif language == "output":
            wrong += figures.check_output(document, start, code, output)
        elif language == "pycon":
            # One namespace per document: later blocks go on where earlier ones stopped.
            test = doctest.DocTestParser().get_doctest(code, namespace, document, document, 0)
            runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
            runner.run(test, clear_globs=False)
            namespace.update(test.globs)
            assert runner.failures == 0, document
            ran += 1
        elif language in ("sh", "shell", "bash", "console"):
            output = ""
            for line in code.replace("\\\n", " ").split("\n"):
                line, _, comment = line.removeprefix("$ ").partition(" #")
                if line.startswith("fewlabels "):
                    printed = run_command(line.strip())
                    wrong += figures.check_command(document, comment, printed)
                    output += printed
                    ran += 1
    assert ran or document != "README.md"
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", examples())
def test_examples_run_and_draw(name, repository, tmp_path, monkeypatch, few_trees):
    picture = tmp_path / "picture.png"
    # What a script would show on a screen goes to a file.
    monkeypatch.setattr(plt, "show", lambda: plt.savefig(picture))
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    with matplotlib.rc_context():
        try:
            runpy.run_path(str(repository / "examples" / name), run_name="__main__")
        finally:
            plt.close("all")
    if name.startswith("plot_"):
        assert picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
