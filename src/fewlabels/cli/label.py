"""``fewlabels label``: labels for a table, given in the browser."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ..io.errors import UserError
from . import options
from .options import Quiet, ReadingOptions, argument, grouped, plain_option, values_of
from .terminal.say import say

Ask = StrEnum("Ask", ["mixed", "uncertain", "typical", "diverse", "positives", "random"])
Kernel = StrEnum("Kernel", ["rbf", "linear"])


class RowOptions(NamedTuple):
    """Columns, and what is asked."""

    drop: list[str] | None = options.DROP
    keep: list[str] | None = options.KEEP
    text: list[str] | None = options.TEXT
    categorical: list[str] | None = options.CATEGORICAL
    ask: Ask = typer.Option(
        Ask.mixed,
        help="Which rows come next: mixed takes the least sure ones and, for honest estimates, a "
        "quarter at random; positives hunts for the first class.",
    )
    kernel: Kernel | None = plain_option(
        None, help="Kernel of the machine. (default: linear where there are texts, else rbf)"
    )


@grouped
def label(
    data: Annotated[Path, argument(metavar="DATA", help="Table to label, as of 'fewlabels fit'.")],
    of_rows: RowOptions,
    of_reading: ReadingOptions,
    target: Annotated[
        str | None,
        plain_option("--target", help="Column of the labels; those in it count. (default: label)"),
    ] = None,
    classes: Annotated[
        str | None,
        plain_option("--classes", help="The classes, such as spam,ham; more can be added later."),
    ] = None,
    labels: Annotated[
        Path | None,
        plain_option("--labels", help="File of the answers. (default: DATA.labels)"),
    ] = None,
    export: Annotated[
        Path | None,
        plain_option("--export", help="Write the table with its labels, and open no page."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for a free one.")] = 0,
    url: Annotated[
        str | None,
        plain_option("--url", help="Address of a server of your own that passes requests on."),
    ] = None,
    browser: Annotated[bool, typer.Option(help="Open the page in the browser.")] = True,
    quiet: Quiet = False,
):
    """Label the rows of DATA in the browser: the machine asks for those that it learns most from.

    The page is for this machine alone: it listens on 127.0.0.1, its address holds a token, and it
    asks nothing of other servers. Every answer is written to DATA.labels before the next row is
    shown; Ctrl-C ends the page, and the same command goes on with it. 'fewlabels fit DATA --labels
    DATA.labels' learns from what was labelled.
    """
    from ..labelling.exporting import export_labels
    from ..labelling.session import Session

    if export is None:
        from ..labelling.server import check_extra

        check_extra()
    if url is not None and not url.startswith(("http://", "https://")):
        raise UserError(f"--url '{url}' is no address; write it as https://labels.example.org.")
    given = values_of(of_rows)
    session = Session(
        data, target, [c for c in (classes or "").split(",") if c.strip()], labels,
        reading=values_of(of_reading), **given,
    )  # fmt: skip
    if export is not None:
        try:
            n_labels = export_labels(session, export)
        finally:
            session.close()
        if not quiet:
            say(f"{n_labels} labels written to {export}")
        return
    _serve(session, data, port, url, browser, quiet)


def _serve(session, data, port, url, browser, quiet):
    """Show the page until Ctrl-C."""
    import webbrowser

    from ..labelling.finishing import command_of
    from ..labelling.running import Running

    try:
        running = Running(session, port, url)
    except BaseException:
        session.close()
        raise
    # The address is what the command is for.
    say(f"labelling {data} at {running.url}")
    if not quiet:
        for note in session.notes:
            say(f"  {note}")
        say(f"  answers go to {session.file.path}; Ctrl-C ends the page")
    if browser:
        webbrowser.open(running.url)
    running.run()
    if not quiet:
        say(f"{session.n_labels} rows labelled; to learn from them:")
        say(f"  {command_of(session, 'MODEL.fewlabels')}")
