"""Lower every fixture class that torch exports, and keep what became of it: `python measure.py [LOWERING…]`.

Results are lines of JSON in measured.jsonl. A class whose source, versions and lowering are those of a line that is
there is not tried again, so that a run that was ended goes on. `page.py` writes the page from it.
"""

from __future__ import annotations

import hashlib
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.cores import cores
from exportlint.registry import all_rules
from exportlint.trial.findings.deduplicate import findings_of
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.protocol.outcomes import MODES, NON_STRICT
from exportlint.trial.protocol.target import Target, TargetKind
from exportlint.trial.run import run_trials
from exportlint.truth.fixture import read_fixture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.registry import RuleInfo
    from exportlint.trial.protocol.result import TargetReport
    from exportlint.truth.fixture import FixtureClass

HERE = Path(__file__).resolve().parent
MEASURED = HERE / "measured.jsonl"
LOWERINGS = ("executorch", "onnxruntime", "aotinductor")
VERSIONS = tuple(version(name).partition("+")[0] for name in ("torch", "executorch", "onnxruntime"))
# What the compilers import, once for all targets instead of once for each.
PRELOAD = {
    "executorch": ("executorch.exir",),
    "onnxruntime": ("onnx", "onnxscript", "torch.onnx._internal.exporter._core"),
    "aotinductor": ("torch._inductor.compile_fx", "torch._inductor.package"),
}
AT_ONCE = 32  # targets of one run, which share the process that has torch


def main(names: Sequence[str]) -> None:
    known = {key(row): row for row in rows()}
    for lowering in names or LOWERINGS:
        todo = [one for one in exported() if (one[0].name, one[1].name, lowering, digest(*one)) not in known]
        for start in range(0, len(todo), AT_ONCE):
            some = todo[start : start + AT_ONCE]
            _keep(some, lowering)
            sys.stderr.write(f"{lowering}: {start + len(some)} of {len(todo)}\n")


def rows() -> list[dict[str, Any]]:
    """What was measured."""
    return [json.loads(line) for line in MEASURED.read_text("utf-8").splitlines()] if MEASURED.exists() else []


def key(row: dict[str, Any]) -> tuple[str, str, str, str]:
    return row["rule"], row["class"], row["lowering"], row["digest"]


def exported() -> Iterator[tuple[RuleInfo, FixtureClass, str]]:
    """The classes that torch exports, each with the mode in which it does; non-strict where both do."""
    for info in all_rules().values():
        truth = info.truth().get(VERSIONS[0], {})
        for found in read_fixture(info.fixture).classes:
            modes = [mode for mode in MODES if truth.get(found.name, {}).get(mode, {}).get("outcome") == "exports"]
            if modes:
                yield info, found, NON_STRICT if NON_STRICT in modes else modes[0]


def digest(info: RuleInfo, found: FixtureClass, mode: str) -> str:
    """Changes with the class's text, with what stands above it, and with the versions."""
    text = info.fixture.read_text("utf-8")
    own = "\n".join(text.split("\n")[found.line - 1 : found.end_line])
    return hashlib.sha256(repr((own, mode, VERSIONS)).encode()).hexdigest()[:12]


def _keep(some: Sequence[tuple[RuleInfo, FixtureClass, str]], lowering: str) -> None:
    with MEASURED.open("a", encoding="utf-8") as file:
        for mode in MODES:
            chosen = [one for one in some if one[2] == mode]
            options = TrialOptions(
                modes=(mode,), lower=(lowering,), quick=True, timeout=300, jobs=cores(), preload=PRELOAD[lowering]
            )
            for one, report in zip(chosen, run_trials([_target(*one) for one in chosen], options), strict=True):
                file.write(json.dumps(_row(one, lowering, report)) + "\n")


def _target(info: RuleInfo, found: FixtureClass, _mode: str) -> Target:
    path = str(info.fixture)
    return Target(found.name, TargetKind.FIXTURE, f"{path}:{found.name}", path=path, line=found.line)


def _row(one: tuple[RuleInfo, FixtureClass, str], lowering: str, report: TargetReport) -> dict[str, Any]:
    info, found, mode = one
    stage = report.stage(f"lower-{lowering}")
    status, detail = (stage.status, stage.full_detail) if stage else ("not tried", report.broken or "")
    told = [it for it in findings_of(report, info.fixture.parent, (mode,)) if it.stage.lowering]
    return {
        "rule": info.name,
        "class": found.name,
        "lowering": lowering,
        "mode": mode,
        "digest": digest(*one),
        "status": status,
        "detail": detail,
        "findings": [[it.line, it.placed, it.message, it.words.suggestion or ""] for it in told],
    }


if __name__ == "__main__":
    main(sys.argv[1:])
