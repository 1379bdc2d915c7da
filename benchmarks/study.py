"""The runner of all programs: options, a loop over cases, stored results, and a report.

A program says what its cases are, and how to report stored results:

    STUDY = Study(__doc__, cases, report, choices={"sets": SETS}, quick={"sets": ["wine"]})

``cases(options)`` gives a :class:`Case` for each measurement. The runner measures one after the
other, and appends what each returns to ``NAME.jsonl``. ``report(results)`` turns the stored
records into parts of ``NAME.md``, and draws pictures next to it. So a run can be stopped at any
time, ``--resume`` continues it, and ``--report-only`` repeats the report.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

import results as results_file
from shared.common import ChildFailed, group, in_child, machine, machine_line, plain, write_text

Key = Mapping[str, str | int | float | bool | None]
Record = dict[str, Any]

# Failures that belong to a result: a method isn't installed, or it took too long.
_EXPECTED = ("over ", "left out", "ImportError", "ModuleNotFoundError", "TimeoutError")


@dataclass(frozen=True)
class Case:
    """One measurement.

    Attributes
    ----------
    key : mapping
        Names and numbers that no other case has.
    measure : callable
        Returns a record, or a list of records, when it is called with ``arguments``.
    arguments : tuple
        Arguments of ``measure``.
    apart : bool
        Measure in a fresh process.
    limit : float or None
        Seconds after which that process is killed.
    series : str
        When a case of a series fails, the later ones of the series are left out.
    """

    key: Key
    measure: Callable[..., Record | list[Record]]
    arguments: tuple[Any, ...] = ()
    apart: bool = False
    limit: float | None = None
    series: str = ""

    @property
    def name(self) -> str:
        """The key in one line."""
        return ", ".join(str(value) for value in self.key.values())


class Setting(NamedTuple):
    """An option of a program; ``type`` is needed if the default is None."""

    default: Any
    help: str
    type: Callable[[str], Any] | None = None


@dataclass
class Results:
    """Stored results of a study.

    Attributes
    ----------
    name : str
        Name of the program.
    stem : Path
        Name of the report without its ending; pictures begin with it.
    machine : dict
        Hardware, versions and commit.
    options : dict
        Options of the last run.
    records : list of dict
        What cases returned, each with the fields of its key.
    failed : list of dict
        Keys of the cases that failed, each with the reason as "failed".
    """

    name: str
    stem: Path
    machine: dict[str, Any]
    options: dict[str, Any]
    records: list[Record] = field(default_factory=list)
    failed: list[Record] = field(default_factory=list)

    def where(self, **fields: Any) -> list[Record]:
        """Return the records that have these values."""
        return [r for r in self.records if all(r.get(k) == v for k, v in fields.items())]

    def picture(self, part: str = "") -> Path:
        """Return the path of a picture."""
        return self.stem.with_name(f"{self.stem.name}{'-' * bool(part)}{part}.png")

    def entry(self, name: str, columns: Sequence[str], rows: list[list[Any]], **about: Any) -> Any:
        """Return an entry for the results file; see ``results.entry``."""
        hardware = f"{self.machine['cores']} cores, {self.machine['processor']}"
        about = {"program": f"python benchmarks {self.name}", "hardware": hardware} | about
        return results_file.entry(name, columns, rows, **about)


@dataclass(frozen=True)
class Study:
    """A program.

    Attributes
    ----------
    about : str
        What is measured, and how; its first line is the title.
    cases : callable
        Gives the cases for some options; it loads no data.
    report : callable or None
        Returns parts of the Markdown report beside the tables of entries, and draws pictures.
    entries : callable or None
        Returns entries for the results file.
    choices : mapping
        Names by option, such as "parts", "sets" and "methods". An option takes names or patterns.
    settings : mapping
        Other options.
    quick : mapping
        Values of options under ``--quick``.
    data : str
        Whether a data folder is "required", "optional", or not used ("").
    files : callable or None
        Returns names of the sets that must be in the data folder.
    """

    about: str
    cases: Callable[[argparse.Namespace], Iterable[Case]]
    report: Callable[[Results], Iterable[str]] | None = None
    entries: Callable[[Results], list[Any]] | None = None
    choices: Mapping[str, Sequence[str]] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    quick: Mapping[str, Any] = field(default_factory=dict)
    data: str = ""
    files: Callable[[argparse.Namespace], Iterable[str]] | None = None

    def main(self, name: str, arguments: Sequence[str]) -> None:
        """Run the program with arguments of the command line."""
        options = self._parse(name, arguments)
        if options.list:
            self._list(options)
            return
        path = options.out / f"{name}{'-quick' * options.quick}.jsonl"
        if options.report_only and not path.exists():
            sys.exit(f"{path} does not exist; run the program without --report-only first.")
        if not options.report_only:
            self._run(options, path)
        results = read_results(name, path)
        self._write(results)
        unexpected = [one for one in results.failed if not one["failed"].startswith(_EXPECTED)]
        if unexpected:
            sys.exit(f"{len(unexpected)} cases failed; --resume tries them again.")

    # -- options -----------------------------------------------------------------------------

    def _parse(self, name: str, arguments: Sequence[str]) -> argparse.Namespace:
        parser = argparse.ArgumentParser(
            prog=f"python benchmarks {name}",
            description=self.about,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        flag = parser.add_argument
        flag("--list", action="store_true", help="list names and cases, and measure nothing")
        flag("--quick", action="store_true", help="tiny sizes: does the program work?")
        flag("--resume", action="store_true", help="keep the cases that were measured before")
        flag("--report-only", action="store_true", help="repeat the report of stored results")
        flag("--out", type=Path, default=Path("results"), help="folder of results")
        if self.data:
            default = os.environ.get("FEWLABELS_DATA") or None
            flag("--data", type=Path, default=default, help="folder of data sets (FEWLABELS_DATA)")
        for option, names in self.choices.items():
            flag(f"--{option}", nargs="+", help=f"{option} by name or pattern: {', '.join(names)}")
        for option, setting in self.settings.items():
            _add_setting(parser, option, setting)
        if "--quick" in arguments:
            parser.set_defaults(**self.quick)
        options = parser.parse_args(arguments)
        options.is_restricted = any(f"--{option}" in arguments for option in self.choices)
        for option, names in self.choices.items():
            patterns = getattr(options, option)
            chosen = [n for n in names if patterns is None or _matches(n, patterns)]
            if not chosen:
                parser.error(f"no name matches --{option} {' '.join(patterns)}; see --list.")
            setattr(options, option, chosen)
        return options

    def _list(self, options: argparse.Namespace) -> None:
        for option, names in self.choices.items():
            print(f"{option}: {', '.join(names)}")
        cases = list(self.cases(options))
        print(f"{len(cases)} cases" + ":" * (len(cases) <= 100))
        if len(cases) <= 100:
            print("\n".join(f"  {case.name}" for case in cases))

    def _check_data(self, options: argparse.Namespace) -> None:
        """Exit with one sentence if the data folder or one of its sets is missing."""
        if not self.data or (self.data == "optional" and options.data is None):
            return
        if options.data is None or not options.data.is_dir():
            sys.exit("Pass --data FOLDER or set FEWLABELS_DATA to an existing folder "
                     f"(given: {options.data}).")  # fmt: skip
        options.data = options.data.resolve()
        names = sorted(set(self.files(options))) if self.files else []
        missing = [f"{n}.npz" for n in names if not (options.data / f"{n}.npz").is_file()]
        if missing:
            sys.exit(f"The data folder {options.data} lacks {', '.join(missing)}.")

    # -- measuring ---------------------------------------------------------------------------

    def _run(self, options: argparse.Namespace, path: Path) -> None:
        """Measure the cases, and store each as soon as it is measured."""
        self._check_data(options)
        cases = list(self.cases(options))
        stored = _stored_cases(path) if options.resume or options.is_restricted else []
        chosen = {_identity(case.key) for case in cases}
        done = {_identity(one["key"]) for one in stored if "failed" not in one}
        if options.resume:
            cases = [case for case in cases if _identity(case.key) not in done]
            stored = [one for one in stored if "failed" not in one]
        else:
            stored = [one for one in stored if _identity(one["key"]) not in chosen]
        header = {"machine": machine(), "options": _as_plain(vars(options))}
        write_text(path, "".join(_line(one) for one in (header, *stored)))
        failed: set[str] = set()

        def measure(case: Case) -> tuple[Case, Record, float]:
            since = time.perf_counter()
            if case.series and case.series in failed:
                found: Record = {"failed": "left out: an earlier case of the series failed"}
            else:
                found = _measured(case)
            return case, found, time.perf_counter() - since

        with ThreadPoolExecutor(getattr(options, "jobs", 1)) as pool, path.open("a") as file:
            is_parallel = getattr(options, "jobs", 1) > 1
            outcomes = pool.map(measure, cases) if is_parallel else map(measure, cases)
            for number, (case, found, seconds) in enumerate(outcomes, 1):
                if "failed" in found:
                    failed.add(case.series)
                file.write(_line({"key": case.key, **found}))
                file.flush()
                text = found.get("failed") or _summary(found["found"])
                print(f"[{number}/{len(cases)}] {case.name}: {text} ({seconds:.1f} s)", flush=True)

    # -- the report --------------------------------------------------------------------------

    def _write(self, results: Results) -> None:
        """Write the report, and entries for the results file."""
        title, _, body = self.about.partition("\n")
        parts = [f"# {title}", machine_line(results.machine), f"```\n{body.strip()}\n```"]
        if not results.records:
            parts.append("Nothing was measured.")
        elif self.report:
            parts += self.report(results)
        entries = self.entries(results) if self.entries and results.records else []
        for entry in entries:
            table = results_file.table({"entries": [entry], "views": []}, entry["name"])
            parts += [f"## {entry['name']}: {entry['unit']}", table.strip(), entry["note"]]
        if results.failed:
            lines = []
            for reason, some in group(results.failed, "failed").items():
                first = ", ".join(str(v) for k, v in some[0].items() if k != "failed")
                lines.append(f"* {reason}: {len(some)} cases, such as {first}")
            parts += ["## Not measured", "\n".join(lines)]
        parts = [part for part in parts if part]
        text = "\n\n".join(parts) + "\n"
        write_text(results.stem.with_name(f"{results.stem.name}.md"), text)
        print("\n" + "\n\n".join(parts[3:]))
        if entries:
            path = results.stem.with_name(f"{results.stem.name}-entries.json")
            write_text(path, json.dumps({"entries": entries}, indent=1, default=plain) + "\n")
        print(f"\nWritten: {results.stem}.md and its pictures.")


def read_results(name: str, path: Path) -> Results:
    """Return the stored results of a program."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    results = Results(name, path.with_suffix(""), lines[0]["machine"], lines[0]["options"])
    for one in lines[1:]:
        if "failed" in one:
            results.failed.append({**one["key"], "failed": one["failed"]})
            continue
        found = one["found"] if isinstance(one["found"], list) else [one["found"]]
        results.records += [{**one["key"], **record} for record in found]
    return results


def _add_setting(parser: argparse.ArgumentParser, option: str, setting: Setting) -> None:
    flag, default = f"--{option.replace('_', '-')}", setting.default
    if isinstance(default, bool):
        parser.add_argument(flag, action="store_true", help=setting.help)
        return
    is_list = isinstance(default, list)
    kind = setting.type or type(default[0] if is_list else default)
    text = f"{setting.help} (default: {default})" if default is not None else setting.help
    parser.add_argument(flag, type=kind, default=default, nargs="+" if is_list else None,
                        help=text)  # fmt: skip


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(pattern == name or fnmatch(name, pattern) for pattern in patterns)


def _stored_cases(path: Path) -> list[Record]:
    """Return the stored cases of an earlier run."""
    lines = path.read_text(encoding="utf-8").splitlines()[1:] if path.exists() else []
    return [json.loads(line) for line in lines]


def _measured(case: Case) -> Record:
    """Return what a case found, or why it failed."""
    try:
        if case.apart:
            found = in_child(_quietly, case.measure, case.arguments, limit=case.limit)
        else:
            found = _quietly(case.measure, case.arguments)
    except ChildFailed as failure:
        return {"failed": str(failure).strip().splitlines()[-1][:300]}
    except Exception as error:  # a case must not end an afternoon
        return {"failed": f"{type(error).__name__}: {error}"[:300]}
    return {"found": found}


def _quietly(measure: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return measure(*arguments)


def _identity(key: Key) -> str:
    return json.dumps(_as_plain(dict(key)), sort_keys=True)


def _line(value: Any) -> str:
    return json.dumps(value, default=plain) + "\n"


def _as_plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=plain))


def _summary(found: Record | list[Record]) -> str:
    """Return the first figures of a record, or the number of records."""
    if isinstance(found, list):
        return f"{len(found)} records"
    figures = [(k, v) for k, v in found.items() if isinstance(v, int | float | str)]
    return ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}"
                     for k, v in figures[:8])  # fmt: skip
