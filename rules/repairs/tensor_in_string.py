"""Text that somebody only reads is made outside of export; a layer that text names is chosen by its number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite, Where, called
from exportlint.rewriting.operations.lookups import index_number
from exportlint.rewriting.source.assigned_names import name_set_to, reads, statement_of
from exportlint.rewriting.source.fresh_names import FreshNames

if TYPE_CHECKING:
    from collections.abc import Iterator


_TORCH = ModuleImport("torch")
_TELLS = frozenset({
    "print", "warn", "debug", "info", "warning", "error", "critical", "exception", "log", "warning_once", "write",
    "set_postfix", "set_description", "set_postfix_str", "add_text", "append",
})  # fmt: skip


class TextLeftOutside(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        del case
        if isinstance(node, cst.BaseExpression):
            yield from self._layer(node)
            yield from self._only_told(node)

    def _only_told(self, node: cst.BaseExpression) -> Iterator[Rewrite]:
        """The statement that makes the text, and those that tell it, are not exported."""
        statement = statement_of(self.code, node)
        if not isinstance(statement, cst.SimpleStatementLine):
            return
        found = self._telling(node, statement)
        if found:
            changes = [change for run in self._runs(found) for change in self._guarded(run)]
            yield Rewrite("make the text where nothing is exported", (*changes, _TORCH))

    def _telling(self, node: cst.BaseExpression, statement: cst.SimpleStatementLine) -> list[cst.BaseStatement]:
        match statement.body:
            case [cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute())])]:
                return [statement]
            case [cst.Expr(value=cst.Call() as call)] if called(call) in _TELLS:
                return [statement]
            case [cst.Assign(value=made)] if (name := name_set_to(self.code, made)) is not None:
                told = [statement_of(self.code, one) for one in reads(self.code, name)]
                if told and all(one is not None and _tells(one) for one in told):
                    return list(dict.fromkeys([statement, *(one for one in told if one is not None)]))
        return []

    def _runs(self, found: list[cst.BaseStatement]) -> list[list[cst.BaseStatement]]:
        """Statements that follow each other directly."""
        runs: list[list[cst.BaseStatement]] = []
        for one in found:
            above = self.code.parent(one)
            body = list(above.body) if isinstance(above, cst.IndentedBlock) else []
            follows = runs and runs[-1][-1] in body and body.index(runs[-1][-1]) + 1 == body.index(one)
            if follows:
                runs[-1].append(one)
            else:
                runs.append([one])
        return runs

    def _guarded(self, run: list[cst.BaseStatement]) -> Iterator[Change]:
        texts = [_text(one.with_changes(leading_lines=[])).strip("\n") for one in run]
        lines = [line for text in texts for line in text.split("\n")]
        inner = "\n".join(f"    {line}" if line.strip() else line for line in lines)
        yield Change(run[0], f"if not torch.compiler.is_exporting():\n{inner}")
        yield from (Change(one, "") for one in run[1:])

    def _layer(self, node: cst.BaseExpression) -> Iterator[Rewrite]:
        """`self.heads[str(n)](x)`, `self.heads[f"head{n}"](x)`: all run, and the one of that name is taken."""
        found, subscript = _numbered(node), self._subscript_of(node)
        call = self.code.parent(subscript) if subscript is not None else None
        statement = statement_of(self.code, node)
        if found is None or subscript is None or statement is None:
            return
        if not isinstance(call, cst.Call) or call.func is not subscript:
            return
        prefix, number, suffix = found
        layers, fresh = self.source(subscript.value), FreshNames(self.code)
        layer, key, chosen = fresh.of("layer"), fresh.of("key"), fresh.of("chosen")
        digits = f"int({key}{_between(prefix, suffix)})"
        test = f"{chosen} = torch.tensor([{digits} for {key} in {layers}]) == {index_number(self.code, number)}"
        check = f'torch._assert_async({chosen}.any(), "no such layer")'
        each = _text(call.with_changes(func=cst.Name(layer), lpar=[], rpar=[]))
        taken = f"torch.stack([{each} for {layer} in {layers}.values()])[{chosen}.int().argmax().reshape(1)].squeeze(0)"
        lines = f"{test}\n{check}"
        named = name_set_to(self.code, node) is not None
        before = Change(statement, lines) if named else Change(statement, lines, Where.BEFORE)
        yield Rewrite("run all layers and take one result", (before, Change(call, taken), _TORCH))

    def _subscript_of(self, node: cst.BaseExpression) -> cst.Subscript | None:
        name = name_set_to(self.code, node)
        places = reads(self.code, name) if name is not None else []
        above: cst.CSTNode | None = places[0] if len(places) == 1 else node
        for _ in range(3):
            above = self.code.parent(above) if above is not None else None
        return above if isinstance(above, cst.Subscript) and len(above.slice) == 1 else None


def _tells(statement: cst.CSTNode) -> bool:
    match statement:
        case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call() as call)]):
            return called(call) in _TELLS
    return False


def _numbered(node: cst.BaseExpression) -> tuple[str, cst.BaseExpression, str] | None:
    """The text before a number, the number, and the text after it."""
    match node:
        case cst.Call(func=cst.Name(value="str"), args=[cst.Arg(value=number)]):
            return "", number, ""
        case cst.FormattedString(parts=parts):
            numbers = [one for one in parts if isinstance(one, cst.FormattedStringExpression)]
            texts = "\0".join(one.value for one in parts if isinstance(one, cst.FormattedStringText))
            if len(numbers) == 1 and numbers[0].format_spec is None and not re.search(r"[\\{}]", texts):
                at = parts.index(numbers[0])
                before = "".join(one.value for one in parts[:at] if isinstance(one, cst.FormattedStringText))
                after = "".join(one.value for one in parts[at + 1 :] if isinstance(one, cst.FormattedStringText))
                return before, numbers[0].expression, after
    return None


def _between(prefix: str, suffix: str) -> str:
    if not prefix and not suffix:
        return ""
    return f"[{len(prefix) or ''}:{-len(suffix) if suffix else ''}]"


def _text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
