"""Choices: a layer, a function, an object or a text that data chooses, as its number among all of them.

What Python holds then is no tensor, so torch cannot select it. Its number is one: a name holds that instead, and where
the chosen one is called, or a part of it is read, all give what they give, and the number takes one of the results.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Container, Kind, Module, Value
from exportlint.rewrite.draft import Copying, expression
from exportlint.rewrite.transformation import CannotError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.view import View

_THINGS = frozenset({Kind.MODULE, Kind.FUNCTION, Kind.CLASS, Kind.INSTANCE})
_BY_KEY = frozenset({"dict", "OrderedDict", "ModuleDict", "ParameterDict"})
_TENSORS = frozenset({"Parameter", "Tensor", "Buffer", "FloatTensor", "LongTensor"})
_PARTS = frozenset({"items", "values", "keys"})
_OF_LAYERS = frozenset({"torch.nn.ModuleList", "torch.nn.ModuleDict", "torch.nn.Sequential"})


@dataclass(frozen=True, slots=True)
class Choice:
    """`index`: a tensor, the number of the chosen one; of several in an order, a tensor of their numbers.

    made     what is chosen, made of `each`
    listed   what `each` goes through
    """

    made: ast.expr
    listed: ast.expr
    index: ast.expr


class Form(Protocol):
    """What writes expressions in tensors: `TensorForm`."""

    view: View
    in_tests: int

    def of(self, node: ast.expr) -> ast.expr: ...
    def truth(self, node: ast.expr) -> ast.expr: ...
    def index(self, node: ast.expr) -> ast.expr: ...
    def selected(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> ast.expr: ...


class Choices:
    """What the names of a function hold that data chooses, and what its expressions choose. `form`: of the tensors
    that they are made of."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.view = form.view
        self.named: dict[str, Choice] = {}
        self.orders: dict[str, Choice] = {}
        self.held: dict[str, ast.expr] = {}  # one thing each, which Python knows
        self.counted: dict[str, Choice] = {}  # what loops go through, with names of their numbers
        self.texts: dict[str, tuple[str, str]] = {}  # around the numbers that names of texts hold
        self.numbers: dict[int, Choice] = {}  # by the identity of the index
        self.met = False  # was there one since somebody set this to False?
        self.each = "each" if "each" not in self.view.flow.names else "each_one"

    def state(self) -> tuple[dict[str, Choice], dict[str, Choice], dict[str, ast.expr]]:
        """What names hold now."""
        return dict(self.named), dict(self.orders), dict(self.held)

    def set_state(self, state: tuple[dict[str, Choice], dict[str, Choice], dict[str, ast.expr]]) -> None:
        self.named, self.orders, self.held = (dict(one) for one in state)  # type: ignore[assignment]

    def number_of(self, name: str, value: ast.expr) -> ast.expr | None:
        """What a name holds instead of a text of a number, where it is nothing but a key."""
        text = _text_of(value)
        if text is None or not self.view.is_data(text[1]):
            return None
        nodes = list(walked(self.view.node))
        reads = [one for one in nodes if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)]
        keys = [one.slice for one in nodes if isinstance(one, ast.Subscript) and self._is_mapping(one.value)]
        if any(not any(key is read for key in keys) for read in reads):
            return None
        self.texts[name] = (text[0], text[2])
        return self._key(text[1])

    def refuse(self, node: ast.expr) -> None:
        """Raises CannotError where Python asks what data chooses for anything else."""
        if any(isinstance(one, ast.Name) and one.id in {*self.named, *self.orders} for one in walked(node)):
            raise CannotError("what data chooses is neither called nor read")

    def forget(self, path: str) -> None:
        """The name is set to something else."""
        self.texts.pop(path, None)
        for known in (self.named, self.orders, self.held):
            known.pop(path, None)

    def of(self, node: ast.expr) -> Choice | None:
        """Which one the expression gives; None where it gives no thing that data chooses. Raises CannotError."""
        match node:
            case ast.Name(id=name):
                return self.named.get(name)
            case ast.IfExp(test=test, body=body, orelse=orelse) if self.view.is_data(test):
                return self.selected(self.form.truth(test), body, orelse)
            case ast.Attribute(value=owner, attr=attribute) if (inner := self.of(owner)) is not None:
                return replace(inner, made=ast.Attribute(inner.made, attribute, ast.Load()))
            case ast.Attribute(value=ast.Attribute() | ast.Name()):
                return None
            case ast.Subscript(value=owner, slice=key) if not isinstance(key, ast.Slice | ast.Tuple):
                return self._entry(owner, key)
            case ast.Call(func=ast.Name(id="getattr") as asked, args=[owner, key]) if self.view.origin(asked):
                inner = self.of(key)
                return inner and replace(inner, made=expression("getattr(X, KEY)", X=owner, KEY=inner.made))
            case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[key, default]) if self.view.holds_data(
                key
            ) and self._is_mapping(owner):
                hits = expression("torch.cat([HITS, torch.tensor([True])]).nonzero()[0]", HITS=self.hits(owner, key))
                return Choice(self._each, expression("[*X.values(), OTHER]", X=owner, OTHER=default), hits)
            case ast.Call(func=ast.Name(id="min" | "max" as name)):
                best = self._by_key(node)
                index = best and expression(f"KEYS.arg{name}()", KEYS=best.index)
                return replace(best, index=index) if best and index else None
            case ast.Call(func=ast.Name(id="next"), args=[ast.GeneratorExp(elt=elt, generators=[ast.comprehension(
                target=ast.Name(id=each), iter=listed, ifs=[test])])]) if self.view.holds_data(test):  # fmt: skip
                text = "torch.stack([TEST for EACH in LISTED]).nonzero()[0]"
                hit = expression(text, TEST=self.form.truth(test), EACH=each, LISTED=listed)
                return Choice(_renamed(elt, {each: self.each}), listed, hit)
        return None

    def order(self, node: ast.expr) -> Choice | None:
        """Several things in an order that data says: `sorted(self.heads, key=…)`, a name or a slice of that."""
        match node:
            case ast.Name(id=name):
                return self.orders.get(name)
            case ast.Subscript(value=owner, slice=ast.Slice() as part) if (whole := self.order(owner)) is not None:
                return replace(whole, index=ast.Subscript(whole.index, part, ast.Load()))
            case ast.Call(func=ast.Name(id="sorted"), keywords=words):
                keys, reverse = self._by_key(node), [one for one in words if one.arg == "reverse"]
                order = keys and expression("KEYS.argsort(stable=True)", KEYS=keys.index)
                if keys is None or not isinstance(order, ast.Call):
                    return None
                order.keywords += [ast.keyword("descending", one.value) for one in reverse]
                return replace(keys, index=order)
        return None

    def selected(self, test: ast.expr, yes: ast.expr, no: ast.expr) -> Choice | None:
        """`yes` where the test holds, else `no`."""
        first, second = self._side(yes), self._side(no)
        if first is None or second is None:
            return None
        if ast.dump(first.listed) == ast.dump(second.listed) and ast.dump(first.made) == ast.dump(second.made):
            return replace(first, index=self.form.selected(test, first.index, second.index))
        whole = (
            second if isinstance(first.index, ast.Constant) and not isinstance(second.index, ast.Constant) else first
        )
        other = second if whole is first else first
        added = {id(first): first.index, id(second): second.index}
        if not (isinstance(whole.listed, ast.Tuple) and isinstance(other.listed, ast.Tuple)):
            raise CannotError("one of two lists is chosen")
        things = {ast.dump(one): one for one in whole.listed.elts}
        if isinstance(other.index, ast.Constant):
            things.setdefault(ast.dump(other.listed.elts[0]), other.listed.elts[0])
            added[id(other)] = ast.Constant([*things].index(ast.dump(other.listed.elts[0])))
            listed = [*things.values()]
        else:
            listed = [*whole.listed.elts, *other.listed.elts]
            added[id(other)] = ast.BinOp(other.index, ast.Add(), ast.Constant(len(whole.listed.elts)))
        index = self.form.selected(test, added[id(first)], added[id(second)])
        return Choice(self._each, ast.Tuple(listed, ast.Load()), index)

    def called(self, choice: Choice, call: ast.Call) -> ast.expr:
        """What the chosen one gives, which is a tensor; of the call only the arguments count."""
        return self._taken(choice, ast.Call(choice.made, call.args, call.keywords))

    def read(self, choice: Choice, node: ast.expr) -> ast.expr:
        """What is chosen, where it is a tensor or a number. Raises CannotError where Python goes on with a thing."""
        value = self.view.value(node)
        is_whole = isinstance(choice.made, ast.Name) and self.lists_things(choice.listed)
        if value.kind in _THINGS or isinstance(node, ast.Name) or is_whole:
            raise CannotError("what data chooses is neither called nor read")
        if value.is_tensor:
            return self._taken(choice, choice.made)
        return self._taken(choice, expression("torch.as_tensor(X)", X=choice.made))

    def _taken(self, choice: Choice, made: ast.expr) -> ast.expr:
        self.met = True
        index = choice.index
        if "." in (path_of(index) or ""):  # a buffer may be written to later, and autograd keeps the index
            index = expression("INDEX.clone()", INDEX=index)
        text = "torch.stack([MADE for EACH in LISTED])[INDEX.reshape(1)].squeeze(0)"
        return expression(text, MADE=made, EACH=self.each, LISTED=choice.listed, INDEX=index)

    def is_thing(self, node: ast.expr) -> bool:
        """Something that Python knows, and that is called, or has parts, or is a key."""
        match node:
            case ast.Constant(value=str()) | ast.Lambda():
                return True
            case ast.Name() | ast.Attribute() if (self.view.origin(node) or "").startswith("torch."):
                return True
        kind = self.view.value(node).kind
        if kind is not Kind.UNKNOWN or not isinstance(node, ast.Attribute | ast.Name):
            return kind in _THINGS
        match self.view.literal(node):  # an object of a class, by its name
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                return name[:1].isupper() and name not in _TENSORS
        return False

    def lists_things(self, node: ast.expr) -> bool:
        """Is it a list of such things, or what goes through one?"""
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=part), args=[]) if part in _PARTS:
                return self.lists_things(owner)
            case ast.Call(func=ast.Name(id="enumerate" | "zip" | "list" | "reversed"), args=args):
                return any(map(self.lists_things, args))
            case ast.Call(func=made) if self.view.module.dotted(made) in _OF_LAYERS:  # where `__init__` makes them
                return True
            case ast.List(elts=[*elements]) | ast.Tuple(elts=[*elements]) if elements:
                return all(map(self.is_thing, elements))
            case ast.Dict(values=[*elements]) if elements:
                return all(map(self.is_thing, elements))
        lead = self.view.value(node).lead
        if isinstance(lead, Module):
            return lead.name is None or not lead.name.rpartition(".")[2].startswith("Parameter")
        entries = list(_entries(lead)) if isinstance(lead, Container) else []
        if any(one.kind in _THINGS for one in entries):
            return True
        display = self.view.literal(node)
        return display is not None and display is not node and self.lists_things(display)

    @property
    def _each(self) -> ast.expr:
        return ast.Name(self.each, ast.Load())

    def _side(self, node: ast.expr) -> Choice | None:
        if (chosen := self.numbers.get(id(node)) or self.counted.get(path_of(node) or "") or self.of(node)) is not None:
            return chosen
        node = self.held.get(path_of(node) or "", node)
        if not self.is_thing(node):
            return None
        return Choice(self._each, ast.Tuple([node], ast.Load()), ast.Constant(0))

    def _entry(self, owner: ast.expr, key: ast.expr) -> Choice | None:
        order = self.order(owner)
        if order is not None:
            return replace(order, index=ast.Subscript(order.index, key, ast.Load()))
        if (inner := self.of(key)) is not None:
            return replace(inner, made=ast.Subscript(owner, inner.made, ast.Load()))
        if (inner := self.of(owner)) is not None:
            return replace(inner, made=ast.Subscript(inner.made, key, ast.Load()))
        if self.view.is_data(owner) or not self.view.holds_data(key):
            return None
        if isinstance(key, ast.Name) and self.view.words.get(key.id) == ():
            return Choice(self._each, expression("X.values()", X=owner), self.form.index(key))
        if self._is_mapping(owner) and (self.lists_things(owner) or self._text(key) is not None):
            index = expression("HITS.nonzero()[0]", HITS=self.hits(owner, key))
            return Choice(self._each, expression("X.values()", X=owner), index)
        return Choice(self._each, owner, self.form.index(key)) if self.lists_things(owner) else None

    def _is_mapping(self, owner: ast.expr) -> bool:
        lead = self.view.value(owner).lead
        name = lead.container if isinstance(lead, Container) else lead.name if isinstance(lead, Module) else None
        return (name or "").rpartition(".")[2] in _BY_KEY or isinstance(self.view.literal(owner), ast.Dict)

    def hits(self, owner: ast.expr, key: ast.expr) -> ast.expr:
        """Which key of a mapping it is, of numbers, or of texts that are made of one number."""
        keys = expression("list(OWNER)", OWNER=owner)
        if isinstance(key, ast.Name) and (words := self.view.words.get(key.id)):
            listed = ast.Tuple([*map(ast.Constant, words)], ast.Load())
            keys = expression("[WORDS.index(key) for key in OWNER]", WORDS=listed, OWNER=owner)
        elif (text := self._text(key)) is not None:
            before, key, after = text
            read = f"key.removeprefix({before!r})" if before else "key"
            read = f"{read}.removesuffix({after!r})" if after else read
            keys = expression(f"[int({read}) for key in OWNER]", OWNER=owner)
        return expression("(torch.tensor(KEYS) == N)", KEYS=keys, N=self._key(key))

    def _key(self, number: ast.expr) -> ast.expr:
        self.form.in_tests += 1  # no gradient passes a key
        new = self.form.of(number)
        self.form.in_tests -= 1
        return new

    def _text(self, key: ast.expr) -> tuple[str, ast.expr, str] | None:
        around = self.texts.get(key.id) if isinstance(key, ast.Name) else None
        return (around[0], key, around[1]) if around is not None else _text_of(key)

    def _by_key(self, node: ast.Call) -> Choice | None:
        """What is compared, with the keys of all in the place of the index."""
        words = {one.arg: one.value for one in node.keywords}
        if len(node.args) != 1 or not {"key"} <= words.keys() <= {"key", "reverse"}:
            return None
        (listed,), key = node.args, words["key"]
        if not self.lists_things(listed) or self.view.origin(node.func) is None:
            return None
        match key:
            case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=each)]), body=body):
                made = self.form.of(body)
            case ast.Name() | ast.Attribute():
                each, made = self.each, ast.Call(key, [self._each], [])
            case _:
                return None
        keys = expression("torch.stack([KEY for EACH in LISTED])", KEY=made, EACH=each, LISTED=listed)
        return Choice(self._each, listed, keys)


def _entries(lead: Container) -> Iterator[Value]:
    yield from (lead.element,) if lead.element is not None else ()
    yield from lead.items or ()
    yield from (value for _, value in lead.fields)


def _text_of(key: ast.expr) -> tuple[str, ast.expr, str] | None:
    """The number that a text is made of, and the texts before and behind it."""
    match key:
        case ast.Call(func=ast.Name(id="str"), args=[number]):
            return "", number, ""
        case ast.JoinedStr(values=parts) if sum(isinstance(one, ast.FormattedValue) for one in parts) == 1:
            place = next(i for i, one in enumerate(parts) if isinstance(one, ast.FormattedValue))
            match parts[place]:
                case ast.FormattedValue(value=number, conversion=-1, format_spec=None):
                    around = (parts[:place], parts[place + 1 :])
                    before, after = ("".join(str(getattr(one, "value", "")) for one in some) for some in around)
                    return before, number, after
    return None


class _Renamed(Copying):
    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def other(self, node: ast.AST) -> ast.AST | None:
        is_one = isinstance(node, ast.Name) and node.id in self.names
        return ast.Name(self.names[node.id], node.ctx) if is_one and isinstance(node, ast.Name) else None


def _renamed(node: ast.expr, names: dict[str, str]) -> ast.expr:
    new = _Renamed(names).visit(node)
    assert isinstance(new, ast.expr)  # noqa: S101 - a copy of one
    return new
