"""What belongs to the model is read in `__init__`, what only measures runs in eager only, and counters are buffers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, InInit, Repair, Rewrite, called
from exportlint.rewriting.interface.measured_aside import measured_aside
from exportlint.rewriting.made_once.counter_buffer import counter_buffer
from exportlint.rewriting.made_once.made_before import asked_in_init, free_attribute, is_free
from exportlint.rewriting.source.left_out import left_out
from exportlint.rewriting.source.source_of_calls import operand

if TYPE_CHECKING:
    from collections.abc import Iterator


_NAMES = {
    "BadEnvironmentGet": "setting", "BadGetenv": "setting", "BadEnvironmentItem": "setting", "BadFileTest": "found",
    "BadProcess": "process", "BadHost": "host", "BadCommandLine": "option", "BadFileRead": "read",
    "BadPathRead": "read",
}  # fmt: skip
_CONVERTING = frozenset({"float", "int", "bool", "str", "lower", "upper", "strip", "split", "load", "loads", "len"})


class ReadBefore(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case:
            case "BadTimer" | "BadTime" | "BadDatetime":
                if (found := measured_aside(self.code, node)) is not None:
                    yield found
            case "BadSleep":
                if (found := left_out(self.code, node)) is not None:
                    yield found
            case "BadCounterOnSelf" if isinstance(node, cst.Call):
                yield from counter_buffer(self.code, node)
            case "BadProcess" if isinstance(node, cst.Call) and called(node) in {"getpid", "getppid"}:
                return
            case _ if case in _NAMES and isinstance(node, cst.BaseExpression):
                yield from self._before(node, _NAMES[case])

    def _before(self, node: cst.BaseExpression, name: str) -> Iterator[Rewrite]:
        whole = self._converted(node)
        changes = self._opened(whole) or asked_in_init(self.code, whole, self._name_of(whole, name))
        if changes:
            yield Rewrite("read it in `__init__`", changes)

    def _converted(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """With the conversion and the comparison around it."""
        while True:
            above = self.code.parent(node)
            match above:
                case cst.Arg() if isinstance(call := self.code.parent(above), cst.Call) and called(call) in _CONVERTING:
                    above = call
                case cst.Attribute() if isinstance(call := self.code.parent(above), cst.Call) and call.func is above:
                    above = call if called(call) in _CONVERTING else None
                case cst.Subscript(value=value) if value is node:
                    pass
                case cst.Comparison(left=left) if left is node:
                    pass
                case _:
                    return node
            if not isinstance(above, cst.BaseExpression) or not is_free(self.code, above):
                return node
            node = above

    def _name_of(self, node: cst.CSTNode, name: str) -> str:
        """After the variable of the environment."""
        texts = [one.evaluated_value for one in _every(node) if isinstance(one, cst.SimpleString)]
        words = [text.lower() for text in texts if isinstance(text, str) and re.fullmatch(r"[A-Za-z]\w{2,40}", text)]
        return words[0] if words and name == "setting" else name

    def _opened(self, node: cst.BaseExpression) -> tuple[Change | InInit, ...]:
        """`with open(path) as file:` around one statement that sets or returns what the file gives."""
        item = self.code.parent(node)
        block = self.code.parent(item) if isinstance(item, cst.WithItem) else None
        match block:
            case cst.With(
                items=[cst.WithItem(asname=cst.AsName(name=cst.Name(value=file)))],
                body=cst.IndentedBlock(
                    body=[cst.SimpleStatementLine(body=[cst.Return(value=cst.BaseExpression() as value)])]
                ),
            ):
                return self._read_once(block, file, value, "return ")
            case cst.With(
                items=[cst.WithItem(asname=cst.AsName(name=cst.Name(value=file)))],
                body=cst.IndentedBlock(
                    body=[
                        cst.SimpleStatementLine(
                            body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))], value=value)]
                        )
                    ]
                ),
            ):
                return self._read_once(block, file, value, f"{name} = ")
        return ()

    def _read_once(
        self, block: cst.With, file: str, value: cst.BaseExpression, head: str
    ) -> tuple[Change | InInit, ...]:
        if not is_free(self.code, block.items[0].item) or not is_free(self.code, value, {file}):
            return ()
        attribute = f"self.{free_attribute(self.code, 'read')}"
        opened = f"with {self.source(block.items[0].item)} as {file}:\n    {attribute} = {operand(self.code, value)}"
        return (InInit(opened), Change(block, f"{head}{attribute}"))


def _every(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _every(child)
