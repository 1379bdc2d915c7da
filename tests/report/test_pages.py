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
<iframe id="f" style="width:WIDTHpx;height:800px;border:0" srcdoc="SRCDOC"></iframe>
<script>
const frame = document.getElementById("f");
const bottom = (element) => element ? Math.ceil(element.getBoundingClientRect().bottom) : 0;
// Pairs of words in one picture that lie over each other.
const pictures = "figure > svg, figure.overview";
const overlaps = (page) => [...page.querySelectorAll(pictures)].map((picture) => {
  const rows = [...picture.querySelectorAll("svg text, strong, span, figcaption")].filter(
    (e) => e.textContent && !e.querySelector("span")).map((e) => e.getBoundingClientRect());
  return rows.flatMap((a, k) => rows.slice(k + 1).filter((b) => a.left < b.right - 1
    && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1)).length;
}).reduce((a, b) => a + b, 0);
frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument;
  const wide = [...page.querySelectorAll("body *")].filter(
    (e) => e.getBoundingClientRect().right > WIDTH + 0.5 && !e.closest("thead"));
  const seen = [
    "width=" + page.documentElement.scrollWidth,
    "sections=" + page.querySelectorAll("section").length,
    "wide=" + wide.map((e) => e.tagName).join("+"),
    "requests=" + frame.contentWindow.performance.getEntriesByType("resource").length,
    "picture=" + bottom(page.querySelector("figure.overview")),
    "overlaps=" + overlaps(page),
    "letters=" + Math.min(...[...page.querySelectorAll("figure *")].map(
      (e) => parseFloat(frame.contentWindow.getComputedStyle(e).fontSize)), 99),
  ];
  document.body.insertAdjacentHTML("beforeend", "<p>[" + seen.join(" ") + "]</p>");
}, 500);
</script>
"""


def measured(text, tmp_path, width=360):
    """What a browser sees of a page."""
    path = tmp_path / "frame.html"
    srcdoc = text.replace("&", "&amp;").replace('"', "&quot;")
    frame = _MEASURE.replace("WIDTH", str(width)).replace("SRCDOC", srcdoc)
    path.write_text(frame, encoding="utf-8")
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
    # The picture is on the first screen, and its words are legible.
    assert 0 < int(seen["picture"]) <= 800
    assert seen["overlaps"] == "0" and float(seen["letters"]) >= 11.0


def test_the_picture_in_a_notebook(report, tmp_path):
    """It is in the frame, which is 40rem high, without scrolling."""
    seen = measured(without_policy(report), tmp_path, width=900)
    assert 0 < int(seen["picture"]) <= 640 and seen["overlaps"] == "0"


def test_what_the_test_above_would_see(tmp_path):
    wide = (
        '<p style="width:500px">wide</p><img src="https://example.invalid/a.png">'
        '<figure style="font-size:9px"><svg><text x="0" y="9">one</text><text x="2" y="9">on'
        "</text></svg></figure>"
    )
    seen = measured(f"<!doctype html><body>{wide}", tmp_path)
    assert int(seen["width"]) >= 500 and "P" in seen["wide"] and seen["requests"] == "1"
    assert seen["overlaps"] == "1" and seen["letters"] == "9" and seen["picture"] == "0"
