"""``fewlabels label``: labels for a table, given in the browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from .._util.messages import UserError, plural, quoted
from .._util.option import OUTPUT, PARAMETERS
from ..labelling import Kernel
from ..labelling.query_options import DEFAULT, Ask, describe_ask_option
from ..tables.reading.options import ColumnOptions
from .options import (
    READING,
    OptionGroup,
    Quiet,
    argument,
    expand_groups,
    given_values,
    plain_option,
)
from .show import say

if TYPE_CHECKING:
    from ..labelling.session import Session


class QueryingOptions(NamedTuple):
    """Options of the choice of rows to label."""

    ask: Ask = typer.Option(DEFAULT, help=describe_ask_option())
    kernel: Kernel | None = plain_option(
        None,
        help="Kernel. (default: linear with text columns, else trees)",
        rich_help_panel=PARAMETERS,
    )


@expand_groups
def label(
    data: Annotated[Path, argument(metavar="DATA", help="Table to label.")],
    columns: OptionGroup("drop", "keep", "text", "categorical"),  # type: ignore[valid-type]
    querying_options: QueryingOptions,
    reading: OptionGroup(*READING),  # type: ignore[valid-type]
    target: Annotated[
        str | None,
        plain_option(
            "--target",
            metavar="COLUMN",
            help="Column of the labels; existing labels count. (default: label)",
        ),
    ] = None,
    classes: Annotated[
        str | None,
        plain_option(
            "--classes",
            metavar="A,B,...",
            help="Classes, separated by commas; you can add more later.",
        ),
    ] = None,
    labels: Annotated[
        Path | None,
        plain_option(
            "--labels", metavar="FILE", help="File for the labels. (default: DATA.labels)"
        ),
    ] = None,
    export: Annotated[
        Path | None,
        plain_option("--export", metavar="FILE", help="Write the labelled table and exit."),
    ] = None,
    port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65535,
            help="Port; 0 picks a free one.",
            rich_help_panel=OUTPUT,
        ),
    ] = 0,
    url: Annotated[
        str | None,
        plain_option(
            "--url",
            metavar="URL",
            help="Address of your reverse proxy.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    browser: Annotated[
        bool, typer.Option(help="Open the page in a browser.", rich_help_panel=OUTPUT)
    ] = True,
    quiet: Quiet = False,
) -> None:
    """Label the rows of DATA in the browser, one keystroke per row.

    ```
    fewlabels label tickets.csv --classes refund,login,other
    fewlabels fit tickets.csv --labels tickets.csv.labels -o m.fewlabels
    ```

    The next row is the one that should improve the model most. Each answer is saved at once, so
    Ctrl-C loses nothing and the same command continues. The page listens on 127.0.0.1 only, and
    its address contains a secret token.
    """
    from ..labelling.session import Session

    if export is None:
        from ..labelling.server import check_extra

        check_extra()
    if url is not None and not url.startswith(("http://", "https://")):
        raise UserError(
            f"--url '{url}' is not an address; write it like https://labels.example.org."
        )
    session = Session(
        data,
        target,
        [] if classes is None else classes.split(","),
        labels,
        columns=ColumnOptions(**columns),
        reading=reading,
        **given_values(querying_options),
    )
    if export is not None:
        _write_table(session, export, quiet)
    else:
        _serve_page(session, data, port, url, browser, quiet)


def _write_table(session: "Session", path: Path, quiet: bool) -> None:
    """Write the labelled table, and end the session."""
    from ..labelling.model_fit import write_labels

    try:
        n_labels, counted = write_labels(session, path), _count_labels(session)
    finally:
        session.close()
    if not quiet:
        say(f"{n_labels} labels written to {path}: {counted}")


def _serve_page(
    session: "Session", data: Path, port: int, url: str | None, browser: bool, quiet: bool
) -> None:
    """Show the page until Ctrl-C."""
    import webbrowser

    from ..labelling.model_fit import make_fit_command
    from ..labelling.server import PageServer

    try:
        server = PageServer(session, port, url)
    except BaseException:
        session.close()
        raise
    # The address is what the command is for.
    say(f"labelling {data} at {server.url}")
    if not quiet:
        for note in session.notes:
            say(f"  {note}")
        say(f"  labels of the column {quoted(session.target)} are saved to {session.file.path}")
        say("  Ctrl-C stops the page; the same command continues")
    if browser:
        webbrowser.open(server.url)
    server.run()
    if not quiet:
        say(_count_labels(session))
        if session.labels:
            say("to train on all labels:")
            say(f"  {make_fit_command(session, 'MODEL.fewlabels')}")


def _count_labels(session: "Session") -> str:
    """Count the rows with a label from the page, and those from the column of the table."""
    n_before = len(session.labels) - session.n_labels
    column = f", and {plural(n_before, 'row')} in the column {quoted(session.target)}"
    return f"{plural(session.n_labels, 'row')} labelled on the page{column if n_before else ''}"
