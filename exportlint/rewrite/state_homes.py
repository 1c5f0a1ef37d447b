"""Where a model keeps what outlives a call, and how each function of the file names it.

State lives in attributes of the module, of objects that it keeps, of its class; in names of the file, in attributes
and default arguments of functions, in what a closure encloses. All of it is told here as *places*: attributes of a
class of the file, with the value that each begins with. What was no attribute becomes one of the module that runs
forward, so that whoever changes a place has one kind of thing to deal with. A *scope* is a function that meets places,
with its body as it will be.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from exportlint.engine.flow.def_use import defined, is_changing, path_of, root_of
from exportlint.engine.flow.lifetimes import Lifetimes, methods_in
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import Draft, changed_copy, expression, stands_for, statements
from exportlint.rewrite.transformation import CannotError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.engine.source.symbols import ClassInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Belief

_Node = TypeVar("_Node", bound=ast.AST)
_HOOKS = frozenset({"register_forward_hook", "register_forward_pre_hook"})
_NO_STATE = ("torch.nn.", "torch.jit.", "torch.device", "torch.Generator", "logging.")
# What sets names, of itself or in one of its expressions.
_SETTING = (ast.stmt, ast.NamedExpr, ast.comprehension)


# -- Trees that are copied where they change ---------------------------------------------------------------------------


def rebuilt(node: _Node, change: Callable[[ast.AST], ast.AST | list[ast.stmt] | None]) -> _Node | list[ast.stmt]:
    """The tree with parts of it changed; a part that `change` returns None for stays, and is looked into.

    >>> tree = ast.parse("y = x + 1").body[0]
    >>> ast.unparse(rebuilt(tree, lambda one: ast.Constant(2) if isinstance(one, ast.Constant) else None))
    'y = x + 2'
    """
    new = change(node)
    if new is not None:
        return new  # type: ignore[return-value] # what stands for a node is of its sort
    fields: dict[str, object] = {}
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            made = [new for one in value for new in _rebuilt_in_list(one, change)]
            if len(made) != len(value) or any(a is not b for a, b in zip(made, value, strict=True)):
                fields[name] = made or ([ast.Pass()] if name == "body" else [])
        elif isinstance(value, ast.AST):
            one = rebuilt(value, change)
            if one is not value:
                fields[name] = one
    return changed_copy(node, **fields) if fields else node


def _rebuilt_in_list(one: object, change: Callable[[ast.AST], ast.AST | list[ast.stmt] | None]) -> Sequence[object]:
    if not isinstance(one, ast.AST):
        return [one]
    new = rebuilt(one, change)
    return new if isinstance(new, list) else [new]


def block(body: Sequence[ast.stmt], change: Callable[[ast.AST], ast.AST | list[ast.stmt] | None]) -> list[ast.stmt]:
    """A list of statements, likewise."""
    made = [new for one in body for new in _rebuilt_in_list(one, change)]
    return [one for one in made if isinstance(one, ast.stmt)] or [ast.Pass()]


def reference(path: str) -> ast.expr:
    """The expression that names a place.

    >>> ast.unparse(reference("self.meter.count"))
    'self.meter.count'
    """
    return ast.parse(path, mode="eval").body


# -- Places and scopes -------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class Place:
    """An attribute that outlives a call. `initial`: what it begins with; None where that is None, or nothing is there.

    definition   the statement that sets it first
    moved        it was no attribute before
    """

    name: str
    home: Home
    initial: ast.expr | None
    definition: ast.stmt | None
    moved: bool = False
    is_buffer: bool = False
    written: list[Any] = field(default_factory=list)  # what is put there: see `state_forms.Written`


@dataclass(eq=False)
class Scope:
    """A function that meets places. `owners`: what it calls the objects that keep them, by path.

    is_run   does a call of the model run it? (`__init__` and what only resets is not)
    """

    node: ast.FunctionDef
    body: list[ast.stmt]
    owners: dict[str, Home]
    is_run: bool
    is_new: bool = False  # a function that the draft makes
    instead_of: ast.stmt | None = None  # the function of the file that it was; None where others need that
    closed: set[int] = field(default_factory=set)  # functions in it that are scopes of their own

    def rewrite(self, change: Callable[[ast.AST], ast.AST | list[ast.stmt] | None]) -> None:
        """Changes the body; functions in it that are scopes of their own stay closed."""
        self.body = block(self.body, lambda node: node if id(node) in self.closed else change(node))

    def place(self, node: ast.AST | None) -> tuple[str, Place] | None:
        """The owner's path and the place that an expression names."""
        path = path_of(node)
        if path is None or "." not in path:
            return None
        owner, _, name = path.rpartition(".")
        home = self.owners.get(owner)
        found = home.places.get(name) if home is not None else None
        return (owner, found) if found is not None else None


@dataclass(eq=False)
class Home:
    """A class of the file whose objects keep state. `is_module`: it is a torch.nn.Module already."""

    node: ast.ClassDef
    is_module: bool
    places: dict[str, Place] = field(default_factory=dict)
    registered: list[ast.stmt] = field(default_factory=list)  # buffers that no statement of the author's stands for

    @property
    def methods(self) -> dict[str, ast.FunctionDef]:
        return methods_in(self.node)


class Homes:
    """All that outlives a call of one module class, wherever the file keeps it.

    Raises CannotError where something keeps state that cannot be moved.
    """

    def __init__(self, draft: Draft, cls: ClassInfo, belief: Belief) -> None:
        self.draft, self.cls, self.belief = draft, cls, belief
        self.module: ModuleInfo = cls.module
        self.home = Home(cls.node, is_module=True)
        self.homes: list[Home] = [self.home]
        self.scopes: list[Scope] = []
        self.submodules: dict[str, Home] = {}
        self.lambdas: dict[str, ast.Lambda] = {}  # hooks that will be methods, by their names
        self.hooked: dict[str, ast.Call] = {}  # hooks that are objects, by the attributes that will hold them
        self.free: dict[str, ast.FunctionDef] = {}  # functions of the file that become methods
        self.given: dict[str, ast.expr] = {}  # what attributes begin with that were no attributes
        self.only_read: dict[str, frozenset[object]] = {}  # keys of dicts of the file that stay there
        lineage = [one for one in cls.lineage if one.module is cls.module]
        self.methods = {name: node for one in reversed(lineage) for name, node in methods_in(one.node).items()}
        self.init = self.methods.get("__init__")
        self.class_level = {
            target.id: node
            for one in reversed(lineage) for node in one.node.body if isinstance(node, ast.Assign)
            for target in node.targets if isinstance(target, ast.Name)
        }  # fmt: skip
        self._find()

    # -- what there is

    def _find(self) -> None:
        hooks = [
            path.partition(".")[2] for one in self._hooked() if (path := path_of(one)) and path.startswith("self.")
        ]
        self._hook_lambdas()
        self.hooks = [name for name in (*hooks, *self.lambdas) if name in self.methods]
        plain = {name: changed_copy(node, body=self._plain(node)) for name, node in self.methods.items()}
        lifetimes = Lifetimes(plain, ["forward", "__call__", *self.hooks, *self._called_by_others()])
        self.lifetimes = lifetimes
        self.run = {id(self.methods[name]) for name in lifetimes.reached}
        self._scopes_of(self.methods, "self", self.home)
        self._hooks_with_names()
        self._closures()
        self._kept_objects()
        self._objects_of_file()
        self._outside()
        for name in sorted(lifetimes.outliving | self._enclosed()):
            if name not in self.submodules and name not in self.home.places:
                self._own(name)

    def _called_by_others(self) -> Iterator[str]:
        """The methods that other modules of the file call as they run: `self.memory.write(x)`."""
        own = {id(one.node) for one in self.cls.lineage}
        for cls in self.module.classes.values():
            if not cls.is_module or id(cls.node) in own:
                continue
            for method in methods_in(cls.node).values():
                for node in walked(method) if method.name != "__init__" else ():
                    match node:
                        case ast.Call(func=ast.Attribute(value=ast.Attribute(), attr=name)) if name in self.methods:
                            yield name

    def _hooked(self) -> Iterator[ast.expr]:
        """What `__init__` registers as hooks."""
        for node in walked(self.init) if self.init is not None else ():
            match node:
                case ast.Call(func=ast.Attribute(attr=method), args=[hook, *_]) if method in _HOOKS:
                    yield hook

    def _scopes_of(self, methods: dict[str, ast.FunctionDef], path: str, home: Home) -> None:
        for node in methods.values():
            self.scopes.append(Scope(node, self._plain(node), {path: home}, id(node) in self.run))

    def _plain(self, function: ast.FunctionDef) -> list[ast.stmt]:
        """The body, with the places that it means by other names: `getattr(self, "last", None)`, and `stats` behind
        `stats = self.running[name]`, where it writes to `stats`."""
        nodes = list(walked(function))
        stored = Counter(one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
        written = {path_of(one) for one in nodes if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)}
        changed = {
            one.value.id for one in nodes if isinstance(one, ast.Subscript | ast.Attribute)
            and isinstance(one.value, ast.Name) and isinstance(one.ctx, ast.Store)
        }  # fmt: skip
        meant: dict[str, ast.expr] = {}
        for node in nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Attribute() | ast.Subscript() as value):
                    root = path_of(root_of(value)) or ""
                    if name in changed and stored[name] == 1 and root.startswith("self.") and root not in written:
                        meant[name] = value

        def change(node: ast.AST) -> ast.AST | list[ast.stmt] | None:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]) if name in meant:
                    return []
                case ast.Name(id=name) if name in meant:
                    return meant[name]
                case ast.Call(func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), default]):
                    path = f"{path_of(owner)}.{name}"
                    if isinstance(default, ast.Constant) and default.value is None and path in written:
                        return reference(path)
            return None

        return block(function.body, change)

    def _own(self, name: str) -> None:
        """An attribute of the module itself."""
        found = self._first(self.methods, name)
        if found is None and name in self.class_level:
            found = (self.class_level[name], self.class_level[name].value)
        statement, value = found if found is not None else (None, None)
        if value is not None and self._is_no_state(value):
            return
        registered = _registers(statement)
        self.home.places[name] = Place(name, self.home, _or_none(value), statement, is_buffer=registered)

    def _is_no_state(self, value: ast.expr) -> bool:
        """A submodule, an object of a class of the file, a tool."""
        if not isinstance(value, ast.Call):
            return False
        origin = self.module.dotted(value.func) or ""
        return origin.startswith(_NO_STATE) or (path_of(value.func) or "") in self.module.classes

    def _definition(self, function: ast.FunctionDef | None, name: str) -> tuple[ast.stmt, ast.expr | None] | None:
        """The statement of a constructor that sets `self.name`, and the value."""
        wanted = f"self.{name}"
        for node in walked(function) if function is not None else ():
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if path_of(target) == wanted:
                            return node, value
                        if isinstance(target, ast.Tuple) and wanted in [path_of(one) for one in target.elts]:
                            at = [path_of(one) for one in target.elts].index(wanted)
                            parts = value.elts if isinstance(value, ast.Tuple) else None
                            return node, parts[at] if parts and len(parts) == len(target.elts) else None
                case ast.AnnAssign(target=target, value=value) if path_of(target) == wanted:
                    return node, value
                case ast.Expr(value=ast.Call(func=ast.Attribute(attr="register_buffer"), args=[first, value, *_])):
                    if isinstance(first, ast.Constant) and first.value == name:
                        return node, value
        return None

    def _first(self, methods: dict[str, ast.FunctionDef], name: str) -> tuple[ast.stmt, ast.expr | None] | None:
        """The statement of the constructor that sets `self.name`, or that calls what does (`self.reset()`), above which
        the buffer is registered; and the value, as the constructor can say it."""
        init = methods.get("__init__")
        found = self._definition(init, name)
        if found is not None:
            return found[0], self._spelled_out(found[1], methods)
        for node in walked(init) if init is not None else ():
            match node:
                case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=method)) as call):
                    function = methods.get(method)
                    found = self._definition(function, name)
                    if found is not None and _registers(found[0]):  # it is registered there
                        return found
                    if function is not None and found is not None:
                        value = found[1] and _as_called(found[1], function, call)
                        return node, self._spelled_out(value, methods)
        return None

    def _spelled_out(self, value: ast.expr | None, methods: dict[str, ast.FunctionDef]) -> ast.expr | None:
        """Of `self.zeros(2)` what the method returns."""
        match value:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=name)) if name in methods:
                function = methods[name]
            case ast.Call(func=ast.Name(id=name)) if name in self.module.functions:
                function = self.module.functions[name].node  # type: ignore[assignment] # a lambda has no statements
            case _:
                return value
        match function:
            case ast.FunctionDef(body=[*before, ast.Return(value=ast.expr() as given)]) if all(
                isinstance(one, ast.Assign | ast.Expr) for one in before
            ):
                return _as_called(given, function, value)
        return value

    # -- objects and closures that the constructor makes

    def _hooks_with_names(self) -> None:
        """`layer.register_forward_hook(Fade())`: the object becomes an attribute, as others that are kept are."""
        made = [one for one in self._hooked() if isinstance(one, ast.Call)
                and (path_of(one.func) or "") in self.module.classes]  # fmt: skip
        for name, function in self.lambdas.items():
            for scope in self.scopes:
                scope.is_new |= scope.node is self.methods[name]
                if scope.node is self.init:
                    own = reference(f"self.{name}")
                    scope.rewrite(lambda one, function=function, own=own: own if one is function else None)  # type: ignore[misc]
        for hook in made:
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", (path_of(hook.func) or "").lstrip("_")).lower()
            name = self.draft.free_name(words, self.hooked)
            self.hooked[name] = hook

            def change(node: ast.AST, hook: ast.Call = hook, name: str = name) -> ast.AST | list[ast.stmt] | None:
                if not isinstance(node, ast.Expr) or not any(one is hook for one in walked(node)):
                    return None
                own = reference(f"self.{name}")
                new = rebuilt(node, lambda one: own if one is hook else None)
                assert isinstance(new, ast.stmt)  # noqa: S101 - of a statement
                return [*statements("OWN = MADE", OWN=own, MADE=hook), stands_for(new, node)]

            for scope in self.scopes:
                if scope.node is self.init:
                    scope.rewrite(change)

    def _hook_lambdas(self) -> None:
        """`layer.register_forward_hook(lambda m, i, o: self.seen.append(o))`: a method."""
        for hook in [one for one in self._hooked() if isinstance(one, ast.Lambda)]:
            if isinstance(hook.body, ast.Call) and any(path.startswith("self.") for path in _changed_places(hook.body)):
                name = self.draft.free_name("hook", self.methods)
                made = ast.FunctionDef(name, hook.args, [ast.Expr(hook.body)], [])
                self.methods[name] = ast.fix_missing_locations(ast.copy_location(made, hook))
                self.lambdas[name] = hook

    def _closures(self) -> None:
        """`self.step = make_step(0.9)`, where that gives an inner function: a method, and its variables attributes."""
        for statement in list(walked(self.init)) if self.init is not None else ():
            match statement:
                case ast.Assign(targets=[target], value=ast.Call(func=ast.Name(id=name)) as call):
                    factory = self.module.functions[name].node if name in self.module.functions else None
                    path = path_of(target) or ""
                    if isinstance(factory, ast.FunctionDef) and path.startswith("self.") and path.count(".") == 1:
                        self._closure(statement, path.removeprefix("self."), call, factory)

    def _closure(self, statement: ast.Assign, name: str, call: ast.Call, factory: ast.FunctionDef) -> None:
        match [one for one in factory.body if not isinstance(one, ast.Expr)]:
            case [*before, ast.FunctionDef(decorator_list=[]) as inner, ast.Return(value=ast.Name(id=given_back))]:
                if given_back != inner.name or name in self.methods:
                    return
            case _:
                return
        values = {one.arg: one.value for one in call.keywords if one.arg}
        arguments = [one.arg for one in factory.args.args]
        values |= dict(zip(arguments, call.args, strict=False))
        for argument, default in zip(arguments[::-1], factory.args.defaults[::-1], strict=False):
            values.setdefault(argument, default)
        for one in before:
            match one:
                case ast.Assign(targets=[ast.Name(id=variable)], value=value):
                    values[variable] = rebuilt(value, lambda o: values.get(o.id) if isinstance(o, ast.Name) else None)  # type: ignore[assignment]
                case _:
                    return
        declared = {n for one in walked(inner) if isinstance(one, ast.Nonlocal) for n in one.names}
        own = {n for one in inner.body for part in walked(one) for n in defined(part)} - declared
        own |= {one.arg for one in inner.args.args}
        changed = {n for one in walked(inner) for n in _changed_places(one) if n in values and n not in own}
        if not changed:
            return
        read = {one.id for one in walked(inner) if isinstance(one, ast.Name)} - own - changed
        known_in_init = {one for one in read & values.keys() if not isinstance(values[one], ast.Constant)}
        for variable in sorted(known_in_init):
            self.home.registered += statements(
                "OWN = VALUE", OWN=reference(f"self.{name}_{variable}"), VALUE=values[variable]
            )

        def renamed(node: ast.AST) -> ast.AST | list[ast.stmt] | None:
            match node:
                case ast.Nonlocal():
                    return []
                case ast.Name(id=variable) if variable in changed | known_in_init:
                    return ast.Attribute(ast.Name("self", ast.Load()), f"{name}_{variable}", node.ctx)
                case ast.Name(id=variable) if variable in values and variable not in own:
                    return values[variable]
            return None

        users = [one for one in walked(self.module.tree) if isinstance(one, ast.Name) and one.id == factory.name]
        scope = Scope(changed_copy(inner, name=name), list(inner.body), {"self": self.home}, is_run=True, is_new=True,
                      instead_of=factory if len(users) == 1 else None)  # fmt: skip
        scope.rewrite(renamed)
        self.scopes.append(scope)
        self.run.add(id(scope.node))
        for variable in sorted(changed):
            place = Place(f"{name}_{variable}", self.home, _or_none(values[variable]), statement)
            self.home.places[place.name] = place
        self.submodules[name] = self.home

    # -- objects that are kept on the module

    def _kept_objects(self) -> None:
        """`self.meter = Meter()` with a class of the file, whose methods or whose user changes it."""
        for name, made in self._made_objects():
            known = self.module.classes[path_of(made.func) or ""]
            self.submodules[name] = home = next(
                (one for one in self.homes if one.node is known.node), Home(known.node, known.is_module))  # fmt: skip
            for scope in self.scopes:
                if "self" in scope.owners:
                    scope.owners[f"self.{name}"] = home
            if home in self.homes:
                continue
            changed = self._changed_of(known, f"self.{name}")
            if changed:
                self._keeps(home, known, changed)

    def _changed_of(self, known: ClassInfo, path: str) -> set[str]:
        """The attributes of an object that calls of the model change; none where it cannot be a module."""
        methods = methods_in(known.node)
        changed = {
            one for scope in self.scopes if scope.is_run for node in walked(scope.node)
            for one in _changed_on(node, path)
        }  # fmt: skip
        if known.is_module:
            inside = Lifetimes(methods, ["forward"])
            changed = {one for one in changed if one in inside.exposed}
            changed |= {one for scope in self.scopes if scope.is_run for node in walked(scope.node)
                        for one in inside.changed if path_of(node) == f"{path}.{one}"}  # fmt: skip
        else:
            others = Lifetimes(methods, [one for one in methods if one != "__init__"])
            read = {node.attr for node in walked(self.module.tree)
                    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}  # fmt: skip
            changed |= {one for one in others.changed if one in read}
        can_be = known.is_module or self._can_be_module(known)
        return {one for one in changed if one not in methods} if can_be else set()

    def _keeps(self, home: Home, known: ClassInfo, changed: set[str]) -> None:
        """Objects of a class keep these attributes."""
        methods = methods_in(known.node)
        self.homes.append(home)
        self.run |= {id(node) for one, node in methods.items() if one != "__init__"}
        self._scopes_of(methods, "self", home)
        for one in sorted(changed):
            found = self._first(methods, one) or _class_field(known, one)
            statement, value = found if found is not None else (None, None)
            is_buffer = _registers(statement)
            home.places[one] = Place(one, home, _or_none(value), statement, is_buffer=is_buffer)

    # -- objects that the file makes

    def _objects_of_file(self) -> None:
        """`METER = Meter()` at the top level of the file, which modules use as they run: each of these keeps it in an
        attribute, so that it goes with the model where that is copied. One alone registers it: torch takes no program
        apart that writes a buffer of several names."""
        for statement in self.module.tree.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id=made))):
                    known = self.module.classes.get(made)
                    if known is not None and all(home.node is not known.node for home in self.homes):
                        self._object_of_file(statement, name, known)

    def _object_of_file(self, statement: ast.Assign, name: str, known: ClassInfo) -> None:
        mentions = {
            id(one): one for one in walked(self.module.tree)
            if isinstance(one, ast.Name) and one.id == name and one is not statement.targets[0]
        }  # fmt: skip
        modules = [cls for cls in self.module.classes.values() if cls.is_module and cls is not known]
        running = {id(one): (one, cls) for cls in modules for one in methods_in(cls.node).values()
                   if one.name != "__init__" and one.args.args[:1] and one.args.args[0].arg == "self"}  # fmt: skip
        inits = (methods_in(cls.node).get("__init__") for cls in modules)
        others = [one for one in (*self.module.tree.body, *inits) if isinstance(one, ast.FunctionDef)]
        users = [cls for one, cls in running.values() if any(id(part) in mentions for part in walked(one))]
        called = {part.id for one, _ in running.values() for part in walked(one) if isinstance(part, ast.Name)}
        using = [one for one in others if any(id(part) in mentions for part in walked(one))]
        covered = {id(part) for one in (*(one for one, _ in running.values()), *using) for part in walked(one)}
        is_alone = mentions.keys() <= covered and not any(one.name in called for one in using)
        is_set = any(not isinstance(one.ctx, ast.Load) for one in mentions.values())
        root = self._around_all(users, modules)
        if (
            self.cls not in users
            or root is None
            or not is_alone
            or is_set
            or not (changed := self._changed_of(known, name))
        ):
            return
        taken = {part.attr for cls in (root, *users) for part in walked(cls.node) if isinstance(part, ast.Attribute)}
        attribute = self.draft.free_name(name.lstrip("_").lower(), taken)
        own, home = f"self.{attribute}", Home(known.node, known.is_module)
        for node, _ in running.values():
            if any(id(part) in mentions for part in walked(node)):
                scope = next((one for one in self.scopes if one.node is node), None)
                if scope is None:
                    scope = Scope(node, list(node.body), {}, is_run=True)
                    self.scopes.append(scope)
                scope.owners[own] = home
                scope.rewrite(lambda one: reference(own) if isinstance(one, ast.Name) and one.id == name else None)
        for node in using:
            scope = next((one for one in self.scopes if one.node is node), None)
            if scope is None:
                scope = Scope(node, list(node.body), {}, is_run=False)
                self.scopes.append(scope)
            scope.owners[name] = home
        self.draft.in_init(root.node, statements("OWN = OBJECT", OWN=reference(own), OBJECT=name))
        for cls in dict.fromkeys(one for one in users if one is not root):
            self.draft.in_init(cls.node, statements(f"object.__setattr__(self, {attribute!r}, {name})"))
        self.submodules[attribute] = home
        self._keeps(home, known, changed)

    def _around_all(self, users: Sequence[ClassInfo], modules: Sequence[ClassInfo]) -> ClassInfo | None:
        """The one module class that is part of no other one, and that all of these are parts of."""
        made = {
            id(cls): [one for one in modules if one is not cls and any(
                isinstance(part, ast.Call) and path_of(part.func) == one.name for part in walked(cls.node)
            )] for cls in modules
        }  # fmt: skip
        inside = {id(one) for parts in made.values() for one in parts}
        roots = []
        for cls in (one for one in modules if id(one) not in inside):
            todo = [cls]
            for one in todo:
                todo += [part for part in made[id(one)] if part not in todo]
            if all(user in todo for user in users):
                roots.append(cls)
        return roots[0] if len(roots) == 1 else None

    def _made_objects(self) -> Iterator[tuple[str, ast.Call]]:
        yield from self.hooked.items()
        names: dict[str, ast.expr] = {}
        for node in walked(self.init) if self.init is not None else ():
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    names[name] = value
                case (
                    ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    path = path_of(target) or ""
                    made = names.get(value.id, value) if isinstance(value, ast.Name) else value
                    is_own = path.startswith("self.") and path.count(".") == 1
                    if is_own and isinstance(made, ast.Call) and (path_of(made.func) or "") in self.module.classes:
                        yield path.removeprefix("self."), made

    def _can_be_module(self, known: ClassInfo) -> bool:
        plain = not known.base_names or known.base_names == ("builtins.object",)
        names = {node.name for node in known.node.body if isinstance(node, ast.FunctionDef)}
        return plain and "forward" not in names - {"forward"} and not any(n.startswith("__get") for n in names)

    # -- state that is no attribute of an object

    def _outside(self) -> None:
        """Names of the file, attributes of functions and of the class, default arguments: they become attributes."""
        todo = [scope.node for scope in self.scopes if scope.is_run]
        functions = self.module.functions
        hooked = {path for one in self._hooked() if (path := path_of(one)) is not None}
        reached: dict[str, ast.FunctionDef] = {}
        for node in todo:
            names = {one.id for one in walked(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}
            for name in sorted((names | hooked if node is todo[0] else names) & set(functions)):
                function = functions[name].node
                if name not in reached and isinstance(function, ast.FunctionDef):
                    reached[name] = function
                    todo.append(function)
        for function in [*todo[: len(todo) - len(reached)], *reached.values()]:
            self._outside_of(function, reached)
        if self.given:
            self._move(reached)

    def _outside_of(self, function: ast.FunctionDef, reached: dict[str, ast.FunctionDef]) -> None:
        """What the function changes that stands around it."""
        setting = (one for node in function.body for one in walked(node) if isinstance(one, _SETTING))
        own = {name for one in setting for name in defined(one) if "." not in name}
        declared = {name for node in walked(function) if isinstance(node, ast.Global) for name in node.names}
        a = function.args
        params = {one.arg for one in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
        own = (own - declared) | params
        values = dict(zip([one.arg for one in (*a.posonlyargs, *a.args)][::-1], a.defaults[::-1], strict=False))
        for node in walked(function):
            for path in _changed_places(node):
                root, _, rest = path.partition(".")
                if path in values and isinstance(values[path], ast.List | ast.Dict | ast.Call):
                    self.given[f"{function.name}({path})"] = values[path]
                elif root in own:
                    continue
                elif root in reached and rest:
                    self._given_by(path)
                elif root in {self.cls.name, "type(self)"} and rest in self.class_level:
                    self.given[path] = self.class_level[rest].value
                elif not rest and root in self.module.classes:
                    continue
                elif not rest or root not in {"self", "cls"}:
                    self._given_by(root if root in declared or not rest else path)

    def _given_by(self, path: str) -> None:
        """By a statement of the top level of the file."""
        for node in self.module.tree.body:
            match node:
                case (
                    ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value)
                ):
                    if path_of(target) == path:
                        self.given[path] = value
                        if isinstance(value, ast.Dict) and (rest := self._only_read(path, value)):
                            self.only_read[path] = rest
                            self.given[path] = _with_keys(value, lambda key: key not in rest)

    def _only_read(self, path: str, value: ast.Dict) -> frozenset[object]:
        """The keys of a dict of the file that nobody writes, where every access says its key."""
        keys = {one.value for one in value.keys if isinstance(one, ast.Constant)}
        accesses = [one for one in walked(self.module.tree) if isinstance(one, ast.Name | ast.Attribute)
                    and path_of(one) == path and isinstance(one.ctx, ast.Load)]  # fmt: skip
        written: set[object] = set()
        for one in accesses:
            match self.draft.parent(one):
                case ast.Subscript(slice=ast.Constant(value=key), ctx=context) if key in keys:
                    written |= {key} if not isinstance(context, ast.Load) else set()
                case _:
                    return frozenset()
        return frozenset(keys - written) if written and len(keys) == len(value.keys) else frozenset()

    def _move(self, reached: dict[str, ast.FunctionDef]) -> None:
        """The accesses name attributes of the module; functions with such accesses become methods of it."""
        names: dict[str, str] = {}
        taken = {node.attr for node in walked(self.cls.node) if isinstance(node, ast.Attribute)
                 and path_of(node) == f"self.{node.attr}"}  # fmt: skip
        for path in self.given:
            last = path.rpartition("(")[2].rstrip(")").rpartition(".")[2].lower().lstrip("_")
            shared = path.startswith((f"{self.cls.name}.", "type(self)."))
            names[path] = (
                last if shared else self.draft.free_name(last, taken | set(names.values()) | set(self.methods))
            )
            if names[path] in taken and not shared:
                names[path] = self.draft.free_name(f"{last}_state", taken)
        moved = {name: node for name, node in reached.items() if any(self._meets(node, path) for path in names)}
        for name, node in reached.items():  # what calls one that becomes a method has to be one, too
            if name not in moved and any(isinstance(one, ast.Name) and one.id in moved for one in walked(node)):
                moved[name] = node
        self.free = moved
        for name, node in moved.items():
            self._check_alone(name)
            if node.decorator_list:
                raise CannotError("a decorator stands above the function")
            scope = Scope(node, list(node.body), {"self": self.home}, is_run=True, is_new=True, instead_of=node)
            self.scopes.append(scope)
            self.run.add(id(node))
        for scope in self.scopes:
            if "self" in scope.owners and scope.owners["self"] is self.home:
                scope.rewrite(lambda one, s=scope: self._renamed(one, s, names))  # type: ignore[misc]
        for path, name in names.items():
            self.home.places[name] = Place(name, self.home, _or_none(self.given[path]), None, moved=True)
            self._drop(path, set(moved))

    def _meets(self, function: ast.FunctionDef, path: str) -> bool:
        if path.endswith(")"):
            return path.startswith(f"{function.name}(")
        return any(path_of(one) == path for one in walked(function))

    def _check_alone(self, name: str) -> None:
        """Does nobody but the module use the function?"""
        inside = {id(one) for scope in self.scopes for one in walked(scope.node)}
        if self.init is not None:
            inside |= {id(one) for one in walked(self.init)}
        for node in walked(self.module.tree):
            if isinstance(node, ast.Name) and node.id == name and id(node) not in inside:
                above = self.draft.parent(node)
                if not (isinstance(above, ast.Attribute) and f"{name}.{above.attr}" in self.given):
                    raise CannotError(f"others use `{name}`")

    def _renamed(self, node: ast.AST, scope: Scope, names: dict[str, str]) -> ast.AST | list[ast.stmt] | None:
        match node:
            case ast.Subscript(value=held, slice=ast.Constant(value=key)) if key in self.only_read.get(
                path_of(held) or "", ()
            ):
                return node
            case ast.Global(names=declared):
                left = [one for one in declared if one not in names]
                return [ast.Global(left)] if left else []
            case ast.Call(func=ast.Name(id=name)) if name in self.free:
                new = rebuilt_call(node, lambda one: self._renamed(one, scope, names))
                return changed_copy(new, func=reference(f"self.{name}"))
            case ast.Name(id=name, ctx=ast.Load()) if name in self.free:
                return reference(f"self.{name}")
            case ast.Name() | ast.Attribute():
                path = (path_of(node) or "").replace("self.__class__", "type(self)")
                if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {"type(self)", "self.__class__"}:
                    path = next((one for one in names if one.rpartition(".")[2] == node.attr), "")
                if isinstance(node, ast.Name) and f"{scope.node.name}({node.id})" in names:
                    path = f"{scope.node.name}({node.id})"
                if path in names:
                    return ast.Attribute(ast.Name("self", ast.Load()), names[path], node.ctx)
        return None

    def _drop(self, path: str, moved: set[str]) -> None:
        """The statement that set it, where nothing else needs it."""
        if path.endswith(")"):
            return
        gone = {id(one) for scope in self.scopes for one in walked(scope.node)}
        where = self.module.tree.body if path not in self.given or "." not in path else (
            [*self.module.tree.body, *self.cls.node.body])  # fmt: skip
        statement = next((one for one in where if isinstance(one, ast.Assign | ast.AnnAssign)
                          and (path_of(one.targets[0] if isinstance(one, ast.Assign) else one.target)
                               in {path, path.rpartition(".")[2] if "." in path else path})), None)  # fmt: skip
        last = path.rpartition(".")[2]
        users = [one for one in walked(self.module.tree) if isinstance(one, ast.Name | ast.Attribute)
                 and path_of(one) == path and id(one) not in gone
                 and isinstance(one.ctx, ast.Load)]  # fmt: skip
        in_class = statement is not None and any(one is statement for one in self.cls.node.body)
        root = path.partition(".")[0]
        if path in self.only_read and isinstance(value := getattr(statement, "value", None), ast.Dict):
            self.draft.swap(value, _with_keys(value, lambda key: key in self.only_read[path]))
        elif statement is not None and (in_class or root in moved or not users) and (in_class or last):
            self.draft.replace(statement, [])

    # -- closures of the constructor

    def _enclosed(self) -> frozenset[str]:
        """Variables of `__init__` that its inner functions change: they become attributes."""
        if self.init is None:
            return frozenset()
        inner = [one for one in walked(self.init) if isinstance(one, ast.FunctionDef) and one is not self.init]
        outer = {name: node for node in self.init.body if isinstance(node, ast.Assign) for name in defined(node)}
        found: dict[str, None] = {}
        for function in inner:
            declared = {n for one in walked(function) if isinstance(one, ast.Nonlocal) for n in one.names}
            own = {name for one in function.body for part in walked(one) for name in defined(part)} - declared
            own |= {one.arg for one in function.args.args}
            for node in walked(function):
                names = (path for path in _changed_places(node) if path in outer and path not in own)
                found |= dict.fromkeys(path for path in names if "." not in path)
        if not found:
            return frozenset()
        scope = next(one for one in self.scopes if one.node is self.init)

        def change(node: ast.AST) -> ast.AST | list[ast.stmt] | None:
            match node:
                case ast.Nonlocal(names=names):
                    left = [one for one in names if one not in found]
                    return [ast.Nonlocal(left)] if left else []
                case ast.Name(id=name) if name in found:
                    return ast.Attribute(ast.Name("self", ast.Load()), name, node.ctx)
            return None

        meeting = [one for one in inner if any(isinstance(n, ast.Name) and n.id in found for n in walked(one))]
        made = [
            Scope(one, list(one.body), dict(scope.owners), is_run=True, closed={id(o) for o in meeting} - {id(one)})
            for one in meeting
        ]
        self.scopes += made
        scope.closed |= {id(one) for one in meeting}
        for one in (scope, *made):
            one.rewrite(change)
        for name in found:
            statement = outer[name]
            value = statement.value if isinstance(statement, ast.Assign) else None
            new = next(one for one in scope.body if getattr(one, "origin", None) is statement)
            self.home.places[name] = Place(name, self.home, _or_none(value), new)
        return frozenset()


def _with_keys(node: ast.Dict, test: Callable[[object], bool]) -> ast.Dict:
    """The dict with the keys that pass."""
    pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True)
             if test(getattr(key, "value", None))]  # fmt: skip
    return ast.Dict([key for key, _ in pairs], [value for _, value in pairs])


def rebuilt_call(node: ast.Call, change: Callable[[ast.AST], ast.AST | list[ast.stmt] | None]) -> ast.Call:
    """A call whose arguments are changed."""
    args = [rebuilt(one, change) for one in node.args]
    keywords = [rebuilt(one, change) for one in node.keywords]
    return changed_copy(node, args=args, keywords=keywords)


def _class_field(known: ClassInfo, name: str) -> tuple[ast.stmt, ast.expr | None] | None:
    """`count: int = 0` of a record."""
    for node in known.node.body:
        match node:
            case ast.AnnAssign(target=ast.Name(id=found), annotation=kind, value=value) if found == name:
                is_given = value is None and "Tensor" in ast.unparse(kind)
                return node, ast.Name(name, ast.Load()) if is_given else _factory(value)
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return node, value
    return None


def _factory(value: ast.expr | None) -> ast.expr | None:
    """`field(default_factory=lambda: torch.zeros(3))`, `field(default_factory=list)`."""
    match value:
        case ast.Call(keywords=[ast.keyword(arg="default_factory", value=ast.Lambda(body=body))]):
            return body
        case ast.Call(keywords=[ast.keyword(arg="default_factory", value=made)]):
            return expression("MADE()", MADE=made)
    return value


def _as_called(value: ast.expr, function: ast.FunctionDef, call: ast.Call) -> ast.expr:
    """An expression of a function, with what the call gives it, and what it set its names to before."""
    known = given_to(function, call)

    def named(node: ast.AST) -> ast.AST | None:
        return known.get(node.id) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) else None

    for node in function.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=made):
                known[name] = rebuilt(made, named)  # type: ignore[assignment] # of an expression
    return rebuilt(value, named)  # type: ignore[return-value] # likewise


def given_to(function: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    """What a call gives for the parameters of a function or method, the defaults included."""
    names = [one.arg for one in function.args.args if one.arg != "self"]
    given = dict(zip(names[::-1], function.args.defaults[::-1], strict=False))
    given |= dict(zip(names, call.args, strict=False))
    return given | {one.arg: one.value for one in call.keywords if one.arg}


def _registers(node: ast.stmt | None) -> bool:
    return isinstance(node, ast.Expr) and getattr(getattr(node.value, "func", None), "attr", "") == "register_buffer"


def _or_none(value: ast.expr | None) -> ast.expr | None:
    return None if isinstance(value, ast.Constant) and value.value is None else value


def _changed_on(node: ast.AST, owner: str) -> Iterator[str]:
    """The attributes of another object that running the node changes."""
    for path in _changed_places(node):
        if path.startswith(f"{owner}."):
            yield path.removeprefix(f"{owner}.").partition(".")[0]


def _changed_places(node: ast.AST) -> Iterator[str]:
    """The places that running this very node sets or changes, by path; `type(self).calls` as such."""
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type")), attr=name, ctx=ast.Store()):
            yield f"type(self).{name}"
        case ast.Attribute(value=ast.Attribute(attr="__class__"), attr=name, ctx=ast.Store()):
            yield f"type(self).{name}"
        case ast.Name(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()) if path := path_of(node):
            yield path
        case ast.Subscript(ctx=ast.Store() | ast.Del()) if path := path_of(root_of(node)):
            yield path
        case ast.Call(func=ast.Attribute(value=held, attr=method)) if is_changing(method):
            if path := path_of(root_of(held)):
                yield path
        case ast.Call(func=ast.Name(id="next"), args=[iterator]) if path := path_of(iterator):
            yield path


def written_values(scope: Scope) -> Iterator[tuple[Place, ast.expr]]:
    """What the scope puts into places whole, or as their elements, in the author's nodes."""
    for node in (one for statement in scope.body for one in walked(statement)):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _pairs(scope, target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value):
                yield from _pairs(scope, target, value)
            case ast.Call(func=ast.Attribute(value=held, attr="append" | "appendleft"), args=[value]):
                if (found := scope.place(held)) is not None:
                    yield found[1], value
            case ast.Call(func=ast.Attribute(value=held, attr="insert"), args=[_, value]):
                if (found := scope.place(held)) is not None:
                    yield found[1], value


def _pairs(scope: Scope, target: ast.expr, value: ast.expr) -> Iterator[tuple[Place, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for one, part in zip(target.elts, value.elts, strict=True):
            yield from _pairs(scope, one, part)
    elif (found := scope.place(root_of(target))) is not None:
        yield found[1], value
