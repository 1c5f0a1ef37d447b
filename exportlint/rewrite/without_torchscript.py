"""Without TorchScript: what a file does for it goes, and the plain functions and modules stay.

Marks of functions and classes go, calls that script, trace or freeze a module or a function give way to what they are
given, a `ScriptModule` is an `nn.Module`, and `torch.jit.is_scripting()` is what it is in eager and while torch
exports: False. What the file saves or asks as TorchScript stays scripted, and so do the marks that
scripting needs. A traced module went one way only, and a scripted function computes as TorchScript does: whether the
plain one gives the same, a trial shows.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.shape_specification import set_once
from exportlint.rewrite.draft import changed_copy, expression, stands_for
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.engine.source.symbols import ModuleInfo
    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site

_MARKS = frozenset(
    f"torch.jit.{name}"
    for name in ("script", "script_method", "export", "ignore", "unused", "script_if_tracing", "_script_if_tracing",
                 "interface")
)  # fmt: skip
# What tells `torch.jit.script` to leave something out, which it needs as long as the file scripts something.
_FOR_SCRIPTS = frozenset({"torch.jit.ignore", "torch.jit.unused"})
_WRAPS = frozenset(
    f"torch.jit.{name}"
    for name in ("script", "trace", "trace_module", "freeze", "optimize_for_inference", "script_if_tracing",
                 "_script_if_tracing", "export", "ignore", "unused")
)  # fmt: skip
_ASKS = frozenset({"torch.jit.is_scripting", "torch._jit_internal.is_scripting"})
_TRACES = frozenset({"torch.jit.trace", "torch.jit.trace_module"})
_HOW = "write it without TorchScript"
_SAVES = "torch.jit.save"
_EXPORTS = frozenset({"torch.export.export", "torch.export.draft_export", "torch.onnx.export"})
_ANNOTATES = "torch.jit.annotate"
_BASES = frozenset({"torch.jit.ScriptModule", "torch.jit._script.ScriptModule"})
# What only a TorchScript module or function has.
_OF_TORCHSCRIPT = frozenset({"save", "save_to_buffer", "graph", "code", "inlined_graph", "graph_for", "qualified_name"})


class WithoutTorchScript:
    """The whole file at once: scripted code calls plain code and is called by it. Then all but what is traced, whose
    example inputs may be drawn: without them, what is drawn next is something else."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        for wraps, words in ((_WRAPS, _HOW), (_WRAPS - _TRACES, f"{_HOW}, but what it traces")):
            file = _File(site.module, site.draft(), wraps)
            file.rewrite()
            if file.done:
                yield Proposal(words + (", but what it saves as such" if file.kept else ""), file.draft)
        if (draft := _exported_as_it_was(site)) is not None:
            yield Proposal("export the module that it was made from", draft)


def _exported_as_it_was(site: Site) -> Draft | None:
    """`torch.export.export(scripted, …)` as `torch.export.export(model, …)` after `scripted = torch.jit.script(model)`,
    where the file has its use for `scripted`, too."""
    for call in (one for one in walked(site.node) if isinstance(one, ast.Call)):
        match call.args:
            case [ast.Name(id=name) as given, *_] if site.module.dotted(call.func) in _EXPORTS:
                match set_once(site.module, name, given):
                    case ast.Call(func=func, args=[ast.Name() as model, *_]) if site.module.dotted(func) in _WRAPS:
                        draft = site.draft()
                        draft.swap(given, ast.Name(model.id, ast.Load()))
                        return draft
    return None


class _File:
    def __init__(self, module: ModuleInfo, draft: Draft, wraps: frozenset[str]) -> None:
        self.module, self.draft, self.wraps = module, draft, wraps
        self.gone: set[int] = set()
        self.done = False
        self.kept = self._kept()

    def rewrite(self) -> None:
        for node in walked(self.draft.tree):
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    self._undecorated(node)
                case ast.If(test=test) if (known := self._known(test)) is not None:
                    self._replaced(node, node.body if known else node.orelse, test)
                case ast.If(test=test) | ast.IfExp(test=test) | ast.Assert(test=test) if self._asks(test):
                    self._tested(node, test)
                case ast.AnnAssign(annotation=ast.Subscript(value=final, slice=kind) as old) if (
                    not self.kept and self.module.dotted(final) == "torch.jit.Final"
                ):
                    self.draft.swap(old, kind)
                    self._goes(old, but=kind)
                case ast.Call(func=func, args=[ast.expr() as given, *_]) if id(node) not in self.kept:
                    self._call(node, self.module.dotted(func) or "", given)
        if self.done:
            self._unimported()

    # Marks, and the class that is a module for TorchScript.

    def _undecorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
        for decorator in node.decorator_list:
            mark = self.module.dotted(decorator.func if isinstance(decorator, ast.Call) else decorator)
            if mark in _MARKS and not (self.kept and mark in _FOR_SCRIPTS):
                self.draft.undecorate(decorator)
                self._goes(decorator)
        for base in node.bases if isinstance(node, ast.ClassDef) else ():
            if self.module.dotted(base) in _BASES:
                self.draft.swap(base, self._plain_module())
                self._goes(base)

    def _plain_module(self) -> ast.expr:
        """As other classes of the file name it."""
        bases = (base for one in walked(self.draft.tree) if isinstance(one, ast.ClassDef) for base in one.bases)
        own = next((one for one in bases if self.module.dotted(one) == "torch.nn.Module"), None)
        return expression("torch.nn.Module") if own is None else own

    # Calls.

    def _call(self, node: ast.Call, name: str, given: ast.expr) -> None:
        if name == _ANNOTATES and len(node.args) > 1:
            self.draft.swap(node, node.args[1])
            self._goes(node, but=node.args[1])
        elif name in self.wraps:
            above = self.draft.parent(node)
            if isinstance(above, ast.Assign) and [ast.dump(one) for one in above.targets] == [_stored(given)]:
                self.draft.replace(above, [])  # `tower = torch.jit.trace(tower, x)`
                self._goes(above)
            else:
                self.draft.swap(node, given)
                self._goes(node, but=given)

    def _kept(self) -> set[int]:
        """The calls whose result the file saves, or asks for what only TorchScript has, and those below them."""
        asked = [*self._asked_for()]
        made = [one for one in asked if isinstance(one, ast.Call) and self.module.dotted(one.func) in _WRAPS]
        names = {one.id for one in asked if isinstance(one, ast.Name)}
        waiting = {*names, *(name for one in made for name in _given(one))}
        while waiting:
            found = [call for call, targets in self._set_by_calls if targets & waiting]
            made += found
            names |= waiting
            waiting = {name for one in found for name in _given(one)} - names
        return {id(inner) for one in made for inner in walked(one)}

    @cached_property
    def _set_by_calls(self) -> list[tuple[ast.Call, set[str]]]:
        """The calls for TorchScript, and the names that are set to what they give."""
        return [
            (one.value, {target.id for target in one.targets if isinstance(target, ast.Name)})
            for one in walked(self.draft.tree)
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
            and self.module.dotted(one.value.func) in _WRAPS
        ]  # fmt: skip

    def _asked_for(self) -> Iterator[ast.expr]:
        for one in walked(self.draft.tree):
            match one:
                case ast.Call(func=func, args=[ast.expr() as given, *_]) if (
                    self.module.dotted(func) == "torch.jit.save"
                ):
                    yield given
                case ast.Attribute(value=owner, attr=name) if name in _OF_TORCHSCRIPT:
                    yield owner

    # What is asked of TorchScript.

    def _asks(self, test: ast.expr) -> bool:
        return not self.kept and any(
            isinstance(one, ast.Call) and self.module.dotted(one.func) in _ASKS for one in walked(test)
        )

    def _known(self, test: ast.expr) -> bool | None:
        """What the test is outside of TorchScript; None where that is not all it asks."""
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=inner) if (found := self._known(inner)) is not None:
                return not found
            case ast.Call(func=func) if not self.kept and self.module.dotted(func) in _ASKS:
                return False
            case ast.BoolOp(op=op, values=values):
                answers = [self._known(one) for one in values]
                ends = isinstance(op, ast.Or)  # what decides the whole
                return ends if ends in answers else not ends if None not in answers else None
        return None

    def _tested(self, node: ast.If | ast.IfExp | ast.Assert, test: ast.expr) -> None:
        known = self._known(test)
        match node:
            case ast.IfExp() if known is not None:
                taken = node.body if known else node.orelse
                self.draft.swap(node, taken)
                self._goes(node, but=taken)
            case ast.Assert() if known:
                self._replaced(node, [], test)
            case _ if known is None and (rest := self._rest(test)) is not test:
                self.draft.swap(test, rest)
                self._goes(test, but=rest)

    def _rest(self, test: ast.expr) -> ast.expr:
        """The test without what is known."""
        match test:
            case ast.BoolOp(values=values):
                left = [self._rest(one) for one in values if self._known(one) is None]
                same = len(left) == len(values) and all(a is b for a, b in zip(left, values, strict=True))
                return test if same else left[0] if len(left) == 1 else changed_copy(test, values=left)
            case ast.UnaryOp(op=ast.Not(), operand=inner) if (rest := self._rest(inner)) is not inner:
                return changed_copy(test, operand=rest)
        return test

    def _replaced(self, node: ast.stmt, new: Sequence[ast.stmt], test: ast.expr) -> None:
        above = self.draft.parent(node) or self.draft.tree
        block = next((value for _, value in ast.iter_fields(above) if isinstance(value, list) and node in value), [])
        put = [*new] or ([stands_for(ast.Pass(), node)] if len(block) == 1 else [])
        self.draft.replace(node, put)
        self._goes(test)

    # Names that nobody uses any more.

    def _goes(self, node: ast.AST, but: ast.AST | None = None) -> None:
        stays = {id(one) for one in walked(but)} if but is not None else set()
        self.gone |= {id(one) for one in walked(node)} - stays
        self.done = True

    def _unimported(self) -> None:
        names = [one for one in walked(self.draft.tree) if isinstance(one, ast.Name)]
        for line in self.draft.tree.body:
            if isinstance(line, ast.ImportFrom) and line.module == "torch.jit":
                left = [
                    one
                    for one in line.names
                    if not (uses := [name for name in names if name.id == (one.asname or one.name)])
                    or any(id(name) not in self.gone for name in uses)
                ]
                if len(left) < len(line.names):
                    self.draft.replace(line, [changed_copy(line, names=left)] if left else [])


def _given(call: ast.Call) -> Iterator[str]:
    return (one.id for one in call.args[:1] if isinstance(one, ast.Name))


def _stored(node: ast.expr) -> str:
    return ast.dump(changed_copy(node, ctx=ast.Store())) if isinstance(node, ast.Name | ast.Attribute) else ""
