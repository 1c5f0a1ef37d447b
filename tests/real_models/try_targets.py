"""Every target of this folder up the whole ladder, kept in tried.jsonl: `python try_targets.py [STEM…]`.

One line of JSON for a target, written when it ends. A target whose file and versions are those of its line is not
tried again, so that a run that was ended goes on; with names of targets, those are tried whatever is there. `report.py`
writes the page from it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.discovery import from_text
from exportlint.trial.findings.wording.difference_messages import in_words
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import Event, StageResult, TargetReport


HERE = Path(__file__).resolve().parent
TARGETS = HERE / "targets"
TRIED = HERE / "tried.jsonl"
LOWERINGS = ("aotinductor", "executorch", "executorch-xnnpack", "onnxruntime", "openvino", "tvm")
PACKAGES = ("torch", "executorch", "onnx", "onnxscript", "onnxruntime", "openvino", "apache-tvm", "transformers")
VERSIONS = {name: version(name).partition("+")[0] for name in PACKAGES}
OPTIONS = TrialOptions(lower=LOWERINGS, timeout=600)


def main(names: Sequence[str]) -> None:
    known = tried()
    for path in sorted(TARGETS.glob("*.py")):
        stem = path.stem
        if stem in names or (not names and known.get(stem, {}).get("digest") != digest(stem)):
            (report,) = run_trials(from_text(str(path)), OPTIONS, _show)
            known[stem] = {"target": stem, "digest": digest(stem), **_kept(report)}
            lines = (json.dumps(known[name]) for name in sorted(known))
            TRIED.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def tried() -> dict[str, Any]:
    """What was seen, by the stem of the target's file."""
    rows = map(json.loads, TRIED.read_text("utf-8").splitlines()) if TRIED.exists() else ()
    return {row["target"]: row for row in rows}


def digest(stem: str) -> str:
    """Changes with the target's text and with the versions."""
    text = (TARGETS / f"{stem}.py").read_text("utf-8")
    return hashlib.sha256(repr((text, sorted(VERSIONS.items()), LOWERINGS)).encode()).hexdigest()[:12]


def _show(event: Event) -> None:
    if event.status != "running":
        name = Path(event.target).stem
        print(f"{name:16} {event.stage:18} {event.status:9} {event.seconds:6.1f} s", file=sys.stderr)  # noqa: T201


def _kept(report: TargetReport) -> dict[str, Any]:
    stages = [[stage.name, stage.status, plain(stage.detail)] for stage in report.stages]
    failed = (stage for stage in report.stages if stage.status not in ("passed", "skipped"))
    return {"stages": stages, "failures": [failure for stage in failed for failure in _failures(stage)]}


def _failures(stage: StageResult) -> Iterator[list[str]]:
    """Stage, status, place and reason of each thing that was seen; of the stage itself where nothing was."""
    seen = [one for one in stage.observations if one.kind in ("exception", "difference")]
    for one in seen or [None]:
        yield [stage.name, stage.status, _place(one), plain(_reason(one) if one else stage.detail)]


def _reason(seen: Observation) -> str:
    if summary := seen.details.get("summary"):
        return str(summary)
    if seen.kind == "difference":
        return in_words(seen)
    words = seen.text.partition("\n\n")[0]
    return f"{seen.error_class.rpartition('.')[2]}: {words}" if seen.error_class else words


def _place(seen: Observation | None) -> str:
    """The model's own line; where torch names none, the line of torch that raised."""
    if seen is None:
        return ""
    if seen.user:
        return f" at `{plain(seen.user.path)}:{seen.user.line}`" + (f" (`{seen.user.text}`)" if seen.user.text else "")
    inner = seen.frames[-1] if seen.frames else None
    return f", no line of the model; raised at `{plain(inner.path)}:{inner.line}`" if inner else ""


_INSTALLED = re.compile(r"/[^\s\"'`]+/site-packages/")
_BYTES = re.compile(r"([\d,]+) bytes")


def plain(text: str) -> str:
    """One line, the same in every run: paths relative, sizes rounded, nothing that a table takes for a column."""
    text = _INSTALLED.sub("", text.replace(f"{HERE.parents[1]}/", ""))
    text = _BYTES.sub(lambda found: _size(int(found[1].replace(",", ""))), text)
    return " ".join(text.split()).replace("|", "\\|")[:500]


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


if __name__ == "__main__":
    main(sys.argv[1:])
