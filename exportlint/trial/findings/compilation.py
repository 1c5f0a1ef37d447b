"""What torch.compile does with a target, as rows that every format shows: breaks, graphs, recompilations, cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.reference.lookup import link_for_graph_break
from exportlint.trial.findings.classify import own_call, rule_of, shown
from exportlint.trial.findings.wording.compile_messages import changed_in_words, reason_of_break, recompile_words
from exportlint.trial.protocol.compilation import CompilationReport, Graph, GraphBreak, Recompile
from exportlint.trial.protocol.frames import is_user_path
from exportlint.trial.protocol.stages import BREAKS, COST, EXPLAIN, RECOMPILES
from exportlint.trial.protocol.torch_messages import break_kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exportlint.trial.protocol.frames import Frame
    from exportlint.trial.protocol.result import StageResult, TargetReport


def compilation_of(report: TargetReport, root: Path) -> CompilationReport:
    """All that the stages say of torch.compile; where a trial is about export, the breaks that `explain` met."""
    breaks, recompiles = report.stage(BREAKS.name), report.stage(RECOMPILES.name)
    cost = report.stage(COST.name)
    looked = breaks or report.stage(EXPLAIN.name)
    data = breaks.data if breaks else {}
    return CompilationReport(
        tuple(_breaks(looked, root)) if looked else (),
        tuple(Graph(**{**graph, "path": _shown(graph["path"], root)}) for graph in data.get("graphs", ())),
        tuple(_recompiles(recompiles, root)) if recompiles else (),
        tuple((str(what), int(number)) for what, number in data.get("order", ())),
        _cost(cost.data.get("cost"), root) if cost else None,
    )


def _cost(measured: dict[str, Any] | None, root: Path) -> dict[str, Any] | None:
    if measured is None:
        return None
    modules = [{**row, "path": _shown(row["path"], root)} for row in measured.get("modules", ())]
    return {**measured, "modules": modules}


def _breaks(stage: StageResult, root: Path) -> Iterator[GraphBreak]:
    met = [seen for seen in stage.observations if seen.kind == "graph-break"]
    times = stage.data.get("times") or [1] * len(met)
    for seen, often in zip(met, times, strict=False):
        at = own_call(seen, root) or seen.user
        link = link_for_graph_break(seen.gb_id) if seen.gb_id else None
        yield GraphBreak(
            _shown(at.path if at else None, root),
            at.line if at else None,
            at.function if at else "",
            tuple(_frame(frame, root) for frame in seen.frames if is_user_path(frame.path)),
            reason_of_break(seen).message,
            seen.gb_id,
            link.url if link else None,
            rule_of(seen),
            often,
            str(seen.details.get("kind") or break_kind(seen.text)),
        )


def _recompiles(stage: StageResult, root: Path) -> Iterator[Recompile]:
    for seen in stage.observations:
        if seen.kind == "recompile":
            at = own_call(seen, root) or seen.user
            yield Recompile(
                _shown(at.path if at else None, root),
                at.line if at else None,
                seen.text,
                changed_in_words(seen.details["changed"]),
                seen.details["times"],
                recompile_words(seen).suggestion,
                bool(seen.details["over_limit"]),
                any(mend["helped"] for mend in seen.details["mends"]),
            )


def _frame(frame: Frame, root: Path) -> str:
    return f"{shown(frame.path, root)}:{frame.line} in {frame.function or '<module>'}"


def _shown(path: str | None, root: Path) -> str | None:
    return shown(path, root) if path else None
