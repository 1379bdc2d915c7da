"""What docs/guides/gpu.md says runs, as far as it needs no GPU."""

import re
from pathlib import Path


def test_blocks_run(strict, capsys):
    text = Path(__file__).parents[3].joinpath("docs/guides/gpu.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    for code in blocks:
        exec(compile(code, "docs/guides/gpu.md", "exec"), {})
    first, second, third = capsys.readouterr().out.strip().split("\n")
    assert first == second == "True" and third == "<class 'numpy.ndarray'> True"
