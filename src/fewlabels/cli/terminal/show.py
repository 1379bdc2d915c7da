"""Printing for people and for programs: nothing that a file holds can steer the terminal."""

import json
import shlex
import sys
import traceback
import warnings

import typer

from ...io.errors import printable, quoted
from ...options.flags import as_flags


def say(*lines, err=False):
    """Print lines; options are named by their flags, and control characters written out."""
    for line in lines or ("",):
        typer.echo(printable(as_flags(line)), err=err)


def guard():
    """Let warnings and the messages of bugs take the same way."""
    usual = warnings.formatwarning

    def formatted(*given, **named):
        return "".join(f"{printable(line)}\n" for line in usual(*given, **named).splitlines())

    def show_bug(kind, error, trace):
        say(*"".join(traceback.format_exception(kind, error, trace)).splitlines(), err=True)

    if not getattr(usual, "is_guarded", False):
        formatted.is_guarded = True
        warnings.formatwarning = formatted
    sys.excepthook = show_bug


def as_json(values, err=False):
    say(*json.dumps(values, indent=2, allow_nan=False).split("\n"), err=err)


def note(message):
    """Print what the user should know, apart from the results."""
    say(f"Note: {message}.", err=True)


def told(summary, json, quiet, notes):
    """Print notes and JSON unless asked not to; whether lines for people are wanted."""
    for message in () if quiet else notes:
        note(message)
    if json:
        as_json(summary)
    return not (json or quiet)


def command_line(context):
    """The command that is running, as a user would type it again."""
    words = ["fewlabels", context.info_name]
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name)
        value = context.params.get(parameter.name)
        if source is None or source.name != "COMMANDLINE" or value is None:
            continue
        if parameter.param_type_name == "argument":
            words.append(str(value))
        elif isinstance(value, bool):
            words.append(max(parameter.opts if value else parameter.secondary_opts, key=len))
        else:
            for item in value if isinstance(value, list | tuple) else [value]:
                words += [max(parameter.opts, key=len), str(getattr(item, "value", item))]
    return shlex.join(words)


def lines(pairs, err=False):
    """Print aligned names and values, leaving out those without a value."""
    sections({"": pairs}, err)


def sections(parts, err=False):
    """Print titled groups of names and values, all aligned; ``parts`` maps titles to pairs."""
    known = {
        title: [(name, value) for name, value in pairs if value is not None]
        for title, pairs in parts.items()
    }
    width = max(len(name) for pairs in known.values() for name, _ in pairs)
    for title, pairs in known.items():
        if title and pairs:
            say(title, err=err)
        for name, value in pairs:
            say(f"  {name:<{width}}  {value}", err=err)


def number(value):
    """Shorten a number to four digits; None stays None."""
    return None if value is None else f"{value:.4g}"


def gap(value):
    """Shorten a duality gap; what rounding pushed below 0 is 0."""
    return number(None if value is None else max(0.0, value))


def percent(share):
    return f"{100 * share:g} %"


def interval(low, high):
    return f"{low:.3g} to {high:.3g}"


def mark(value):
    return f"marked {quoted(value)}" if value else "blank"


def counted(counts):
    return ", ".join(f"{count:,} {quoted(name)}" for name, count in counts.items())


def share(part, whole):
    return f"{part:,} ({100 * part / whole:.1f} %)" if whole else f"{part:,}"


def size(n_bytes):
    units = ["bytes", "kB", "MB", "GB"]
    while n_bytes >= 1000 and len(units) > 1:
        n_bytes /= 1000
        units.pop(0)
    return f"{n_bytes:,.3g} {units[0]}"


def columns(schema):
    """Describe the columns of a schema (as a dict) in a few words."""
    total = schema["n_columns"]
    if schema["layout"] != "table":
        return f"{total:,} ({schema['layout']} matrix)"
    categories = [c["categories"] for c in schema["columns"] if c["kind"] == "category"]
    dates, truth = (sum(c["kind"] == k for c in schema["columns"]) for k in ("date", "boolean"))
    texts = [c["words"] for c in schema["columns"] if c["kind"] == "text"]
    words = []
    if numbers := total - len(categories) - dates - truth - len(texts):
        words.append(f"{numbers:,} of numbers")
    if dates:
        words.append(f"{dates:,} of dates")
    if truth:
        words.append(f"{truth:,} of yes and no")
    if categories:
        words.append(f"{len(categories):,} of categories with {sum(categories):,} values")
    if texts:
        words.append(f"{len(texts):,} of texts with {sum(texts):,} terms")
    return f"{total:,} ({', '.join(words)})"


def unlabelled_rows(training):
    """How many rows have no label, and how these are marked."""
    return f"{training['rows_unlabeled']:,} rows, {mark(training['unlabeled'])}"


def support_vectors(training):
    """How many, and their share of the rows; None for methods that have none."""
    found = training["support_vectors"]
    return None if found is None else share(found, training["rows"])
