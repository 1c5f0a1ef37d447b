"""Write the pages of docs/ about libraries: what sweeps found, from their JSON beside this file.

    exportlint sweep LIBRARY:* --only export-non-strict,export-strict,explain,remedies,soundness --timeout 120 \\
        --target-timeout 300 --store STORE
    exportlint sweep show --store STORE --output-format json --output-file tests/libraries/LIBRARY.json
    exportlint sweep judge --store STORE --output-format json --output-file tests/libraries/LIBRARY-rules.json
    python tests/libraries/library_pages.py

Of timm the targets came on stdin: of each `exportlint.zoo.timm.family(name)` the shortest of its sorted names.

`library-NAME.md` is the page of one library; `libraries.md` has a row a library, and what each page is made of.
"""

from __future__ import annotations

from pathlib import Path, PurePath

from tabulate import tabulate

from exportlint.output.sweeps import judgement, page, summary
from exportlint.sweep.result import SweptOutcome

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
MARK = "<!-- Made by python tests/libraries/library_pages.py of what sweeps measured: not to be edited. -->"
# What stands in a sweep, where that is not all models of the library.
CHOSEN = {"timm": "of each family the model with the shortest name"}
INDEX = """\
# What whole libraries do

{mark}

Models of a library, each made small with random weights, and tried by [`exportlint sweep`](sweep.md): exported in both
modes, compiled by torch.compile, and compared with eager. `exports` says that the first mode exports and that the
program agreed with eager wherever the trial looked.

{table}

"Hours" are those of all stages together, on a core that was shared with other work. Of one model, `exportlint trial
NAME` tells more than its page does.
"""


def written() -> dict[str, str]:
    """Each file below docs/, as its name and its text."""
    files: dict[str, str] = {}
    rows = []
    for path in sorted(HERE.glob("*.json")):
        library, _, kind = path.stem.partition("-")
        if kind:
            continue
        found = summary.of_json(path.read_text("utf-8"))
        text, pictures = page.as_markdown(summary.page_of(found), PurePath("pictures", library))
        files |= {f"pictures/{library}/{name}": picture for name, picture in pictures.items()}
        files[f"library-{library}.md"] = "\n".join([f"# {library}", "", MARK, "", *_about(library, found), text])
        total = found.total
        hours = sum(seconds for *_, seconds in found.stages) / 3600
        link = f"[{library}](library-{library}.md)"
        versions = ", ".join(found.packages.get(library, ()))
        counts = [total[one.value] for one in SweptOutcome]
        rows.append((link, versions, found.sweep.torch, sum(total.values()), *counts, f"{hours:.1f}"))
    heads = ("library", "version", "torch", "models", *(one.value for one in SweptOutcome), "hours")
    files["libraries.md"] = INDEX.format(mark=MARK, table=tabulate(rows, heads, tablefmt="github"))
    return files


def _about(library: str, found: summary.SweepSummary) -> list[str]:
    chosen = f" ({CHOSEN[library]})" if library in CHOSEN else ""
    versions = ", ".join([*found.packages.get(library, ()), f"torch {found.sweep.torch}"])
    judged = HERE / f"{library}-rules.json"
    told = [judgement.of_json(judged.read_text("utf-8")).headline + ".", ""] if judged.exists() else []
    return [f"{versions}; swept on {found.sweep.started[:10]}{chosen}.", "", *told]


if __name__ == "__main__":
    for name, text in written().items():
        file = DOCS / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
