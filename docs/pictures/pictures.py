"""Take the pictures of the documentation: `python docs/pictures/pictures.py`. Needs torch, playwright and chromium.

terminal.svg is what a check of two examples prints on a terminal, report.png the page of `--output-format html`.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
EXPORTLINT = (sys.executable, "-m", "exportlint")
EXAMPLES = ("branch_on_score", "counter_on_self", "clean_encoder", "checked_range")
WIDTH = 100


def terminal() -> None:
    """A check, with the colours that it has on a terminal: `script` gives it one."""
    command = "exportlint check fixtures/examples/counter_on_self.py fixtures/examples/branch_on_score.py"
    shown = [*EXPORTLINT, *command.split()[1:]]
    run = f"stty cols {WIDTH}; {' '.join(shown)}"
    said = subprocess.run(
        ["script", "-qec", run, "/dev/null"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout
    console = Console(record=True, width=WIDTH, file=Path("/dev/null").open("w"), force_terminal=True)  # noqa: SIM115
    console.print(Text.from_ansi(f"$ {command}\n{said}".replace("\r", "").rstrip()))
    svg = console.export_svg(title="exportlint", theme=MONOKAI, unique_id="exportlint")
    # A page of the documentation asks no network for a font.
    (HERE / "terminal.svg").write_text(re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL), "utf-8")


def report() -> None:
    """The page of some examples."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        files = [f"fixtures/examples/{name}.py" for name in EXAMPLES]
        command = [*EXPORTLINT, "trial", *files, "--output-format", "html", "--output-file", str(page)]
        subprocess.run(command, cwd=ROOT, check=False)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = browser.new_page(viewport={"width": 1200, "height": 820})
        shown.goto(page.as_uri())
        shown.screenshot(path=str(HERE / "report.png"))
        browser.close()


if __name__ == "__main__":
    terminal()
    report()
