"""Run a program: ``python benchmarks NAME [OPTIONS]``; without a name, list them."""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ("papers", "accuracy", "speed", "checks")


def programs():
    """Names of modules by the names of programs."""
    found = {}
    for folder in FOLDERS:
        for path in sorted((HERE / folder).rglob("*.py")):
            if '\nif __name__ == "__main__":' in path.read_text(encoding="utf-8"):
                found[path.stem] = ".".join(path.relative_to(HERE).with_suffix("").parts)
    return found


if __name__ == "__main__":
    known = programs()
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name not in known:
        sys.exit("\n".join(known))
    runpy.run_module(known[name], run_name="__main__", alter_sys=True)
