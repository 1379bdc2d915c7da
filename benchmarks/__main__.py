"""Run a program: ``python benchmarks NAME [OPTIONS]``; without a name, list all of them."""

import ast
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDERS = ("papers", "accuracy", "speed", "checks")


def programs() -> dict[str, Path]:
    """Return the file of each program by its name."""
    paths = [path for folder in FOLDERS for path in sorted((HERE / folder).rglob("*.py"))]
    return {p.stem: p for p in paths if "\nSTUDY = " in p.read_text(encoding="utf-8")}


def main() -> None:
    """Run the program that the command line names."""
    known = programs()
    if len(sys.argv) < 2 or sys.argv[1] not in known:
        for name, path in known.items():
            about = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            print(
                f"{path.parent.relative_to(HERE).parts[0]:<9} {name:<20} {about.splitlines()[0]}"
            )
        sys.exit(0 if len(sys.argv) < 2 or sys.argv[1] in ("--list", "--help", "-h") else 2)
    module = known[sys.argv[1]].relative_to(HERE).with_suffix("")
    importlib.import_module(".".join(module.parts)).STUDY.main(sys.argv[1], sys.argv[2:])


if __name__ == "__main__":
    main()
