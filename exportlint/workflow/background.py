"""What stands behind the findings of a report: the engine's beliefs, and the measured models that are like them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.output.background import Background
from exportlint.pages.examples import examples
from exportlint.static.beliefs import BeliefsInWords
from exportlint.trial.protocol.target import TargetKind
from exportlint.workflow.linting import declared_targets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.config.settings import Config
    from exportlint.finding import Finding
    from exportlint.output.background import MeasuredExample
    from exportlint.trial.protocol.result import TargetReport


def background_of(config: Config, tried: Sequence[TargetReport] = ()) -> Background:
    """For a report that was made with this configuration. `tried`: its targets, whose files may run a finding's."""
    models = [one.target for one in tried if one.target is not None and one.target.kind is TargetKind.CALLABLES]
    named = [(one.source, one.args, one.kwargs) for one in models if one.args]
    beliefs = BeliefsInWords(declared_targets(config, named))
    callers = sorted({Path(path) for one in tried for path in (one.path, *one.called) if path})
    return Background(
        beliefs=partial(_beliefs, beliefs, callers),
        examples=partial(_examples, config),
    )


def _beliefs(known: BeliefsInWords, callers: Sequence[Path], finding: Finding) -> Mapping[int, tuple[str, ...]]:
    return known.beside(Path(finding.path), range(finding.line, finding.end_line + 1), callers)


def _examples(config: Config, finding: Finding) -> list[MeasuredExample]:
    return examples(finding.rule, finding.case, config.torch, config.purpose)
