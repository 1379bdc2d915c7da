"""How often monitors alarm on streams that don't change, and how soon on streams that do.

    python benchmarks monitoring --data FOLDER --runs 1000

Every part writes its results as lines of JSON as they come, so that a run that was stopped
continues. Delete the files monitoring-*.jsonl to begin anew.

Part "unchanged": streams of Gaussian rows, of counts with ties, and of rows drawn with
replacement from six real sets, after 50, 200 or 1000 calibration rows. The scores are those of an
isolation forest fitted to other rows (real sets), or the numbers themselves. Reported is the share
of streams that ever alarm at alpha = 0.01 and 0.05, with 95 % intervals (Clopper and Pearson).

Part "lengths": run lengths of the charts that begin anew, on the same sources.

Part "changed": 1000 unchanged rows, then 1000 rows with a shift of the mean, the spread, a
correlation, the class prior, or with a new cluster. Models are an SVDD, and a logistic
regression for the prior.
Rivals get the same scores: river's ADWIN, KSWIN and Page-Hinkley, the jumper and the plug-in
martingale of MAPIE, the restarted jumper of nonconform (Python 3.12), and alibi-detect's online
MMD (the rows themselves), where installed. They are compared at their own thresholds and at
thresholds tuned so that 1 or 5 % of unchanged streams ever alarm.

Part "alerts": LORD and SAFFRON at 5 and 10 %, on real sets with 1 % anomalies, scored by an
SVDDEnsemble and by an isolation forest.

Part "dates": how often the interval for the beginning of a change holds it.

Part "time": microseconds per row of one stream of a million rows, and memory.
"""

import time

import numpy as np
from accuracy.monitoring import alerts, changed, dates, rates
from accuracy.monitoring.lines import Lines, mean_length, share
from accuracy.monitoring.streams import CHANGES
from results import entry
from shared.common import (
    PeakMemory,
    machine,
    machine_line,
    markdown_table,
    options,
    write_json,
    write_text,
)  # fmt: skip

ALPHAS = (0.01, 0.05)
HARDWARE = "2 cores of a server (AMD EPYC, AVX-512), 24 GB, shared with other work"
PROGRAM = "python benchmarks monitoring"


def lines_of(args, part, *key):
    quick = "-quick" if args.quick else ""
    return Lines(args.out / f"monitoring-{part}{quick}.jsonl", *key)


def unchanged(args):
    lines = lines_of(args, "unchanged", "source", "run")
    runs, rows = (6, 500) if args.quick else (args.runs, args.rows)
    rates.unchanged(lines, args.data, runs, rows)
    table = []
    names = list(dict.fromkeys(row["source"] for row in lines.rows))
    groups = {name: lines.where(source=name) for name in names}
    for n in rates.CALIBRATION:
        groups[f"all, {n} calibration rows"] = lines.where(calibration=n)
    groups["all"] = lines.rows
    for name, group in groups.items():
        cells = []
        for alpha in ALPHAS:
            k = sum(row["highest"] >= -np.log(alpha) for row in group)
            value, low, high = share(k, len(group))
            cells += [value, f"{low:.2%}–{high:.2%}"]
        table.append([name, len(group), *cells])
    head = ["streams", "alarm at 0.01", "95 % interval", "alarm at 0.05", "95 % interval, 0.05"]
    return entry(
        "monitoring", head, table, label="unchanged streams", program=PROGRAM, hardware=HARDWARE,
        unit=f"share of unchanged streams of {rows} rows that ever alarm",
        formats=[",", ".2%", "", ".2%", ""],
    )  # fmt: skip


def lengths(args):
    lines = lines_of(args, "lengths", "source", "setting", "chart")
    rates.run_lengths(lines, args.data, args.quick)
    table = []
    for chart in rates.CHARTS:
        for setting in rates.RUN_LENGTHS:
            group = lines.where(chart=chart, setting=setting)
            means = [row["rows"] / max(1, row["alarms"]) for row in group]
            keys = "rows", "alarms", "sum", "squares"
            total = [sum(row[key] for row in group) for key in keys]
            mean, low, high = mean_length(*total)
            table.append([
                f"{chart}, {setting}", total[0], int(total[1]),
                mean if np.isfinite(mean) else None,
                f"{low:,.0f}–{high:,.0f}" if np.isfinite(high) else f"above {low:,.0f}",
                min(means),
            ])  # fmt: skip
    head = ["rows", "alarms", "rows per alarm", "95 % interval", "least of a source"]
    return entry(
        "monitoring-lengths", head, table, label="chart, run_length", program=PROGRAM,
        unit="rows between alarms on unchanged streams, all sources together",
        hardware=HARDWARE, formats=[",", ",", ",.0f", "", ",.0f"],
    )  # fmt: skip


def changes(args):
    tuning = lines_of(args, "tuning", "detector", "setting", "run")
    lines = lines_of(args, "changed", "detector", "change", "run")
    changed.run(tuning, lines, args.data, args.detectors, args.quick)
    names = list(dict.fromkeys(row["detector"] for row in lines.rows))
    entries = []
    for rate in changed.RATES:
        key, table = f"equal {rate:.0%}", []
        for title in CHANGES:
            found = [changed.summary(lines, name, title, key) for name in names]
            if any(found):
                table.append([title, *map(_seen, found)])
        entries.append(entry(
            f"monitoring-changed-{rate:.0%}".replace("%", ""), names, table, label="change",
            unit=f"changed streams seen, and median delay in rows, where {rate:.0%} of unchanged "
            "streams of 2000 rows alarm",
            program=PROGRAM, hardware=HARDWARE,
        ))  # fmt: skip
    table = []
    for name in dict.fromkeys(row["detector"] for row in tuning.rows):
        rows = [row for row in tuning.rows if row["detector"] == name]
        keys = list(rows[0]["early"])
        for key in keys:
            early = np.mean([row["early"][key] for row in rows])
            found = [changed.summary(lines, name, title, key) for title in CHANGES]
            found = [one for one in found if one]
            own = f"{name}, {key}"
            seen = np.mean([one["detected"] for one in found]) if found else None
            delays = [one["delay"] for one in found if one["detected"] > 0.5]
            delay = np.median(delays) if delays else None
            table.append([own, early, seen, delay])
    head = ["alarm in 1000 unchanged rows", "changes seen", "median delay"]
    entries.append(entry(
        "monitoring-own", head, table, label="at its own threshold", unit="see columns",
        program=PROGRAM, hardware=HARDWARE, formats=[".1%", ".0%", ".0f"],
        note="changes seen: mean over all changes; delay: median over changes that most streams "
        "show",
    ))  # fmt: skip
    return entries


def _seen(one):
    if one is None:
        return None
    delay = "" if one["delay"] is None else f", {one['delay']:.0f}"
    return f"{one['detected']:.0%}{delay}"


def alerted(args):
    lines = lines_of(args, "alerts", "set", "rule", "q", "run")
    runs = 2 if args.quick else 20
    alerts.run(lines, args.data, runs, args.quick)
    table = []
    groups = {}
    for model in ("", ", forest"):
        for name in (*alerts.LOOKED_AT, *alerts.OTHERS):
            groups[name + model] = (name + model,)
        groups["sets not looked at before" + model] = tuple(n + model for n in alerts.OTHERS)
    for title, names in groups.items():
        if not all(lines.where(set=name) for name in names):
            continue
        cells = []
        for rule in alerts.RULES:
            for q in alerts.LEVELS:
                one = alerts.summary(lines, names, rule, q)
                cells.append(f"{one['false']:.3f} ± {one['error']:.3f}, {one['found']:.2f}")
        table.append([title, *cells])
    head = [f"{rule}, {q:.0%}" for rule in alerts.RULES for q in alerts.LEVELS]
    return entry(
        "monitoring-alerts", head, table, label="1 % anomalies", program=PROGRAM,
        unit="share of false alerts with its standard error, and share of anomalies found",
        hardware=HARDWARE, note=f"{runs} streams of {alerts.ROWS} rows, 5000 calibration rows",
    )  # fmt: skip


def timing(args):
    rows = 20_000 if args.quick else 1_000_000
    table = []
    for batch in (1, 1000, 100_000):
        rng = np.random.default_rng(0)
        monitor = rates.watch(rng.normal(size=1000), 0)
        n = rows if batch > 1 else rows // 10
        since = time.process_time()
        with PeakMemory() as memory:
            for _ in range(max(1, n // batch)):
                monitor.update_scores(rng.normal(size=batch))
        seconds = time.process_time() - since
        table.append([f"batches of {batch:,}", n, 1e6 * seconds / n, memory.extra / 1e6])
    return entry(
        "monitoring-time", ["rows", "µs of CPU time per row", "extra memory, MB"], table,
        unit="see columns", program=PROGRAM, hardware=HARDWARE, formats=[",", ".1f", ".0f"],
        label="one stream",
    )  # fmt: skip


def dated(args):
    lines = lines_of(args, "dates", "change", "calibration", "run")
    dates.run(lines, 4 if args.quick else 100)
    head = ["streams with an alarm", "at the alarm", "200 rows later", "far too early", "width"]
    return entry(
        "monitoring-dates", head, dates.table(lines), label="change at row 600, calibration",
        unit="share of 90 % intervals that hold the first changed row; share of changes dated "
        "before row 300; median width in rows, 200 rows after the alarm",
        program=PROGRAM, hardware=HARDWARE, formats=[",", ".0%", ".0%", ".0%", ",.0f"],
    )  # fmt: skip


PARTS = {
    "unchanged": unchanged, "lengths": lengths, "changed": changes, "alerts": alerted,
    "dates": dated, "time": timing,
}  # fmt: skip


def main():
    parser = options(__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="unchanged streams of every kind")
    parser.add_argument("--rows", type=int, default=10_000, help="rows of an unchanged stream")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--detectors", nargs="+", help="names of detectors (part changed)")
    args = parser.parse_args()
    if args.data is None and "alerts" in args.parts:
        parser.error("part alerts needs --data FOLDER or FEWLABELS_DATA")
    info, entries = machine(), []
    args.data = args.data and type(args.out)(args.data)
    for part in args.parts:
        found = PARTS[part](args)
        entries += found if isinstance(found, list) else [found]
        tables = [
            f"## {one['name']}\n\n{one['unit']}\n\n"
            + markdown_table(
                [one["label"], *one["columns"]],
                [["" if c is None else f"{c:.4g}" if isinstance(c, float) else str(c)
                  for c in row] for row in one["rows"]],
            )
            for one in entries
        ]  # fmt: skip
        name = f"monitoring-{'-'.join(args.parts)}" + ("-quick" if args.quick else "")
        write_text(args.out / f"{name}.md", "\n\n".join([machine_line(info), *tables]) + "\n")
        write_json(args.out / f"{name}.json", {"machine": info, "entries": entries})


if __name__ == "__main__":
    main()
