"""The report of a fit: what the rows were, what was learned, how far to trust it."""

from .._util.extras import require

require("fewlabels.report", "pandas", "pyarrow")

from .collect import collect
from .contents import Contents
from .page.html import is_report, write_report

__all__ = ["Contents", "collect", "is_report", "write_report"]
