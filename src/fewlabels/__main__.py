"""``python -m fewlabels`` and the command ``fewlabels``: the command line."""

import os
import signal
import sys
import time
from types import FrameType

from ._util.extras import MissingExtra, require


def main() -> None:
    """Run the command line; Ctrl-C while it is being imported ends it without a traceback."""
    started = time.perf_counter()
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, _end)
    try:
        require("the command line", "typer", "rich")
        require("the command line", "pandas", "pyarrow", "skops")
    except MissingExtra as error:
        sys.exit(f"Error: {error}")
    from .cli import main as run  # slow, and the extras are there by now

    signal.signal(signal.SIGINT, before)
    run(started)


def _end(number: int, frame: FrameType | None) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(130)


if __name__ == "__main__":
    main()
