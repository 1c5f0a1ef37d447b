"""Lowerings that do what a target may do wrong; each runs the exported program itself, in a process of its own."""

from __future__ import annotations

import ctypes
import sys
import time
from typing import TYPE_CHECKING, Any

from exportlint.lowering.backend import Call, Ran
from exportlint.lowering.saved_program import SavedProgram

if TYPE_CHECKING:
    from pathlib import Path


class Swapped(SavedProgram):
    """Gives the outputs in another order."""

    def load(self, artefact: Path) -> Call:
        call = super().load(artefact)

        def swapped(leaves: Any) -> Ran:
            ran = call(leaves)
            return Ran(list(ran.outputs)[::-1], ran.inputs)

        return swapped


class FirstInput(SavedProgram):
    """Never looks at its second input after the first call."""

    def load(self, artefact: Path) -> Call:
        call = super().load(artefact)
        first: list[Any] = []

        def held(leaves: Any) -> Ran:
            first.append(leaves[1])
            return Ran(call([leaves[0], first[0], *leaves[2:]]).outputs, leaves)

        return held


class Wearing(SavedProgram):
    """Right in its first two calls only."""

    def load(self, artefact: Path) -> Call:
        call = super().load(artefact)
        calls: list[None] = []

        def worn(leaves: Any) -> Ran:
            calls.append(None)
            return call(leaves if len(calls) < 3 else leaves[::-1])

        return worn


class Fewer(SavedProgram):
    """Leaves an output out."""

    def load(self, artefact: Path) -> Call:
        call = super().load(artefact)
        return lambda leaves: Ran(list(call(leaves).outputs)[:1])


class Crashing(SavedProgram):
    """Ends its process in the third call, with last words."""

    def load(self, artefact: Path) -> Call:
        call = super().load(artefact)
        calls: list[None] = []

        def crash(leaves: Any) -> Ran:
            calls.append(None)
            if len(calls) > 2:
                sys.stderr.write("the kernel of the third call\n")
                ctypes.string_at(0)
            return call(leaves)

        return crash


class Hanging(SavedProgram):
    """Never answers."""

    def load(self, artefact: Path) -> Call:
        sys.stderr.write("waiting for the device\n")
        time.sleep(600)
        return super().load(artefact)


class Missing(SavedProgram):
    """Needs a package that nobody has."""

    modules = ("no_such_runtime",)
    install = "pip install no-such-runtime"


class CannotRun(SavedProgram):
    """Is for a machine that is not here."""

    runs = False


class Unserializable(SavedProgram):
    """Names a node as torch does when it cannot write one."""

    def compile(self, program: Any, folder: Path) -> Path:
        node = next(node for node in program.graph.nodes if "sigmoid" in node.name)
        message = f"Failed serializing node {node.name} in graph: the original error is elsewhere"
        raise RuntimeError(message)
