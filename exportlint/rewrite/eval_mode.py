"""What is exported is put into eval mode: at the call that exports it, or where a file keeps it with its inputs."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import expression
from exportlint.rewrite.place import EXPORT_CALLS, Place, around, model_of_call
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site

_TRAINING = frozenset({"train", "backward", "step"})


class EvalMode:
    """At a call that exports a model, or where a file makes the one that it keeps."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        place = Place.of(site)
        statement = not isinstance(site.node, ast.FunctionDef | ast.ClassDef | ast.Module)
        calls = [one for one in walked(site.node) if isinstance(one, ast.Call)] if statement else []
        for call in calls:  # `save(export(model, …))`
            if place.origin(call.func) in EXPORT_CALLS:
                yield from _at_call(site, call)
                return
        yield from _where_it_is_kept(site)


def _at_call(site: Site, call: ast.Call) -> Iterator[Proposal]:
    target, draft = model_of_call(call), site.draft()
    if isinstance(target, ast.Name) and _is_called_before(site, target):
        yield from _where_it_is_made(site, target)
    match target:
        case ast.Call(func=ast.Attribute(attr="eval")) | ast.Starred() | None:
            return
        case ast.Call(func=ast.Attribute(value=owner, attr="train")):
            draft.swap(target, expression("MODEL.eval()", MODEL=owner))
        case _:
            draft.swap(target, expression("MODEL.eval()", MODEL=target))
    yield Proposal("call `.eval()` before the export", draft)


def _is_called_before(site: Site, target: ast.Name) -> bool:
    """Does the file call the model above the export, and train it nowhere? What it gives there is compared, say, with
    what the program gives."""
    calls = [one for one in walked(site.module.tree) if isinstance(one, ast.Call)]
    trains = any(isinstance(one.func, ast.Attribute) and one.func.attr in _TRAINING for one in calls)
    above = (one for one in calls if one.lineno < target.lineno)
    return not trains and any(isinstance(one.func, ast.Name) and one.func.id == target.id for one in above)


def _where_it_is_made(site: Site, target: ast.Name) -> Iterator[Proposal]:
    """At the one assignment of the name."""
    made = [
        one.value
        for one in walked(site.module.tree)
        if isinstance(one, ast.Assign) and any(isinstance(t, ast.Name) and t.id == target.id for t in one.targets)
    ]
    if len(made) == 1 and isinstance(made[0], ast.Call):
        draft = site.draft()
        draft.swap(made[0], expression("MODEL.eval()", MODEL=made[0]))
        yield Proposal("put the model into eval mode where it is made", draft)


def _where_it_is_kept(site: Site) -> Iterator[Proposal]:
    """`model = Net()`, or what `get_model` returns, of a file that keeps a model with its inputs."""
    draft = site.draft()
    made = any(one.place is None for one in site.belief.exports)
    match draft.parent(site.node):
        case ast.Assign(targets=[ast.Name(id="model")], value=value) if made and value is site.node:
            pass
        case ast.Return(value=ast.expr() as value) if made and value is site.node:
            if getattr(around(draft, value), "name", "") != "get_model":
                return
        case _:
            return
    draft.swap(value, expression("MODEL.eval()", MODEL=value))
    yield Proposal("put the model into eval mode", draft)
