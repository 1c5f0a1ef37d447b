"""The one table of stages. Ladder, classification, reports and repro scripts read it, and nothing repeats its names.

A new stage is a file in `exportlint/trial/child/stages/` and a line here; its kind says when it runs. Tests then
ask for what is written for readers: its name in `output/schema-1.json`, and the table in the documentation.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from exportlint.trial.protocol.outcomes import MODES

LOWERINGS = "exportlint.lowerings"  # the entry point group; a lowering of the name N is the stage lower-N
_LOWER = "lower-"
# What a finding is called that is about lines which no sample ran.
NEVER_RAN = "trial-never-ran"


class StageKind(enum.Enum):
    """What a stage is for, which decides when it runs and how its observations are read."""

    SCRIPT = "runs a user's script, which gives the targets"
    LOAD = "makes the model and its inputs"
    EAGER = "runs the model as it is; everything else is compared with it"
    TRACE = "traces with torch.jit.trace, where the script did"
    INFORM = "looks at the model where eager passed; what it finds is no failure of export"
    EXPORT = "exports in one mode"
    DRAFT = "torch's own report, where an export failed"
    REFUSALS = "looks for further refusals, where torch refused"
    SEARCH = "looks for the part that is refused, where torch names no line"
    REMEDIES = "tries what may help without an edit, where torch refused"
    COMPARE = "compares exported programs with eager in every way it can"
    SIZES = "tries other sizes"
    FROM_PROGRAM = "goes on from the program of the first export that passed"
    ON_REQUEST = "is asked for by name and is not on the ladder"


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the ladder.

    name        what JSON, truth and people call it
    module      the file in `exportlint/trial/child/stages/` whose `run(request)` does it
    summary     what it does, for the documentation
    mode        of a stage that exports
    of_export   does it find failures of export, which the static pass can have suspected?
    repro       can a script fail in the same way without exportlint?
    """

    name: str
    kind: StageKind
    module: str
    summary: str
    mode: str | None = None
    of_export: bool = False
    repro: bool = True

    @property
    def lowering(self) -> str | None:
        """The target of deployment that the stage compiles for; None for other stages."""
        return self.name.removeprefix(_LOWER) if self.name.startswith(_LOWER) else None

    @property
    def rule(self) -> str:
        """What a finding of this stage is called that no rule declares as its own."""
        return f"trial-{self.name}"


def _export(mode: str) -> Stage:
    summary = "export, then the program on the sample beside eager"
    return Stage(f"export-{mode}", StageKind.EXPORT, "export", summary, mode, of_export=True)


SCRIPT = Stage(
    "script", StageKind.SCRIPT, "", "run the script that was given, and see what it hands to torch", repro=False
)

LOAD = Stage("load", StageKind.LOAD, "load", "import the target, make the model and its example inputs")
EAGER = Stage("eager", StageKind.EAGER, "eager", "run the model on its sample, twice, and note the lines that ran")
LADDER: tuple[Stage, ...] = (
    LOAD,
    EAGER,
    *map(_export, MODES),
    Stage(
        "jit-trace",
        StageKind.TRACE,
        "jit_trace",
        "of a script that calls torch.jit.trace: the traced module beside eager on other values",
        repro=False,
    ),
    Stage("explain", StageKind.INFORM, "explain", "where torch.compile would break the graph", repro=False),
    Stage(
        "draft", StageKind.DRAFT, "draft", "torch's draft_export, when an export failed", of_export=True, repro=False
    ),
    Stage("further", StageKind.REFUSALS, "further", "the refusals after the first one", of_export=True, repro=False),
    Stage(
        "submodules",
        StageKind.SEARCH,
        "submodules",
        "the smallest submodules that are refused by themselves",
        of_export=True,
        repro=False,
    ),
    Stage(
        "remedies",
        StageKind.REMEDIES,
        "remedies",
        "the refused export with `torch._check`, under `no_grad()`, without the checks of distributions, in eval mode",
        repro=False,
    ),
    Stage(
        "soundness",
        StageKind.COMPARE,
        "soundness",
        "other values, a second call, a second export: what torch accepts and gets wrong",
        of_export=True,
    ),
    Stage(
        "dynamic-shapes",
        StageKind.SIZES,
        "dynamic_shapes",
        "dims declared dynamic that are not, and other sizes",
        of_export=True,
    ),
    Stage("decompose", StageKind.FROM_PROGRAM, "decompose", "the program in Core ATen operators, beside eager"),
    Stage(
        "swap-decomposition",
        StageKind.FROM_PROGRAM,
        "swap_decomposition",
        "with `--decompose`: what decompositions of your own change, beside torch's",
        repro=False,
    ),
    Stage("save-load", StageKind.FROM_PROGRAM, "save_load", "the program written, read in a fresh process, and run"),
    Stage(
        "read-elsewhere",
        StageKind.FROM_PROGRAM,
        "read_elsewhere",
        "with `--read-with`: the saved program, read and run by the torch of another environment",
        repro=False,
    ),
)
# These run only where an option asks for them.
SWAP, READ_ELSEWHERE = "swap-decomposition", "read-elsewhere"

SECOND_EXPORT = Stage("second-export", StageKind.ON_REQUEST, "second_export", "export once more, for soundness")
OTHER_PROCESS = Stage(
    "other-process", StageKind.ON_REQUEST, "other_process", "eager with another PYTHONHASHSEED, for soundness"
)
GRAPH = Stage("graph", StageKind.ON_REQUEST, "graph", "the exported program by source line, for `--show graph`")
KEEP_MODEL = Stage(
    "keep-model", StageKind.ON_REQUEST, "keep_model", "the model and its inputs in a file, for `--save-repro`"
)
MEASURE = Stage(
    "measure", StageKind.ON_REQUEST, "measure", "what torch does with a fixture class, for `exportlint truth`"
)
SAME_BEHAVIOUR = Stage(
    "same-behaviour",
    StageKind.ON_REQUEST,
    "same_behaviour",
    "the edited model beside the unedited one in eager, for `exportlint fix`",
)


def lowering(name: str) -> Stage:
    """The stage of a target of deployment, which an entry point in `exportlint.lowerings` names."""
    return Stage(f"{_LOWER}{name}", StageKind.FROM_PROGRAM, "lower", f"compile for {name}, load, run, compare")


def stage_named(name: str) -> Stage:
    """The row of a stage by its name. Raises KeyError for a name that is no stage's."""
    if name.startswith(_LOWER):
        return lowering(name.removeprefix(_LOWER))
    return _BY_NAME[name]


_ON_REQUEST = (SECOND_EXPORT, OTHER_PROCESS, GRAPH, KEEP_MODEL, MEASURE, SAME_BEHAVIOUR)
_BY_NAME = {stage.name: stage for stage in (SCRIPT, *LADDER, *_ON_REQUEST)}
