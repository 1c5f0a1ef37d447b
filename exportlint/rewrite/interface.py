"""What crosses the border of an exported forward: its arguments and results, its effects, and how it is exported.

A program has tensors and what pytree knows of containers at its border, and nothing else leaves it. So: classes that
cross it are registered; what the caller's containers are told is told to a copy; effects on the world around are left
to eager, where no value of the model depends on them; what is exported is a module, with samples that
are tensors of their own; an operator of somebody's own says what comes out of it; an attribute whose name every
exported graph needs for itself is called otherwise.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from exportlint.engine.flow.control_flow import blocks
from exportlint.engine.flow.def_use import changed, defined, path_of, used
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind
from exportlint.engine.values.given_parts import given_parts
from exportlint.rewrite.draft import Draft, changed_copy, expression, snake_case, stands_for, statements
from exportlint.rewrite.place import TORCH_EXPORT, Place, around
from exportlint.rewrite.transformation import Proposal
from exportlint.rewrite.view import View
from exportlint.rule.patterns import CONTAINER_METHODS, SHAPE_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Value
    from exportlint.rewrite.transformation import Site


class Interface:
    """The ways that fit the node: of an export call, of a definition, or of a statement of a function that runs."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if isinstance(site.node, ast.Expr):
            site = replace(site, node=site.node.value)
        place = Place.of(site)
        if isinstance(site.node, ast.Call) and place.origin(site.node.func) in TORCH_EXPORT:
            yield from _exported_module(site, site.node)
            yield from _own_samples(site, site.node)
            return
        yield from _made_module(site)
        yield from _run_once(site)
        yield from _repeated_sample(site, site.draft(), site.node)
        yield from _fake_kernel(site)
        yield from _renamed_attribute(site)
        yield from _collected_by_class(site)
        if ways := list(_registered_class(site)):
            yield from ways
            return
        if site.view is None:
            return
        yield from _registered(site, site.view)
        yield from _listed_result(site, site.view)
        yield from _copied_container(site, site.view)
        yield from _dtype_given(site)
        yield from _in_eager_only(site, site.view)
        yield from _entered_in_eager_only(site)


# -- Effects -----------------------------------------------------------------------------------------------------------

_TEST = "not torch.compiler.is_exporting()"
_LEAVING = (ast.Return, ast.Raise, ast.Assert, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom, ast.Await)
# What torch calls these changes how tensors behind it are made, drawn or differentiated: the program would differ.
_SEEN_BY_TENSORS = re.compile(
    r"torch\.(set_grad_enabled|autograd\.(?!set_detect_anomaly|profiler)|set_default_(dtype|device)|nn\.init|no_grad"
    r"|use_deterministic_algorithms|set_rng_state|cuda\.set_rng_state|random\.set_rng_state)"
)
_SEEDS = re.compile(r"(torch(\.cuda|\.random)?\.(manual_)?seed(_all)?|(numpy\.)?random\.seed)$")
_DRAWS = re.compile(r"rand|normal|bernoulli|multinomial|poisson|uniform|exponential_|geometric_|dropout|choice|shuffle")


def _in_eager_only(site: Site, view: View) -> Iterator[Proposal]:
    """The statement, and those that only hand on what it sets, run in eager only; the exported program goes without.

    Eager does what it did. What is asked is whether the program may go without: not where a value that the model
    computes, a tensor that is written, or a gradient depends on it, nor where the model reads what is kept.
    """
    draft = site.draft()
    first = draft.statement_of(site.node)
    if first is None or isinstance(first, ast.FunctionDef | ast.ClassDef) or first is view.node:
        return
    found = _handed_on(view, draft, first)
    if found is None or not all(is_effect_alone(view, one, found) for one in found) or is_kept_and_read(site, found):
        return
    for run in _runs(draft, found):
        above = draft.parent(run[0])
        if isinstance(above, ast.If) and not above.orelse and len(above.body) == len(run) == 1 and _one_line(above):
            draft.swap(above.test, expression(f"TEST and {_TEST}", TEST=above.test))
            continue
        test = ast.If(expression(_TEST), [run[0], *map(changed_copy, run[1:])], [])
        draft.replace(run[0], [stands_for(test, ast.Pass())])
        for one in run[1:]:
            draft.replace(one, [])
    yield Proposal("leave it out of the export", draft)


def _handed_on(view: View, draft: Draft, first: ast.stmt) -> list[ast.stmt] | None:
    """The statement and all that read what it sets, as far as that goes; None where a value gets out of them."""
    found, names = [first], set[str]()
    for one in found:
        if any(isinstance(inner, _LEAVING) for inner in walked(one)):
            return None
        names |= {path for inner in walked(one) if isinstance(inner, ast.stmt) for path in defined(inner)}
        names = {path for path in names if "." not in path}
        for step in view.flow.flow.steps:
            reads = {path.partition(".")[0] for part in step.parts for path in used(part)}
            is_in = any(inner is step.node for other in found for inner in walked(other))
            if not is_in and reads & names:
                if not isinstance(
                    step.node, ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign | ast.If | ast.Delete
                ):
                    return None
                found.append(step.node)
    # Every setting of such a name has to go along: else one that stays would be read by nobody, or by too many.
    inside = {id(inner) for one in found for inner in walked(one)}
    others = (step for step in view.flow.flow.steps if id(step.node) not in inside)
    if any(names & set(view.flow.defs[step]) for step in others) or names & set(view.flow.parameters):
        return None
    found = [one for one in found if not any(one is inner for two in found if two is not one for inner in walked(two))]
    return _with_ifs(draft, found)


def _with_ifs(draft: Draft, found: list[ast.stmt]) -> list[ast.stmt]:
    """With the `if`s all of whose statements are among them, in place of these."""
    for one in found:
        above = draft.parent(one)
        if not isinstance(above, ast.If) or above.orelse or above in found or len(above.body) == 1:
            continue
        if all(any(inner is two for two in found) for inner in above.body):
            found.append(above)
    return [one for one in found if not any(one is inner for two in found if two is not one for inner in walked(two))]


def is_effect_alone(view: View, statement: ast.stmt, found: Sequence[ast.stmt]) -> bool:
    """Does it change no tensor and no container that the function made, and draw nothing?"""
    inside = {path for one in found for inner in walked(one) if isinstance(inner, ast.stmt) for path in defined(inner)}
    for node in walked(statement):
        if isinstance(node, ast.Call) and not _is_harmless_call(view, node):
            return False
        places = [*changed(node)] if isinstance(node, ast.expr | ast.stmt) else []
        places += [path for path in defined(node) if "." in path] if isinstance(node, ast.stmt) else []
        for path in places:
            own = path.partition(".")[0]
            if own == "self" or own in inside or _is_declared(view, own):
                continue
            if own in view.flow.parameters or any(own in names for names in view.flow.defs.values()):
                return False
    return True


def _is_declared(view: View, name: str) -> bool:
    """Is it a name of the file, or of the function around?"""
    declared = (one for one in walked(view.node) if isinstance(one, ast.Global | ast.Nonlocal))
    return any(name in one.names for one in declared)


def _is_harmless_call(view: View, node: ast.Call) -> bool:
    name = view.origin(node.func) or ""
    last = node.func.attr if isinstance(node.func, ast.Attribute) else name.rpartition(".")[2]
    if _SEEN_BY_TENSORS.match(name):
        return False
    if _SEEDS.match(name):
        calls = (one.func for one in walked(view.node) if isinstance(one, ast.Call) and one is not node)
        return not any(_DRAWS.search(getattr(one, "attr", getattr(one, "id", ""))) for one in calls)
    if _DRAWS.search(last):
        return False
    match node.func:
        case ast.Attribute(value=owner, attr=method) if method.endswith("_") and not method.endswith("__"):
            return not view.is_data(owner)  # also `requires_grad_`: a caller may differentiate
        case ast.Attribute(
            value=owner, attr="backward" | "register_hook" | "retain_grad" | "register_full_backward_hook"
        ):
            return not view.is_data(owner) or node.func.attr == "register_full_backward_hook"
        case ast.Attribute(value=ast.Name(id="self"), attr=method):
            known = view.cls.method(method) if view.cls else None
            return known is None or not _writes_self(known)
    return True


def _writes_self(function: FunctionInfo) -> bool:
    return any(
        path.startswith("self.")
        for one in walked(function.node)
        if isinstance(one, ast.stmt)
        for path in (*defined(one), *changed(one))
    )


def is_kept_and_read(site: Site, found: Sequence[ast.stmt]) -> bool:
    """Does something that the model runs, or that makes it, read an attribute or a name of the file that is kept?"""
    inside = {id(inner) for one in found for inner in walked(one)}
    kept: set[str] = set()
    for one in (inner for statement in found for inner in walked(statement) if isinstance(inner, ast.stmt)):
        kept |= {*defined(one), *changed(one)}
    view = cast("View", site.view)
    attributes = {path.split(".")[1] for path in kept if path.startswith("self.")}
    names = {path.partition(".")[0] for path in kept if not path.startswith("self.")}
    near = _connected(site.module, {view.cls.name if view.cls else view.function.name})
    near |= {one.name for one in (view.cls.lineage if view.cls else ())}
    run = [one.node for one in site.belief.reached if (one.cls.name if one.cls else one.name) in near]
    for node in (inner for function in (view.node, *run) for inner in walked(function) if id(inner) not in inside):
        match node:
            case ast.Attribute(attr=attribute, ctx=ast.Load()) if attribute in attributes:
                return True
            case ast.Name(id=name, ctx=ast.Load()) if name in names and name not in view.flow.parameters:
                return True
    return False


def _connected(module: ModuleInfo, own: set[str]) -> set[str]:
    """The functions and classes of the file that these name, that name these, and that those name, however far."""
    nodes: dict[str, ast.AST] = {name: one.node for name, one in module.functions.items()}
    nodes |= {name: one.node for name, one in module.classes.items()}
    named = {name: {one.id for one in walked(node) if isinstance(one, ast.Name)} for name, node in nodes.items()}

    def closed(names: set[str], *, upwards: bool) -> set[str]:
        found, before = set(names), set[str]()
        while found != before:
            before = set(found)
            found |= {name for name in nodes if named[name] & before} if upwards else set()
            found |= {other for name in before & nodes.keys() for other in named[name]} if not upwards else set()
        return found & nodes.keys()

    return closed(closed(own, upwards=True), upwards=False)


def _runs(draft: Draft, found: Sequence[ast.stmt]) -> Iterator[list[ast.stmt]]:
    """Neighbours in one block go under one test."""
    left = sorted(found, key=lambda one: one.lineno)
    while left:
        block = _block_of(draft, left[0])
        start = next(place for place, one in enumerate(block) if one is left[0])
        run = []
        for one in block[start:]:
            if not any(one is two for two in left):
                break
            run.append(one)
        left = [one for one in left if not any(one is two for two in run)]
        yield run


def _block_of(draft: Draft, statement: ast.stmt) -> Sequence[ast.stmt]:
    above = draft.parent(statement)
    found = (block for block in blocks(cast("ast.stmt", above)) if any(one is statement for one in block))
    return next(found, [statement])


def _one_line(node: ast.If) -> bool:
    """`if verbose: print(x)`."""
    return node.body[0].lineno == node.test.end_lineno


def _entered_in_eager_only(site: Site) -> Iterator[Proposal]:
    """A context of a `with` that says nothing about tensors is entered in eager only."""
    draft = site.draft()
    above = draft.parent(site.node)
    if isinstance(above, ast.withitem) and above.optional_vars is None and isinstance(site.node, ast.expr):
        name = site.view.origin(site.node.func) if site.view and isinstance(site.node, ast.Call) else None
        if not _SEEN_BY_TENSORS.match(name or ""):
            text = "contextlib.nullcontext() if torch.compiler.is_exporting() else CONTEXT"
            draft.swap(site.node, expression(text, CONTEXT=site.node))
            draft.add_import("contextlib")
            yield Proposal("enter it in eager only", draft)


# Functions that make tensors of the default dtype, where nothing else is said.
_OF_DEFAULT_DTYPE = frozenset(f"torch.{one}" for one in ("zeros", "ones", "empty", "eye", "rand", "randn", "linspace",
                                                        "logspace"))  # fmt: skip
_SET_DTYPE = "torch.set_default_dtype"


def _dtype_given(site: Site) -> Iterator[Proposal]:
    """Where the default dtype is another one for some lines, what these make is given the dtype, and it stays."""
    if not any(_sets_dtype(site, one) for one in walked(site.module.tree)):
        return
    draft, done = site.draft(), False
    for view in site.views():
        for one in (inner for inner in walked(view.node) if isinstance(inner, ast.stmt)):
            if isinstance(one, ast.With) and len(one.items) == 1:
                dtype = _entered_dtype(site, one.items[0].context_expr)
                if dtype is not None:
                    _give_dtype(site, draft, one.body, dtype)
                    draft.replace(one, one.body)
                    done = True
            for block in blocks(one):
                places = [place for place, line in enumerate(block) if _sets_dtype(site, line)]
                if len(places) == 2:  # noqa: PLR2004 - it is set, and set back
                    first, last = places
                    dtype = cast("ast.Call", cast("ast.Expr", block[first]).value).args[0]
                    _give_dtype(site, draft, block[first:last], dtype)
                    draft.replace(block[first], [])
                    draft.replace(block[last], [])
                    done = True
    if done:
        yield Proposal("give the dtype to what is made there", draft)


def _sets_dtype(site: Site, node: ast.AST) -> bool:
    call = node.value if isinstance(node, ast.Expr) else None
    return isinstance(call, ast.Call) and len(call.args) == 1 and site.module.dotted(call.func) == _SET_DTYPE


def _entered_dtype(site: Site, node: ast.expr) -> ast.expr | None:
    """What a function of the file, which is entered, sets the default dtype to."""
    function = site.module.functions.get(path_of(node.func) or "") if isinstance(node, ast.Call) else None
    if function is None or not isinstance(node, ast.Call):
        return None
    for one in walked(function.node):
        if isinstance(one, ast.Expr) and _sets_dtype(site, one):
            given = cast("ast.Call", one.value).args[0]
            place = function.parameters.index(name) if (name := path_of(given)) in function.parameters else None
            return given if place is None else _argument(node, place, name or "")
    return None


def _give_dtype(site: Site, draft: Draft, body: Sequence[ast.stmt], dtype: ast.expr) -> None:
    calls = [inner for line in body for inner in walked(line) if isinstance(inner, ast.Call)]
    for one in (call for call in calls if site.module.dotted(call.func) in _OF_DEFAULT_DTYPE):
        if not any(word.arg == "dtype" for word in one.keywords):
            draft.swap(one, changed_copy(one, keywords=[*one.keywords, ast.keyword("dtype", dtype)]))


# -- Arguments and results ---------------------------------------------------------------------------------------------

_LIST_METHODS = frozenset({"append", "extend", "insert", "remove", "reverse", "sort", "clear"})
_DICT_METHODS = frozenset({"update", "setdefault", "popitem"})
_SHARED = "NAME.view_as(NAME)"


def _copied_container(site: Site, view: View) -> Iterator[Proposal]:
    """The caller's container is copied where torch exports, since no program can reach the caller's; and so is the
    tensor that the caller will see with another shape, which shares its memory: eager goes on as it did."""
    draft = site.draft()
    node = site.node if isinstance(site.node, ast.Call) else draft.statement_of(site.node)
    written = list(_written(view, node)) if node is not None else []
    if not written:
        return
    name, copied = written[0]
    if view.function.name != "forward" and copied != _SHARED:
        above = _given_by_forward(site, view, name)
        if above is None:
            return
        view, name = above
    others = [step.node for step in view.flow.flow.steps if name in view.flow.defs[step]]
    if name not in {*view.flow.parameters} - {"self"} or any(not isinstance(one, ast.AugAssign) for one in others):
        return
    texted = ast.get_docstring(view.node, clean=False) is not None and len(view.body) > 1
    draft.above(view.body[texted], statements(f"if torch.compiler.is_exporting():\n    NAME = {copied}", NAME=name))
    if copied.startswith("copy."):
        draft.add_import("copy")
    shape = "give another shape to a tensor of its own" if copied == _SHARED else "write to a copy"
    yield Proposal(f"{shape} where torch exports", draft)


def _given_by_forward(site: Site, view: View, name: str) -> tuple[View, str] | None:
    """The forward of the class that gives the method one of its own arguments by this name, and what it calls that."""
    forward = view.cls.method("forward") if view.cls is not None else None
    if forward is None or forward.module is not site.module or isinstance(forward.node, ast.Lambda):
        return None
    own, names = View(site.module, forward, site.belief), list(view.flow.parameters)
    found = set[str | None]()
    for call in walked(own.node):
        if isinstance(call, ast.Call) and path_of(call.func) == f"self.{view.function.name}":
            given = dict(zip([one for one in names if one != "self"], call.args, strict=False))
            given |= {word.arg: word.value for word in call.keywords if word.arg}
            found.add(path_of(given.get(name)))
    (one,) = found if len(found) == 1 else (None,)
    return (own, one) if one is not None and one in own.flow.parameters else None


def _written(view: View, node: ast.AST) -> Iterator[tuple[str, str]]:
    """The names of containers that it writes, and what copies one; of tensors that it gives another shape."""
    match node:
        case ast.Expr(value=value):
            yield from _written(view, value)
        case ast.Assign(value=ast.Call() as call):
            yield from _written(view, call)
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name) as owner, attr=method)):
            text = any(isinstance(one, ast.Constant) and isinstance(one.value, str) for one in node.args)
            if kind := _kind(view, owner):
                yield name, f"{kind}(NAME)"
            elif method in _LIST_METHODS or (method == "pop" and not text):
                yield name, "list(NAME)"
            elif method in _DICT_METHODS or method == "pop":
                yield name, "dict(NAME)"
            elif method in SHAPE_METHODS and view.is_data(owner):
                yield name, _SHARED
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name, "list(NAME)"
        case ast.Assign(targets=targets) | ast.Delete(targets=targets):
            for target in targets:
                yield from _written_target(view, target)
        case ast.AugAssign(target=target):
            yield from _written_target(view, target)


def _written_target(view: View, target: ast.expr) -> Iterator[tuple[str, str]]:
    match target:
        case ast.Subscript(value=ast.Name(id=name) as owner, slice=index):
            text = isinstance(index, ast.Constant) and isinstance(index.value, str)
            yield name, f"{_kind(view, owner) or ('dict' if text else 'list')}(NAME)"
        case ast.Attribute(value=ast.Name(id=name)):
            yield name, "copy.copy(NAME)"


def _kind(view: View, node: ast.expr) -> str | None:
    kind = view.value(node).container
    return kind if kind in {"dict", "list"} else None


def _listed_result(site: Site, view: View) -> Iterator[Proposal]:
    """What forward gives bit by bit is given as a list."""
    draft = site.draft()
    match site.node:
        case ast.Return(value=ast.GeneratorExp(elt=each, generators=loops) as value):
            draft.swap(value, ast.ListComp(each, loops))
            yield Proposal("return a list", draft)
        case ast.Return(value=ast.Call() as value) if _gives_bits(view, value):
            draft.swap(value, expression("list(GIVEN)", GIVEN=value))
            yield Proposal("return a list", draft)
        case ast.Return(value=ast.Set(elts=parts) as value):
            draft.swap(value, ast.List(parts, ast.Load()))
            yield Proposal("return a list, which has an order", draft)
        case ast.Yield() | ast.YieldFrom() | ast.Expr(value=ast.Yield() | ast.YieldFrom()):
            yield from _collected(site, view)


def _gives_bits(view: View, node: ast.Call) -> bool:
    name = view.origin(node.func) or ""
    known = view.value(node.func).function
    yields = known is not None and any(isinstance(one, ast.Yield | ast.YieldFrom) for one in walked(known.node))
    views = isinstance(node.func, ast.Attribute) and node.func.attr in {"keys", "values", "items"} and not node.args
    return (
        yields
        or views
        or name in {f"builtins.{one}" for one in ("map", "zip", "filter", "iter", "reversed", "enumerate")}
    )


def _collected_by_class(site: Site) -> Iterator[Proposal]:
    """Of a class as a whole: no line of a forward that yields runs before somebody asks for its results."""
    for view in site.views() if isinstance(site.node, ast.ClassDef) else ():
        yields = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in walked(view.node))
        if yields and view.node.name == "forward" and view.node in site.node.body:  # type: ignore[attr-defined] # a class
            yield from _collected(site, view)


def _collected(site: Site, view: View) -> Iterator[Proposal]:
    """Every `yield` a statement of its own, in a function that returns nothing."""
    draft = site.draft()
    nodes = list(walked(view.node))
    yields = [one for one in nodes if isinstance(one, ast.Yield | ast.YieldFrom)]
    returns = [one for one in nodes if isinstance(one, ast.Return)]
    inner = any(isinstance(one, ast.FunctionDef | ast.Lambda) and one is not view.node for one in nodes)
    plain = all(one.value is not None and isinstance(draft.parent(one), ast.Expr) for one in yields)
    if inner or not plain or any(one.value for one in returns):
        return
    name = draft.free_name("outputs", view.flow.names)
    texted = ast.get_docstring(view.node, clean=False) is not None and len(view.body) > 1
    draft.above(view.body[texted], statements("NAME = []", NAME=name))
    draft.below(view.body[-1], statements("return NAME", NAME=name))
    for one in returns:
        draft.replace(one, statements("return NAME", NAME=name))
    for each in yields:
        text = "NAME.append(GIVEN)" if isinstance(each, ast.Yield) else "NAME.extend(GIVEN)"
        given = cast("ast.expr", each.value)
        draft.replace(cast("ast.stmt", draft.parent(each)), statements(text, NAME=name, GIVEN=given))
    yield Proposal("return a list", draft)


# -- Classes that pytree does not know ---------------------------------------------------------------------------------

_REGISTER = "register the class with pytree"
_BY_PLACE = ("loc", "scale")
_PARAMETERS = {
    "Normal": (_BY_PLACE,), "Laplace": (_BY_PLACE,), "Gumbel": (_BY_PLACE,), "Cauchy": (_BY_PLACE,),
    "Categorical": (("logits",), ("probs",)), "Bernoulli": (("logits",), ("probs",)),
    "OneHotCategorical": (("logits",), ("probs",)), "Beta": (("concentration1", "concentration0"),),
    "Dirichlet": (("concentration",),), "Gamma": (("concentration", "rate"),), "Exponential": (("rate",),),
    "Poisson": (("rate",),), "Uniform": (("low", "high"),), "StudentT": (("df", "loc", "scale"),),
}  # fmt: skip


def _registered(site: Site, view: View) -> Iterator[Proposal]:
    """The classes of what is taken or returned there are registered, under a name for saving."""
    node, module = site.node, site.module
    annotation = node.annotation if isinstance(node, ast.arg) else None
    value = node.value if isinstance(node, ast.Return | ast.Assign) else node if isinstance(node, ast.Call) else None
    parts = list(_parts(value)) if value is not None else []
    values = [one for part in parts for one in _objects(view.value(part))]
    named = [one.name or "" for one in values]
    named += [view.origin(one.func) or "" for one in parts if isinstance(one, ast.Call)]  # also where it never ran
    distributions = [one.rpartition(".")[2] for one in named if one.startswith("torch.distributions.")]
    for name in dict.fromkeys(distributions):
        for parameters in _PARAMETERS.get(name, ()):
            yield from _distribution(site, name, parameters)
    if not isinstance(node, ast.arg | ast.Return):
        return
    draft = site.draft()
    found = [module.classes[name] for name in _words(annotation) if name in module.classes]
    found += [one.cls for one in values if one.cls is not None and one.cls.module is module]
    found += [module.classes[name] for name in _made_there(view, parts) if name in module.classes]
    done = [
        cls for cls in dict.fromkeys(inner for one in found for inner in _with_fields(one)) if _register(draft, cls)
    ]
    factories = [one.func.id for one in parts if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    done += [name for name in factories if _register_factory(draft, module, name)]  # type: ignore[misc] # counted only
    if any(one.name in {"types.SimpleNamespace", "argparse.Namespace"} for one in values):
        text = _node("types.SimpleNamespace", '"types.SimpleNamespace"', "vars(value).values()", "vars(value)",
                     "types.SimpleNamespace(**dict(zip(keys, values, strict=True)))")  # fmt: skip
        if _at_top(draft, text, "types.SimpleNamespace"):
            draft.add_import("types")
            yield Proposal(_REGISTER, draft)
    if done:
        yield Proposal(_REGISTER, draft)


_CONSTANTS = frozenset({"int", "float", "bool", "str"})


def _registered_class(site: Site) -> Iterator[Proposal]:
    """The class of an object that is given to an export, and those of the records that it holds, each below its
    definition: also in another file of the project. At an expression of a sample, or at the definition itself.

    Of a class that is no record it has to be plain which attributes it is made of.
    """
    found = [cls for cls in site.module.classes.values() if cls.node is site.node and not cls.is_module]
    parts = (one for call in site.belief.exports for one in given_parts(site.module, call))
    given = [one for node, value in parts if node is site.node for one in _objects(value) if one.cls is not None]
    found += [one.cls for one in given if one.cls is not None]
    found = [cls for cls in found if cls.is_record or _plain_fields(cls) or "builtins.dict" in cls.foreign_bases]
    homes = {cls.module.path: cls.module for cls in found}
    if len(homes) != 1:  # a rewrite edits one file
        return
    (home,) = homes.values()
    draft = Draft(home)
    classes = dict.fromkeys(inner for one in found for inner in _with_fields(one))
    done = [cls for cls in classes if cls.module is home and cls.node in home.tree.body and _register(draft, cls)]
    if done:
        yield Proposal(f"{_REGISTER}{_of_constants(done, given)}", draft)


def _of_constants(classes: Sequence[ClassInfo], given: Sequence[Value]) -> str:
    """What becomes of numbers and words, which no program takes: `torch.export` makes constants of them, and guards
    that the program is given the same."""
    fields = [one for cls in classes if cls.is_record for one in cls.node.body if isinstance(one, ast.AnnAssign)]
    names = [ast.unparse(one.target) for one in fields if ast.unparse(one.annotation) in _CONSTANTS]
    names += [name for one in given for name, value in one.fields if value.kind is Kind.SCALAR]
    told = " and ".join(f"`{name}`" for name in dict.fromkeys(names))
    constant = "becomes a constant" if len(set(names)) == 1 else "become constants"
    return f" ({told} {constant} of the program, which refuses an object with others)" if told else ""


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that one `return` gives, with tuples, lists and dicts taken apart."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            for part in parts:
                yield from _parts(part)
        case _:
            yield node


def _made_there(view: View, parts: Sequence[ast.expr]) -> Iterator[str]:
    """Where the engine does not know what it is: `Report(…)`, `Report.of(…)`, and `cls(…)` in a class method."""
    first = view.flow.parameters[0] if view.flow.parameters else None
    for one in parts:
        path = path_of(one.func) if isinstance(one, ast.Call) else None
        root = (path or "").partition(".")[0]
        cls = view.module.classes.get(root)
        if root == first and view.cls is not None and not view.cls.is_module and path == root:
            yield view.cls.name
        elif cls is not None and not cls.is_module:
            yield root


def _objects(value: Value) -> Iterator[Value]:
    if value.kind is Kind.INSTANCE:
        yield value
    if value.kind is Kind.CONTAINER:
        for part in (value.element, *(value.items or ()), *(part for _, part in value.fields)):
            if part is not None:
                yield from _objects(part)


def _words(annotation: ast.AST | None) -> list[str]:
    return re.findall(r"\w+", ast.unparse(annotation)) if annotation is not None else []


def _with_fields(cls: ClassInfo, seen: frozenset[str] = frozenset()) -> Iterator[ClassInfo]:
    """The class, and the records that its fields are annotated with."""
    if cls.name in seen:
        return
    yield cls
    annotations = (one.annotation for one in cls.node.body if isinstance(one, ast.AnnAssign))
    for name in (name for one in annotations for name in _words(one)) if cls.is_record else ():
        known = cls.module.classes.get(name)
        if known is not None and known.is_record:
            yield from _with_fields(known, seen | {cls.name})


def _register(draft: Draft, cls: ClassInfo) -> bool:
    """Below its definition; where it is registered without a name for saving, with one."""
    known = f'"{cls.module.name}.{cls.name}"'
    calls = [
        one
        for one in walked(draft.tree)
        if isinstance(one, ast.Call)
        and one.args
        and path_of(one.args[0]) == cls.name
        and "register_" in ast.unparse(one.func)
    ]
    for call in calls:
        if not any(one.arg == "serialized_type_name" for one in call.keywords):
            if ast.unparse(call.func).endswith("register_constant"):  # which takes no name
                text = _registration(cls, known) if cls.is_record else None
                if text is not None:
                    draft.swap(call, expression(text))
                return text is not None
            word = ast.keyword("serialized_type_name", ast.Constant(f"{cls.module.name}.{cls.name}"))
            draft.swap(call, changed_copy(call, keywords=[*call.keywords, word]))
            return True
    text = _registration(cls, known) if not calls else None
    if text is not None and cls.node in draft.tree.body:
        draft.below(cls.node, statements(text))
    return text is not None


def _registration(cls: ClassInfo, known: str) -> str | None:
    """The call for a class; None where it is not plain how its objects are made."""
    if any(base.rpartition(".")[2] == "NamedTuple" for base in cls.base_names):
        return f"torch.utils._pytree._register_namedtuple({cls.name}, serialized_type_name={known})"
    if cls.is_record:
        return f"torch.export.register_dataclass({cls.name}, serialized_type_name={known})"
    if any(base in {"builtins.dict", "collections.OrderedDict"} for base in cls.foreign_bases):
        made = f"{cls.name}(zip(keys, values, strict=True))"
        return None if cls.method("__init__") else _node(cls.name, known, "value.values()", "value", made)
    fields = _plain_fields(cls)
    values, names = ", ".join(f"value.{one}" for one in fields), repr(list(fields))
    if fields:
        return _node(cls.name, known, f"[{values}]", names, f"{cls.name}(*values)")
    if cls.foreign_bases or any(_has_slots(one) for one in cls.lineage):
        return None
    made = f"_{snake_case(cls.name)}_of"
    return (
        f"def {made}(keys, values):\n    made = {cls.name}.__new__({cls.name})\n"
        "    vars(made).update(zip(keys, values))\n    return made\n"
        + _node(cls.name, known, "vars(value).values()", "vars(value)", f"{made}(keys, values)")
    )


def _has_slots(cls: ClassInfo) -> bool:
    return any(isinstance(one, ast.Assign) and path_of(one.targets[0]) == "__slots__" for one in cls.node.body)


def _node(name: str, known: str, values: str, keys: str, made: str) -> str:
    """Of a class whose objects hold values under keys; the texts are expressions of `value`, `keys` and `values`."""
    pairs = f"list(zip(map(torch.utils._pytree.MappingKey, {keys}), {values}, strict=True))"
    values, keys = (one if one.startswith("[") else f"list({one})" for one in (values, keys))
    return (
        f"torch.utils._pytree.register_pytree_node({name}, lambda value: ({values}, {keys}), "
        f"lambda values, keys: {made}, serialized_type_name={known}, "
        f"flatten_with_keys_fn=lambda value: ({pairs}, {keys}))"
    )


def _plain_fields(cls: ClassInfo) -> Sequence[str]:
    """The attributes in the order of the parameters of `__init__`, where they hold what it was given."""
    init = cls.method("__init__")
    given = init.node.args if init is not None else None
    if (
        init is None
        or isinstance(init.node, ast.Lambda)
        or given is None
        or given.vararg
        or given.kwarg
        or given.kwonlyargs
    ):
        return ()
    fields: dict[str, str] = {}
    for statement in init.node.body:
        match statement:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=field)], value=ast.Name(id=name)):
                fields[name] = field
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=field), value=ast.Name(id=name)):
                fields[name] = field
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=held)):
                paths = zip(map(path_of, targets), held, strict=False)
                fields |= {one.id: (path or "").partition(".")[2] for path, one in paths if isinstance(one, ast.Name)}
    stored = Counter(path for one in walked(init.node) if isinstance(one, ast.stmt) for path in defined(one))
    parameters = init.parameters[1:]
    once = all(stored[f"self.{field}"] == 1 for field in fields.values()) and not any(stored[one] for one in parameters)
    return [fields[name] for name in parameters] if fields.keys() == {*parameters} and once else ()


def _register_factory(draft: Draft, module: ModuleInfo, name: str) -> bool:
    """Of `Pair = collections.namedtuple("Pair", …)`."""
    for one in draft.tree.body:
        match one:
            case ast.Assign(targets=[ast.Name(id=found)], value=ast.Call(func=func)) if found == name:
                if (path_of(func) or "").rpartition(".")[2] == "namedtuple":
                    text = (
                        f'torch.utils._pytree._register_namedtuple({name}, serialized_type_name="{module.name}.{name}")'
                    )
                    draft.below(one, statements(text))
                    return True
    return False


def _distribution(site: Site, name: str, parameters: Sequence[str]) -> Iterator[Proposal]:
    whole, draft = f"torch.distributions.{name}", site.draft()
    values = ", ".join(f"value.{one}" for one in parameters)
    made = f"{whole}(**dict(zip(keys, values)), validate_args=False)"
    text = _node(whole, f'"{whole}"', f"[{values}]", repr(list(parameters)), made)
    guarded = f"if {whole} not in torch.utils._pytree.SUPPORTED_NODES:\n    {text}"
    if _at_top(draft, guarded, whole):
        yield Proposal(f"{_REGISTER} by its {' and '.join(parameters)}", draft)


def _at_top(draft: Draft, text: str, name: str) -> bool:
    """Below the imports, where the file does not register it yet."""
    if re.search(rf"register_pytree_node\(\s*{re.escape(name)}\b", draft.text):
        return False
    body = draft.tree.body
    imports = [place for place, one in enumerate(body) if isinstance(one, ast.Import | ast.ImportFrom)]
    if not imports or imports[-1] + 1 >= len(body):
        return False
    draft.above(body[imports[-1] + 1], statements(text))
    return True


# -- What is exported --------------------------------------------------------------------------------------------------

_WRAPPED = "export a small module whose forward calls it"
_MOST = 8  # tensors that are written out


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    if any(isinstance(one, ast.Starred) for one in call.args[: place + 1]):
        return None
    if len(call.args) > place:
        return call.args[place]
    return next((one.value for one in call.keywords if one.arg == name), None)


def _exported_module(site: Site, call: ast.Call) -> Iterator[Proposal]:
    target = _argument(call, 0, "mod")
    if target is not None:
        yield from _as_module(_scope(site, call), target)


def _made_module(site: Site) -> Iterator[Proposal]:
    """What a function of the file returns, which makes what is exported."""
    if isinstance(site.node, ast.FunctionDef) and site.view is not None and site.view.cls is None:
        place = Place(site, site.node, site.view, site.draft())
        returns = (one for one in walked(site.node) if isinstance(one, ast.Return) and one.value is not None)
        given = [one.value for one in returns if around(place.draft, one) is site.node]
        if len(given) == 1:
            yield from _as_module(place, cast("ast.expr", given[0]))


_INPUTS = re.compile(r"(inputs?|args)$")
_NAMED_INPUTS = re.compile(r"kwargs$")
_LAZY = re.compile(r"torch\.nn\.([\w.]*\.)?Lazy[A-Z]\w*")


def _run_once(site: Site) -> Iterator[Proposal]:
    """Layers that get their weights from the first input are run once, on the example, where the model is made."""
    if not _is_lazy(site):
        return
    draft = site.draft()
    makers = [one for one in draft.tree.body if isinstance(one, ast.FunctionDef) and not one.args.args]
    inputs = [one.name for one in makers if _INPUTS.search(one.name) and not _NAMED_INPUTS.search(one.name)]
    named = [one.name for one in makers if _NAMED_INPUTS.search(one.name)]
    for maker in makers:
        place = Place(site, maker, None, draft)
        match maker.body[-1]:
            case ast.Return(value=ast.expr() as made) as last if _makes_module(place, made) and inputs:
                given = f"*{inputs[0]}(){f', **{named[0]}()' if named else ''}"
                name = made.id if isinstance(made, ast.Name) else place.draft.free_name("model")
                lines = statements(f"with torch.no_grad():\n    MODEL({given})\nreturn MODEL", MODEL=name)
                begun = [] if isinstance(made, ast.Name) else statements("MODEL = MADE", MODEL=name, MADE=made)
                draft.replace(last, [*begun, lines[0], stands_for(lines[1], last)])
                yield Proposal("run it once on the example, which gives its lazy layers their weights", draft)
                return


def _makes_module(place: Place, node: ast.expr) -> bool:
    cls = _class_of(place, node)
    return cls is not None and cls.is_module


def _is_lazy(site: Site) -> bool:
    """Is it a layer of torch's that is lazy, or the model of a file that has one?"""
    if not site.module.parsed.mentions(["Lazy"]):
        return False
    origins = {name for one in walked(site.module.tree) if isinstance(one, ast.Name | ast.Attribute)
               and _LAZY.fullmatch(name := site.module.dotted(one) or "")}  # fmt: skip
    made = site.module.dotted(site.node.func) if isinstance(site.node, ast.Call) else None
    return made in origins if made is not None else bool(origins) and isinstance(site.node, ast.ClassDef)


def _as_module(place: Place, target: ast.expr) -> Iterator[Proposal]:
    """A small module around what is no module, or the module that it was made of."""
    origin = place.value_of(target)
    draft = place.draft
    match origin:
        case ast.Attribute(value=owner, attr="forward" | "__call__"):
            draft.swap(origin, owner)
            yield Proposal("export the module itself", draft)
        case ast.Attribute(value=owner, attr=name) if _is_object(place, owner):
            yield from _wrapped_method(place, target, origin, owner, name)
        case ast.Call(func=func, args=[inner, *values], keywords=words) if _is_partial(place, func):
            method = place.value_of(inner)
            if isinstance(method, ast.Attribute) and _is_object(place, method.value):
                yield from _wrapped_method(place, target, method, method.value, method.attr, values, words)
            else:
                yield from _wrapped_function(place, target, method, inner, values, words)
        case ast.Call(func=func) if place.origin(func) in TORCH_EXPORT | {"torch.export.load"}:
            draft.swap(target, expression("PROGRAM.module()", PROGRAM=target))
            yield Proposal("export its module", draft)
        case ast.Call(func=ast.Attribute(value=owner, attr="state_dict")):
            draft.swap(target, owner)
            yield Proposal("export the model", draft)
        case ast.Call(func=func, args=[model, *_]) if place.origin(func) in {
            "torch.jit.script", "torch.jit.trace", "torch.jit.freeze",
        }:  # fmt: skip
            draft.swap(origin, model)
            yield Proposal("export the eager module", draft)
        case ast.Call(func=func, args=[model, *_]) if place.origin(func) == "torch.compile":
            if not _is_module(place, model):
                yield from _wrapped_function(place, target, origin, model)
        case _ if isinstance(origin, ast.Name | ast.Lambda | ast.Call | ast.Attribute):
            if _class_named(place, origin) is not None:
                draft.swap(target, expression("MODEL()", MODEL=target))
                yield Proposal("make an instance", draft)
            elif not _is_module(place, origin):
                yield from _wrapped_function(place, target, origin, target)


def _is_partial(place: Place, func: ast.expr) -> bool:
    return place.origin(func) == "functools.partial"


def _scope(site: Site, node: ast.AST) -> Place:
    """The innermost function around it; names that it does not set are those of the file."""
    draft = site.draft()
    return Place(site, around(draft, node), site.view, draft)


def _class_named(place: Place, node: ast.expr) -> ClassInfo | None:
    return place.site.module.classes.get(node.id) if isinstance(node, ast.Name) else None


def _class_of(place: Place, node: ast.expr) -> ClassInfo | None:
    """Of the instance that an expression is, where the code says so."""
    made = place.value_of(node)
    if path_of(made) == "self":
        inside = (one for one in place.site.module.classes.values() if any(n is node for n in walked(one.node)))
        return next(inside, None)
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        made = place.value_of(made.func.value)
    return _class_named(place, made.func) if isinstance(made, ast.Call) else None


def _is_object(place: Place, owner: ast.expr) -> bool:
    """Something that has methods, and no module of Python."""
    return place.origin(owner) is None or _class_of(place, owner) is not None


def _is_module(place: Place, node: ast.expr) -> bool:
    """Does it look like a model, as far as can be seen? What nobody knows is taken for one."""
    made = place.value_of(node)
    cls = _class_of(place, made)
    if cls is not None:
        return cls.is_module
    name = place.origin(made.func) if isinstance(made, ast.Call) else place.origin(made)
    inner = (one.name for one in walked(place.node) if isinstance(one, ast.FunctionDef))
    if isinstance(made, ast.Lambda) or path_of(made) in {*place.site.module.functions, *inner}:
        return False
    if name is not None and (name == "functools.partial" or name in {"torch.vmap", "torch.func.vmap"}):
        return False
    is_torchs_function = not isinstance(made, ast.Call) and name is not None and name.startswith("torch.")
    return not is_torchs_function or (name or "").rpartition(".")[2][:1].isupper()


def _wrapped_method(
    place: Place,
    target: ast.expr,
    origin: ast.expr,
    owner: ast.expr,
    name: str,
    values: Sequence[ast.expr] = (),
    words: Sequence[ast.keyword] = (),
) -> Iterator[Proposal]:
    cls = _class_of(place, owner)
    spoken = cls.name if cls else owner.id if isinstance(owner, ast.Name) and owner.id != "self" else "owner"
    part = snake_case(spoken)
    held = _modules_of(cls) if cls and not cls.is_module else []
    wrapper = _Wrapper(_in_capitals(f"{part}_{name}"), {part: owner}, held)
    if wrapper.calls(f"self.{part}.{name}", cls.method(name) if cls else None, values, words, is_method=True):
        # Where the method's owner is made on the spot, it is to be made once.
        where = target if isinstance(owner, ast.Name | ast.Attribute) else origin
        where = place.value_of(target) if values or words else where
        yield from wrapper.proposed(place, where)


def _wrapped_function(
    place: Place,
    target: ast.expr,
    origin: ast.expr,
    inner: ast.expr,
    values: Sequence[ast.expr] = (),
    words: Sequence[ast.keyword] = (),
) -> Iterator[Proposal]:
    known = place.site.module.functions.get(path_of(inner) or path_of(origin) or "")
    cls = _class_of(place, origin)
    method = cls.method("__call__") if cls else None
    if cls is not None and method is None:
        return
    named = f"{cls.name}Module" if cls else _in_capitals(known.name) if known else "Exported"
    part = "function" if cls is None else "owner"
    wrapper = _Wrapper(named, {part: inner, **_closed_over(place, origin)}, _modules_of(cls) if cls else ())
    if wrapper.calls(f"self.{part}", method or known, values, words, is_method=cls is not None):
        yield from wrapper.proposed(place, place.value_of(target) if values or words else target)


def _closed_over(place: Place, function: ast.expr) -> dict[str, ast.expr]:
    """The models that a function reads of the one around it, in which it is made."""
    inner = (one for one in walked(place.node) if isinstance(one, ast.FunctionDef) and one is not place.node)
    made = next((one for one in inner if one.name == path_of(function)), function)
    if not isinstance(made, ast.Lambda | ast.FunctionDef) or isinstance(place.node, ast.Module):
        return {}
    names = [one for one in walked(made) if isinstance(one, ast.Name)]
    calls = {one.id: one for one in names if isinstance(place.value_of(one), ast.Call)}
    return {name: one for name, one in calls.items() if _is_module(place, one)}


@dataclass
class _Wrapper:
    """A class of modules: `kept` are attributes and what they are made with, `held` those attributes of the first one
    which are modules; forward calls it."""

    name: str
    kept: dict[str, ast.expr]
    held: Sequence[str]
    forward: str = ""

    def calls(
        self,
        called: str,
        function: FunctionInfo | None,
        values: Sequence[ast.expr],
        words: Sequence[ast.keyword],
        *,
        is_method: bool,
    ) -> bool:
        """With the parameters that are not bound to values; of a function that is not known, with all that come."""
        parameters = _parameters(function, method=is_method)
        bound = {**dict(zip(parameters, values, strict=False)), **{one.arg or "": one.value for one in words}}
        if not parameters and values:  # of what it takes, nobody knows the names
            first = [ast.unparse(one) for one in values if all(isinstance(part, _PLAIN) for part in walked(one))]
            self.forward = (
                f"    def forward(self, *args, **kwargs):\n        return {called}({', '.join(first)}, *args, **kwargs)"
            )
            return len(first) == len(values) and not words
        if len(values) > len(parameters) or "" in bound or not (parameters or bound.keys().isdisjoint(self.kept)):
            return False
        texts = {name: self._text_of(name, value) for name, value in bound.items()}
        free = {name: default for name, default in parameters.items() if name not in bound}
        given, by_name = list[str](), False
        for name in parameters:
            by_name = by_name or (name in bound and name in {one.arg for one in words})
            given.append(f"{name}={texts.get(name, name)}" if by_name else texts.get(name, name))
        if not parameters:
            free, given = {"*args": "", "**kwargs": ""}, ["*args", *(f"{n}={t}" for n, t in texts.items()), "**kwargs"]
        heads = ", ".join(name + default for name, default in free.items())
        self.forward = f"    def forward(self, {heads}):\n        return {called}({', '.join(given)})"
        return True

    def _text_of(self, name: str, value: ast.expr) -> str:
        """Of a value that is bound: constants are written down, anything else is kept."""
        if all(isinstance(one, _PLAIN) for one in walked(value)):
            return ast.unparse(value)
        self.kept[name] = value
        return f"self.{name}"

    def proposed(self, place: Place, where: ast.expr) -> Iterator[Proposal]:
        """In eval mode where what it holds is."""
        made, (first, *_) = place.draft.free_name(self.name), self.kept
        lines = [f"self.{one} = {one}" for one in self.kept]
        lines += [f"self.{one} = {first}.{one}" for one in self.held if one != first]
        text = (
            f"class {made}(torch.nn.Module):\n    def __init__(self, {', '.join(self.kept)}):\n"
            + "".join(f"        {one}\n" for one in ("super().__init__()", *lines))
            + f"\n{self.forward}"
        )
        if _at_top(place.draft, text, made):
            new = ast.Call(ast.Name(made, ast.Load()), list(self.kept.values()), [])
            in_eval = any(_is_in_eval_mode(place, one) for one in self.kept.values())
            place.draft.swap(where, expression("NEW.eval()", NEW=new) if in_eval else new)
            yield Proposal(_WRAPPED, place.draft)


def _is_in_eval_mode(place: Place, node: ast.expr) -> bool:
    """`Net().eval()`, also under a name."""
    made = place.value_of(node)
    return isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr == "eval"


_PLAIN = (ast.Constant, ast.UnaryOp, ast.USub, ast.Tuple, ast.Load)


def _parameters(function: FunctionInfo | None, *, method: bool) -> dict[str, str]:
    """Without `self`, with what is written behind each (`=None`); none where the function is not known."""
    if function is None or function.node.args.vararg or function.node.args.kwonlyargs or function.node.args.kwarg:
        return {}
    names = list(function.parameters)
    defaults = dict(zip(reversed(names), reversed(function.node.args.defaults), strict=False))
    if any(not isinstance(inner, _PLAIN) for one in defaults.values() for inner in walked(one)):
        return {}
    own = names[1:] if method and "builtins.staticmethod" not in function.decorators else names
    return {name: f"={ast.unparse(defaults[name])}" if name in defaults else "" for name in own}


_OF_CONTAINERS = CONTAINER_METHODS | {"get", "items", "keys", "values", "index", "count", "copy"}  # no module's


def _modules_of(cls: ClassInfo) -> list[str]:
    """The attributes that its constructors set and its methods call; of what somebody gave it, also those of which they
    call a method or a part (`self.model.encoder(x)`)."""
    nodes = [node for one in cls.lineage for node in walked(one.node)]
    stored = {path for one in nodes if isinstance(one, ast.stmt) for path in defined(one)}
    given = {path for one in nodes for path in _taken_over(one)}
    found = list[str]()
    for one in nodes:
        owner, _, attribute = (path_of(one.func) or "").partition(".") if isinstance(one, ast.Call) else ("", "", "")
        name, _, part = attribute.partition(".")
        is_called = f"{owner}.{name}" in (given if part else stored) and part not in _OF_CONTAINERS
        if is_called and cls.method(name) is None and name not in found:
            found.append(name)
    return found


def _taken_over(function: ast.AST) -> Iterator[str]:
    """`self.net` of a constructor's `self.net = net`, where `net` is a parameter of it."""
    if isinstance(function, ast.FunctionDef) and function.name == "__init__":
        parameters = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)}
        for one in walked(function):
            match one:
                case ast.Assign(value=ast.Name(id=name)) | ast.AnnAssign(value=ast.Name(id=name)) if name in parameters:
                    yield from defined(one)


def _in_capitals(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_") if part) or "Exported"


def _own_samples(site: Site, call: ast.Call) -> Iterator[Proposal]:
    """Every input of the sample is a tensor of its own: what stands there twice is cloned."""
    place = _scope(site, call)
    given = [one for one in (_argument(call, 1, "args"), _argument(call, 2, "kwargs")) if one is not None]
    for one in map(place.value_of, given):
        if isinstance(one, ast.BinOp):
            yield from _repeated_sample(site, site.draft(), one)
    seen, found = set[int](), False
    for leaf in (leaf for whole in given for leaf in _parts(place.value_of(whole))):
        known = place.value_of(leaf)
        if isinstance(leaf, ast.Name) and isinstance(known, ast.Call | ast.Name) and _identity(known) in seen:
            place.draft.swap(leaf, expression("SAMPLE.clone()", SAMPLE=leaf))
            found = True
        seen.add(_identity(known))
    if found:
        yield Proposal("clone the second one", place.draft)


def _identity(node: ast.expr) -> int:
    return hash(node.id) if isinstance(node, ast.Name) else id(node)


def _repeated_sample(site: Site, draft: Draft, node: ast.AST) -> Iterator[Proposal]:
    """`(x, x.clone())` for `(x,) * 2`; of `(x, x)`, where that is reported by itself, too."""
    match node:
        case ast.BinOp(
            left=ast.Tuple(elts=parts) | ast.List(elts=parts) as left,
            op=ast.Mult(),
            right=ast.Constant(value=int() as n),
        ):
            if 1 < n <= _MOST and all(isinstance(one, ast.Name) for one in parts):
                clones = [expression("SAMPLE.clone()", SAMPLE=one) for _ in range(1, n) for one in parts]
                draft.swap(node, type(left)([*parts, *clones], ast.Load()))
                yield Proposal("clone the second one", draft)
        case ast.Name() if site.view is None or not site.view.value(node).is_data:
            above = draft.parent(node)
            if isinstance(above, ast.Tuple | ast.List) and [path_of(one) for one in above.elts].count(node.id) > 1:
                draft.swap(above.elts[-1] if above.elts[0] is node else node, expression("X.clone()", X=node))
                yield Proposal("clone the second one", draft)


# -- Definitions -------------------------------------------------------------------------------------------------------

_TENSOR = re.compile(r"(\w*\.)*Tensor")
_READS = frozenset({"numpy", "item", "tolist", "data_ptr", "cpu", "from_numpy", "synchronize"})


def _fake_kernel(site: Site) -> Iterator[Proposal]:
    """Below an operator of one's own: what it computes, where torch computes it, or a tensor like the first one."""
    draft, node = site.draft(), site.node
    function = node if isinstance(node, ast.FunctionDef) else draft.parent(node)
    if isinstance(function, ast.FunctionDef) and any(
        "custom_op" in ast.unparse(one) for one in function.decorator_list
    ):
        yield from _fake_of_function(site, function)
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == "define":
        yield from _fake_of_schema(site, node)


def _fake_of_function(site: Site, function: ast.FunctionDef) -> Iterator[Proposal]:
    given = ast.parse(f"def f({ast.unparse(function.args)}): ...").body[0]
    for one in walked(cast("ast.FunctionDef", given).args):
        if isinstance(one, ast.arg):
            one.annotation = None
    head = (
        f"@{function.name}.register_fake\ndef _({ast.unparse(cast('ast.FunctionDef', given).args)}):\n    return RESULT"
    )
    body = [one for one in function.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    match body:
        case [ast.Return(value=ast.expr() as value)] if not _looks_at_values(value):
            draft = site.draft()
            draft.below(function, statements(head, RESULT=value))
            yield Proposal("register a fake kernel that computes the same", draft)
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    tensors = [one.arg for one in arguments if one.annotation and _TENSOR.fullmatch(ast.unparse(one.annotation))]
    if tensors and function.returns and _TENSOR.fullmatch(ast.unparse(function.returns)):
        draft = site.draft()
        draft.below(function, statements(head, RESULT=expression("torch.empty_like(X)", X=tensors[0])))
        yield Proposal("register a fake kernel that gives a tensor like the first one", draft)


def _looks_at_values(node: ast.expr) -> bool:
    """Or uses something that is not torch's?"""
    calls = [one.func for one in walked(node) if isinstance(one, ast.Call)]
    roots = {(path_of(one) or "").partition(".")[0] for one in calls}
    names = {one.attr for one in walked(node) if isinstance(one, ast.Attribute)}
    plain = any(isinstance(one, ast.Name) for one in calls)
    return bool(names & _READS) or plain or bool(roots & {"np", "numpy", "math", "scipy", "ctypes"})


def _fake_of_schema(site: Site, node: ast.Call) -> Iterator[Proposal]:
    texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    found = re.fullmatch(r"\s*([\w:]+)(?:\.\w+)?\s*\((.*)\)\s*->\s*Tensor\s*", "".join(texts[:2]), re.DOTALL)
    draft = site.draft()
    line = draft.parent(node)
    name = _whole_name(site.module, node, found[1]) if found else None
    if found is None or name is None or not isinstance(line, ast.Expr):
        return
    parts = [one.strip() for one in found[2].split(",") if one.strip() not in {"", "*"}]
    names = [one.split("=")[0].split()[-1] for one in parts]
    tensors = [one.split()[-1] for one in parts if re.match(r"Tensor(\(\w+!?\))?\s+\w+", one)]
    if tensors:
        head = f'@torch.library.register_fake("{name}")\ndef _({", ".join(names)}):\n'
        draft.below(line, statements(f"{head}    return torch.empty_like({tensors[0]})"))
        yield Proposal("register a fake kernel that gives a tensor like the first one", draft)


def _whole_name(module: ModuleInfo, node: ast.Call, op: str) -> str | None:
    """With the namespace of the library that it is defined in."""
    owner = path_of(node.func.value) if isinstance(node.func, ast.Attribute) else None
    match module.assignments.get(owner or ""):
        case ast.Call(args=[ast.Constant(value=str() as namespace), *_]) if "::" not in op:
            return f"{namespace}::{op}"
    return op if "::" in op else None


# Found by exporting a model with a layer of each name that torch.fx's GraphModule has and torch.nn.Module has not.
_RESERVED = frozenset({
    "code", "graph", "meta", "shape_env", "recompile", "print_readable", "to_folder", "_graph", "_code",
    "add_submodule", "delete_submodule", "delete_all_unused_submodules",
})  # fmt: skip
_BY_TEXT = frozenset({"register_buffer", "register_parameter", "add_module", "getattr", "setattr", "hasattr"})


def _renamed_attribute(site: Site) -> Iterator[Proposal]:
    """A layer or tensor whose name every exported graph needs for itself, called otherwise wherever its class speaks
    of it."""
    match site.node:
        case ast.Assign(targets=[ast.Attribute(attr=name), *_], value=value):
            ending = "weight" if "Parameter" in ast.unparse(value) else "layer"
            ending = "layers" if re.search(r"\b(ModuleList|ModuleDict|Sequential)\b", ast.unparse(value)) else ending
        case ast.AnnAssign(target=ast.Attribute(attr=name)):
            ending = "weight"
        case ast.Call(func=ast.Attribute(attr=method), args=[ast.Constant(value=str() as name), *_]):
            ending = {"register_buffer": "buffer", "register_parameter": "weight"}.get(method, "layer")
        case _:
            return
    draft = site.draft()
    classes = (one.node for one in site.module.classes.values())
    cls = next((one for one in classes if any(inner is site.node for inner in walked(one))), None)
    new = f"{name.strip('_')}_{ending}"
    if name not in _RESERVED or cls is None:
        return
    attributes = [one for one in walked(cls) if isinstance(one, ast.Attribute)]
    others = any(one.attr == name and path_of(one.value) != "self" for one in attributes)  # it may be this one
    if others or any(one.attr == new for one in attributes):
        return
    for one in walked(cls):
        match one:
            case ast.Attribute(attr=attr, value=owner) if attr == name:
                draft.swap(one, ast.Attribute(owner, new, one.ctx))
            case ast.Call(func=func, args=args) if getattr(func, "attr", getattr(func, "id", "")) in _BY_TEXT:
                for arg in args[:2]:
                    if isinstance(arg, ast.Constant) and arg.value == name:
                        draft.swap(arg, ast.Constant(new))
    yield Proposal(f"call it `{new}` (a state dict that was saved before needs the new key)", draft)
