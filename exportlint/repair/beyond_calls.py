"""What an edit changes that calls of a model cannot show, by its text: what the export is asked for, copies, hooks.

What is called no more is here, too: a check that a dropped call made has no line in what the edit changes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.files import shown
from exportlint.repair.settings_read import lines_not_run

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from exportlint.repair.change import Change
    from exportlint.repair.probes import Probe, Seen

_DECLARED = ("example_args", "example_kwargs", "example_inputs", "dynamic_shapes")
_COPYING = frozenset({"__deepcopy__", "__copy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__",
                      "__getnewargs__", "__getnewargs_ex__"})  # fmt: skip
# What calls run under, or ask for: all that are compared run under the same.
_SURROUNDINGS = frozenset({"autocast", "is_autocast_enabled", "custom_fwd", "get_default_dtype", "get_default_device",
                           "are_deterministic_algorithms_enabled", "get_num_threads"})  # fmt: skip
_HOOK = re.compile(r"register_\w*hook\w*$")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def beyond_calls(change: Change) -> Iterator[str]:
    """Of each such change a sentence."""
    for path in change.changed:
        old, new = change.before[path], change.after[path]
        where = shown(Path(path))
        yield from (
            f"the edit {how} in {where}: the export is asked for something else" for how in asked_otherwise(old, new)
        )
        for name, what in takes_no_more(old, new):
            yield f"`{name}` in {where} takes {what} no more, and no call gave it"
        for name, how in _takes_otherwise(old, new):
            yield f"`{name}` in {where} {how}, and no call showed it"
        for name, line in _added(_hooks_beside_calls, new, old):
            yield f"`{name}`, line {line} of {where} before the edit, is gone: it ran where nothing was compared"
        for text, line in _added(_surroundings, old, new):
            yield f"`{text}`, {where}:{line}, is brought by the edit, and no call ran where it says otherwise"
        for text, line in _added(_surroundings, new, old):
            yield f"`{text}`, line {line} of {where} before the edit, is gone, and no call ran where it says otherwise"
        for name, line in _added(_copied_by, old, new):
            yield f"`{name}`, {where}:{line}, says how the model is copied or stored, which was not compared"
        for name, line in _added(_hooks, old, new):
            yield f"`{name}`, {where}:{line}, adds a hook, which may run where nothing was compared"


def asked_otherwise(before: str, after: str) -> list[str]:
    """How the edit changes what a target declares: its inputs, and the sizes that are to stay free.

    >>> asked_otherwise("n = 4\\nexample_args = (f(n),)\\n", "n = 1\\nexample_args = (f(n),)\\n")
    ['changes `example_args`']
    >>> asked_otherwise("export(m, (x,), dynamic_shapes={0: b})", "export(m, (x,))")
    ['drops `dynamic_shapes`']
    """
    old, new = _declared(before), _declared(after)
    return [
        f"{'changes' if name in new else 'drops'} `{name}`" for name, texts in old.items() if new.get(name) != texts
    ]


def takes_no_more(before: str, after: str) -> Iterator[tuple[str, str]]:
    """What a forward can no longer be given, with its qualified name: calls give what the target does.

    >>> text = "class Net:\\n  def forward(self, x, scale=1, **rest): ...\\n"
    >>> list(takes_no_more(text, text.replace(", scale=1, **rest", "")))
    [('Net.forward', '`scale`'), ('Net.forward', '`**rest`')]
    """
    old, new = _functions(ast.parse(before)), _functions(ast.parse(after))
    for name, node in old.items():
        if name in new and node.name in {"forward", "__call__"}:
            left = _parameters(new[name].args)
            takes_any = any(one.startswith("**") for one in left)
            for one in _parameters(node.args):
                if one not in left and not (takes_any and not one.startswith("*")):
                    yield name, f"`{one}`"


def _takes_otherwise(before: str, after: str) -> Iterator[tuple[str, str]]:
    """How a forward takes the same arguments in another way: by another place, or another value where none is given.

    >>> text = "class Net:\\n  def forward(self, x, low=0, high=1): ...\\n"
    >>> list(_takes_otherwise(text, text.replace("low=0, high=1", "high=1, low=2")))
    [('Net.forward', 'takes `low` in another place'), ('Net.forward', 'has another default of `low`')]
    """
    old, new = _functions(ast.parse(before)), _functions(ast.parse(after))
    for name, node in old.items():
        if name in new and node.name in {"forward", "__call__"}:
            ours, theirs = _by_place(node.args), _by_place(new[name].args)
            both = [one for one in ours if one in theirs]
            moved = next((one for one in both if ours.index(one) != theirs.index(one)), None)
            if moved:
                yield name, f"takes `{moved}` in another place"
            now = _defaults(new[name].args)
            for parameter, default in _defaults(node.args).items():
                if parameter in now and now[parameter] != default:
                    yield name, f"has another default of `{parameter}`"


def _by_place(args: ast.arguments) -> list[str]:
    return [one.arg for one in (*args.posonlyargs, *args.args)]


def _defaults(args: ast.arguments) -> dict[str, str]:
    """The text of each."""
    places = [*args.posonlyargs, *args.args]
    given = [*zip(places[len(places) - len(args.defaults) :], args.defaults, strict=True)]
    given += [(one, value) for one, value in zip(args.kwonlyargs, args.kw_defaults, strict=True) if value]
    return {one.arg: ast.unparse(value) for one, value in given}


def _parameters(args: ast.arguments) -> list[str]:
    names = [one.arg for one in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    names += [f"*{args.vararg.arg}"] if args.vararg else []
    return [*names, f"**{args.kwarg.arg}"] if args.kwarg else names


def _declared(text: str) -> dict[str, list[str]]:
    """The texts of each, with those of the names of the module in it."""
    module = ast.parse(text)
    named: dict[str, list[ast.stmt]] = {}
    for statement in _statements(module.body):
        for name in _names_set(statement):
            named.setdefault(name, []).append(statement)
    found: dict[str, list[str]] = {}
    for node in ast.walk(module):
        for name, value in _declarations(node):
            texts = [ast.unparse(value)]
            left, known = [value], set[str]()
            while left:
                for one in ast.walk(left.pop()):
                    # The model is what the edit is about.
                    if isinstance(one, ast.Name) and one.id in named and one.id not in known:
                        known.add(one.id)
                        others = [each for each in named[one.id] if not isinstance(each, ast.ClassDef | _Function)]
                        texts += map(ast.unparse, others)
                        left += others
            found.setdefault(name, []).append("\n".join(texts))
    return found


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for one in body:
        yield one
        if isinstance(one, ast.If | ast.With | ast.Try):
            yield from _statements(one.body)


def _names_set(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def _declarations(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _DECLARED:
            yield name, value
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value) if name in _DECLARED:
            yield name, value
        case ast.FunctionDef(name=name) if name in _DECLARED:
            yield name, node
        case ast.keyword(arg="dynamic_shapes", value=value):
            yield "dynamic_shapes", value


def _added(found_in: Callable[[str], Iterator[tuple[str, str, int]]], old: str, new: str) -> Iterator[tuple[str, int]]:
    """What only the new one has, or has in other words."""
    known = Counter(text for _, text, _ in found_in(old))
    for name, text, line in found_in(new):
        known[text] -= 1
        if known[text] < 0:
            yield name, line


def hides_a_module(path: Path) -> bool:
    """Would a file of this name be imported in place of a module of Python, or of a package that is installed?"""
    name = path.parent.name if path.name == "__init__.py" else path.stem
    if name in sys.stdlib_module_names:
        return True
    found = find_spec(name) if name.isidentifier() else None
    # It is there already where the edit is that of the working tree, and Python may look there.
    return found is not None and found.origin is not None and Path(found.origin).resolve() != path


def _copied_by(text: str) -> Iterator[tuple[str, str, int]]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.FunctionDef(name=name) if name in _COPYING:
                yield name, ast.unparse(node), node.lineno
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) if name in _COPYING:
                yield name, name, node.lineno


def _hooks(text: str) -> Iterator[tuple[str, str, int]]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if _HOOK.match(name):
                yield name, ast.unparse(node), node.lineno


def _hooks_beside_calls(text: str) -> Iterator[tuple[str, str, int]]:
    """Those that run when a checkpoint is read, say; what runs around a forward, calls compare."""
    return (one for one in _hooks(text) if "forward" not in one[0])


def _surroundings(text: str) -> Iterator[tuple[str, str, int]]:
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _SURROUNDINGS:
                yield ast.unparse(node), ast.unparse(node), node.lineno


def called_no_more(
    change: Change,
    run: tuple[Mapping[str, Collection[int]], Mapping[str, Collection[int]]],
    raised: Collection[tuple[str, int]],
    probes: Sequence[Probe],
    seen: Seen,
) -> Iterator[str]:
    """Functions that calls ran before the edit, and none after it: what of them no input showed.

    run     the lines that ran before and after, by real path
    raised  where models raised by themselves
    probes, seen  those of the edited files before the edit, and what they saw
    """
    before, after = run
    for path in before:
        old = change.before.get(path) or _read(path)
        gone = _functions_gone(old, change.after.get(path, old), before[path], after.get(path, ()))
        for name, node in gone.items():
            where = f"the edit calls `{name}` no more, and"
            body = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            for line in lines_not_run(_without_text(old, node), old, before[path]):
                if line in body:
                    yield f"{where} no input that was tried runs line {line} of {shown(Path(path))} before the edit"
            own = [one for one in probes if one.path == path and one.line in body and not one.is_asked]
            for one in own:
                if why := one.left_open(seen.get((path, one.number), ())):
                    yield f"{where} `{one.text}` in it, line {one.line} of {shown(Path(path))}, {why}"
            if path not in change.changed:
                for line, text in _hidden(node):
                    if (path, line) not in raised:
                        yield f"{where} which way inputs go at `{text}` in it, {shown(Path(path))}:{line}, is not shown"


def used_elsewhere(before: str, after: str, run: Collection[int]) -> list[tuple[str, str]]:
    """Functions that no call ran, by these lines, each with what it calls that the edit changes: with other arguments,
    maybe. Not what constructors and the module itself call, which run once, and not the calls of whole models.

    >>> text = "class A:\\n  def forward(self, x):\\n    return f(x, 1)\\n  def peak(self, x):\\n    return f(x, 9)\\n"
    >>> used_elsewhere("def f(x, n):\\n  return x\\n" + text, "def f(x, n):\\n  return -x\\n" + text, [2, 5])
    [('A.peak', 'f')]
    """
    module = ast.parse(after)
    old, new = _functions(ast.parse(before)), _functions(module)
    edited = {
        name.rpartition(".")[2]
        for name, node in new.items()
        if name not in old or ast.unparse(old[name]) != ast.unparse(node)
    } - {"forward", "__call__", "__init__"}
    once = {"__init__"}
    for node in ast.walk(module):
        is_once = isinstance(node, _Function) and node.name == "__init__"
        once |= (
            _names(node)
            if is_once or (node in module.body and not isinstance(node, ast.ClassDef | _Function))
            else set()
        )
    found = []
    for name, node in new.items():
        last = name.rpartition(".")[2]
        used = sorted(_names(node) & edited - {last})
        if used and last not in once and not _is_run(node, run):
            found.append((name, used[0]))
    return found


def read_elsewhere(before: str, after: str, run: Collection[int]) -> list[tuple[str, str]]:
    """Functions that no call ran, by these lines, each with an attribute that it reads and that a function of the edit
    sets no more: what a call left for them.

    >>> text = "class A:\\n  def f(self, x):\\n    self.y = x\\n    return x\\n  def last(self):\\n    return self.y\\n"
    >>> read_elsewhere(text, text.replace("self.y = x", "pass"), [3, 4])
    [('A.last', 'self.y')]
    """
    old, new = _functions(ast.parse(before)), _functions(ast.parse(after))
    gone = {
        attribute
        for name, node in old.items()
        if name in new
        for attribute in _attributes(node, ast.Store) - _attributes(new[name], ast.Store)
    }
    gone -= {one for name, node in new.items() if name.rpartition(".")[2] != "__init__"
             for one in _attributes(node, ast.Store)}  # fmt: skip
    return [
        (name, min(read))
        for name, node in new.items()
        if (read := _attributes(node, ast.Load) & gone) and not _is_run(node, run)
    ]


def _attributes(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    found = (one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, context))
    return {ast.unparse(one) for one in found if isinstance(one.value, ast.Name)}


def _names(node: ast.AST) -> set[str]:
    walked = list(ast.walk(node))
    return {one.id for one in walked if isinstance(one, ast.Name)} | {
        one.attr for one in walked if isinstance(one, ast.Attribute)
    }


def _hidden(function: _Function) -> Iterator[tuple[int, str]]:
    """What lines do not show, of a file without probes."""
    for node in ast.walk(function):
        if isinstance(node, ast.IfExp | ast.BoolOp | ast.Assert):
            yield node.lineno, ast.unparse(node)


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return ""


def _without_text(text: str, node: _Function) -> str:
    """As if the edit had written the whole function."""
    lines = text.split("\n")
    first, end = node.body[0].lineno - 1, node.end_lineno or node.lineno
    return "\n".join([*lines[:first], *(f"{line} " if line else "" for line in lines[first:end]), *lines[end:]])


def _functions_gone(old: str, new: str, run: Collection[int], run_now: Collection[int]) -> dict[str, _Function]:
    try:
        before, after = _functions(ast.parse(old)), _functions(ast.parse(new))
    except SyntaxError:
        return {}
    return {
        name: node
        for name, node in before.items()
        if _is_run(node, run) and not (name in after and _is_run(after[name], run_now))
    }


def _is_run(node: _Function, run: Collection[int]) -> bool:
    return any(node.body[0].lineno <= line <= (node.end_lineno or node.lineno) for line in run)


def _functions(tree: ast.AST, prefix: str = "") -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    for node in ast.iter_child_nodes(tree):
        name = getattr(node, "name", None)
        inner = f"{prefix}{name}." if isinstance(node, ast.ClassDef | _Function) else prefix
        if isinstance(node, _Function):
            found[f"{prefix}{name}"] = node
        found |= _functions(node, inner)
    return found
