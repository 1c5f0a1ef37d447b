"""What each call makes, asks or draws anew, and need not: it moves to `__init__`, or becomes a draw of torch's.

What reads nothing that the call is given is the same in every call, or was meant to be: a question for the machine, a
setting of the environment, the content of a file, a layer that the first call builds. Python's and NumPy's random
numbers are drawn while torch traces, and never again; those of torch are a part of the program.
"""

from __future__ import annotations

import ast
import builtins
import re
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, cast

from exportlint.engine.flow.def_use import defined, path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind, Scalar
from exportlint.rewrite.draft import changed_copy, expression, statements
from exportlint.rewrite.draws import drawn_by_torch
from exportlint.rewrite.state_homes import rebuilt
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View


class MadeOnce:
    """A draw becomes torch's; else a guard, a block that reads a file, or the expression moves to `__init__`."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if isinstance(site.node, ast.Expr):
            site = replace(site, node=site.node.value)
        if site.view is None:
            raise CannotError("it stands in no function")
        yield from drawn_by_torch(site, site.view)
        if site.view.cls is None:
            raise CannotError("it stands in no method")
        if site.view.function.parameters[:1] != ("self",):
            return
        yield from _draw_in_init(site, site.view)
        if site.view.cls.is_module:
            yield from _guard_in_init(site, site.view)
            yield from _file_in_init(site, site.view)
            yield from _expression_in_init(site, site.view)


# -- To `__init__` -----------------------------------------------------------------------------------------------------

_CONVERTING = frozenset({"float", "int", "bool", "str", "lower", "upper", "strip", "split", "load", "loads", "len"})
# What tells one call, one process or one object from another means something else when it is asked once.
_OF_THE_MOMENT = re.compile(
    r"time\.|datetime\.|(\w+\.)?uuid\d|os\.getp?pid|builtins\.(next|id|hash|open)$|(numpy\.)?random\.|torch\.(nn\.Parameter|Generator)"
    r"|torch\.cuda\.(\w+\.)?(max_)?mem"
)


def _expression_in_init(site: Site, view: View) -> Iterator[Proposal]:
    """The expression, with the conversions around it, is asked in `__init__` and read here."""
    draft = site.draft()
    above = draft.parent(site.node)
    if isinstance(above, ast.Call) and above.func is site.node:
        site = replace(site, node=above)
    compared = draft.parent(site.node)
    if isinstance(compared, ast.Compare) and _compares_addresses(view, compared):
        if _is_free(view, compared):
            name = _attribute(view, "is_same" if isinstance(compared.ops[0], ast.Eq) else "is_other")
            draft.in_init(_class(view), statements(f"self.{name} = VALUE", VALUE=changed_copy(compared)))
            draft.swap(compared, expression(f"self.{name}"))
            yield Proposal("ask it once, in `__init__`", draft)
        return
    if not isinstance(site.node, ast.Call | ast.Attribute | ast.Subscript | ast.Compare) or not _is_free(
        view, site.node
    ):
        return
    node: ast.expr = site.node
    while (wider := _around(draft, node)) is not None and _is_free(view, wider):
        node = wider
    asked = (view.origin(one) or "" for one in walked(node) if isinstance(one, ast.Name | ast.Attribute))
    if any(map(_OF_THE_MOMENT.match, asked)) or not all(_is_of_library(view, one) for one in walked(node)):
        return
    name = _attribute(view, _spoken(view, node))
    kept = f"self.register_buffer({name!r}, VALUE, persistent=False)" if view.is_data(node) else f"self.{name} = VALUE"
    # A copy: what stands here is replaced, wherever it stands.
    draft.in_init(_class(view), statements(kept, VALUE=changed_copy(node)))
    draft.swap(node, expression(f"self.{name}"))
    yield Proposal("do it once, in `__init__`", draft)


def _compares_addresses(view: View, node: ast.Compare) -> bool:
    """Of two objects that the module has: `self.a.weight.data_ptr() == self.b.weight.data_ptr()`."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
        return False
    for one in (node.left, *node.comparators):
        match one:
            case ast.Call(func=ast.Attribute(value=held, attr="data_ptr"), args=[]):
                pass
            case ast.Call(func=ast.Name(id="id") as asked, args=[held]) if view.origin(asked) == "builtins.id":
                pass
            case _:
                return False
        if not (path_of(held) or "").startswith("self."):
            return False
    return True


def _is_of_library(view: View, node: ast.AST) -> bool:
    """No call of the project's own, nor a method of an object that may change with every call."""
    if not isinstance(node, ast.Call):
        return True
    func = node.func
    while isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call):
        func = func.value.func
    if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Subscript):
        return True
    origin = view.origin(func)
    return origin is not None and not origin.startswith(f"{view.module.name}.")


def _around(draft: Draft, node: ast.expr) -> ast.expr | None:
    """What is made of it at once: `float(node)`, `node.lower()`, `node["key"]`."""
    match above := draft.parent(node):
        case ast.Call(func=func) if func is not node and getattr(func, "attr", getattr(func, "id", "")) in _CONVERTING:
            return above
        case ast.Attribute(attr=method) if method in _CONVERTING:
            call = draft.parent(above)
            return call if isinstance(call, ast.Call) and call.func is above else None
        case ast.Subscript(value=value) if value is node:
            return above
    return None


def _is_free(view: View, node: ast.AST, known: Collection[str] = ()) -> bool:
    """Does it read nothing that the call computes or is given, but the file's names and what `__init__` alone sets?"""
    module = view.module
    own = {name for one in walked(node) if isinstance(one, ast.comprehension) for name in defined(one.target)}
    given = set(view.flow.parameters) | {name for names in view.flow.defs.values() for name in names}
    for one in walked(node):
        match one:
            case ast.Attribute(value=ast.Name(id="self"), attr=attribute):
                if not _is_set_in_init_only(view, attribute):
                    return False
            case ast.Name(id=name) if name not in {"self", *own, *known}:
                of_file = name in module.assignments or name in module.functions or name in module.classes
                if name in given or not (of_file or name in module.imports or hasattr(builtins, name)):
                    return False
    return not any(isinstance(one, ast.Name) and one.id == "self" and _is_bare(node, one) for one in walked(node))


def _is_bare(whole: ast.AST, name: ast.Name) -> bool:
    """`self` itself, not an attribute of it."""
    return not any(isinstance(one, ast.Attribute) and one.value is name for one in walked(whole))


def _is_set_in_init_only(view: View, attribute: str) -> bool:
    methods = [one for cls in (view.cls.lineage if view.cls else ()) for one in cls.methods.values()]
    setting = {
        method.name
        for method in methods
        for one in walked(method.node)
        if isinstance(one, ast.Attribute) and one.attr == attribute and isinstance(one.ctx, ast.Store)
    }
    return setting == {"__init__"}


def _spoken(view: View, node: ast.expr) -> str:
    """A name for the answer: of the variable of the environment, else after what is asked."""
    texts = (one.value for one in walked(node) if isinstance(one, ast.Constant) and isinstance(one.value, str))
    text = next((one.lower() for one in texts if re.fullmatch(r"[A-Za-z]\w{2,40}", one)), None)
    origins = [view.origin(one) or "" for one in walked(node) if isinstance(one, ast.Attribute | ast.Name)]
    dotted = next((one for one in origins if one and not one.startswith(("builtins.", view.module.name))), "option")
    if dotted.startswith(("os.environ", "os.getenv")):
        return text or "setting"
    words = [word for word in dotted.split(".")[-2:] if word not in {"torch", "backends", "nn", "os", "sys"}]
    return "_".join(words).lower().removeprefix("is_").strip("_") or "option"


def _attribute(view: View, wanted: str, others: Collection[str] = ()) -> str:
    """The name where the class has no such attribute or method, else with a number behind it."""
    nodes = [node for cls in (view.cls.lineage if view.cls else ()) for node in walked(cls.node)]
    taken = {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
             and node.value.id == "self"} | {getattr(node, "name", None) for node in nodes} | {*others}  # fmt: skip
    return next(one for one in chain([wanted], (f"{wanted}_{number}" for number in count(2))) if one not in taken)


def _class(view: View) -> ast.ClassDef:
    return _cls(view).node


def _cls(view: View) -> ClassInfo:
    return cast("ClassInfo", view.cls)  # `proposals` asked


# What torch draws, in functions and in methods.
_RANDOM = frozenset({
    "rand", "randn", "randint", "randperm", "normal", "bernoulli", "multinomial", "poisson", "rand_like", "randn_like",
    "randint_like", "normal_", "uniform_", "bernoulli_", "exponential_", "dropout",
})  # fmt: skip
# Python may compute what is in these never, or more than once.
_MANY_TIMES = (
    ast.For, ast.While, ast.If, ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp, ast.Try, ast.Match,
)  # fmt: skip
_FORKING = "torch.random.fork_rng"


def _draw_in_init(site: Site, view: View) -> Iterator[Proposal]:
    """What is drawn after a seed that is set here, of a generator or of torch itself, is the same in every call."""
    draft = site.draft()
    statement = draft.statement_of(site.node)
    forks = [one for one in walked(view.node) if isinstance(one, ast.With) and statement in (one, *one.body)
             and any(_calls(view, item.context_expr, _FORKING) for item in one.items)]  # fmt: skip
    block = forks[0].body if forks else view.body
    seeding = [one for one in block if _is_seeding(view, one)]
    named = {_seeded_name(one) for one in seeding} - {"torch"}
    names = {name for name in named if name is not None}
    draws = [
        one for line in block if line not in seeding for one in walked(line) if isinstance(one, ast.Call)
        and (view.origin(one.func) or str(getattr(one.func, "attr", ""))).rpartition(".")[2] in _RANDOM
        and names == {path_of(word.value) for word in one.keywords if word.arg == "generator"}
    ]  # fmt: skip
    draws.sort(key=lambda one: (one.end_lineno or 0, one.end_col_offset or 0))  # as Python draws them
    found = [_for_the_sample(view, one) for one in draws]
    sized = [one[0] for one in found if one is not None]
    is_seeded = any(getattr(one, "attr", "") == "manual_seed" for line in seeding for one in walked(line))
    used_by_draws = {id(inner) for one in draws for inner in walked(one)}
    is_read = any(isinstance(one, ast.Name | ast.Attribute) and path_of(one) in names and id(one) not in used_by_draws
                  for line in view.body if line not in seeding for one in walked(line))  # fmt: skip
    if not draws or not is_seeded or is_read or len(sized) < len(draws):
        return
    inner = (one for line in block for one in walked(line))
    if any(isinstance(one, _MANY_TIMES) and any(draw in draws for draw in walked(one)) for one in inner):
        return
    if not all(_is_free(view, one, names) for one in (*seeding, *sized)):
        return
    text = "self.register_buffer(NAME, DRAW, persistent=False)" if _cls(view).is_module else "self.NAME = DRAW"
    moved: list[ast.stmt] = [changed_copy(one) for one in seeding]
    taken: set[str] = set()
    for draw, (new, shape, like) in zip(draws, (one for one in found if one is not None), strict=True):
        match draft.parent(draw):
            case ast.Assign(targets=[ast.Name(id=name)]):
                kept = _attribute(view, name, taken)
            case _:
                kept = _attribute(view, (view.origin(draw.func) or "drawn").rpartition(".")[2], taken)
        taken.add(kept)
        moved += statements(text.replace("NAME", kept if "self.NAME" in text else repr(kept)), DRAW=changed_copy(new))
        read = expression(f"self.{kept}")
        if shape is not None:
            read = expression("READ.reshape(SHAPE)", READ=read, SHAPE=shape)
        draft.swap(draw, read if like is None else expression("READ.to(LIKE)", READ=read, LIKE=like))
    if not names:  # torch's own generator goes on as if nothing had been drawn
        (fork,) = statements(f"with {_FORKING}(devices=[]):\n    pass")
        moved = [changed_copy(forks[0] if forks else fork, body=moved)]
    draft.in_init(_class(view), moved)
    if forks:
        draft.replace(forks[0], [one for one in block if one not in seeding])
    else:
        for one in seeding:
            draft.replace(one, [])
    is_sized = any(ast.dump(one) != ast.dump(_of_any_device(view, old)) for one, old in zip(sized, draws, strict=True))
    yield Proposal("draw it once, in `__init__`" + (", for the sizes of the sample" if is_sized else ""), draft)


def _calls(view: View, node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Call) and view.origin(node.func) == name


def _is_seeding(view: View, node: ast.stmt) -> bool:
    """`torch.manual_seed(0)`, `g = torch.Generator()`, `g.manual_seed(0)`"""
    match node:
        case ast.Assign(targets=[ast.Name()], value=value):
            return any(_calls(view, one, "torch.Generator") for one in walked(value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name() | ast.Attribute(), attr="manual_seed"))):
            return True
    return False


def _seeded_name(seeding: ast.stmt) -> str | None:
    """`g` of `g = torch.Generator()`, `self.g` of `self.g.manual_seed(0)`"""
    match seeding:
        case ast.Assign(targets=[target]):
            return path_of(target)
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner))):
            return path_of(owner)
    return None


def _for_the_sample(view: View, draw: ast.Call) -> tuple[ast.expr, ast.expr | None, ast.expr | None] | None:
    """The draw with numbers for its sizes; the shape that is asked for where it is read, and what it has to become
    like there, of the dtype and on the device of what the call is given. None where a size is not known.

    As many numbers as were drawn have the shape that is asked for, or reading them raises: where the call is given
    other sizes, the draw would be another one.
    """
    match draw:
        case ast.Call(func=ast.Attribute(attr="rand_like" | "randn_like" as name), args=[like], keywords=[]):
            size = _shape(view, like)
            drawn = f"torch.{name.removesuffix('_like')}(SIZE)"
            shape = ast.Attribute(like, "shape", ast.Load())
            return (expression(drawn, SIZE=size), shape, like) if size is not None else None
    dtypes = [one.value for one in draw.keywords if one.arg == "dtype" and not _is_free(view, one.value)]
    kept = [one for one in draw.keywords if one.value not in dtypes]
    old = _of_any_device(view, changed_copy(draw, keywords=kept))
    new = _with_numbers(view, old)
    if new is None:
        return None
    sizes = _sizes(view, draw)
    is_of_call = sizes is not None and ast.dump(new) != ast.dump(old)
    return new, sizes if is_of_call else None, dtypes[0] if dtypes else None


def _sizes(view: View, draw: ast.Call) -> ast.expr | None:
    """The argument, or the arguments, that say of what shape the draw is."""
    name = (view.origin(draw.func) or "").rpartition(".")[2]
    given = next((one.value for one in draw.keywords if one.arg == "size"), None)
    match name, draw.args:
        case _ if given is not None:
            return given
        case "rand" | "randn" | "randperm", [only] if not isinstance(only, ast.Starred):
            return only
        case "rand" | "randn", [_, *_]:
            return ast.Tuple(draw.args, ast.Load())
        case "randint" | "normal", [_, _, *_]:
            return draw.args[-1]
    return None


def _of_any_device(view: View, draw: ast.Call) -> ast.Call:
    """Without the device of what the call is given: a buffer goes where the module goes."""
    return changed_copy(draw, keywords=[one for one in draw.keywords if one.arg != "device" or _is_free(view, one)])


def _shape(view: View, node: ast.expr) -> ast.expr | None:
    """The sizes of a tensor as numbers, where all are known."""
    dims = view.dims(node)
    if dims is None or None in dims:
        return None
    return ast.Tuple([ast.Constant(number) for number in dims], ast.Load())


def _with_numbers(view: View, node: ast.expr) -> ast.expr | None:
    """The expression with numbers for the sizes that a sample shows; None where one is not known."""

    def change(one: ast.AST) -> ast.AST | None:
        match one:
            case (
                ast.Attribute(value=owner, attr="shape")
                | ast.Call(func=ast.Attribute(value=owner, attr="size"), args=[])
            ):
                return _shape(view, owner)
            case ast.Name():
                dims = getattr(view.value(one).lead, "dims", None) if view.value(one).kind is Kind.SHAPE else None
                if dims is not None and all(dim is not None and dim.number is not None for dim in dims):
                    return ast.Tuple([ast.Constant(dim.number) for dim in dims], ast.Load())
                lead = view.value(one).lead  # of a parameter that every caller gives the same number
                if one.id in view.flow.parameters and isinstance(lead, Scalar) and (lead.name or "").isdecimal():
                    return ast.Constant(int(lead.name or ""))
        number = _size(view, one)
        return ast.Constant(number) if number is not None else None

    new = rebuilt(node, change)
    return new if isinstance(new, ast.expr) else None


def _guard_in_init(site: Site, view: View) -> Iterator[Proposal]:
    """`if self.scale is None: self.scale = …` is done in `__init__`, with numbers for the sizes that a sample shows."""
    draft = site.draft()
    guard = draft.statement_of(site.node)
    while guard is not None and not isinstance(guard, ast.If | ast.FunctionDef):
        guard = cast("ast.stmt | None", draft.parent(guard))
    if not isinstance(guard, ast.If):
        guard, view = _guard_of_method(site, view)
    if not isinstance(guard, ast.If) or guard.orelse or draft.parent(guard) is not view.node:
        return
    names = {one.id for one in walked(guard.test) if isinstance(one, ast.Name)}
    if "self" not in names or not names <= {"self", "hasattr", "getattr", "isinstance"}:
        return
    sized = 0
    for one in (inner for line in guard.body for inner in walked(line)):
        number = _size(view, one)
        if number is not None and not isinstance(draft.parent(one), ast.Subscript):
            draft.swap(cast("ast.expr", one), ast.Constant(number))
            sized += 1
    inner = (one for line in guard.body for one in walked(line) if isinstance(one, ast.Name))
    inside = {id(one) for one in walked(guard)}
    given = {name for one in walked(view.node) if id(one) not in inside for name in defined(one)}
    given |= {*view.flow.parameters} - {"self"}
    if any(one.id in given and not _is_in_size(draft, view, one) for one in inner):
        return
    draft.in_init(_class(view), guard.body)
    draft.replace(guard, [])
    yield Proposal("do it in `__init__`" + (", for the sizes of the sample" if sized else ""), draft)


def _guard_of_method(site: Site, view: View) -> tuple[ast.If | None, View]:
    """`if self.proj is None: self.build(x.shape[-1])`, where `build` is the method that is reported."""
    for other in site.views():
        if other.cls is not view.cls or other.node is view.node:
            continue
        for guard in (one for one in other.node.body if isinstance(one, ast.If)):
            match guard.body:
                case [ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)))]:
                    if name == view.node.name:
                        return guard, other
    return None, view


def _size(view: View, node: ast.AST) -> int | None:
    """The number, where it is a size that a sample shows."""
    if not isinstance(node, ast.Subscript | ast.Call | ast.Name):
        return None
    value = view.value(node)
    extent = getattr(value.lead, "extent", None) if value.kind is Kind.SIZE else None
    return extent.number if extent is not None else None


def _is_in_size(draft: Draft, view: View, node: ast.AST) -> bool:
    now: ast.AST | None = node
    while now is not None and not isinstance(now, ast.stmt):
        if _size(view, now) is not None:
            return True
        now = draft.parent(now)
    return False


def _file_in_init(site: Site, view: View) -> Iterator[Proposal]:
    """`with open(path) as file:` around one statement that sets or returns what the file gives."""
    draft = site.draft()
    block = draft.parent(draft.parent(site.node) or site.node)
    match block:
        case ast.With(items=[ast.withitem(context_expr=opened, optional_vars=ast.Name(id=file))], body=[line]):
            value = line.value if isinstance(line, ast.Return | ast.Assign) else None
            if value is None or not _is_free(view, opened) or not _is_free(view, value, {file}):
                return
            name = _attribute(view, "read")
            text = f"with OPENED as FILE:\n    self.{name} = VALUE"
            draft.in_init(_class(view), statements(text, OPENED=opened, FILE=file, VALUE=value))
            draft.replace(block, [type(line)(**{**dict(ast.iter_fields(line)), "value": expression(f"self.{name}")})])
            yield Proposal("read it once, in `__init__`", draft)
