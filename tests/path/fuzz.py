"""Random programs by the thousand: ``make fuzz``.

Every program is decided by its seed. A failing seed is printed with what it did; run it alone
with ``--first SEED --programs 1 --verbose``.
"""

import argparse
import signal
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from programs import TOLERANCE, Program

_CHUNK = 100
_SECONDS = 60  # of processor time; a program takes a fraction of one


def _too_long(*_):
    raise TimeoutError(f"more than {_SECONDS} s")


def run_seed(seed, operations, verbose=False):
    """Largest violation of one program and what went wrong, if anything."""
    program = Program(seed)
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    try:
        for _ in range(operations):
            violation = program.step()
            program.worst = max(program.worst, violation)
            if verbose and program.log:
                print(
                    f"{violation:9.1e}  {program.path.n_steps:6d}  {program.log[-1]}", flush=True
                )
            if not violation <= TOLERANCE:
                what = program.log[-1] if program.log else ""
                return violation, f"{program.describe()}; after {len(program.log)}: {what}"
    except Exception:
        lines = traceback.format_exc().strip().split("\n")
        return float("inf"), f"{program.describe()}; {lines[-1]} in {lines[-3].strip()}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return program.worst, None


def run_chunk(first, last, operations):
    started, worst, worst_seed, failures = time.perf_counter(), 0.0, first, []
    for seed in range(first, last):
        violation, message = run_seed(seed, operations)
        if message is not None:
            failures.append((seed, violation, message))
        elif violation > worst:
            worst, worst_seed = violation, seed
    return first, last, worst, worst_seed, failures, time.perf_counter() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="seed to begin (or go on) with")
    parser.add_argument("--operations", type=int, default=25, help="operations per program")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true")
    given = parser.parse_args()
    if given.verbose:
        print(Program(given.first).describe())
        for seed in range(given.first, given.first + given.programs):
            print(seed, *run_seed(seed, given.operations, verbose=True))
        return 0
    end = given.first + given.programs
    chunks = [(s, min(end, s + _CHUNK), given.operations) for s in range(given.first, end, _CHUNK)]
    worst, worst_seed, n_failures = 0.0, given.first, 0
    with ProcessPoolExecutor(given.jobs) as pool:
        for first, last, chunk_worst, seed, failures, seconds in pool.map(
            run_chunk, *zip(*chunks, strict=True)
        ):
            if chunk_worst > worst:
                worst, worst_seed = chunk_worst, seed
            for failed, violation, message in failures:
                n_failures += 1
                print(f"FAILED seed {failed}: violation {violation:.1e}; {message}", flush=True)
            print(
                f"seeds {first}..{last - 1}: {len(failures)} failures, worst of the others "
                f"{chunk_worst:.1e} ({seconds:.0f} s)",
                flush=True,
            )
    print(
        f"{given.programs} programs of {given.operations} operations, seeds {given.first}.."
        f"{end - 1}: {n_failures} failures (limit {TOLERANCE:g}); worst of the others "
        f"{worst:.1e} (seed {worst_seed})"
    )
    return 1 if n_failures else 0


if __name__ == "__main__":
    sys.exit(main())
