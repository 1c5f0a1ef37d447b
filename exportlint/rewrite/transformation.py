"""What a transformation is: one general way to write a function differently, proposed wherever it might help.

A rule names the transformations that may mend what it reports, in the order in which they are worth a try. None of
them knows a rule, and none decides whether it was right: what it proposes is tried before it is offered.
"""

from __future__ import annotations

import ast
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from exportlint.edited_source import OverlappingEditsError, edited
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import span_of
from exportlint.finding import Applicability
from exportlint.rewrite.draft import Draft, NoRoomError
from exportlint.rewrite.view import View
from exportlint.rule.suspicion import SuspectedRewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Belief, Span


class CannotError(Exception):
    """Why a transformation has nothing to propose: what it met that it cannot write differently."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A new version of the file, or of another one of the project. `description`: what was done, in a few words, as an
    order ("select with a mask").

    safe: right by construction, whatever the inputs are; unsafe: a run has to show it. `both_sides_of`: the line
    of a decision; only inputs can show it that take both of its sides. 0: there is none. `needs_python`: the program
    calls Python where it runs.
    """

    description: str
    draft: Draft
    applicability: Applicability = Applicability.UNSAFE
    both_sides_of: int = 0
    needs_python: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """Where something does not export: `node`, in a file that the engine has judged.

    view     the function around the node; None where it stands in no function (in a script, in a class body)
    node     the innermost node of `ast` at the place that is reported
    cause    what a trial saw that breaks the graph there: number, size, recurrent, …; None where none did
    """

    module: ModuleInfo
    belief: Belief
    node: ast.AST
    view: View | None
    cause: str | None = None

    def draft(self) -> Draft:
        """A new one of the file; each proposal has its own."""
        return Draft(self.module)

    def fresh_view(self) -> View:
        """Another view of the function, as the author wrote it. Raises CannotError where there is none."""
        if self.view is None:
            raise CannotError("it stands in no function")
        return View(self.view.module, self.view.function, self.belief)

    def views(self) -> Iterator[View]:
        """Of every function and method of the file, in the order of the source."""
        for function in _functions(self.module):
            yield View(self.module, function, self.belief)


class Transformation(Protocol):
    """A class that takes a site and gives its proposals, the best one first; none where it has nothing to say."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        """May raise CannotError or NoRoomError in the middle; what it gave before stands."""


# Each in a module of its own, which is loaded when a rule's finding asks for it.
_MODULES: Mapping[str, str] = {
    "decide-in-data": "decide_in_data:DecideInData",
    "loop-in-data": "loop_in_data:LoopInData",
    "numbers-stay-tensors": "numbers_stay_tensors:NumbersStayTensors",
    "state-in-buffers": "state_in_buffers:StateInBuffers",
    "made-once": "made_once:MadeOnce",
    "interface": "interface:Interface",
    "cloned-first": "cloned_first:ClonedFirst",
    "computed-anew": "computed_anew:ComputedAnew",
    "declared-dims": "declared_dims:DeclaredDims",
    "dynamo-settings": "dynamo_settings:DynamoSettings",
    "eager-side": "eager_side:EagerSide",
    "eval-mode": "eval_mode:EvalMode",
    "onnx-by-export": "onnx_by_export:OnnxByExport",
    "drawing-operator": "reading_operator:DrawingOperator",
    "effect-operator": "effect_operator:EffectOperator",
    "kept-in-eager": "kept_in_eager:KeptInEager",
    "listed-in-init": "listed_in_init:ListedInInit",
    "fitting-shapes": "fitting_shapes:FittingShapes",
    "for-torchscript": "for_torchscript:ForTorchScript",
    "given-as-tensors": "given_as_tensors:GivenAsTensors",
    "named-axes": "named_axes:NamedAxes",
    "number-operator": "reading_operator:NumberOperator",
    "old-constraints": "old_constraints:OldConstraints",
    "operator-functions": "operator_functions:OperatorFunctions",
    "ordered-in-data": "ordered_in_data:OrderedInData",
    "padded-rows": "padded_rows:PaddedRows",
    "printed-by-program": "printed_by_program:PrintedByProgram",
    "python-numbers": "python_numbers:PythonNumbers",
    "reading-operator": "reading_operator:ReadingOperator",
    "templates": "templates:Templates",
    "untried": "untried:Untried",
    "without-torchscript": "without_torchscript:WithoutTorchScript",
}


def transformation(name: str) -> Transformation:
    """By the name that rules call it. Raises KeyError for a name that there is not."""
    module, _, cls = _MODULES[name].partition(":")
    made: Transformation = getattr(importlib.import_module(f"exportlint.rewrite.{module}"), cls)()
    return made


def proposed_rewrites(
    names: Iterable[str],
    module: ModuleInfo,
    belief: Belief,
    function: FunctionInfo | None,
    span: Span,
    cause: str | None = None,
) -> Iterator[SuspectedRewrite]:
    """What the transformations of these names propose for what stands at the span, each text once.

    `function`: the one that the engine ran, in which the span lies; None in a file as a whole. `cause`: of a break of
    the graph, what a trial saw of it.
    """
    seen = {module.parsed.text}
    node = _at(module, span)
    for name in names:
        for proposal in _given(transformation(name).proposals(_site(module, belief, function, node, cause))):
            try:
                replacements, home = proposal.draft.edits(), proposal.draft.module
                text = edited(home.parsed.text, replacements)
                if text in seen or text == home.parsed.text:
                    continue
                seen.add(text)
                compile(text, str(home.path), "exec", dont_inherit=True)
            except (NoRoomError, OverlappingEditsError, SyntaxError, ValueError):
                continue
            how = (proposal.description, proposal.applicability, replacements)
            path = str(home.path) if home is not module else ""
            yield SuspectedRewrite(*how, proposal.both_sides_of, proposal.needs_python, path)


def _given(proposals: Iterator[Proposal]) -> Iterator[Proposal]:
    """As many as there are before one cannot be made."""
    try:
        yield from proposals
    except (CannotError, NoRoomError):
        return


def _site(module: ModuleInfo, belief: Belief, function: FunctionInfo | None, node: ast.AST, cause: str | None) -> Site:
    view = None
    if function is None:
        function = next((one for one in _functions(module) if _within(node, one.node)), None)
    if function is not None and not isinstance(function.node, ast.Lambda):
        view = View(module, function, belief)
    return Site(module, belief, node, view, cause)


def _functions(module: ModuleInfo) -> Iterator[FunctionInfo]:
    yield from module.functions.values()
    for cls in module.classes.values():
        yield from cls.methods.values()


def _within(node: ast.AST, whole: ast.AST) -> bool:
    return any(one is node for one in walked(whole))


def _at(module: ModuleInfo, span: Span) -> ast.AST:
    """The outermost node that stands at just this span; else the smallest around its beginning."""
    best: ast.AST = module.tree
    for own, node in module.parsed.kept(module.tree, _spans):
        if own == span:
            return node
        if own[:2] <= span[:2] and own[2:] >= span[2:]:
            best = node  # `ast.walk` goes from the outside to the inside
    return best


def _spans(_file: Parsed, tree: ast.AST) -> Sequence[tuple[Span, ast.AST]]:
    found = []
    for node in walked(tree):
        own = span_of(node)
        if own is not None and getattr(node, "decorator_list", None):  # a rule's definition begins with its decorators
            first = min(getattr(node, "decorator_list"), key=lambda one: (one.lineno, one.col_offset))  # noqa: B009
            own = (first.lineno, first.col_offset - 1, *own[2:])
        if own is not None:
            found.append((own, node))
    return found
