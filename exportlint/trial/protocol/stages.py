"""The one table of stages. A row holds all that is true of a stage but what it does, which its file in the child says:

when it is on the ladder, what it needs and so why it is skipped, in which process it starts, what it is asked, what its
pass shows, and how its observations are read. The ladder walks over the rows; classification, reports and repro scripts
read them, and nothing repeats their names.

A new stage is a file in `exportlint/trial/child/stages/` and a row here. Tests then ask for what is written for
readers: its name in `output/schema-1.json`, and the table in the documentation.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from exportlint.trial.protocol.outcomes import MODES, NON_STRICT, PASSED, REFUSED
from exportlint.trial.protocol.purposes import BOTH, COMPILE, EXPORT, serves
from exportlint.trial.protocol.remedies import worth_trying
from exportlint.trial.protocol.shown_by import DECOMPOSE, SAVE
from exportlint.trial.protocol.shown_by import EXPORT as SHOWN_BY_EXPORT
from exportlint.trial.protocol.target import OLD_ONNX
from exportlint.trial.protocol.torch_messages import is_outside_declared_range, violates_declared_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.target import Target


LOWERINGS = "exportlint.lowerings"  # the entry point group; a lowering of the name N is the stage lower-N
LOWER_PREFIX = "lower-"
# What a finding is called that is about lines which no sample ran.
NEVER_RAN = "trial-never-ran"


class StageKind(enum.Enum):
    """What a stage is for, in the eyes of reports. Nothing of the trial itself asks for it: it reads the row."""

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
    BREAKS = "compiles, and looks where Dynamo breaks the graph"
    RECOMPILES = "calls what is compiled with other inputs, and looks what makes Dynamo compile again"
    AGREEMENT = "compares what is compiled with eager"
    COST = "measures what is compiled beside eager"
    ON_REQUEST = "is asked for by name and is not on the ladder"


class Start(enum.Enum):
    """In which process a stage runs."""

    AFRESH = "in a fork of the process that has imported the target"
    LOAD = "in such a fork, once the target is imported"
    HELD = "in such a fork, which is held where the stage passes, for those that go on from its program"
    FOLLOWING = "in a fork of the process that holds the program of the first mode that passed"
    EACH_PROGRAM = "in a fork of each process that holds a program, and for what refusals leave"


class SoFar(Protocol):
    """What is known of a target while its ladder is climbed; `exportlint.trial.ladder` implements it.

    lowerings   name -> class of those that are asked for
    """

    @property
    def options(self) -> TrialOptions: ...
    @property
    def target(self) -> Target: ...
    @property
    def lowerings(self) -> Mapping[str, str]: ...

    def status(self, stage: Stage) -> str | None:
        """How it ended; None where it has not run."""

    def data(self, stage: Stage) -> Mapping[str, Any]:
        """What it reported."""

    def observations(self, stage: Stage) -> Sequence[Observation]:
        """What it saw."""

    def seconds(self, stage: Stage) -> float:
        """How long it took."""


Need = Callable[[SoFar], "str | None"]  # None where it is met, else why the stage is skipped


def _always(_so_far: SoFar) -> bool:
    return True


def _no_options(_so_far: SoFar) -> Mapping[str, Any]:
    return {}


def _everything(_seen: Observation) -> bool:
    return True


# The rungs of the ladder: the stages of one run side by side, once those below are done. A quick run ends with EXPORTS:
# what is above asks what the program is worth, or why there is none.
# What measures time comes last, when no other stage of the target runs.
_LOADED, _RAN, EXPORTS, _ABOVE, _MEASURED = range(5)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of the ladder.

    name        what JSON, truth and people call it
    module      the file in `exportlint/trial/child/stages/` whose `run(request)` does it
    summary     what it does, for the documentation
    mode        of a stage that exports

    purpose     what a model is judged for where it is on the ladder
    rung        when it runs
    concerns    is it on the ladder of this target at all?
    needs       what must be so; the first that is not is the reason why it is skipped
    start       in which process it runs
    asked       the options that its request has

    of_export   does it find failures of export, which the static pass can have suspected?
    shows       the kinds of harm that would have kept it from passing, by `exportlint.trial.protocol.shown_by`
    tells       is an exception that it sent something about the model?
    informs     is what it finds no failure, but a note?
    reports_on  of torch's own report beside the export: the mode that it is about. Where that passes, it only hints
    went_on     did the trace that refuses go on after a first refusal?
    by_mode     does it look at several modes, so that its one line says which?
    repro       can a script fail in the same way without exportlint?
    """

    name: str
    kind: StageKind
    module: str
    summary: str
    mode: str | None = None
    purpose: str = EXPORT
    rung: int = _ABOVE
    concerns: Callable[[SoFar], bool] = _always
    needs: tuple[Need, ...] = ()
    start: Start = Start.AFRESH
    asked: Callable[[SoFar], Mapping[str, Any]] = _no_options
    of_export: bool = False
    shows: tuple[str, ...] = ()
    tells: Callable[[Observation], bool] = _everything
    informs: bool = False
    reports_on: str | None = None
    went_on: bool = False
    by_mode: bool = False
    repro: bool = True

    @property
    def lowering(self) -> str | None:
        """The target of deployment that the stage compiles for; None for other stages."""
        return self.name.removeprefix(LOWER_PREFIX) if self.name.startswith(LOWER_PREFIX) else None

    @property
    def rule(self) -> str:
        """What a finding of this stage is called that no rule declares as its own."""
        return f"trial-{self.name}"

    def is_wanted(self, so_far: SoFar) -> bool:
        """Is it on the ladder of this target, of what that is judged for?"""
        return serves(self.purpose, so_far.options.purpose) and self.concerns(so_far)

    def reason_to_skip(self, so_far: SoFar) -> str | None:
        """Why it has nothing to do after what happened so far; None where it runs."""
        return next((why for need in self.needs if (why := need(so_far))), None)

    def options(self, so_far: SoFar) -> Mapping[str, Any]:
        """What its request has in the options."""
        return _of_lowering(self.lowering, so_far) if self.lowering else self.asked(so_far)


def passed_modes(so_far: SoFar) -> list[str]:
    """The modes whose export passed."""
    return [mode for mode, stage in _EXPORTS.items() if so_far.status(stage) == PASSED]


def accepted_modes(so_far: SoFar) -> list[str]:
    """The modes in which torch gave a program, whatever that computes."""
    return [mode for mode, stage in _EXPORTS.items() if so_far.data(stage).get("exported")]


def refused_modes(so_far: SoFar) -> list[str]:
    """The modes in which it gave none."""
    return [mode for mode in so_far.options.modes if mode not in accepted_modes(so_far)]


def tolerates_refusals(so_far: SoFar) -> bool:
    """Can the error-tolerant export, which is non-strict, show what the refusals leave?"""
    return NON_STRICT in refused_modes(so_far)


def _enough_seconds(so_far: SoFar, least: int) -> int:
    """Of a processor, for what goes on as long as it finds something: more where an export takes long."""
    return math.ceil(least + sum(map(so_far.seconds, _EXPORTS.values())))


# What stages need.


def _a_target(so_far: SoFar) -> str | None:
    return None if so_far.status(LOAD) == PASSED else "the target did not load"


def _eager_came_back(so_far: SoFar) -> str | None:
    """Where it ended its process, or never came back, tracing would run the same code."""
    status = so_far.status(EAGER)
    return None if status in (PASSED, REFUSED) else f"eager {status}"


def _eager_passed(so_far: SoFar) -> str | None:
    return None if so_far.status(EAGER) == PASSED else "eager raised"


def _eager_beside(so_far: SoFar) -> str | None:
    return None if so_far.status(EAGER) == PASSED else "eager raised: nothing to compare with"


def _a_failure(so_far: SoFar) -> str | None:
    return "nothing failed" if len(passed_modes(so_far)) == len(so_far.options.modes) else None


def _a_refusal(so_far: SoFar) -> str | None:
    return None if refused_modes(so_far) else "nothing was refused"


def _a_program(so_far: SoFar) -> str | None:
    return None if passed_modes(so_far) else "no export passed"


def _the_same(so_far: SoFar) -> str | None:
    """Where edited source was compared with the unedited one."""
    same = so_far.status(SAME_BEHAVIOUR)
    return None if same in (None, PASSED) else "the edited model computes something else"


def _as_written(so_far: SoFar) -> str | None:
    return "the source is edited, and its author's was looked at" if so_far.options.is_edited else None


_TO_RUN = (_a_target, _eager_came_back)
_TO_COMPARE = (*_TO_RUN, _eager_beside)


# The ladder, from below.


SCRIPT = Stage(
    "script",
    StageKind.SCRIPT,
    "",
    "run the script that was given, and see what it hands to torch",
    of_export=True,
    repro=False,
)

LOAD = Stage(
    "load",
    StageKind.LOAD,
    "load",
    "import the target, make the model and its example inputs",
    purpose=BOTH,
    rung=_LOADED,
    start=Start.LOAD,
)

# What is compiled is called where its users call it, and that may be under `torch.no_grad()` alone: eager may try that
# too, its answer says that the model runs so only, and the stages that follow run so.
TRY_WITHOUT_GRADIENTS, WITHOUT_GRADIENTS = "try_without_gradients", "without_gradients"

EAGER = Stage(
    "eager",
    StageKind.EAGER,
    "eager",
    "run the model on its sample, twice, and note the lines that ran",
    purpose=BOTH,
    rung=_RAN,
    needs=(_a_target,),
    asked=lambda so_far: {TRY_WITHOUT_GRADIENTS: True} if serves(COMPILE, so_far.options.purpose) else {},
)

_EXPORTS = {
    mode: Stage(
        f"export-{mode}",
        StageKind.EXPORT,
        "export",
        "export, then the program on the sample beside eager",
        mode,
        rung=EXPORTS,
        needs=(*_TO_RUN, _the_same),
        start=Start.HELD,
        of_export=True,
        shows=(SHOWN_BY_EXPORT,),
    )
    for mode in MODES
}


def _is_traced(so_far: SoFar) -> bool:
    return "torch.jit.trace" in so_far.target.calls


JIT_TRACE = Stage(
    "jit-trace",
    StageKind.TRACE,
    "jit_trace",
    "of a script that calls torch.jit.trace: the traced module beside eager on other values",
    concerns=_is_traced,
    needs=_TO_COMPARE,
    repro=False,
)


def _is_old_onnx(so_far: SoFar) -> bool:
    return OLD_ONNX in so_far.target.calls


ONNX_TRACE = Stage(
    "onnx-trace",
    StageKind.TRACE,
    "jit_trace",
    "of a script that calls torch.onnx.export(dynamo=False): its file in ONNX Runtime beside eager on other values",
    concerns=_is_old_onnx,
    needs=_TO_COMPARE,
    repro=False,
)

EXPLAIN = Stage(
    "explain",
    StageKind.INFORM,
    "explain",
    "where torch.compile would break the graph",
    concerns=lambda so_far: so_far.options.purpose == EXPORT,  # for compile, `breaks` says more
    needs=(*_TO_RUN, _eager_passed, _as_written),
    asked=lambda so_far: {"cpu_seconds": _enough_seconds(so_far, 3)},
    informs=True,
    repro=False,
)


def _non_strict_failed(so_far: SoFar) -> str | None:
    return "draft_export is non-strict, and that passed" if NON_STRICT in passed_modes(so_far) else None


DRAFT = Stage(
    "draft",
    StageKind.DRAFT,
    "draft",
    "torch's draft_export, when an export failed",
    needs=(*_TO_COMPARE, _a_failure, _non_strict_failed),
    of_export=True,
    tells=lambda seen: "draft" in seen.details,  # that draft_export itself failed is nothing about the model
    reports_on=NON_STRICT,
    repro=False,
)


def _did_not_end(seen: Observation) -> bool:
    """It looks for more of what is known: that its process ended is nothing more about the model."""
    return "ended" not in seen.details


FURTHER = Stage(
    "further",
    StageKind.REFUSALS,
    "further",
    "the refusals after the first one",
    needs=(*_TO_COMPARE, _a_failure, _a_refusal),
    asked=lambda so_far: {
        "modes": refused_modes(so_far),
        "cpu_seconds": _enough_seconds(so_far, 2 if passed_modes(so_far) else 8),
    },
    of_export=True,
    tells=_did_not_end,
    went_on=True,
    repro=False,
)


def _a_refusal_without_line(so_far: SoFar) -> str | None:
    seen = [seen for mode in refused_modes(so_far) for seen in so_far.observations(_EXPORTS[mode])]
    named = all(one.user for one in seen if one.kind == "exception")
    return "torch names the line of each refusal" if named else None


SUBMODULES = Stage(
    "submodules",
    StageKind.SEARCH,
    "submodules",
    "the smallest submodules that are refused by themselves",
    needs=(*_TO_COMPARE, _a_failure, _a_refusal, _a_refusal_without_line),
    asked=lambda so_far: {"modes": refused_modes(so_far)},
    of_export=True,
    tells=_did_not_end,
    repro=False,
)


def _remedies_by_mode(so_far: SoFar) -> Mapping[str, Any]:
    exports = bool(accepted_modes(so_far))
    refusals = {mode: so_far.observations(_EXPORTS[mode]) for mode in refused_modes(so_far)}
    return {"refused": {mode: list(worth_trying(seen, exports=exports)) for mode, seen in refusals.items()}}


REMEDIES = Stage(
    "remedies",
    StageKind.REMEDIES,
    "remedies",
    "the refused export with `torch._check`, under `no_grad()`, without the checks of distributions, in eval mode",
    needs=(*_TO_COMPARE, _a_failure, _a_refusal),
    asked=_remedies_by_mode,
    repro=False,
)


def _something_to_compare(so_far: SoFar) -> str | None:
    return None if accepted_modes(so_far) or tolerates_refusals(so_far) else "nothing was exported"


SOUNDNESS = Stage(
    "soundness",
    StageKind.COMPARE,
    "soundness",
    "other values, a second call, a second export: what torch accepts and gets wrong",
    needs=(*_TO_COMPARE, _something_to_compare),
    start=Start.EACH_PROGRAM,
    asked=lambda so_far: {"grad": True} if so_far.options.grad else {},
    of_export=True,
    by_mode=True,
)


def _violated(so_far: SoFar) -> bool:
    """Did torch refuse what is declared of sizes, of the code or of the sample?"""
    texts = (seen.text for stage in _EXPORTS.values() for seen in so_far.observations(stage))
    return any(violates_declared_sizes(text) or is_outside_declared_range(text) for text in texts)


def _a_program_or_wrong_declaration(so_far: SoFar) -> str | None:
    return None if passed_modes(so_far) or _violated(so_far) else "no export passed"


def _sizes_to_try(so_far: SoFar) -> str | None:
    """What was declared, in the program that is kept; else what could be, where somebody or other inputs ask."""
    given = so_far.data(LOAD)
    if given.get("declared_shapes") or given.get("other_inputs") or so_far.options.dynamic == "auto":
        return None
    if _is_old_onnx(so_far):
        return f"what `dynamic_axes` names is tried by {ONNX_TRACE.name}; `--dynamic auto` proposes `dynamic_shapes`"
    return "nothing is declared dynamic; `--dynamic auto` proposes what could be"


# In one mode only. Of 66 targets with sizes to try 31 exported in both, and in strict nothing was named that non-strict
# had not named (once less: strict traces `int()` of a size).
DYNAMIC_SHAPES = Stage(
    "dynamic-shapes",
    StageKind.SIZES,
    "dynamic_shapes",
    "dims declared dynamic that are not, and other sizes",
    needs=(*_TO_COMPARE, _a_program_or_wrong_declaration, _sizes_to_try),
    start=Start.FOLLOWING,
    asked=lambda so_far: {
        "auto": so_far.options.dynamic == "auto",
        "refused": _violated(so_far) and not passed_modes(so_far),
        "memory_mb": so_far.options.memory_mb,
    },
    of_export=True,
)

DECOMPOSE_PROGRAM = Stage(
    "decompose",
    StageKind.FROM_PROGRAM,
    "decompose",
    "the program in Core ATen operators, beside eager",
    needs=(*_TO_COMPARE, _a_program),
    start=Start.FOLLOWING,
    shows=(DECOMPOSE,),
)

SWAP_DECOMPOSITION = Stage(
    "swap-decomposition",
    StageKind.FROM_PROGRAM,
    "swap_decomposition",
    "with `--decompose`: what decompositions of your own change, beside torch's",
    concerns=lambda so_far: bool(so_far.options.decompose),
    needs=(*_TO_COMPARE, _a_program),
    start=Start.FOLLOWING,
    asked=lambda so_far: {"decompose": so_far.options.decompose},
    repro=False,
)

SAVE_LOAD = Stage(
    "save-load",
    StageKind.FROM_PROGRAM,
    "save_load",
    "the program written, read in a fresh process, and run",
    needs=(*_TO_COMPARE, _a_program),
    start=Start.FOLLOWING,
    shows=(SAVE,),
)


def _other_python(so_far: SoFar) -> Mapping[str, Any]:
    """Another working directory awaits it, and a plain name would be looked for on PATH."""
    return {"python": str(so_far.options.read_with and so_far.options.read_with.absolute())}


READ_ELSEWHERE = Stage(
    "read-elsewhere",
    StageKind.FROM_PROGRAM,
    "read_elsewhere",
    "with `--read-with`: the saved program, read and run by the torch of another environment",
    concerns=lambda so_far: bool(so_far.options.read_with),
    needs=(*_TO_COMPARE, _a_program),
    start=Start.FOLLOWING,
    asked=_other_python,
    repro=False,
)

# What torch.compile does with the model.


def _compiles(so_far: SoFar) -> str | None:
    return None if so_far.status(BREAKS) == PASSED else "torch.compile failed"


BREAKS = Stage(
    "breaks",
    StageKind.BREAKS,
    "breaks",
    "compile, and each place where Dynamo breaks the graph, over the sample and other values; the graphs between",
    purpose=COMPILE,
    rung=EXPORTS,
    needs=_TO_COMPARE,
    repro=False,
)
_BESIDE_A_REWRITE = 20.0  # seconds: each rewrite is looked at so long


def _seconds_for_recompiles(options: TrialOptions) -> float:
    """One change that has begun may take as long again."""
    return options.timeout / 3 if options.behaviour is None else min(options.timeout / 3, _BESIDE_A_REWRITE)


RECOMPILES = Stage(
    "recompiles",
    StageKind.RECOMPILES,
    "recompiles",
    "the compiled model on other sizes and numbers, and on the same again: what compiles each time, and what ends it",
    purpose=COMPILE,
    needs=(*_TO_COMPARE, _compiles),
    asked=lambda so_far: {"seconds": _seconds_for_recompiles(so_far.options)},
    repro=False,
)
AGREEMENT = Stage(
    "agreement",
    StageKind.AGREEMENT,
    "agreement",
    "the compiled model beside eager: other values, a second call, state, arguments, gradients",
    purpose=COMPILE,
    needs=(*_TO_COMPARE, _compiles),
    repro=False,
)
COST = Stage(
    "cost",
    StageKind.COST,
    "cost",
    "the compiled model and eager by turns: seconds of a call, and of compiling",
    purpose=COMPILE,
    rung=_MEASURED,
    concerns=lambda so_far: so_far.options.behaviour is None,  # a rewrite is timed once it is taken
    needs=(*_TO_COMPARE, _compiles),
    asked=lambda so_far: {"backend": so_far.options.backend} if so_far.options.backend else {},
    repro=False,
)

LADDER: tuple[Stage, ...] = (
    LOAD,
    EAGER,
    *_EXPORTS.values(),
    JIT_TRACE,
    ONNX_TRACE,
    EXPLAIN,
    DRAFT,
    FURTHER,
    SUBMODULES,
    REMEDIES,
    SOUNDNESS,
    DYNAMIC_SHAPES,
    DECOMPOSE_PROGRAM,
    SWAP_DECOMPOSITION,
    SAVE_LOAD,
    READ_ELSEWHERE,
    BREAKS,
    RECOMPILES,
    AGREEMENT,
    COST,
)


# Those that are asked for by name.


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
MEASURE_COMPILED = Stage(
    "measure-compiled",
    StageKind.ON_REQUEST,
    "measure_compiled",
    "what torch.compile does with a fixture class, for `exportlint truth`",
)


def _behaviour(so_far: SoFar) -> Mapping[str, Any]:
    options = so_far.options
    file = options.behaviour_of(so_far.target) if options.behaviour else ""
    asked = {"file": str(file), "keep": not options.is_edited, "unsafe": options.unsafe}
    asked |= {"numbers": options.numbers} if options.numbers else {}
    return {**asked, "thorough": True} if options.thorough else asked


SAME_BEHAVIOUR = Stage(
    "same-behaviour",
    StageKind.ON_REQUEST,
    "same_behaviour",
    "the edited model beside the unedited one in eager, for `exportlint fix`",
    needs=_TO_RUN,  # it knows what torch's operators refuse in eager, too
    asked=_behaviour,
)
SAME_PROGRAM = Stage(
    "same-program",
    StageKind.ON_REQUEST,
    "same_program",
    "the program of the edited model beside the unedited model in eager, for `exportlint fix`",
    needs=(*_TO_COMPARE, _a_program),
    start=Start.FOLLOWING,
    asked=_behaviour,
    repro=False,
)
_ON_REQUEST = (
    SECOND_EXPORT, OTHER_PROCESS, GRAPH, KEEP_MODEL, MEASURE, MEASURE_COMPILED, SAME_BEHAVIOUR, SAME_PROGRAM
)  # fmt: skip


def lowering(name: str) -> Stage:
    """The stage of a target of deployment, which an entry point in `exportlint.lowerings` names."""
    return Stage(
        f"{LOWER_PREFIX}{name}",
        StageKind.FROM_PROGRAM,
        "lower",
        f"compile for {name}, load, run, compare",
        needs=(*_TO_COMPARE, _a_program),
        start=Start.FOLLOWING,
    )


def _of_lowering(name: str, so_far: SoFar) -> Mapping[str, Any]:
    """What the stage of a lowering is told; what is not asked for is not named."""
    how = so_far.options.lowering
    told = {
        "lowering": so_far.lowerings[name],
        "settings": dict(how.settings.get(name, {})),
        "cache": how.cache and str(how.cache),
        "artifacts": how.kept and str(how.kept),
        "dry_run": how.dry_run,
        "operators": how.operators,
    }
    return {key: value for key, value in told.items() if value}


def stage_named(name: str) -> Stage:
    """The row of a stage by its name. Raises KeyError for a name that is no stage's."""
    if name.startswith(LOWER_PREFIX):
        return lowering(name.removeprefix(LOWER_PREFIX))
    return _BY_NAME[name]


_BY_NAME = {stage.name: stage for stage in (SCRIPT, *LADDER, *_ON_REQUEST)}
