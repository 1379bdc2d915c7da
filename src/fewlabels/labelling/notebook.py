"""The page inside a notebook, and the labels as they come."""

import html
from collections.abc import Iterable
from os import PathLike
from typing import Any

import pandas as pd

from .._util.messages import plural
from ..tables.reading.options import ColumnOptions
from .server import PageServer
from .session import TARGET, Session


class Labelling:
    """A table that is being labelled. A notebook shows the page.

    Parameters
    ----------
    session : Session
        What is labelled.
    index : pandas.Index, default=None
        The index of its rows; by default their numbers.

    Attributes
    ----------
    url : str
        The address of the page, which a browser on this computer opens, too.
    session : Session
        What was answered, and what learns from it.
    """

    def __init__(self, session: Session, index: pd.Index | None = None) -> None:
        self.session = session
        self._index = pd.RangeIndex(len(session.rows)) if index is None else index
        self._running = PageServer(session, framed=True).start()
        self.url = self._running.url

    @property
    def labels(self) -> pd.Series:
        """Return the labels so far, with the index of the data; missing where there is none."""
        with self.session.lock:
            given = self.session.labels
        values = [given.get(row) for row in range(len(self._index))]
        return pd.Series(values, self._index, dtype=object, name=self.session.target)

    def stop(self) -> None:
        """End the page. The labels stay, here and in their file."""
        self._running.stop()

    def __repr__(self) -> str:
        return f"{plural(self.session.n_labels, 'row')} labelled at {self.url}"

    def _repr_html_(self) -> str:
        style = "width: 100%; height: 44rem; border: 0; resize: vertical"
        return f'<iframe src="{html.escape(self.url)}" title="Labelling" style="{style}"></iframe>'


def label(
    data: pd.DataFrame | str | PathLike[str],
    target: str = TARGET,
    classes: Iterable[str] = (),
    *,
    labels: str | PathLike[str] | None = None,
    **options: Any,
) -> Labelling:
    """Label the rows of a table in a page, inside a notebook or a browser.

    Parameters
    ----------
    data : DataFrame or path-like
        The table.
    target : str, default="label"
        Column of the labels; those that it holds already count.
    classes : sequence of str, default=()
        The classes; more can be added in the page.
    labels : path-like, default=None
        The file of answers; by default the name of the data with ".labels" behind it, and
        "frame.labels" for a data frame. One that exists is gone on with.
    **options
        ``ask`` and ``kernel`` of :class:`fewlabels.labelling.Session`, and ``drop``, ``keep``,
        ``text`` and ``categorical`` of :func:`fewlabels.fit_table`.

    Returns
    -------
    Labelling
        Shows the page; ``labels`` are those so far, and ``stop()`` ends it.
    """
    if labels is None and hasattr(data, "columns"):
        labels = "frame.labels"
    columns = {name: value for name, value in options.items() if name not in ("ask", "kernel")}
    settings = {name: value for name, value in options.items() if name not in columns}
    session = Session(data, target, classes, labels, columns=ColumnOptions(**columns), **settings)
    try:
        return Labelling(session, getattr(data, "index", None))
    except BaseException:
        session.close()
        raise
