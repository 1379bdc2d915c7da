"""The code of the guide and of docstrings runs."""

import doctest
import re
from pathlib import Path

from fewlabels.dask import models


def test_guide():
    text = (Path(__file__).parents[2] / "docs/guides/cluster.md").read_text(encoding="utf-8")
    namespace = {}
    for code in re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        exec(compile(code, "docs/guides/cluster.md", "exec"), namespace)
    assert namespace["search"].best_estimator_.prior_ == 0.2


def test_docstrings():
    found = doctest.testmod(models)
    assert found.attempted >= 6 and found.failed == 0
