"""The functions that `cond` and `while_loop` run, made to fit: they hand out tensors of their own, and write to nothing
else. Where a `cond` cannot be kept, both of its branches are computed and one is selected.
"""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind
from exportlint.engine.values.shapes import has_several_elements
from exportlint.rewrite.draft import changed_copy, expression, statements
from exportlint.rewrite.transformation import Proposal
from exportlint.rewrite.view import Nature
from exportlint.rule.branches.branch_function import Branch, Touch
from exportlint.rule.branches.branch_results import Results

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_PARAMETERS = {
    "cond": ("pred", "true_fn", "false_fn", "operands"),
    "while_loop": ("cond_fn", "body_fn", "carried_inputs"),
}
_SHARED = frozenset({Touch.ARGUMENT, Touch.VIEW, Touch.MAYBE_ARGUMENT, Touch.OUTSIDE})
_PLAIN = (ast.Name, ast.Attribute, ast.Constant)


class OperatorFunctions:
    """All that is wrong with one call is mended together."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        call = _Call.around(site) if site.view is not None else None
        if call is None:
            return
        selected = call.selected(site.draft())
        first = "pred" in call.given and has_several_elements(call.view.value(call.given["pred"]))
        if selected is not None and first:
            yield selected
        draft = site.draft()
        says = [what for what, does in call.mended(draft) if does]
        if says:
            yield Proposal(f"{', '.join(says[:2])}{' and more' if says[2:] else ''}", draft)
        if selected is not None and not first:
            yield selected


@dataclass
class _Function:
    """A lambda, a function or a method of the file. `is_local`: it sees the variables around the call."""

    node: ast.Lambda | ast.FunctionDef
    branch: Branch
    is_local: bool

    @property
    def results(self) -> list[list[ast.expr]]:
        """The parts of what each of its returns gives."""
        return [self.branch.results(one) for one in self.branch.returns]

    @property
    def writes(self) -> list[ast.AST]:
        """What it does beside returning something."""
        return [node for touch, node in self.branch.effects() if touch is not Touch.MAKES_CONSTANT]

    def nodes(self) -> Iterator[ast.AST]:
        for one in self.branch.body:
            yield from walked(one)

    def result(self, given: Sequence[ast.expr], called: ast.expr) -> ast.expr:
        """Its call: of a lambda, what it computes."""
        if isinstance(self.node, ast.Lambda):
            names = dict(zip(self.branch.params, given, strict=False))
            uses = [one.id for one in self.nodes() if isinstance(one, ast.Name)]
            if all(isinstance(part, _PLAIN) or uses.count(name) <= 1 for name, part in names.items()):
                return cast("ast.expr", _Substituted(names).visit(copy.deepcopy(self.node.body)))
        return ast.Call(called, list(given), [])


class _Substituted(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)


@dataclass
class _Call:
    """Of an operator. `given`: its arguments by their names."""

    site: Site
    view: View
    node: ast.Call
    given: Mapping[str, ast.expr]

    @classmethod
    def around(cls, site: Site) -> _Call | None:
        """The innermost call that the site's node is in; else the first one in it."""
        draft, view = site.draft(), cast("View", site.view)
        now: ast.AST | None = site.node
        while now is not None and not isinstance(now, ast.stmt):
            if (found := cls._of(site, view, now)) is not None:
                return found
            now = draft.parent(now)
        inside = walked(now) if now is not None and now is not view.node else ()
        return next((found for one in inside if (found := cls._of(site, view, one)) is not None), None)

    @classmethod
    def _of(cls, site: Site, view: View, node: ast.AST) -> _Call | None:
        name = view.origin(node.func) or "" if isinstance(node, ast.Call) else ""
        names = _PARAMETERS.get(name.rpartition(".")[2])
        if not isinstance(node, ast.Call) or names is None or not name.startswith(("torch", "functorch")):
            return None
        if "linalg" in name or any(isinstance(one, ast.Starred) for one in node.args):
            return None
        given = dict(zip(names, node.args, strict=False))
        return cls(site, view, node, given | {one.arg: one.value for one in node.keywords if one.arg in names})

    @property
    def operands(self) -> list[ast.expr]:
        whole = self.given.get("operands", self.given.get("carried_inputs"))
        return whole.elts if isinstance(whole, ast.Tuple | ast.List) else []

    def function(self, name: str) -> _Function | None:
        """What an argument is; None for a function of another file, or one that nobody knows."""
        place = self.given.get(name)
        node: ast.AST | None = place
        method = False
        if isinstance(place, ast.Name):
            made = [one for one in walked(self.view.node) if isinstance(one, ast.FunctionDef)]
            node = next((one for one in made if one.name == place.id), self.view.only_value(place.id))
        if not isinstance(node, ast.Lambda | ast.FunctionDef) and place is not None:
            known = self.view.value(place)
            found = known.function
            if known.kind is Kind.MODULE:
                found = known.cls.method("forward") if known.cls else None
            elif found is None and isinstance(place, ast.Name):
                found = self.view.module.functions.get(place.id)
            elif found is None and isinstance(place, ast.Attribute) and isinstance(place.value, ast.Name):
                found = self.view.cls.method(place.attr) if self.view.cls and place.value.id == "self" else None
            if found is None or found.module is not self.view.module:
                return None
            node, method = found.node, not isinstance(place, ast.Name)
        if not isinstance(node, ast.Lambda | ast.FunctionDef):
            return None
        branch = Branch.of(node, method=method)
        is_local = any(one is node for one in walked(self.view.node))
        return _Function(node, branch, is_local) if branch is not None else None

    def functions(self) -> list[_Function]:
        found = (self.function(name) for name in self.given if name.endswith("_fn"))
        return [one for one in found if one is not None]

    # -- Mended --------------------------------------------------------------------------------------------------------

    def mended(self, draft: Draft) -> Iterator[tuple[str, bool]]:
        """What was done, and whether there was something to do."""
        functions = self.functions()
        handing = [one for one in functions if one.node is not getattr(self.function("cond_fn"), "node", None)]
        yield "give the operands as a tuple", self._in_tuple(draft)
        yield "close over what is no tensor", self._closed_over(draft, functions)
        yield "give tensors of their own", self._own_operands(draft)
        yield "write to clones", bool([one for one in functions if self._writing_to_clones(draft, one)])
        yield "return clones", bool([one for one in handing if _returning_clones(draft, one)])
        yield "return tensors", bool([one for one in handing if _returning_tensors(draft, one)])
        yield "return tuples", _returning_tuples(draft, handing)
        yield "make tensors outside", bool([one for one in functions if self._made_outside(draft, one)])
        yield "read the tensor itself", bool([one for one in functions if self._unread(draft, one)])
        yield (
            "count in integers",
            bool([one for one in handing if "body_fn" in self.given and self._in_integers(draft, one)]),
        )

    def _in_tuple(self, draft: Draft) -> bool:
        node = self.given.get("operands", self.given.get("carried_inputs"))
        wanted = node is not None and not isinstance(node, ast.Tuple | ast.List) and self.view.value(node).is_tensor
        if wanted and node is not None:
            draft.swap(node, ast.Tuple([node], ast.Load()))
        return wanted

    def _closed_over(self, draft: Draft, functions: Sequence[_Function]) -> bool:
        """The functions see what is around them: so it is no argument any more."""
        whole = self.given.get("operands")
        gone = {place: one for place, one in enumerate(self.operands) if self._is_no_tensor(one)}
        known = [one for one in functions if one.is_local and len(one.branch.params) == len(self.operands)]
        free = all(one.branch.params[place] not in one.branch.made for one in known for place in gone)
        if whole is None or not gone or len(known) != 2 or not free:  # noqa: PLR2004 - the branches
            return False
        draft.swap(whole, ast.Tuple([one for i, one in enumerate(self.operands) if i not in gone], ast.Load()))
        for one in known:
            names = {one.branch.params[place]: node for place, node in gone.items()}
            arguments = one.node.args
            kept = [arg for arg in arguments.args if arg.arg not in names]
            new = changed_copy(one.node, args=changed_copy(arguments, args=kept))
            if isinstance(one.node, ast.Lambda):
                draft.swap(one.node, cast("ast.Lambda", new))
            else:
                draft.replace(one.node, [cast("ast.FunctionDef", new)])
            for inner in one.nodes():
                if isinstance(inner, ast.Name) and inner.id in names:
                    draft.swap(inner, names[inner.id])
        return True

    def _is_no_tensor(self, node: ast.expr) -> bool:
        known = self.view.nature(node) in {Nature.PYTHON, Nature.SIZE} and not isinstance(node, ast.Name)
        value = self.view.value(node)
        return known or (value.kind in {Kind.SCALAR, Kind.SIZE, Kind.NONE, Kind.MODULE} and value.certain)

    def _own_operands(self, draft: Draft) -> bool:
        """Each is a tensor, no view of another one, and stands there once."""
        names = [one.id for one in self.operands if isinstance(one, ast.Name)]
        parts, seen, done = Branch(names, spare=False, body=[]), set[str](), False
        for one in self.operands:
            made = (self.view.only_value(one.id) if isinstance(one, ast.Name) else None) or one
            again = ast.unparse(one) in seen or parts.touched(made) is Touch.VIEW
            seen.add(ast.unparse(one))
            if isinstance(one, ast.Constant) and isinstance(one.value, int | float) and "body_fn" in self.given:
                draft.swap(one, expression("torch.full((), X)", X=one))
            elif again and self.view.value(one).kind in {Kind.TENSOR, Kind.UNKNOWN}:
                draft.swap(one, expression("X.clone()", X=one))
            else:
                continue
            done = True
        return done

    def _writing_to_clones(self, draft: Draft, one: _Function) -> bool:
        effects = [node for touch, node in one.branch.effects() if touch is Touch.WRITES_ARGUMENT]
        inside = {inner.id for node in effects for inner in walked(_owner(node)) if isinstance(inner, ast.Name)}
        written = [name for name in one.branch.params if name in inside]
        if isinstance(one.node, ast.FunctionDef):
            texted = ast.get_docstring(one.node, clean=False) is not None and len(one.node.body) > 1
            for name in written:
                draft.above(one.node.body[texted], statements("NAME = NAME.clone()", NAME=name))
            return bool(written)
        uses = [inner for inner in one.nodes() if isinstance(inner, ast.Name) and inner.id in written]
        for inner in uses if len(uses) == len(written) else ():
            draft.swap(inner, expression("X.clone()", X=inner))
        return bool(written) and len(uses) == len(written)

    def _made_outside(self, draft: Draft, one: _Function) -> bool:
        """A tensor of Python numbers is made above the call; one number is filled in."""
        done = False
        for node in [node for touch, node in one.branch.effects() if touch is Touch.MAKES_CONSTANT]:
            match node:
                case ast.Call(args=[ast.Constant(value=int() | float()) as number], keywords=words):
                    new: ast.expr = changed_copy(cast("ast.Call", expression("torch.full((), X)", X=number)))
                    draft.swap(node, changed_copy(cast("ast.Call", new), keywords=words))
                    done = True
                case ast.Call() if one.is_local and (statement := draft.statement_of(self.node)) is not None:
                    name = draft.free_name("constant", self.view.flow.names)
                    draft.above(statement, statements("NAME = MADE", NAME=name, MADE=changed_copy(node)))
                    draft.swap(node, ast.Name(name, ast.Load()))
                    return True
        return done

    def _unread(self, draft: Draft, one: _Function) -> bool:
        """A name that holds what was read of a tensor gives way to the tensor."""
        done = False
        for inner in one.nodes() if one.is_local else ():
            value = self.view.only_value(inner.id) if isinstance(inner, ast.Name) else None
            match value:
                case ast.Call(func=ast.Attribute(value=owner, attr="item"), args=[]) if self.view.is_data(owner):
                    draft.swap(cast("ast.Name", inner), owner)
                    done = True
                case ast.Call(func=ast.Name(id="int" | "float" | "bool"), args=[owner]) if self.view.is_data(owner):
                    draft.swap(cast("ast.Name", inner), owner)
                    done = True
        return done

    def _in_integers(self, draft: Draft, one: _Function) -> bool:
        """`i + 1` for `i + 1.0`, `i // 2` for `i / 2`, where an integer is carried."""
        done = False
        for part in (part for parts in one.results for place, part in enumerate(parts) if self._is_whole(place)):
            match part:
                case ast.BinOp(left=ast.Name() as left, op=ast.Div(), right=ast.Constant(value=int()) as right):
                    draft.swap(part, ast.BinOp(left, ast.FloorDiv(), right))
                    done = True
                case ast.BinOp(left=ast.Name(), right=ast.Constant(value=float() as number) as right):
                    if number.is_integer():
                        draft.swap(right, ast.Constant(int(number)))
                        done = True
        return done

    def _is_whole(self, place: int) -> bool:
        node = self.operands[place] if place < len(self.operands) else None
        made = (self.view.only_value(node.id) if isinstance(node, ast.Name) else None) or node
        dtype = Results(Branch([], spare=False, body=[])).dtype(made) if made is not None else None
        return bool(dtype and dtype.name and "int" in dtype.name)

    # -- Selected ------------------------------------------------------------------------------------------------------

    def selected(self, draft: Draft) -> Proposal | None:
        """Both branches, of which neither does anything else, and one result, or one for each part."""
        sides = self.function("true_fn"), self.function("false_fn")
        if "pred" not in self.given or None in sides or isinstance(self.given["pred"], ast.Constant):
            return None
        yes, no = cast("tuple[_Function, _Function]", sides)
        whole = [side.branch.resolved(one) for side in (yes, no) for one in side.branch.returns]
        parts = {len(one.elts) if isinstance(one, ast.Tuple | ast.List) else 0 for one in whole}
        leaves = [part for side in (yes, no) for returned in side.results for part in returned]
        if len(parts) != 1 or yes.writes or no.writes or not (yes.branch.returns and no.branch.returns):
            return None
        if any(isinstance(one, ast.Constant | ast.Dict | ast.Starred) for one in (*leaves, *self.operands)):
            return None
        if any(one.branch.spare or len(one.branch.params) != len(self.operands) for one in (yes, no)):
            return None
        shapes = [Results(side.branch).shape(side.results[0][0]) for side in (yes, no) if side.results[0]]
        if len(shapes) != 2 or (shapes[0] is not None and shapes[0].differs(shapes[1])):  # noqa: PLR2004 - the branches
            return None
        a, b = yes.result(self.operands, self.given["true_fn"]), no.result(self.operands, self.given["false_fn"])
        text = "torch.where(TEST, A, B)"
        if parts != {0}:
            text = "tuple(torch.where(TEST, one, other) for one, other in zip(A, B))"
        draft.swap(self.node, expression(text, TEST=self.given["pred"], A=a, B=b))
        return Proposal("compute both branches and select", draft)


def _owner(node: ast.AST) -> ast.AST:
    """What a statement or call writes to."""
    match node:
        case ast.Call(func=ast.Attribute(value=owner)) | ast.Assign(targets=[ast.Subscript(value=owner)]):
            return owner
        case ast.AugAssign(target=ast.Subscript(value=owner) | owner):
            return owner
    return node


def _returning_clones(draft: Draft, function: _Function) -> bool:
    """Of what is not its own, and of what it returns twice; of several parts of one thing, such as the columns that
    `torch.where(mask)` gives, of which torch keeps one tensor."""
    done = False
    for parts in function.results:
        seen: set[str] = set()
        owners = [one.value.id for one in parts if isinstance(one, ast.Subscript) and isinstance(one.value, ast.Name)]
        several = {name for name in owners if owners.count(name) > 1}
        for part in parts:
            again = isinstance(part, ast.Name) and part.id in seen
            again = again or (isinstance(part, ast.Subscript) and ast.unparse(part.value) in several)
            if again or function.branch.touched(part) in _SHARED:
                draft.swap(part, expression("X.clone()", X=part))
                done = True
            seen.update([part.id] if isinstance(part, ast.Name) else [])
    return done


def _returning_tensors(draft: Draft, function: _Function) -> bool:
    found = [
        part
        for parts in function.results
        for part in parts
        if isinstance(part, ast.Constant) and isinstance(part.value, bool | float)
    ]
    for part in found:
        draft.swap(part, expression("torch.full((), X)", X=part))
    return bool(found)


def _returning_tuples(draft: Draft, functions: Sequence[_Function]) -> bool:
    """Where one returns a tuple and the other a list."""
    whole = [function.branch.resolved(one) for function in functions for one in function.branch.returns]
    lists = [one for one in whole if isinstance(one, ast.List)]
    if not lists or not any(isinstance(one, ast.Tuple) for one in whole):
        return False
    for one in lists:
        draft.swap(one, ast.Tuple(one.elts, ast.Load()))
    return True
