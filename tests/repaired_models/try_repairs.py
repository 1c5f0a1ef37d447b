"""Run `exportlint fix` on models and keep what became of each: `python try_repairs.py SET MODELS.jsonl`.

A line of MODELS.jsonl is one model: {"case": its name, "before": what torch does with it (refused, differs, raises),
"folder": where to run, "arguments": those of `exportlint fix`}. What was measured of the set before is replaced.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).resolve().parent / "measured.jsonl"
HELD = ("same-behaviour", "soundness", "decompose", "save-load")


def rows() -> list[dict[str, Any]]:
    """What was measured, of every set."""
    return [json.loads(line) for line in MEASURED.read_text("utf-8").splitlines()] if MEASURED.exists() else []


def measure(model: dict[str, Any]) -> dict[str, Any]:
    """`after` is `repaired` where the model exports, agrees with eager and nothing is left to say, `exports` where it
    exports and something else is left, else `left`."""
    command = [sys.executable, "-m", "exportlint", "fix", "--output-format", "json", *model["arguments"]]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=model["folder"])
    row = {"case": model["case"], "before": model["before"], "seconds": round(time.monotonic() - start)}
    if not done.stdout.startswith("{"):
        return {**row, "after": "left", "why": done.stderr.strip().rpartition("\n")[2]}
    report = json.loads(done.stdout)
    return {
        **row,
        "after": after(report),
        "rules": sorted({one["rule"] for one in report["rewrites"]}),
        "left": sorted({one["rule"] for one in report["left"]}),
        "rejected": sorted({one["why"] for one in report["rejected"]}),
    }


def after(report: dict[str, Any]) -> str:
    (target,) = report["targets"]
    held = all(target["after"].get(name) in (None, "passed") for name in HELD)
    if not report["diff"] or target["after"].get("export-non-strict") != "passed":
        return "left"
    return "repaired" if held else "exports"


def main(name: str, models: Path) -> None:
    others = [row for row in rows() if row["set"] != name]
    new: list[dict[str, Any]] = []
    for line in models.read_text("utf-8").splitlines():
        new.append({"set": name, **measure(json.loads(line))})
        MEASURED.write_text("".join(json.dumps(row) + "\n" for row in (*others, *new)), "utf-8")
        sys.stdout.write(f"{new[-1]['after']} {new[-1]['case']} {new[-1]['seconds']} s\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
