"""Hostile cases by the hundred: ``python -m tests.hostile`` or ``make hostile``.

Every case is decided by its area and seed, and runs in a process whose memory is limited and
which is ended when a case takes too long. Show one again with ``--only AREA --seed S --cases 1
--verbose``.
"""

import argparse
import faulthandler
import multiprocessing
import os
import resource
import signal
import tempfile
import time
from collections import Counter, defaultdict
from importlib import import_module

from .verdict import KINDS, Verdict, judge, signature

AREAS = {
    "classes": ("hostile.machines", 500),
    "sequences": ("hostile.sequences", 150),
    "models": ("hostile.damage", 500),
    "files": ("hostile.tables", 250),
    "commands": ("hostile.commands", 150),
    "attacks": ("hostile.attacks", 150),
    "units": ("hostile.units", 500),
    "leaks": ("hostile.leaks", 500),
    "forks": ("hostile.forks", 150),
    "replacing": ("hostile.replacing", 100),
    "blanks": ("hostile.blanks", 500),
    "graphs": ("hostile.graphs", 300),
    "far rows": ("hostile.far_rows", 2000),
    "unseen": ("hostile.unseen", 150),
}
_SECONDS = 60  # of processor time; ten times as many by the clock
_GIGABYTES = 8
_MORE_MEMORY = 1e9  # bytes that a case may need at once; all inputs are small


def make_case(area, seed):
    """A description and a function without arguments."""
    return import_module(AREAS[area][0]).make(seed)


def run_case(area, seed):
    """Description, verdict and seconds of one case, in this process."""
    started = time.perf_counter()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        described, case = make_case(area, seed)
    except Exception as error:
        return f"{area} {seed}", Verdict("wrong", f"no case: {error!r}"), 0.0
    verdict = judge(case)
    grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    if verdict.kind != "wrong" and grown > _MORE_MEMORY:
        verdict = Verdict("wrong", f"memory: {grown / 1e9:.1f} GB more")
    return described, verdict, time.perf_counter() - started


def _work(pipe, seconds):
    resource.setrlimit(resource.RLIMIT_AS, (int(_GIGABYTES * 1e9),) * 2)
    faulthandler.enable()
    faulthandler.register(signal.SIGXCPU, chain=True)  # shows where, then the process ends
    while True:
        task = pipe.recv()
        used = resource.getrusage(resource.RUSAGE_SELF)
        end = int(used.ru_utime + used.ru_stime) + 1 + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (end, resource.RLIM_INFINITY))
        pipe.send(run_case(*task))


class _Worker:
    """A process that takes one case at a time."""

    def __init__(self, seconds):
        self.seconds, self.process = seconds, None

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        # What is printed is shown only where a process was ended.
        self.log = tempfile.TemporaryFile()
        before = os.dup(2)
        os.dup2(self.log.fileno(), 2)
        self.process = context.Process(target=_work, args=(other, self.seconds), daemon=True)
        self.process.start()
        os.dup2(before, 2)
        os.close(before)
        other.close()

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None

    def give(self, task):
        if self.process is None:
            self.start()
        self.task, self.since = task, time.monotonic()
        self.pipe.send(task)

    def answer(self):
        """The answer of the case, or None while it runs."""
        try:
            if self.pipe.poll(0.01):
                return self.pipe.recv()
        except (EOFError, OSError):
            return self._ended("the process ended")
        if time.monotonic() - self.since > 10 * self.seconds:
            return self._ended(f"more than {10 * self.seconds} s by the clock")
        return None

    def _ended(self, why):
        self.process.join(0.5)
        code = self.process.exitcode
        self.stop()
        if code is not None:
            late = code == -signal.SIGXCPU
            why = f"more than {self.seconds} s" if late else f"the process ended with {code}"
        self.log.seek(0)
        lines = self.log.read().decode(errors="replace").split("\n")
        places = [x.split(" in ", 1) for x in lines if "/fewlabels/" in x and " in " in x]
        short = [f"{p.rsplit('/fewlabels/', 1)[1].split(chr(34))[0]}:{n}" for p, n in places]
        where = f" in {short[0]}" if short else ""
        described = make_case(*self.task)[0]
        return described, Verdict("wrong", why + where), time.monotonic() - self.since


def run_all(tasks, jobs, seconds, tell):
    """Run cases; ``tell(task, described, verdict, seconds)`` as they end."""
    waiting = list(reversed(tasks))
    free, busy = [_Worker(seconds) for _ in range(jobs)], []
    try:
        while waiting or busy:
            while waiting and free:
                worker = free.pop()
                worker.give(waiting.pop())
                busy.append(worker)
            for worker in list(busy):
                found = worker.answer()
                if found is None:
                    continue
                busy.remove(worker)
                free.append(worker)
                tell(worker.task, *found)
    finally:
        for worker in free + busy:
            worker.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--only", choices=list(AREAS), action="append", help="area; can be repeated"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the first case of each area")
    parser.add_argument("--cases", type=int, help="cases per area (default: some hundreds)")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=int, default=_SECONDS, help="limit of a case")
    parser.add_argument("--list", action="store_true", help="describe the cases, run none")
    parser.add_argument("--here", action="store_true", help="in this process, for a debugger")
    parser.add_argument("--verbose", action="store_true", help="a line per case")
    given = parser.parse_args()
    tasks = [
        (area, seed)
        for area, (_, usual) in AREAS.items()
        if not given.only or area in given.only
        for seed in range(given.seed, given.seed + (given.cases or usual))
    ]
    if given.list:
        for area, seed in tasks:
            print(area, seed, make_case(area, seed)[0])
        return 0
    counts, faults, slowest = defaultdict(Counter), defaultdict(list), (0.0, "")
    started = time.perf_counter()

    def tell(task, described, verdict, seconds):
        nonlocal slowest
        counts[task[0]][verdict.kind] += 1
        slowest = max(slowest, (seconds, f"{task[0]} {task[1]}"))
        if verdict.kind == "wrong":
            faults[signature(verdict.text)].append((task, described, verdict.text))
        if verdict.kind == "wrong" or given.verbose:
            area, seed = task
            line = f"{verdict.kind:8} {area} {seed} ({seconds:.1f} s): {described}"
            print(f"{line}\n         {verdict.text}"[:1200], flush=True)

    # What other programs leave among temporary files is not what a case leaves.
    with tempfile.TemporaryDirectory(prefix="hostile-") as own:
        tempfile.tempdir = os.environ["TMPDIR"] = own
        if given.here:
            for task in tasks:
                tell(task, *run_case(*task))
        else:
            run_all(tasks, given.jobs, given.seconds, tell)
    _summarise(counts, faults, slowest, time.perf_counter() - started)
    return 1 if faults else 0


def _summarise(counts, faults, slowest, seconds):
    if faults:
        print("\nDistinct faults:")
    for found in sorted(faults.values(), key=len, reverse=True):
        tasks = ", ".join(f"{area} {seed}" for (area, seed), *_ in found[:4])
        print(f"{len(found):4}  {found[0][2][:220]}\n      {tasks}: {found[0][1]}"[:600])
    print()
    for area, counter in counts.items():
        shown = ", ".join(f"{counter[kind]} {kind}" for kind in KINDS)
        print(f"{area:10} {sum(counter.values()):5} cases: {shown}")
    print(
        f"{sum(sum(c.values()) for c in counts.values())} cases, {len(faults)} distinct faults, "
        f"{seconds:.0f} s; slowest {slowest[0]:.1f} s ({slowest[1]})"
    )
