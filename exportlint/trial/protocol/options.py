"""How the lowerings of a trial are run."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.outcomes import MODES
from exportlint.trial.protocol.purposes import COMPILE, EXPORT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from exportlint.trial.protocol.target import Target


@dataclass(frozen=True, slots=True)
class LoweringOptions:
    """How the lowerings of a trial are run.

    settings   name of a lowering -> those of its settings that are not the usual ones
    cache      a folder of earlier results; None: none are used or kept
    kept       a folder for the artefacts that passed; None: they are thrown away
    dry_run    only say which operators each target takes, and compile nothing
    operators  say it of targets that pass too, even where finding out takes seconds
    """

    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cache: Path | None = None
    kept: Path | None = None
    dry_run: bool = False
    operators: bool = False


# What a run of trials is asked for, and how much of the machine each stage may take: the limits and their defaults.


DEFAULT_SECONDS = 300.0
DEFAULT_MEMORY_GB = 16.0


# Input set 0 is the sample, 1 the target's other inputs or other values of the same shapes. Each is called twice in a
# row on the same program, so that state shows.
CALL_PLAN = (0, 0, 1, 1)


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a process with everything it started: seconds, and megabytes of resident memory."""

    seconds: float
    memory_mb: int


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """What to try, and how much of the machine it may take.

    purpose    what the model is judged for, see `exportlint.trial.protocol.purposes`
    as_used    nobody chose that: what a script only compiles is judged for torch.compile
    backend    of torch.compile, whose time is measured; None: its own default, where that can compile here
    dynamic    "auto": propose which dims can be declared dynamic
    lower      names in the entry point group `exportlint.lowerings`
    lowering   how these are run
    timeout    seconds for each stage
    memory_mb  resident memory of a stage with everything it started
    python     the interpreter that has torch and the target's packages; None: this one
    keep       the process that has torch stays for this process's next trial
    graph      also describe the exported program, to be shown
    grad       the model is to be trained: compare gradients too
    quick      only load, eager and the exports
    decompose  OP=FILE_OR_MODULE:FUNCTION: decompositions that take the place of torch's
    read_with  another interpreter, whose torch reads the saved program
    only       the names of the stages that are on the ladder; () for all that have something to do
    kept_models  a folder for the models and inputs that failed and that no code names; they stay there
    preload    modules that are imported once, before any target: compilers that many small targets would import anew.
               What they change in torch, every target sees
    behaviour  a folder where what each target computes is kept; with `edited`, it is compared with what was kept there
    unsafe     the edited source may draw other random numbers, have other gradients, and be right for the sample's
               configuration only, where that is told beside it
    thorough   it is compared on inputs far from the sample, too, and in what is no value: of an edit that a person
               made, nothing is known beforehand
    numbers    that the text of an edit names: inputs are tried around each
    edited     path -> source that the targets' processes see in place of the file's; nothing on the disk changes
    as_unedited  such source that stands for the unedited one: without it a script gives no target
    """

    modes: tuple[str, ...] = MODES
    lower: tuple[str, ...] = ()
    lowering: LoweringOptions = field(default_factory=LoweringOptions)
    dynamic: str | None = None
    timeout: float = DEFAULT_SECONDS
    memory_mb: int = int(DEFAULT_MEMORY_GB * 1000)
    jobs: int = 1
    python: Path | None = None
    keep: bool = False
    graph: bool = False
    grad: bool = False
    quick: bool = False
    decompose: tuple[str, ...] = ()
    read_with: Path | None = None
    kept_models: Path | None = None
    preload: tuple[str, ...] = ()
    behaviour: Path | None = None
    unsafe: bool = False
    thorough: bool = False
    numbers: tuple[float, ...] = ()
    edited: Mapping[str, str] = field(default_factory=dict)
    as_unedited: Mapping[str, str] = field(default_factory=dict)
    purpose: str = EXPORT
    as_used: bool = False
    backend: str | None = None
    only: tuple[str, ...] = ()

    @property
    def is_edited(self) -> bool:
        """Is there an unedited source beside it, with which it is to be compared?"""
        return self.edited != self.as_unedited

    def for_target(self, target: Target) -> TrialOptions:
        """Those of one target, which a script may use in another way than the others."""
        return replace(self, purpose=COMPILE) if self.as_used and target.only_compiled else self

    @property
    def limits(self) -> Limits:
        """Of one stage."""
        return Limits(self.timeout, self.memory_mb)

    def behaviour_of(self, target: Target, of: str = "") -> Path:
        """The file of what a target computes, or of what else of it is kept there; equal in every run of a process."""
        if self.behaviour is None:
            raise ValueError("nothing is kept")
        return self.behaviour / f"{hashlib.sha256(repr((target.identity, of)).encode()).hexdigest()[:16]}.pickle"
