"""The page that the command line writes opens in a real browser, with every image shown and without an error.

A copy of the page gets a small script that, once everything is loaded, writes the size of each image and each error
into the document; headless Chromium then prints the document.
"""

import html
import json
import re
import shutil
import subprocess

import pytest

from shap_asv.__main__ import main

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--allow-file-access-from-files",
    "--virtual-time-budget=10000",
)
WATCH = """<script>
var errors = [];
window.addEventListener("error", function (event) {
  errors.push(event.message || "cannot load " + (event.target.src || event.target.href));
}, true);
window.addEventListener("load", function () {
  var images = Array.from(document.images).map(function (image) {
    return {name: image.getAttribute("src"), width: image.naturalWidth, shown: image.getBoundingClientRect().width};
  });
  var report = document.createElement("div");
  report.id = "report";
  report.textContent = JSON.stringify({images: images, errors: errors});
  document.body.appendChild(report);
});
</script>"""


@pytest.fixture(scope="module")
def browser():
    found = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if found is None:
        pytest.skip(f"no browser on PATH (looked for {', '.join(BROWSERS)}); apt-get install chromium")
    return found


def look(browser, page, profile):
    """What the browser saw on a page: its images, with their sizes, and errors."""
    watched = page.with_name("watched.html")
    watched.write_text(page.read_text("utf-8").replace("<head>", "<head>" + WATCH, 1), "utf-8")
    command = [browser, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", watched.as_uri()]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180)
    found = re.search(r'<div id="report">(.*?)</div>', run.stdout, re.DOTALL)
    assert found, f"the page did not load: {run.stderr[-2000:]}"
    return json.loads(html.unescape(found[1]))


def test_demo_page(browser, tmp_path):
    assert main(["--rows", "30", "--out", str(tmp_path / "demo")]) == 0
    seen = look(browser, tmp_path / "demo" / "index.html", tmp_path / "profile")
    assert seen["errors"] == []
    written = {path.name for path in (tmp_path / "demo").glob("*.png")}
    assert {image["name"] for image in seen["images"]} == written
    for image in seen["images"]:
        assert image["width"] > 100, f"{image['name']} is not shown"
        assert image["shown"] > 100, f"{image['name']} has no room on the page"


def test_a_missing_image_is_noticed(browser, tmp_path):
    page = tmp_path / "index.html"
    page.write_text('<html><head></head><body><img src="missing.png"></body></html>', "utf-8")
    seen = look(browser, page, tmp_path / "profile")
    assert seen["images"][0]["width"] == 0
    assert len(seen["errors"]) == 1
    assert "missing.png" in seen["errors"][0]
