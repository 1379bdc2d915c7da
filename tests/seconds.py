"""How long each test file takes, and the order in which workers run them.

`pytest --record-seconds` writes `seconds.json`. Several workers begin with the files whose tests
take longest, so that none of them is still busy with one when the others have finished. A file
that isn't recorded counts as an average one.
"""

import json
from collections import Counter, defaultdict
from pathlib import Path

RECORD = Path(__file__).with_name("seconds.json")
REPOSITORY = Path(__file__).resolve().parents[1]


def recorded():
    """Seconds by test file; the file's name is relative to the repository."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def file_of(nodeid):
    return nodeid.partition("::")[0]


def shared_out(cost, n_workers):
    """Files in as many groups as there are workers, each with about the same total cost."""
    groups, totals = [[] for _ in range(n_workers)], [0.0] * n_workers
    for file in sorted(cost, key=lambda file: (-cost[file], file)):
        least = totals.index(min(totals))
        groups[least].append(file)
        totals[least] += cost[file]
    return groups


def arranged(nodeids, n_workers, seconds):
    """Positions of tests, a group of files after the other, and slow tests first in each.

    Tests of a file stay together and in order, so that they share fixtures.
    """
    places = defaultdict(list)
    for place, nodeid in enumerate(nodeids):
        places[file_of(nodeid)].append(place)
    usual = sum(seconds.values()) / max(len(seconds), 1)
    cost = {file: seconds.get(file, usual) for file in places}
    groups = shared_out(cost, n_workers)
    for group in groups:
        group.sort(key=lambda file: (-cost[file] / len(places[file]), file))
    return [place for group in groups for file in group for place in places[file]]


class Recorder:
    """Adds up the seconds of a run, and updates the record with the files that it ran."""

    def __init__(self):
        self.seconds = Counter()

    def pytest_runtest_logreport(self, report):
        self.seconds[file_of(report.nodeid)] += report.duration

    def pytest_sessionfinish(self):
        known = recorded() if RECORD.exists() else {}
        known |= {file: round(seconds, 1) for file, seconds in self.seconds.items()}
        there = {file: known[file] for file in sorted(known) if (REPOSITORY / file).exists()}
        RECORD.write_text(json.dumps(there, indent=1) + "\n", encoding="utf-8")
