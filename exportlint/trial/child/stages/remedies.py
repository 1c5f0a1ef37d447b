"""remedies: a refused export once more, each time with one thing changed that leaves what the model computes.

That may be the specification, in the structure of the inputs, or the size of the sample where it is one; and a switch
of the model's own configuration, which leaves an object out of the output that torch cannot take apart."""

from __future__ import annotations

import ast
import contextlib
import gc
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial, reduce
from itertools import pairwise
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.custom_operators.examined_operators import Draft, drafts_of_missing, registered
from exportlint.trial.child.dynamic_shapes.conditions import FROM
from exportlint.trial.child.dynamic_shapes.input_tensors import declared_code, fitting, input_tensors
from exportlint.trial.child.dynamic_shapes.other_sizes import resized
from exportlint.trial.child.execution.call_record import kept_records, record_calls
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import PLAIN, snapshot
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import export
from exportlint.trial.child.loading.edited_files import source_of
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.differences import differences, in_results
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.child.torch_private.symbolic_shapes import recorded_decisions
from exportlint.trial.protocol.frames import Frame, is_installed, is_user_path
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.outcomes import PASSED
from exportlint.trial.protocol.remedies import (
    CHECKS,
    EVAL,
    FAKE_KERNEL,
    FITTING_SHAPES,
    LARGER_SAMPLE,
    NO_GRAD,
    NO_VALIDATION,
    SWITCH,
)
from exportlint.trial.protocol.torch_messages import asked, asks_for_loose_trace

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.child.torch_private.symbolic_shapes import ShapeDecisions


Remedy = Callable[["Loaded"], contextlib.AbstractContextManager[Any]]
_SAMPLE = (0,)


def run(request: StageRequest) -> StageAnswer:
    """`refused` in the options: mode -> remedies to try. The first that helps is a note, with "remedy" and "mode"; with
    "checks", what was written behind which line."""
    helped: list[str] = []
    known: list[Check] = []
    drafts = list(_drafts(request))
    switch = switch_that_helps(request)
    own = {FAKE_KERNEL: partial(_fake_kernels, drafts), SWITCH: partial(_switched, switch)}
    remedies: dict[str, Remedy] = {**_REMEDIES, **own}
    for mode, names in request.options["refused"].items():
        for name in names:
            checks = checks_that_help(request, mode, known) if name == CHECKS else []
            if checks or (name != CHECKS and _helps_in_fork(request, mode, name, remedies[name])):
                known = checks or known
                details = {"note": "remedy", "remedy": name, "mode": mode, "checks": [asdict(one) for one in checks]}
                details |= {"shapes": _fitting_code(request.loaded)} if name == FITTING_SHAPES else {}
                if name == SWITCH:
                    details |= {"switch": switch, "loose_trace": _needs_loose_trace(request, switch)}
                request.emit(Observation("note", details=details))
                helped.append(f"{name} in {mode} mode")
                break
    return StageAnswer(PASSED, f"helps: {', '.join(helped)}" if helped else "none helps")


def _drafts(request: StageRequest) -> Iterator[Draft]:
    """Of the fake kernels that are missing; each is a note at the operator's definition."""
    if any(FAKE_KERNEL in names for names in request.options["refused"].values()):
        for draft in drafts_of_missing(request.loaded, request.folder):
            details = {"note": "fake-kernel-draft", "operator": draft.operator, "code": draft.code}
            request.emit(Observation("note", details=details).at([draft.place] if draft.place else []))
            yield draft


def _helps_in_fork(request: StageRequest, mode: str, name: str, remedy: Remedy) -> bool:
    return bool(in_fork(partial(_helps, request, mode, name, remedy), request.folder).value)


def _helps(request: StageRequest, mode: str, name: str, remedy: Remedy) -> bool:
    """Does the model export then, and agree with eager on the sample?"""
    with remedy(request.loaded) as loaded:
        if loaded is None:
            return False
        exported = export(loaded, mode)
        if name == EVAL:
            return True  # eager was called in training mode
        if name in (LARGER_SAMPLE, SWITCH):  # eager was called with the sample, or the switch, as it was
            eager = again = record_calls(loaded, loaded.eager(), _SAMPLE)
        else:
            eager, again = kept_records(request.folder.parent)
        theirs = record_calls(loaded, exported.module(), _SAMPLE)
    return not any(map(in_results, differences(eager, again, theirs)))


@contextlib.contextmanager
def _no_grad(loaded: Loaded) -> Iterator[Loaded]:
    with torch.no_grad():
        yield loaded


@contextlib.contextmanager
def _no_validation(loaded: Loaded) -> Iterator[Loaded]:
    torch.distributions.Distribution.set_default_validate_args(False)
    yield loaded


@contextlib.contextmanager
def _fake_kernels(drafts: Sequence[Draft], loaded: Loaded) -> Iterator[Loaded | None]:
    for draft in drafts:
        registered(draft.code)
    yield loaded if drafts else None


@contextlib.contextmanager
def _eval(loaded: Loaded) -> Iterator[Loaded | None]:
    training = getattr(loaded.model(), "training", False)
    yield replace(loaded, model=lambda: loaded.model().eval()) if training else None


@contextlib.contextmanager
def _fitting_shapes(loaded: Loaded) -> Iterator[Loaded | None]:
    shapes = _fitting(loaded)
    yield replace(loaded, dynamic_shapes=lambda: shapes) if shapes is not None else None


def _fitting(loaded: Loaded) -> Any:
    return fitting(loaded.model(), inputs_of(loaded, 0), loaded.dynamic_shapes())


def _fitting_code(loaded: Loaded) -> str:
    return declared_code(_fitting(loaded))


@contextlib.contextmanager
def _larger_sample(loaded: Loaded) -> Iterator[Loaded | None]:
    """Two where the sample has one, in every dim that is declared; what is there is repeated."""
    inputs = inputs_of(loaded, 0)
    tensors = input_tensors(loaded.model(), inputs, loaded.dynamic_shapes())
    sizes = {(one.label, dim): FROM for one in tensors for dim in one.asked() if one.value.shape[dim] == 1}
    args, kwargs = resized(inputs, tensors, sizes)
    yield replace(loaded, args=lambda: copied(args), kwargs=lambda: copied(kwargs)) if sizes else None


_REMEDIES: dict[str, Remedy] = {
    FITTING_SHAPES: _fitting_shapes,
    LARGER_SAMPLE: _larger_sample,
    NO_GRAD: _no_grad,
    NO_VALIDATION: _no_validation,
    EVAL: _eval,
}

# Find a switch of the configuration that the model, or a part of it, was made with: an object with a flag that is set,
# without which eager gives the same but for the objects that torch cannot take apart.


_MOST_SWITCHES = 64
_TAKEN_APART = (torch.Tensor, *PLAIN)


def switch_that_helps(request: StageRequest) -> str:
    """Its path from the model, such as `config.use_cache`; "" where none does it."""
    if not any(SWITCH in names for names in request.options["refused"].values()):
        return ""
    return str(in_fork(partial(_switch, request.loaded), request.folder).value or "")


def _switch(loaded: Loaded) -> str:
    args, kwargs = inputs_of(loaded, 0)
    before = pytree.tree_leaves(_given(loaded.eager(), args, kwargs))
    unknown = [one for one in before if not isinstance(one, _TAKEN_APART)]
    for path in [*_switches(loaded.eager())][:_MOST_SWITCHES] if unknown else ():
        model = loaded.eager()
        _set_off(model, path)
        with contextlib.suppress(Exception):  # most switches are of something else
            now = pytree.tree_leaves(_given(model, *inputs_of(loaded, 0)))
            if all(isinstance(one, _TAKEN_APART) for one in now) and _are_same(before, now):
                return path
    return ""


def _given(model: Any, args: Any, kwargs: Any) -> Any:
    seed(0)
    with torch.no_grad():
        return model(*args, **kwargs)


def _are_same(before: Sequence[Any], now: Sequence[Any]) -> bool:
    """Are the tensors those that were there, in the same order?"""
    ours, theirs = ([one for one in leaves if isinstance(one, torch.Tensor)] for leaves in (before, now))
    return compare(snapshot(ours), snapshot(theirs)) is None


def _switches(model: Any) -> Iterator[str]:
    """The flags that are set, of objects which modules hold beside their weights; those of the whole model first."""
    seen = set[int]()
    for path, part in getattr(model, "named_modules", lambda: ())():
        for name, held in vars(part).items():
            is_settings = hasattr(held, "__dict__") and not callable(held) and not isinstance(held, torch.Tensor)
            is_named = all(map(str.isidentifier, filter(None, path.split(".")))) and not name.startswith("_")
            if is_settings and is_named and id(held) not in seen:
                seen.add(id(held))
                flags = (flag for flag, value in vars(held).items() if value is True and not flag.startswith("_"))
                yield from (".".join(filter(None, (path, name, flag))) for flag in flags)


def _set_off(model: Any, path: str) -> None:
    *parts, flag = path.split(".")
    setattr(reduce(getattr, parts, model), flag, False)


@contextlib.contextmanager
def _switched(path: str, loaded: Loaded) -> Iterator[Loaded | None]:
    def off(model: Any) -> Any:
        _set_off(model, path)
        return model

    made = replace(loaded, model=lambda: off(loaded.model()), reference=lambda: off(loaded.eager()))
    yield made if path else None


def _needs_loose_trace(request: StageRequest, path: str) -> bool:
    """Does `torch.jit.trace`, which the script calls, give the rest with `strict=False` only?"""
    if "torch.jit.trace" not in request.loaded.target.calls:
        return False
    return bool(in_fork(partial(_is_traced_loosely, request.loaded, path), request.folder).value)


def _is_traced_loosely(loaded: Loaded, path: str) -> bool:
    model, (args, kwargs) = loaded.eager(), inputs_of(loaded, 0)
    _set_off(model, path)
    trace = partial(torch.jit.trace, model, args or None, example_kwarg_inputs=None if args else kwargs)
    try:
        trace()
    except Exception as exc:  # noqa: BLE001 - whatever torch raises here is the answer
        if asks_for_loose_trace(str(exc)):
            trace(strict=False)
            return True
    return False


# Try the `torch._check`s that a refusal asks for: does the model then export, and agree with eager?


# The sample, and the other inputs: a check must hold for both.
_PLAN = (0, 1)
_MOST = 8  # tries, each of which costs an export


def checks_that_help(request: StageRequest, mode: str, known: list[Check]) -> list[Check]:
    """The checks with which the model exports and agrees; empty where none were found. `known` help in another mode."""
    search = _CheckSearch(request, mode)
    return (search.found(known) if known else []) or search.found([])


@dataclass
class _CheckSearch:
    request: StageRequest
    mode: str
    tried: list[list[Check]] = field(default_factory=list)

    def found(self, checks: list[Check]) -> list[Check]:
        """These checks with as many more as it takes, depth first."""
        if len(self.tried) >= _MOST or checks in self.tried:
            return []
        self.tried.append(checks)
        asked = in_fork(partial(self._asked, checks), self.request.folder).value
        if asked is None:
            return []
        if not asked:
            return checks
        ways = (self.found([*checks, check]) for check in asked if check not in checks)
        return next((way for way in ways if way), [])

    def _asked(self, checks: list[Check]) -> list[Check] | None:
        """What else torch asks with these checks in the source; [] where it exports and agrees; None: no way on."""
        loaded = self.request.loaded
        if not all(lay_over(path, statements) for path, statements in _by_file(checks).items()):
            return None
        if checks and any(call.raised for call in record_calls(loaded, loaded.eager(), _PLAN).calls):
            return None
        with recorded_decisions() as decisions:
            try:
                exported = export(loaded, self.mode)
            except Exception as exc:  # noqa: BLE001 - torch lets anything through
                return missing_checks(of_exception(exc), decisions) or None
        eager, again = kept_records(self.request.folder.parent)
        theirs = record_calls(loaded, exported.module(), _PLAN)
        return None if any(map(in_results, differences(eager, again, theirs))) else []


def _by_file(checks: list[Check]) -> dict[str, dict[int, list[str]]]:
    found: dict[str, dict[int, list[str]]] = {}
    for one in checks:
        found.setdefault(one.path, {}).setdefault(one.line, []).append(one.text)
    return found


# Read in a refusal which `torch._check` torch lacks: what must hold of a number, or of a size, that is data.


@dataclass(frozen=True)
class Check:
    """A statement to be written behind the line that reads the number; `source` is that line.

    `cuts`: the line of a `return` that is not reached any more with it.
    """

    path: str
    line: int
    text: str
    source: str
    cuts: int | None = None


def missing_checks(seen: Observation, decisions: ShapeDecisions) -> list[Check]:
    """What may be written, the likeliest first: what torch asked, or its opposite, of the name that holds the number.

    Nothing where the number decides a branch of the model with two ways on, which a check would cut off.
    """
    found = asked(seen.text)
    if found is None or _has_two_ways(seen.user):
        return []
    symbol = found.symbol
    place = _reading_line(symbol, decisions)
    if place is None:
        return []
    holders = _holders(place, *_position(symbol, place, decisions))
    texts = [re.sub(rf"\b{symbol}\b", holder, relation) for holder in holders for relation in found.relations]
    cuts = _answered_at(seen.user)
    return [Check(place.path, place.line, f"torch._check({text})", place.text, cuts) for text in texts]


def _reading_line(symbol: str, decisions: ShapeDecisions) -> Frame | None:
    """Where the project's own code reads an integer from data."""
    frames = decisions.read_at.get(symbol, ()) if symbol.startswith("u") else ()
    is_own = frames and is_user_path(frames[-1].path) and not is_installed(frames[-1].path)
    return frames[-1] if is_own else None


def _position(symbol: str, place: Frame, decisions: ShapeDecisions) -> tuple[int, int]:
    """Which of the numbers that the line reads it is, and how many there are: `tolist()` reads several."""
    here = [one for one, frames in decisions.read_at.items() if frames and frames[-1][:2] == place[:2]]
    return here.index(symbol), len(here)


def _holders(place: Frame, index: int, several: int) -> list[str]:
    """How Python may call the number behind the statement of the line, which assigns it or the tensor of that size."""
    for node in _nodes(place.path):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.lineno <= place.line <= (node.end_lineno or 0):
            match node.targets if isinstance(node, ast.Assign) else [node.target]:
                case [ast.Name(id=name)]:
                    return [name, f"{name}.shape[0]"] if several == 1 else [f"{name}[{index}]"]
                case [ast.Tuple(elts=names)] if len(names) == several and isinstance(names[index], ast.Name):
                    return [ast.unparse(names[index])]
    return []


_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


def _has_two_ways(place: Frame | None) -> bool:
    """Is the line a branch, both ways of which go on?"""
    node = _branch(place) if place else None
    return node is not None and not (isinstance(node, ast.If) and isinstance(node.body[-1], _LEAVES))


def _answered_at(place: Frame | None) -> int | None:
    """The line of the `return` with which the branch of the line ends, and which a check cuts off, or all behind it;
    None where what is behind it raises."""
    node = _branch(place) if place else None
    if place is None or not (isinstance(node, ast.If) and isinstance(node.body[-1], ast.Return)):
        return None
    return None if isinstance(_next_statement(place, node), ast.Raise) else node.body[-1].lineno


def _next_statement(place: Frame, node: ast.If) -> ast.stmt | None:
    for one in _nodes(place.path):
        body: Any = getattr(one, "body", None)
        statements: list[ast.stmt] = body if isinstance(body, list) else []
        for here, after in pairwise(statements):
            if isinstance(here, ast.If) and here.lineno == node.lineno:
                return after
    return None


def _branch(place: Frame) -> ast.If | ast.While | ast.IfExp | None:
    for node in _nodes(place.path):
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            test = node.test
            if test.lineno <= place.line <= (test.end_lineno or test.lineno):
                return node
    return None


def _nodes(path: str) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(source_of(path)))
    except (OSError, SyntaxError, ValueError):
        return iter(())


# Run functions as if their file had more statements, without touching it. To be used in a fork: nothing is undone.


def lay_over(path: str, statements: Mapping[int, Sequence[str]]) -> bool:
    """Put statements (of torch only) behind those of the given lines, in every live function of the file.

    The lines keep their numbers. False where a line holds no plain statement, or no function of it lives.
    """
    tree = ast.parse(source_of(path))
    laid = _Insert(statements)
    tree = laid.visit(tree)
    new = {(code.co_firstlineno, code.co_name): code for code in _codes(compile(tree, path, "exec", dont_inherit=True))}
    gc.unfreeze()  # also of modules that the server has loaded
    # By type: isinstance asks an object for its class, which a weak proxy whose object is gone answers by raising.
    functions = [one for one in gc.get_objects() if type(one) is FunctionType and one.__code__.co_filename == path]
    changed = False
    for function in functions:
        old = function.__code__
        code = new.get((old.co_firstlineno, old.co_name))
        if code is not None and code.co_freevars == old.co_freevars:
            function.__code__ = code
            function.__globals__.setdefault("torch", torch)
            changed = True
    return changed and laid.done == set(statements)


class _Insert(ast.NodeTransformer):
    def __init__(self, statements: Mapping[int, Sequence[str]]) -> None:
        self._statements = statements
        self.done: set[int] = set()

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        return self._with_more(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.stmt]:
        return self._with_more(node)

    def _with_more(self, node: ast.stmt) -> ast.AST | list[ast.stmt]:
        lines = [line for line in self._statements if node.lineno <= line <= (node.end_lineno or node.lineno)]
        self.done.update(lines)
        more = [one for line in lines for text in self._statements[line] for one in ast.parse(text).body]
        placed = [ast.fix_missing_locations(_at(one, node)) for one in more]
        return [node, *placed] if placed else node


def _at(statement: ast.stmt, place: ast.stmt) -> ast.stmt:
    for node in ast.walk(statement):
        if hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return statement


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)
