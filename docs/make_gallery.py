"""Make the pictures of ``docs/gallery.md`` by running its code: ``python docs/make_gallery.py``.

A block that is followed by a picture made it: the last figure that it drew is kept under the name of the picture. The
picture of the report is taken by Chromium, where there is one.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from PIL import Image

DOCS = Path(__file__).resolve().parent
PAGE = DOCS / "gallery.md"
STEP = re.compile(r"^```python\n(.*?)^```\n+(?:!\[[^\]]*\]\(([^)]+)\))?", re.MULTILINE | re.DOTALL)
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def shrink(source: Path, target: Path) -> None:
    Image.open(source).convert("RGB").quantize(128).save(target, optimize=True)


def photograph(page: Path, target: Path) -> bool:
    """The top of a page as a picture; False where there is no browser."""
    browser = next((path for path in map(shutil.which, BROWSERS) if path), None)
    if browser is None:
        return False
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1180,1250"]
    command = [browser, *flags, f"--screenshot={target}", "--virtual-time-budget=3000", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True)
    return True


def main() -> int:
    (DOCS / "figures" / "gallery").mkdir(parents=True, exist_ok=True)
    namespace: dict = {"__name__": "gallery"}
    plt.show = lambda *args, **kwargs: None
    with tempfile.TemporaryDirectory() as folder:
        report, raw = Path(folder) / "report.html", Path(folder) / "picture.png"
        for code, picture in STEP.findall(PAGE.read_text("utf-8")):
            exec(compile(code.replace('"report.html"', repr(str(report))), str(PAGE), "exec"), namespace)
            if not picture:
                continue
            if "to_html" in code:
                if not photograph(report, raw):
                    print(f"no browser: {picture} stays as it is")
                    continue
            else:
                plt.gcf().savefig(raw, dpi=90, bbox_inches="tight")
            shrink(raw, DOCS / picture)
            plt.close("all")
            print(picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
