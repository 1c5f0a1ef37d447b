"""What a lowering is: one target of deployment, which compiles an exported program and runs the result.

Nothing here imports torch: a lowering's `load` runs in a fresh process that imports only the runtime of its target.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from pathlib import Path

    import torch


# Relative and absolute, for each dtype by its name in torch; one that is missing is compared exactly.
Tolerance = Mapping[str, tuple[float, float]]

# Compiled kernels add up in another order, so this is wider than for an exported program.
COMPILED: Tolerance = {
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "float32": (1e-3, 1e-4),
    "complex64": (1e-3, 1e-4),
    "float16": (1e-2, 1e-2),
    "bfloat16": (2e-2, 2e-2),
}


@dataclass(frozen=True, slots=True)
class Ran:
    """One call of an artefact.

    outputs   in the program's order: tensors as `exportlint.lowering.arrays.TensorBytes`, all else as plain values. All
              leaves of the output, or its tensors alone
    inputs    the leaves that were given, as the call left them; None: the target cannot write to its inputs
    """

    outputs: Sequence[Any]
    inputs: Sequence[Any] | None = None


# The leaves of (args, kwargs) in the order in which the program takes them: `TensorBytes`s and plain values.
Call = Callable[[Sequence[Any]], Ran]


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception of a backend: its dotted class and its whole text, since it may come from another process.

    printed  what that process printed last; a runtime in C++ often says only there what it is about
    """

    error_class: str
    text: str
    printed: str = ""


@dataclass(frozen=True, slots=True)
class Reason:
    """What an exception of a backend means.

    text        one line for people
    operators   the operators that it is about, if its own words do not name them: `aten::cumsum`
    suggestion  what to write instead; "" where nobody knows
    nodes       names of the program's nodes that it is about, which is more exact than their operators
    trace       the stack trace of the very node, where the target knows which it is
    dtype       the dtype that it is about: the line is the first one that computes it
    """

    text: str
    operators: tuple[str, ...] = ()
    suggestion: str = ""
    nodes: tuple[str, ...] = ()
    trace: str = ""
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class OperatorUse:
    """One operator in the graph that the target is given, for the dry run.

    name     as torch prints it: `aten.cumsum.default`
    count    how often the graph has it
    support  supported, delegated (another engine inside of the target computes it), fallback (the target calls back
             into torch or a slower kernel), or missing
    nodes    names of the nodes, the first one first; the line of the model is found through them
    reason   why it is not delegated, or missing; "" where the target does not say
    """

    name: str
    count: int
    support: str
    nodes: tuple[str, ...] = ()
    reason: str = ""


SUPPORTED, DELEGATED, FALLBACK, MISSING = "supported", "delegated", "fallback", "missing"


class Lowering:
    """One target of deployment. Subclasses say what is theirs.

    tolerance  how far results may lie from eager's
    defaults   the settings that `[tool.exportlint.lowerings.NAME]` may change, with their usual values
    packages   distributions whose versions decide what comes out; a stored result is good for these versions alone
    modules    what must be importable here to compile and to run
    compiler   does it need a C++ compiler of this machine?
    probes     what `exportlint doctor` imports beside these, where they alone do not load what compiles and runs
    runtime    what the fresh process imports before it is given the artefact
    environment  variables of the environment in the fresh process
    install    the one command that brings what is missing
    advice     what to write instead where results differ, by the cause that was found: starts-at-zero, forgets,
               always-zero (of buffers), not-written-back, never-read (of inputs), order (of outputs)
    runs       can the artefact run on this machine? Where it cannot, the status is `compiled`, never `passed`
    slow_dry_run  does it take seconds to say what becomes of the operators? Then only what fails says it, unless
               somebody asks
    keeps_state  does a buffer that the model writes to keep its value between calls? A format without state drops it
    script     Python text that loads and runs the artefact without exportlint: `{artefact}` and `{inputs}` stand for
               the names of files beside it. The inputs are the leaves of (args, kwargs): one list where the script
               calls `torch.load`, else an .npz with the arrays arg0, arg1, … by their position
    """

    tolerance: ClassVar[Tolerance] = COMPILED
    defaults: ClassVar[Mapping[str, Any]] = {}
    packages: ClassVar[tuple[str, ...]] = ("torch",)
    modules: ClassVar[tuple[str, ...]] = ()
    compiler: ClassVar[bool] = False
    probes: ClassVar[tuple[str, ...]] = ()
    runtime: ClassVar[tuple[str, ...]] = ()
    environment: ClassVar[Mapping[str, str]] = {}
    install: ClassVar[str] = ""
    advice: ClassVar[Mapping[str, str]] = {}
    script: ClassVar[str] = ""
    runs: ClassVar[bool] = True
    slow_dry_run: ClassVar[bool] = False
    keeps_state: ClassVar[bool] = True

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.settings = {**self.defaults, **settings}
        # JSON that `compile` leaves for `load`, which runs in another process.
        self.facts: dict[str, Any] = {}

    def missing(self) -> str | None:
        """Why nothing can be compiled here, with the command that helps; None where it can."""
        absent = [name for name in self.modules if not _is_installed(name)]
        return f"{' and '.join(absent)} {_is_or_are(absent)} not installed: {self.install}" if absent else None

    def operators(self, program: torch.export.ExportedProgram) -> Iterable[OperatorUse]:  # noqa: ARG002 - for those that can say
        """What the target would do with each operator, without compiling; nothing where it cannot say."""
        return ()

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """Write the artefact into the folder."""
        raise NotImplementedError

    def load(self, artefact: Path) -> Call:
        """The artefact, loaded; in a fresh process that has imported `runtime` and nothing else."""
        raise NotImplementedError

    def explain(self, raised: Raised) -> Reason:
        """What an exception of the target means, and what to write instead."""
        last = raised.error_class.rpartition(".")[2]
        return Reason(f"{last}: {raised.text}")


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of the package above it
        return False


def _is_or_are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
