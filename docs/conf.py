"""The documentation site: ``make docs``. Needs no network, and neither do its pages."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from importlib.metadata import version as version_of
from pathlib import Path

import latex2mathml.converter
from typer.testing import CliRunner

from fewlabels.cli import app as commands

project = "fewlabels"
author = "The fewlabels developers"
copyright = "The fewlabels developers"
version = release = version_of("fewlabels")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
    "numpydoc",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "gallery/**/*.ipynb", "gallery/**/*.py"]
nitpicky = False

myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_|/tune_",
    "within_subsection_order": "FileNameSortKey",
    "show_memory": False,
    "write_computation_times": False,
    "download_all_examples": False,
    "show_signature": False,
    "abort_on_example_error": True,
    "image_srcset": ["2x"],
}

html_theme = "furo"
html_title = f"fewlabels {version}"
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
# Formulas are MathML, which browsers draw themselves: no script, no font from elsewhere.
html_math_renderer = "mathml"

_HERE = Path(__file__).parent
# Pages that are made from the program.
_API = _HERE / "api"
# Mean number of characters per cell from which a column is running text, and needs much room.
_PROSE, _LONG = 20, 45
# Number of characters that a word of code may have to stay in one line on a narrow screen.
_WORD = 24


def _inline_math(self, node):
    from docutils import nodes

    self.body.append(latex2mathml.converter.convert(node.astext()))
    raise nodes.SkipNode


def _display_math(self, node):
    from docutils import nodes

    formula = latex2mathml.converter.convert(node.astext(), display="block")
    self.body.append(f'<div class="formula">{formula}</div>')
    raise nodes.SkipNode


# The reference by task: a title, and modules or single names. A module stands for all its names
# that no earlier entry has listed.
_TASKS = [
    (
        "Learn from one class",
        ["fewlabels.SVDDEnsemble", "fewlabels.SVDD", "fewlabels.OneClassSVM"],
    ),
    ("Learn from positive and unlabelled rows", ["fewlabels.PUSVM", "fewlabels.PUEnsemble"]),
    ("Learn from a few labels", ["fewlabels.S3VM"]),
    (
        "Fit a table in one call",
        ["fewlabels.fit_table", "fewlabels.load", "fewlabels.TableEncoder", "fewlabels.pipeline"],
    ),
    ("Label rows", ["fewlabels.label", "fewlabels.labelling", "fewlabels.querying"]),
    (
        "Choose settings and compare models",
        ["fewlabels.tune", "fewlabels.model_selection", "fewlabels.baselines"],
    ),
    ("Measure without full labels", ["fewlabels.metrics"]),
    (
        "Estimate class shares",
        [
            "fewlabels.class_prior.estimate_prior",
            "fewlabels.class_prior.label_shift",
            "fewlabels.class_prior.pooled_from_unlabeled",
            "fewlabels.class_prior.unlabeled_from_pooled",
            "fewlabels.class_prior",
        ],
    ),
    ("Explain, plot and report", ["fewlabels.inspection", "fewlabels.report"]),
    ("Fit large data", ["fewlabels.stored_rows", "fewlabels.dask"]),
    ("Monitor a deployed model", ["fewlabels.monitoring"]),
    ("Use a model elsewhere", ["fewlabels.onnx"]),
    ("Choose a kernel", ["fewlabels.kernels"]),
    ("Report versions", ["fewlabels"]),
    ("State and solve the optimisation problem", ["fewlabels.problem", "fewlabels.solvers"]),
    ("Follow a solution", ["fewlabels.solvers.path"]),
    ("Compute kernel values", ["fewlabels.kernels.operators"]),
]


def _public(module):
    """Qualified names of a module's public classes and functions, in the order of ``__all__``."""
    found = importlib.import_module(module)
    values = ((name, getattr(found, name)) for name in found.__all__)
    return [
        f"{module}.{name}"
        for name, value in values
        if inspect.isclass(value) or inspect.isfunction(value)
    ]


def _resolve(name):
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def _write_reference():
    """A page for every public object, under the task it serves."""
    listed, pages = set(), {"index.rst"}
    lines = ["API by task", "===========", ""]
    lines += ["The docstrings of all public classes and functions, as ``help()`` prints them.", ""]
    for title, entries in _TASKS:
        names = []
        for entry in entries:
            for name in _public(entry) if _is_module(entry) else [entry]:
                if _resolve(name) not in listed:
                    listed.add(_resolve(name))
                    names.append(name)
        lines += [title, "-" * len(title), "", ".. autosummary::", "   :toctree: .", ""]
        lines += [*(f"   ~{name}" for name in names), ""]
        pages |= {f"{name}.rst" for name in names}
    _write("index.rst", lines)
    for page in _API.glob("*.rst"):
        if page.name not in pages:  # the object no longer exists
            page.unlink()


def _is_module(name):
    parent, _, attribute = name.rpartition(".")
    return not parent or attribute not in importlib.import_module(parent).__all__


def _write_command_line():
    """The help of every command, from the program itself."""
    lines = ["# Options of the commands", "", "What `fewlabels COMMAND --help-all` prints.", ""]
    for command in commands.registered_commands:
        name = command.name or command.callback.__name__
        grouped = any("help_all" in str(p) for p in inspect.signature(command.callback).parameters)
        option = "--help-all" if grouped else "--help"
        wide = {"COLUMNS": "100", "TERMINAL_WIDTH": "100", "NO_COLOR": "1", "TERM": "dumb"}
        done = CliRunner(env=wide).invoke(commands, [name, option], prog_name="fewlabels")
        lines += [f"## fewlabels {name}", "", "```text", done.output.strip(), "```", ""]
    _write("command-line-options.md", lines)


def _write(name, lines):
    """Write a page unless it is there, so that Sphinx need not read it again."""
    target, text = _API / name, "\n".join(lines)
    _API.mkdir(exist_ok=True)
    if not target.exists() or target.read_text(encoding="utf-8") != text:
        target.write_text(text, encoding="utf-8")


# Files of the repository that are pages of the site too, or that a page of the site is made from.
_SITE = {
    "benchmarks/README.md": "internals/contributing.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "internals/contributing.md",
    "README.md": "learn/start.md",
    "examples/README.rst": "gallery/index.rst",
    "src/fewlabels/__init__.py": "api/index.rst",
    "src/fewlabels/cli": "api/command-line-options.md",
}


def _local_links(app, name, source):
    """Lead links to files of the repository to their pages on the site."""
    folder = (_HERE / name).parent

    def link(found):
        target = os.path.relpath(folder / found[1], _HERE.parent)
        if target not in _SITE:
            return found[0]
        return f"]({os.path.relpath(_HERE / _SITE[target], folder)}"

    source[0] = re.sub(r"\]\((\.\./[^)#\s]*)", link, source[0])


def _mark_prose(app, tree, name):
    """Mark the cells of columns of running text, which need room."""
    from docutils import nodes

    for table in tree.findall(nodes.table):
        rows = [list(row.findall(nodes.entry)) for row in table.findall(nodes.row)]
        for column in zip(*rows, strict=False):
            mean = sum(len(cell.astext()) for cell in column) / len(column)
            if mean > _PROSE:
                for cell in column:
                    cell["classes"].append("long" if mean > _LONG else "prose")


def _mark_code(app, tree, name):
    """Mark code of short words, which don't break, for example after a dash."""
    from docutils import nodes

    for code in tree.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) <= _WORD:
            code["classes"].append("short")


def _join_numbers(app, tree, name):
    """No line ends inside a number such as 20 000, or before its percent sign."""
    from docutils import nodes

    for text in list(tree.findall(nodes.Text)):
        joined = re.sub(r"(?<=\d) (?=\d{3}\b|%)", "\N{NO-BREAK SPACE}", text)
        if joined != text and not isinstance(text.parent, nodes.literal | nodes.FixedTextElement):
            text.parent.replace(text, nodes.Text(joined))


def _skip(app, what, name, obj, skip, options):
    """Leave out what scikit-learn adds to every estimator, and unexplained fields of tuples."""
    module = getattr(obj, "__module__", None) or ""
    alias = (getattr(obj, "__doc__", None) or "").startswith("Alias for field number")
    return True if skip or alias or module.startswith("sklearn.") else None


def setup(app):
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(_inline_math, None),
        block_renderers=(_display_math, None),
    )
    app.connect("source-read", _local_links)
    app.connect("autodoc-skip-member", _skip)
    app.connect("doctree-resolved", _mark_prose)
    app.connect("doctree-resolved", _mark_code)
    app.connect("doctree-resolved", _join_numbers)
    _write_reference()
    _write_command_line()
