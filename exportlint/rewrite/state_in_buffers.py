"""State becomes buffers: whatever outlives a call is a registered buffer of the module that owns it.

Export knows parameters, buffers, inputs and results. A number, a flag, a list on the module is read once, while torch
traces; so is a global, a default argument, what a closure encloses. `state_homes` finds all of it, `state_forms` says
what tensors hold it. Here the tensors become buffers: what a constructor set is registered, what a call assigns is
written in place, and what was read before such a write, and is needed behind it, is a copy. Decisions and arithmetic
on what are tensors now are written in tensors as those on any data (`straight_line`).

Buffers that were none before are not persistent: checkpoints load as they did.
"""

from __future__ import annotations

import ast
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exportlint.engine.flow.control_flow import statements as all_statements
from exportlint.engine.flow.def_use import DefUse, defined, is_changing, path_of, root_of, used
from exportlint.engine.flow.lifetimes import methods_in
from exportlint.engine.source.parsed import walked
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.rewrite.decide_in_data import put
from exportlint.rewrite.draft import as_target, as_value, changed_copy, expression, stands_for, statements
from exportlint.rewrite.layer_order import order_in_buffer
from exportlint.rewrite.state_forms import Cell, Changed, Forms, Known, name_with
from exportlint.rewrite.state_homes import (
    Home,
    Homes,
    Place,
    Scope,
    block,
    given_to,
    rebuilt,
    reference,
    written_values,
)
from exportlint.rewrite.straight_line import StraightLine
from exportlint.rewrite.transformation import CannotError, Proposal
from exportlint.rewrite.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rewrite.transformation import Site

_ROUNDS = 4
_VIEWS = frozenset({
    "view", "reshape", "squeeze", "unsqueeze", "expand", "expand_as", "transpose", "permute", "movedim", "unbind",
    "detach", "flatten", "select", "narrow", "t", "contiguous",
})  # fmt: skip


class StateInBuffers:
    """All state of a module class in registered buffers."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        for cls in _owners(site):
            with suppress(CannotError):
                yield from order_in_buffer(site, cls)
            try:
                yield _Rewriting(site, cls).proposal()
            except CannotError:
                yield from _by_computed_names(site, cls)


def _owners(site: Site) -> Iterator[ClassInfo]:
    """The module classes that what is reported belongs to: that it stands in, or that use what it stands in."""
    module = site.module
    top = next((one for one in module.tree.body if _holds(one, site.node)), None)
    own = module.classes.get(top.name) if isinstance(top, ast.ClassDef) else None
    if own is not None and own.is_module:
        yield own
    wanted = {top.name} if isinstance(top, ast.ClassDef | ast.FunctionDef) else set[str]()
    for _ in range(2):  # a helper of a helper
        for one in module.tree.body:
            if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call):  # an object that the file makes
                if path_of(one.value.func) in wanted:
                    wanted |= {path for target in one.targets for path in defined(target)}
                continue
            if not isinstance(one, ast.FunctionDef | ast.ClassDef) or _is_module(site, one.name):
                continue
            if not wanted.isdisjoint(module.parsed.kept(one, _names)):
                wanted.add(one.name)
    for cls in module.classes.values():
        if cls is not own and cls.is_module and not wanted.isdisjoint(module.parsed.kept(cls.node, _names)):
            yield cls


def _holds(statement: ast.stmt, node: ast.AST) -> bool:
    """Does the node stand in the statement? Most statements of a file are told by their lines."""
    line = getattr(node, "lineno", statement.lineno)
    first = min([statement.lineno, *(one.lineno for one in getattr(statement, "decorator_list", ()))])
    return first <= line <= (statement.end_lineno or line) and any(inner is node for inner in walked(statement))


def _names(_file: Parsed, part: ast.AST) -> frozenset[str]:
    """The plain names in a part of the file."""
    return frozenset(node.id for node in walked(part) if isinstance(node, ast.Name))


def _by_computed_names(site: Site, cls: ClassInfo) -> Iterator[Proposal]:
    """`setattr(self, f"echo_{i}", x)`, of which the constructor sets all with tensors. Where a call sets none, they are
    no state: they may be layers."""
    draft, registered, kept = site.draft(), 0, 0
    for method in methods_in(cls.node).values():
        for node in (one for statement in method.body for one in walked(statement)):
            match node:
                case ast.Expr(
                    value=ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id="self") as own, name, value])
                ):
                    if method.name == "__init__":
                        draft.replace(node, statements(
                            "self.register_buffer(NAME, VALUE, persistent=False)", NAME=name, VALUE=value
                        ))  # fmt: skip
                        registered += 1
                    else:
                        draft.replace(node, statements(
                            "getattr(OWN, NAME).copy_(VALUE.detach())", OWN=own, NAME=name, VALUE=value
                        ))  # fmt: skip
                        kept += 1
                case ast.Assign(value=ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="self"), name]) as read):
                    if not isinstance(name, ast.Constant):
                        draft.swap(read, expression("READ.clone()", READ=changed_copy(read)))
    if registered and kept:
        yield Proposal("keep them in registered buffers", draft)


def _is_module(site: Site, name: str) -> bool:
    cls = site.module.classes.get(name)
    return cls is not None and cls.is_module


class _Rewriting:
    """One module class, with the objects that it keeps."""

    def __init__(self, site: Site, cls: ClassInfo) -> None:
        self.site, self.cls = site, cls
        self.draft = site.draft()
        self.homes = Homes(self.draft, cls, site.belief)
        self.scopes = self.homes.scopes
        self.known = Known(site.module, site.belief, self.scopes)
        for scope in self.scopes:
            for place, value in written_values(scope):
                place.written.append(value)
        self.cells: dict[tuple[int, str], Cell] = {}

    def proposal(self) -> Proposal:
        forms = Forms(self.known, self.homes.homes, self.scopes)
        if not forms.cells:
            raise CannotError("; ".join(forms.refused) or "nothing outlives a call")
        for cell in forms.cells:
            self.cells[id(cell.home), cell.name] = cell
            cell.home.places.setdefault(cell.name, Place(cell.name, cell.home, cell.first, cell.definition))
        self._register()
        self._inline()
        self._name_chosen_layers()
        self._in_data()
        for scope in self.scopes if forms.sizes else ():
            scope.rewrite(lambda node: _with_sizes(node, forms.sizes))
        for scope in self.scopes:
            scope.rewrite(lambda node, s=scope: self._written(node, s))  # type: ignore[misc]
        for scope in self.scopes:
            if scope.is_run:
                self._keep_apart(scope)
        self._put()
        size = " of the example's size" if self.known.from_sample else ""
        what = "it in registered buffers" if len(self.cells) > 1 else "it in a registered buffer"
        return Proposal(f"keep {what}{size}", self.draft)

    # -- Where cells are made ---------------------------------------------------------------------------------------

    def _register(self) -> None:
        """The statements that set places first register buffers."""
        by_definition: dict[int, list[Cell]] = {}
        statement: dict[int, ast.stmt] = {}
        for cell in self.cells.values():
            if cell.definition is None or self._is_of_class(cell.definition):
                cell.home.registered.append(_registration(cell))
                if cell.definition is not None:
                    self.draft.replace(cell.definition, [])
                continue
            origin = getattr(cell.definition, "origin", cell.definition)
            by_definition.setdefault(id(origin), []).append(cell)
            statement[id(origin)] = origin

        def change(node: ast.AST) -> ast.AST | list[ast.stmt] | None:
            cells = by_definition.get(id(getattr(node, "origin", node))) if isinstance(node, ast.stmt) else None
            if not cells:
                return None
            made = [_registration(one) for one in cells]
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="register_buffer"), args=args) as call):
                    own = next((one for one in cells if one.is_buffer), None)
                    rest = [_registration(one) for one in cells if one is not own]
                    if own is None or own.first is args[1]:
                        return [node, *rest]
                    new = changed_copy(call, args=[args[0], own.first, *args[2:]])
                    return [changed_copy(node, value=new), *rest]
                case ast.Expr():  # `self.reset()`
                    return [stands_for(made[0], node), *made[1:], ast.Expr(node.value)]
                case ast.Assign() | ast.AnnAssign():
                    left = _without(node, {one.name for one in cells} | self._gone(node))
                    return [*([left] if left is not None else []), stands_for(made[0], node), *made[1:]]
            return None

        for scope in self.scopes:
            scope.rewrite(change)

    def _gone(self, node: ast.stmt) -> set[str]:
        """The places whose first value the statement set, and that have become others."""
        return {one.name for cell in self.cells.values() for one in [cell] if cell.definition is node} | {
            name for name in _self_names(node)
            if any(cell.name.startswith(f"{name}_") and getattr(cell.definition, "origin", cell.definition)
                   is getattr(node, "origin", node) for cell in self.cells.values())
        }  # fmt: skip

    def _is_of_class(self, node: ast.stmt) -> bool:
        return isinstance(self.draft.parent(node), ast.ClassDef)

    # -- Decisions and arithmetic -------------------------------------------------------------------------------------

    def _paths(self, scope: Scope) -> set[str]:
        """What the scope calls the cells."""
        return {
            f"{owner}.{cell.name}" for owner, home in scope.owners.items() for cell in self.cells.values()
            if cell.home is home
        }  # fmt: skip

    def _inline(self) -> None:
        """Methods that data decides to call are written out where they are called."""
        for scope in [one for one in self.scopes if one.is_run]:
            own = scope.owners.get("self")
            methods = {one.node.name: one for one in self.scopes if own is not None and one.owners.get("self") is own}

            def change(node: ast.AST, scope: Scope = scope, methods: dict[str, Scope] = methods) -> Changed:
                if not isinstance(node, ast.If) or not self._is_decided_by_data(node.test, scope):
                    return None
                return _Inlining(methods, {name for name in used(scope.node) if "." not in name}).decision(node)

            scope.rewrite(change)

    def _is_decided_by_data(self, test: ast.expr, scope: Scope) -> bool:
        cells = self._paths(scope)
        return self.known.views[id(scope)].is_data(test) or any(path_of(one) in cells for one in walked(test))

    def _name_chosen_layers(self) -> None:
        """`head = self.heads[self.turn]`, which is called after the turn has gone on: the number gets the name."""
        for scope in (one for one in self.scopes if one.is_run):
            cells = self._paths(scope)
            chosen: dict[str, tuple[ast.expr, str]] = {}
            nodes = [one for statement in scope.body for one in walked(statement)]
            stored = Counter(one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
            for node in nodes:
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(value=layers, slice=index)):
                        if (
                            stored[name] == 1
                            and self.known.are_layers(layers)
                            and any(path_of(one) in cells for one in walked(index))
                        ):
                            chosen[name] = layers, self.draft.free_name(f"{name}_index")

            def change(node: ast.AST, chosen: dict[str, tuple[ast.expr, str]] = chosen) -> Changed:
                match node:
                    case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript(slice=index)) if name in chosen:
                        return [changed_copy(node, targets=[ast.Name(chosen[name][1], ast.Store())], value=index)]
                    case ast.Name(id=name, ctx=ast.Load()) if name in chosen:
                        return expression("LAYERS[AT]", LAYERS=chosen[name][0], AT=chosen[name][1])
                return None

            if chosen:
                scope.rewrite(change)

    def _in_data(self) -> None:
        """What Python decides and computes with cells is written in tensors; methods may give and take them."""
        running = [scope for scope in self.scopes if scope.is_run and scope.node is not self.homes.init]
        data = {id(scope): self._paths(scope) for scope in running}
        results: dict[int, tuple[list[ast.stmt], View]] = {}
        for _ in range(_ROUNDS):
            before = {key: set(one) for key, one in data.items()}
            for scope in running:
                results[id(scope)] = self._straight(scope, data[id(scope)])
            for scope in running:
                self._note_calls(scope, results[id(scope)], running, data)
            if data == before:
                break
        for scope in running:
            scope.body = results[id(scope)][0]
        self.views = {id(scope): results[id(scope)][1] for scope in running}

    def _straight(self, scope: Scope, data: set[str]) -> tuple[list[ast.stmt], View]:
        node = changed_copy(scope.node, body=scope.body)
        cls = next((one for one in self.site.module.classes.values() if scope.node in one.node.body), None)
        view = View(self.site.module, FunctionInfo(node.name, node, self.site.module, cls), self.site.belief, set(data))
        view.booleans |= self.known.answers
        for cell in self.cells.values():
            for owner, home in scope.owners.items():
                if cell.home is home:
                    kind = ast.unparse(ast.fix_missing_locations(ast.Expr(cell.first)))
                    if kind in {"torch.tensor(False)", "torch.tensor(True)"} or "torch.bool" in kind:
                        view.booleans.add(f"{owner}.{cell.name}")
                    if kind.startswith("torch.tensor(") and kind.removeprefix("torch.tensor(").rstrip(")").isdigit():
                        view.whole.add(f"{owner}.{cell.name}")
                    if kind.startswith("torch.tensor(") and "[" not in kind:
                        view.singles.add(f"{owner}.{cell.name}")
        mentions = any(path_of(one) in data for statement in scope.body for one in walked(statement))
        if not mentions:
            return scope.body, view
        return StraightLine(view, wanted=frozenset()).body(), view

    def _note_calls(
        self, scope: Scope, result: tuple[list[ast.stmt], View], running: Sequence[Scope], data: dict[int, set[str]]
    ) -> None:
        body, view = result
        returned = [one.value for one in all_statements(body) if isinstance(one, ast.Return) and one.value is not None]
        gives = any(view._is_news(one) and view.is_data(one) for one in returned)  # noqa: SLF001
        for other in running:
            for owner, home in other.owners.items():
                if gives and scope.owners.get("self") is home:
                    data[id(other)].add(f"{owner}.{scope.node.name}")
        for node in (one for statement in body for one in walked(statement)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            owner = path_of(node.func.value) or ""
            for other in running:
                held = scope.owners.get(owner)
                if held is None or other.owners.get("self") is not held or other.node.name != node.func.attr:
                    continue
                names = [one.arg for one in other.node.args.args]
                names = names if other.is_new else names[1:]
                for name, given in zip(names, node.args, strict=False):
                    if view._is_news(given) and view.is_data(given):  # noqa: SLF001
                        data[id(other)].add(name)

    # -- Writes in place ----------------------------------------------------------------------------------------------

    def _cell(self, scope: Scope, node: ast.AST) -> Cell | None:
        found = scope.place(node)
        return self.cells.get((id(found[1].home), found[1].name)) if found is not None else None

    def _written(self, node: ast.AST, scope: Scope) -> ast.AST | list[ast.stmt] | None:
        match node:
            case ast.Assign(targets=targets, value=value) if any(
                self._cell(scope, one) for target in targets for one in _set_by(target)
            ):
                return self._assigned(node, targets, value, scope)
            case ast.AnnAssign(target=target, value=ast.expr() as value) if self._cell(scope, target):
                return [stands_for(self._write(target, value, scope), node)]
            case ast.AugAssign(target=target, value=value) if self._cell(scope, target):
                new = self._detached(value, scope)
                return [changed_copy(node, value=new)] if new is not value else None
            case ast.Assign(targets=[ast.Subscript(value=held, slice=index) as target]) if self._cell(scope, held):
                view = self.views.get(id(scope))
                if view is not None and not isinstance(index, ast.Slice | ast.Tuple) and view._is_news(index):  # noqa: SLF001
                    at = expression("AT.reshape(1)", AT=index)
                    value = self._detached(node.value, scope)
                    return [changed_copy(node, targets=[ast.Subscript(target.value, at, ast.Store())], value=value)]
        return None

    def _assigned(self, node: ast.Assign, targets: Sequence[ast.expr], value: ast.expr, scope: Scope) -> list[ast.stmt]:
        if len(targets) > 1:
            first = next((one for one in targets if not self._cell(scope, one)), None)
            others = [one for one in targets if self._cell(scope, one)]
            if first is None:
                return [stands_for(self._write(others[0], value, scope), node),
                        *(self._write(one, value, scope) for one in others[1:])]  # fmt: skip
            kept = [one for one in targets if one not in others]
            return [changed_copy(node, targets=kept), *(self._write(one, as_value(first), scope) for one in others)]
        (target,) = targets
        if self._cell(scope, target):
            return [stands_for(self._write(target, value, scope), node)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            return self._in_parallel(node, target.elts, value.elts, scope)
        taken = {name for one in self.scopes for name in used(one.node)}
        writes: list[ast.stmt] = []

        def named(one: ast.AST) -> ast.AST | None:
            if not self._cell(scope, one):
                return None
            assert isinstance(one, ast.Attribute)  # noqa: S101 - cells are attributes
            name = one.attr.lstrip("_")
            name = name if name not in taken else f"new_{name}"
            view = self.views.get(id(scope))
            if view is not None:
                view.data.add(name)  # a cell holds a tensor
            writes.append(self._write(one, ast.Name(name, ast.Load()), scope))
            return ast.Name(name, ast.Store())

        new = rebuilt(target, named)
        return [changed_copy(node, targets=[new]), *writes]

    def _in_parallel(
        self, node: ast.Assign, targets: Sequence[ast.expr], values: Sequence[ast.expr], scope: Scope
    ) -> list[ast.stmt]:
        """`self.a, self.b = self.b, x`: all values are taken before the first is written."""
        plain = [(t, v) for t, v in zip(targets, values, strict=True) if not self._cell(scope, t)]
        cells = [(t, v) for t, v in zip(targets, values, strict=True) if self._cell(scope, t)]
        before: list[ast.stmt] = []
        if plain:
            before.append(ast.Assign(
                [plain[0][0] if len(plain) == 1 else ast.Tuple([t for t, _ in plain], ast.Store())],
                plain[0][1] if len(plain) == 1 else ast.Tuple([v for _, v in plain], ast.Load()),
            ))  # fmt: skip
        written: set[str] = set()
        writes: list[ast.stmt] = []
        for target, value in cells:
            if any(path_of(one) in written for one in walked(value)):
                name = f"old_{path_of(target).rpartition('.')[2].lstrip('_')}"  # type: ignore[union-attr]
                before += statements("NAME = VALUE", NAME=name, VALUE=value)
                value = ast.Name(name, ast.Load())  # noqa: PLW2901 - it has a name now
            written.add(path_of(target) or "")
            writes.append(self._write(target, value, scope))
        whole = [*before, *writes]
        return [stands_for(whole[0], node), *whole[1:]]

    def _write(self, target: ast.expr, value: ast.expr, scope: Scope) -> ast.stmt:
        own = as_value(target)
        match value:
            case ast.Constant(value=bool() | int() | float() as number):
                if number == 0 and not isinstance(number, bool):
                    return statements("OWN.zero_()", OWN=own)[0]
                return statements("OWN.fill_(VALUE)", OWN=own, VALUE=value)[0]
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant()):
                return statements("OWN.fill_(VALUE)", OWN=own, VALUE=value)[0]
        view = self.views.get(id(scope), self.known.views[id(scope)])
        cell = self._cell(scope, own)
        arguments = {one.arg for one in scope.node.args.args}
        is_given = isinstance(value, ast.Name) and value.id in arguments and cell is not None and cell.is_buffer
        if not is_given and not view.is_data(value) and (id(scope) in self.views or not self.known.makes_tensor(value)):
            return statements("OWN.fill_(VALUE)", OWN=own, VALUE=value)[0]
        return statements("OWN.copy_(VALUE)", OWN=own, VALUE=self._detached(value, scope))[0]

    def _detached(self, value: ast.expr, scope: Scope) -> ast.expr:
        """What comes out of layers is detached: a buffer that outlives the call would keep all of their graphs."""
        match value:
            case ast.Call(func=ast.Attribute(attr="detach")):
                return value
        if not self._is_learned(value, scope, set()):
            return value
        return expression("VALUE.detach()", VALUE=value)

    def _is_learned(self, value: ast.AST, scope: Scope, seen: set[str]) -> bool:
        """May parameters have a part in it?"""
        for node in walked(value):
            match node:
                case ast.Call(func=ast.Attribute(attr="detach")):
                    return False
                case ast.Attribute(value=ast.Name(id="self"), attr=name) if self._cell(scope, node) is None:
                    if name in self._layers:
                        return True
                case ast.Name(id=name) if name not in seen:
                    seen.add(name)
                    if any(self._is_learned(one, other, set()) for one, other in self._given(scope, name)):
                        return True
                    for statement in all_statements(scope.body):
                        if not isinstance(statement, ast.Assign):
                            continue
                        targets = {path_of(one) for target in statement.targets for one in walked(target)}
                        if name in targets and self._is_learned(statement.value, scope, seen):
                            return True
        return False

    def _given(self, scope: Scope, parameter: str) -> Iterator[tuple[ast.expr, Scope]]:
        """What methods give another for a parameter."""
        names = [one.arg for one in scope.node.args.args if one.arg != "self"]
        if parameter not in names or scope.node.name == "forward":
            return
        for other in (one for one in self.scopes if one is not scope):
            for node in (one for statement in other.body for one in walked(statement)):
                match node:
                    case ast.Call(func=ast.Attribute() as called, args=args) if self._is_called(scope, other, called):
                        yield from ((value, other) for one, value in zip(names, args, strict=False) if one == parameter)

    def _is_called(self, scope: Scope, other: Scope, called: ast.Attribute) -> bool:
        """Is it the scope's method that the other one calls, by its name or as `self.meter(x)`?"""
        held = other.owners.get(path_of(called) or "")
        is_object = scope.node.name == "__call__" and held is not None and held is scope.owners.get("self")
        return is_object or called.attr == scope.node.name

    @property
    def _layers(self) -> set[str]:
        """The attributes that hold layers or parameters, as far as constructors tell, and methods that use them."""
        found: set[str] = set()
        of_scopes = [cls for cls in self.site.module.classes.values() if cls.is_module and cls is not self.cls
                     and any(scope.node in cls.node.body for scope in self.scopes)]  # fmt: skip
        all_methods = [self.homes.methods, *(methods_in(cls.node) for cls in of_scopes)]
        for init in [methods["__init__"] for methods in all_methods if "__init__" in methods]:
            for node in walked(init):
                match node:
                    case ast.Assign(
                        targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=ast.Call(func=function)
                    ):
                        origin = self.site.module.dotted(function) or ""
                        known = self.site.module.classes.get(path_of(function) or "")
                        if origin.startswith("torch.nn.") or (known is not None and known.is_module):
                            found.add(name)
        for name, method in [pair for methods in all_methods for pair in methods.items()]:
            if any(isinstance(one, ast.Attribute) and one.attr in found for one in walked(method)):
                found.add(name)
        return found

    # -- What is read before a write, and needed behind it -------------------------------------------------------------

    def _keep_apart(self, scope: Scope) -> None:
        order = list(all_statements(scope.body))
        ever = {cell for one in self.scopes if one.is_run for node in all_statements(one.body)
                for cell in self._writes(node, one)}  # fmt: skip
        copied: dict[int, ast.expr] = {}
        for number, node in enumerate(order):
            match node:
                case ast.Assign(targets=[target], value=value):
                    pairs = [(target, value)]
                    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                        pairs = list(zip(target.elts, value.elts, strict=False))
                    elif isinstance(value, ast.Tuple | ast.List):  # one name for all of them
                        pairs = [(target, part) for part in value.elts]
                    for one, part in pairs:
                        cell = self._aliased(part, scope)
                        if (
                            cell in ever
                            and isinstance(one, ast.Name)
                            and self._is_stale(order, number, one.id, cell, scope)
                        ):
                            copied[id(part)] = part
                case ast.Return(value=ast.expr() as value):
                    parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
                    parts = value.values if isinstance(value, ast.Dict) else parts
                    for part in parts:
                        if self._aliased(part, scope) in ever:
                            copied[id(part)] = part
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"), args=[part])):
                    if self._aliased(part, scope) in ever:
                        copied[id(part)] = part
                case ast.For(target=target, iter=ast.Call(func=ast.Attribute(value=part, attr="unbind"))):
                    indices = (one.slice for one in walked(node) if isinstance(one, ast.Subscript))
                    read = {name for one in indices for name in used(one)}
                    if self._cell(scope, part) in ever and read & set(defined(target)):
                        copied[id(part)] = part  # autograd keeps indices
        if copied:
            scope.rewrite(lambda one: expression("VALUE.clone()", VALUE=copied[id(one)]) if id(one) in copied else None)

    def _is_stale(self, order: Sequence[ast.stmt], number: int, name: str, cell: Cell | None, scope: Scope) -> bool:
        """Is the name read after the cell was written, or given back?"""
        readers = {id(one) for one in DefUse(scope.body).readers(order[number], name)}
        is_written = False
        for node in order[number + 1 :]:
            if id(node) in readers:
                if is_written or self._calls_writer(node, scope, cell):
                    return True
                if isinstance(node, ast.Return) and node.value is not None:
                    parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
                    if any(isinstance(one, ast.Name) and one.id == name for one in parts):
                        return True
            is_written = is_written or cell in set(self._writes(node, scope)) or self._calls_writer(node, scope, cell)
        return False

    def _calls_writer(self, node: ast.stmt, scope: Scope, cell: Cell | None) -> bool:
        names = {one.attr for one in walked(node) if isinstance(one, ast.Attribute)}
        if any(isinstance(one, ast.Call) for one in walked(node)):
            names |= {*self.homes.hooks, *(["__call__"] if self.homes.hooked else [])}  # they run with layers
        return any(
            cell in set(self._writes(statement, other))
            for other in self.scopes if other is not scope and other.node.name in names
            for statement in all_statements(other.body)
        )  # fmt: skip

    def _writes(self, node: ast.stmt, scope: Scope) -> Iterator[Cell]:
        for one in walked(node):
            held: ast.AST | None = None
            match one:
                case ast.Call(func=ast.Attribute(value=owner, attr=method)) if is_changing(method):
                    held = root_of(owner)
                case ast.AugAssign(target=target):
                    held = root_of(target)
                case ast.Subscript(ctx=ast.Store()):
                    held = root_of(one)
            if held is not None and (cell := self._cell(scope, held)) is not None:
                yield cell

    def _aliased(self, node: ast.expr, scope: Scope) -> Cell | None:
        """The cell whose memory the value shares."""
        while True:
            match node:
                case ast.Subscript(value=owner, slice=ast.Constant() | ast.Slice() | ast.UnaryOp() | ast.Name()):
                    node = owner
                case ast.Call(func=ast.Attribute(value=owner, attr=method)) if method in _VIEWS:
                    node = owner
                case _:
                    return self._cell(scope, node)

    # -- The new version of the file -----------------------------------------------------------------------------------

    def _put(self) -> None:
        for scope in self.scopes:
            if scope.is_new:
                self._add_method(scope)
            else:
                put(self.draft, scope.node.body, scope.body)
        for home in self.homes.homes:
            if not home.is_module:
                self._become_module(home)
            elif home.registered:
                self.draft.in_init(home.node, home.registered)

    def _add_method(self, scope: Scope) -> None:
        """A function of the file becomes a method."""
        a = scope.node.args
        positional = [*a.posonlyargs, *a.args]
        gone = {path.rpartition("(")[2].rstrip(")") for path in self.homes.given
                if path.startswith(f"{scope.node.name}(")}  # fmt: skip
        defaults = dict(zip([one.arg for one in positional][::-1], a.defaults[::-1], strict=False))
        kept = [one for one in positional if one.arg not in gone]
        args = ast.arguments(
            [], [ast.arg("self"), *kept], a.vararg, a.kwonlyargs, a.kw_defaults, a.kwarg,
            [defaults[one.arg] for one in kept if one.arg in defaults],
        )  # fmt: skip
        method = changed_copy(scope.node, args=args, body=scope.body)
        if scope.instead_of is not None:
            self.draft.replace(scope.instead_of, [])
        self.draft.add_method(self.cls.node, method)

    def _become_module(self, home: Home) -> None:
        """A helper class derives from torch.nn.Module; a record gets the constructor that its fields meant."""
        node = home.node
        base = next((ast.unparse(one) for one in self.cls.node.bases), "torch.nn.Module")
        if not base.endswith("Module"):
            base = "torch.nn.Module"
            self.draft.add_import("torch")
        self.draft.derive(node, base)
        init = home.methods.get("__init__")
        begun = statements("super().__init__()")
        if init is not None:
            first = next((one for one in init.body if not _is_docstring(one)), init.body[-1])
            self.draft.above(first, begun)
            if home.registered:
                self.draft.below(init.body[-1], home.registered)
            return
        fields = [(one, one.target.id) for one in node.body
                  if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]  # fmt: skip
        if not fields:
            raise CannotError("the class has no constructor")
        for one, name in fields:
            if name not in home.places:
                value = one.value or ast.Name(name, ast.Load())
                begun += statements("OWN = VALUE", OWN=reference(f"self.{name}"), VALUE=value)
            self.draft.replace(one, [])
        asked = [ast.unparse(ast.arg(name, one.annotation)) for one, name in fields if one.value is None]
        (made,) = statements(f"def __init__({', '.join(['self', *asked])}):\n    pass")
        assert isinstance(made, ast.FunctionDef)  # noqa: S101 - it is written above
        self.draft.replace(fields[0][0], [changed_copy(made, body=[*begun, *home.registered])])


def _with_sizes(node: ast.AST, sizes: Mapping[str, Sequence[ast.stmt]]) -> list[ast.stmt] | None:
    """A statement that reads such a size, with what sets it above: a decision about tensors must not see that."""
    if not isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Return | ast.Expr):
        return None
    names = dict.fromkeys(one.id for one in walked(node) if isinstance(one, ast.Name) and one.id in sizes)
    return [*(one for name in names for one in sizes[name]), node] if names else None


def _set_by(target: ast.expr) -> Iterator[ast.expr]:
    """The places of a target that are set whole."""
    if isinstance(target, ast.Tuple | ast.List):
        for one in target.elts:
            yield from _set_by(one)
    else:
        yield target


def _registration(cell: Cell) -> ast.stmt:
    name = ast.Constant(cell.name) if cell.each is None else name_with(cell.name, cell.each.key)
    made = statements("self.register_buffer(NAME, FIRST, persistent=False)", NAME=name, FIRST=cell.first)
    return made[0] if cell.each is None else ast.For(as_target(cell.each.target), cell.each.over, made, [])


def _self_names(node: ast.stmt) -> set[str]:
    paths = (path_of(one) for one in walked(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
    return {path.removeprefix("self.") for path in paths if path and path.startswith("self.")}


def _without(node: ast.Assign | ast.AnnAssign, names: set[str]) -> ast.stmt | None:
    """The assignment without what it sets `self.<name>` to."""
    gone = {f"self.{name}" for name in names} | names
    if isinstance(node, ast.AnnAssign):
        return None
    kept = [one for one in node.targets if path_of(one) not in gone]
    made: list[ast.expr] = []
    values = node.value
    for target in kept:
        if isinstance(target, ast.Tuple) and isinstance(values, ast.Tuple) and len(target.elts) == len(values.elts):
            pairs = [(t, v) for t, v in zip(target.elts, values.elts, strict=True) if path_of(t) not in gone]
            if not pairs:
                continue
            if len(kept) > 1:
                raise CannotError("several tuples are set at once")
            if len(pairs) == 1:
                return changed_copy(node, targets=[pairs[0][0]], value=pairs[0][1])
            return changed_copy(
                node,
                targets=[ast.Tuple([t for t, _ in pairs], ast.Store())],
                value=ast.Tuple([v for _, v in pairs], ast.Load()),
            )
        made.append(target)
    return changed_copy(node, targets=made) if made else None


@dataclass
class _Inlining:
    """A decision in which methods are called, with what they do in the place of the calls: a side that data chooses
    can set places, and nothing else. `names`: those of the function around it."""

    methods: Mapping[str, Scope]
    names: set[str]
    without_gradient: ast.With | None = None
    inside: set[int] = field(default_factory=set)  # the statements that stood there
    open: set[str] = field(default_factory=set)  # the methods that are being written out

    def decision(self, node: ast.If) -> list[ast.stmt] | None:
        sides = self.block(node.body), self.block(node.orelse)
        new = changed_copy(node, body=sides[0], orelse=sides[1])
        if self.without_gradient is None:
            return [new] if sides != (node.body, node.orelse) else None
        if all(id(one) in self.inside or _sets_constant(one) for side in sides for one in side):
            return [ast.With(self.without_gradient.items, [new])]
        return None

    def block(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [new for one in body for new in self.statement(one)]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        match node:
            case ast.If(body=body, orelse=orelse):
                sides = self.block(body), self.block(orelse)
                return [changed_copy(node, body=sides[0], orelse=sides[1]) if sides != (body, orelse) else node]
            case ast.With(items=[ast.withitem(context_expr=ast.Call(func=ast.Attribute(attr="no_grad")))], body=body):
                self.without_gradient = node
                made = block(self.block(body), _without_data)
                self.inside |= set(map(id, made))
                return made
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) as call):
                scope = self.methods.get(name)
                new = self.body(scope, call) if scope is not None and name not in self.open else None
                if new is None:
                    return [node]
                self.open.add(name)
                written_out = self.block(new)
                self.open.remove(name)
                return written_out
        return [node]

    def body(self, scope: Scope, call: ast.Call) -> list[ast.stmt] | None:
        given = given_to(scope.node, call)
        own = {name for one in scope.body for part in walked(one) for name in defined(part) if "." not in name}
        exits = any(isinstance(one, ast.Return | ast.Yield) for part in scope.body for one in walked(part))
        asked = [one.arg for one in scope.node.args.args if one.arg != "self"]
        made = {name: value for name, value in given.items() if not isinstance(value, ast.Name | ast.Constant)}
        if exits or own & (self.names | given.keys()) or self.names & made.keys() or sorted(given) != sorted(asked):
            return None
        before = [new for name, value in made.items() for new in statements("NAME = VALUE", NAME=name, VALUE=value)]
        self.inside |= set(map(id, before))  # nothing else reads them

        def named(node: ast.AST) -> ast.AST | None:
            return given.get(node.id) if isinstance(node, ast.Name) and node.id not in made else None

        body = block([one for one in scope.body if not _is_docstring(one)], named)
        return [*before, *(ast.copy_location(type(one)(**dict(ast.iter_fields(one))), one) for one in body)]


def _without_data(node: ast.AST) -> ast.AST | None:
    """`self.scale.data`, which export refuses, is `self.scale.detach()`."""
    return expression("X.detach()", X=node.value) if isinstance(node, ast.Attribute) and node.attr == "data" else None


def _sets_constant(node: ast.stmt) -> bool:
    """`self.ready = True`, `self.count.fill_(1)`."""
    match node:
        case ast.Assign(value=value):
            return isinstance(value, ast.Constant)
        case ast.Expr(value=ast.Call(args=args)):
            return all(isinstance(one, ast.Constant) for one in args)
    return False


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
