"""The sizes that a trial proposes to declare, written at the call that exports the model.

What the trial proposes is code (`batch = Dim("batch")`, `dynamic_shapes = {…}`): its dims go above the statement of the
call, and the rest into it. Torch makes a constant of a size of 0 or 1, so a sample that has one is given a two there.
"""

from __future__ import annotations

import ast
import difflib
from typing import TYPE_CHECKING

from exportlint.edited_source import OverlappingEditsError, edited
from exportlint.engine.source.parsed import walked
from exportlint.finding import Applicability
from exportlint.rewrite.draft import Draft, NoRoomError, changed_copy, expression
from exportlint.rewrite.fitting_shapes import with_a_sample_of_two
from exportlint.rewrite.place import WITH_SHAPES, call_at_line
from exportlint.rule.suspicion import Replacement, SuspectedRewrite

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exportlint.engine.source.symbols import ModuleInfo
    from exportlint.engine.values.abstract_value import Belief

_SHAPES = "dynamic_shapes"
_DECLARING = frozenset({_SHAPES, "dynamic_axes", "dynamo"})
_DIM = "Dim"


def declared_at_call(
    judged: Callable[[str], tuple[ModuleInfo, Belief]], module: ModuleInfo, line: int, code: str, *, instead: bool
) -> SuspectedRewrite | None:
    """None where no call at the line takes `dynamic_shapes`, or it has some; `instead`: or it has none, which are to
    give way.

    judged  other text of the file, and what the engine says of it
    """
    call = call_at_line(module, line, WITH_SHAPES)
    given = {one.arg for one in call.keywords} if call is not None else set()
    if call is None or None in given or given & _DECLARING != ({_SHAPES} if instead else set()):
        return None
    draft = Draft(module)
    dims, shapes = _parts(code, _names(module))
    statement = draft.statement_of(call)
    if shapes is None or statement is None:
        return None
    draft.add_import("torch")
    if dims:
        draft.above(statement, dims)
    others = [one for one in call.keywords if one.arg != _SHAPES]
    draft.swap(call, changed_copy(call, keywords=[*others, ast.keyword(_SHAPES, shapes)]))
    text = module.parsed.text
    try:
        declared = edited(text, draft.edits())
        other, belief = judged(declared)
        two = with_a_sample_of_two(other, belief, call.lineno + declared.count("\n") - text.count("\n"))
        declared = edited(declared, two.edits()) if two is not None else declared
    except (NoRoomError, OverlappingEditsError, SyntaxError, ValueError):
        return None
    sample = ", and export with a sample of two" if two is not None else ""
    what = "only the sizes" if instead else "the sizes"
    description = f"declare {what} that the trial found free{sample}"
    return SuspectedRewrite(description, Applicability.UNSAFE, tuple(_differences(text, declared)))


def _names(module: ModuleInfo) -> set[str]:
    return {one.id for one in walked(module.tree) if isinstance(one, ast.Name)} | {*module.functions, *module.classes}


def _parts(code: str, taken: set[str]) -> tuple[list[ast.stmt], ast.expr | None]:
    """The dims, under names that the file does not use, and what is to be declared."""
    dims, shapes = list[ast.stmt](), None
    for one in ast.parse(code).body:
        match one:
            case ast.Assign(targets=[ast.Name(id="dynamic_shapes")], value=value):
                shapes = value
            case ast.Assign():
                dims.append(one)
    for node in (inner for whole in (*dims, shapes) if whole is not None for inner in walked(whole)):
        match node:
            case ast.Name(id=name) if name != _DIM and name in taken:
                node.id = f"{name}_size"
    qualified = _Qualified()
    return [qualified.visit(one) for one in dims], qualified.visit(shapes) if shapes is not None else None


class _Qualified(ast.NodeTransformer):
    """With `torch.export.Dim` for `Dim`, which the file may not import."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return expression("torch.export.Dim") if node.id == _DIM else node


def _differences(old: str, new: str) -> Iterator[Replacement]:
    """Whole lines of the old text, and what stands in their place."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for tag, first, last, start, end in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Replacement((first + 1, 1), (last + 1, 1), "".join(after[start:end]))
