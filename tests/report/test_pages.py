"""The page in a browser: no request, and nothing wider than a phone."""

import re
import shutil
import subprocess

import pytest

from fewlabels.report import collect, write_report

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")

# Shows a page in a frame as wide as a phone and writes down what was seen.
_MEASURE = """<!doctype html><meta charset="utf-8">
<iframe id="f" style="width:360px;height:800px;border:0" srcdoc="SRCDOC"></iframe>
<script>
const frame = document.getElementById("f");
frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument;
  const wide = [...page.querySelectorAll("body *")].filter(
    (e) => e.getBoundingClientRect().right > 360.5 && !e.closest("thead"));
  const seen = [
    "width=" + page.documentElement.scrollWidth,
    "sections=" + page.querySelectorAll("section").length,
    "wide=" + wide.map((e) => e.tagName).join("+"),
    "requests=" + frame.contentWindow.performance.getEntriesByType("resource").length,
  ];
  document.body.insertAdjacentHTML("beforeend", "<p>[" + seen.join(" ") + "]</p>");
}, 500);
</script>
"""


def measured(text, tmp_path):
    """What a browser sees of a page."""
    path = tmp_path / "frame.html"
    srcdoc = text.replace("&", "&amp;").replace('"', "&quot;")
    path.write_text(_MEASURE.replace("SRCDOC", srcdoc), encoding="utf-8")
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'browser'}",
        "--virtual-time-budget=5000", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    (seen,) = re.findall(r"<p>\[(width=[^\]]*)\]</p>", done.stdout)
    return dict(part.split("=") for part in seen.split(" "))


@pytest.fixture(scope="module", params=["normal_parts", "positive_parts", "class_parts"])
def report(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(path, collect(**request.getfixturevalue(request.param)))
    return path.read_text(encoding="utf-8")


def without_policy(text):
    """The page with nothing that forbids requests."""
    found, n = re.subn("<meta http-equiv=[^>]*>", "", text)
    assert n == 1
    return found


def test_page(report, tmp_path):
    seen = measured(without_policy(report), tmp_path)
    assert int(seen["width"]) <= 360 and seen["wide"] == ""
    assert int(seen["sections"]) == report.count("<section ")
    assert seen["requests"] == "0"


def test_what_the_test_above_would_see(tmp_path):
    wide = '<p style="width:500px">wide</p><img src="https://example.invalid/a.png">'
    seen = measured(f"<!doctype html><body>{wide}", tmp_path)
    assert int(seen["width"]) >= 500 and "P" in seen["wide"] and seen["requests"] == "1"
