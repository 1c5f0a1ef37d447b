"""Python numbers: what Python computes, looks up or counts with a number, by what torch or Python has for a symbol.

`divmod`, `set`, `range`, a dict and `one_hot` ask for the value of a number that was read from a tensor; `//` and `%`,
`torch.unique`, `torch.arange` and a table that is compared do not. What NumPy computed of plain numbers is a number of
NumPy, which becomes one of Python where it is made.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind
from exportlint.rewrite.draft import expression, statements
from exportlint.rewrite.tensor_form import TensorForm
from exportlint.rewrite.transformation import CannotError, Proposal
from exportlint.rewrite.view import Nature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

# Where Python's `math` raises, torch gives nan or infinity.
_DOMAINS = {
    "sqrt": "X >= 0", "log": "X > 0", "log2": "X > 0", "log10": "X > 0", "log1p": "X > -1",
    "asin": "(X).abs() <= 1", "acos": "(X).abs() <= 1",
}  # fmt: skip
# NumPy's functions of plain numbers, as Python writes them.
_PLAIN = {
    "prod": "math.prod(A)", "sqrt": "math.sqrt(A)", "exp": "math.exp(A)", "log": "math.log(A)", "log2": "math.log2(A)",
    "log10": "math.log10(A)", "ceil": "math.ceil(A)", "floor": "math.floor(A)", "floor_divide": "(A) // (B)",
    "power": "(A) ** (B)", "mod": "(A) % (B)", "remainder": "(A) % (B)", "divide": "(A) / (B)", "abs": "abs(A)",
    "sum": "sum(A)", "max": "max(A)", "min": "min(A)", "maximum": "max(A, B)", "minimum": "min(A, B)",
}  # fmt: skip
# What a number of NumPy is turned into by `astype`, as Python has it.
_PYTHON_TYPES = {
    "int": "int", "int32": "int", "int64": "int", "float": "float", "float64": "float", "bool": "bool",
}  # fmt: skip
_LISTING = frozenset({"array", "asarray", "arange", "linspace", "logspace", "geomspace", "cumsum", "cumprod", "diff"})
_UNCERTAIN = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class PythonNumbers:
    """`divmod`, `set`, `Counter`, `sum(range(n))`, `one_hot(x)`, `{…}[n]`, `math.log`, `np.prod(x.shape)`."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None:
            return
        for number in range(len(_Forms.every)):
            forms = _Forms(site)
            made = _Forms.every[number]
            try:
                what = made(forms)
            except CannotError:
                continue
            if what:
                yield Proposal(what, forms.draft)


class _Forms:
    """One proposal in the making: each form writes into the draft and says what it did, or nothing."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.view: View = site.fresh_view()
        self.form = TensorForm(self.view)
        self.draft: Draft = site.draft()
        self.node = site.node

    # -- What stands there -----------------------------------------------------------------------------------------

    def name(self, node: ast.AST) -> str:
        return (self.view.origin(node) or "") if isinstance(node, ast.expr) else ""

    def called(self) -> tuple[str, ast.Call] | None:
        return (self.name(self.node.func), self.node) if isinstance(self.node, ast.Call) else None

    def tensor(self, node: ast.expr) -> ast.expr | None:
        """The tensor of which it is the number, or the list of numbers."""
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="item" | "tolist"), args=[]) if self.view.is_data(owner):
                return owner
            case ast.Call(func=ast.Name(id="int" | "float"), args=[given]) if self.view.is_data(given):
                return self.tensor(given)
            case ast.Name(id=name) if not self.view.value(node).is_tensor:
                made = self.view.only_value(name)
                return self.tensor(made) if made is not None else None
        return node if self.view.value(node).is_tensor else None

    def number(self, node: ast.expr) -> ast.expr:
        """A symbol that export carries along; what Python knows, as it is."""
        if not self.view.holds_data(node):
            return node
        if self.view.value(node).is_tensor:
            return expression("X.item()", X=node)
        return self.form.number(node)

    def loads(self, name: str) -> list[ast.Name]:
        return [
            one for one in walked(self.view.node)
            if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
        ]  # fmt: skip

    def places(self, node: ast.expr) -> tuple[list[ast.expr], ast.stmt | None]:
        """Where it is used: where it is made, or the reads of the name that it alone is set to, and that statement."""
        match statement := self.draft.parent(node):
            case ast.Assign(targets=[ast.Name(id=name)]) if self.view.only_value(name) is node:
                return [*self.loads(name)], statement
        return [node], None

    def length_of(self, node: ast.expr) -> ast.Call | None:
        """`len(…)` around it."""
        match above := self.draft.parent(node):
            case ast.Call(args=[given]) if given is node and self.name(above.func) == "builtins.len":
                return above
        return None

    def check(self, node: ast.expr, test: ast.expr, text: str) -> bool:
        """A check above the statement, which holds whenever the node is computed."""
        now: ast.AST | None = node
        while now is not None and not isinstance(now, ast.stmt):
            now = self.draft.parent(now)
            if isinstance(now, _UNCERTAIN):
                return False
        if not isinstance(now, ast.Assign | ast.Return | ast.Expr | ast.AugAssign | ast.AnnAssign):
            return False
        self.draft.above(now, statements("torch._assert_async(TEST, TEXT)", TEST=test, TEXT=ast.Constant(text)))
        return True

    # -- Computed --------------------------------------------------------------------------------------------------

    def checked_math(self) -> str:
        """`math.log(t.item())`: the function of torch, and the check that Python makes."""
        match self.called():
            case (str(name), ast.Call(args=[given], keywords=[]) as call) if name.startswith("math."):
                domain = _DOMAINS.get(name.removeprefix("math."))
                if domain is None or not self.view.is_data(given):
                    return ""
                new, inner = self.form.of(call), self.form.of(given)
                if not self.check(call, expression(domain, X=inner), "math domain error"):
                    return ""
                self.draft.swap(call, new)
                return "compute with torch, and check what Python checks"
        return ""

    def divided(self) -> str:
        match self.called():
            case ("builtins.divmod", ast.Call(args=[a, b]) as call):
                left, right = self.number(a), self.number(b)
                self.draft.swap(call, expression("(A // B, A % B)", A=left, B=right))
                return "divide with `//` and `%`"
        return ""

    def steps_counted(self) -> str:
        """`sum(range(n))`, `len(range(n))`, `len(list(range(n)))`"""
        node = self.node
        match node:
            case ast.Call(args=[ast.Call(args=[end]) as inner]) if self.name(inner.func) == "builtins.range":
                outer = self.name(node.func)
            case _:
                return ""
        if outer == "builtins.list" and (length := self.length_of(node)) is not None:
            node, outer = length, "builtins.len"
        if outer == "builtins.len":
            self.draft.swap(node, expression("max(N, 0)", N=self.number(end)))
            return "count the steps without making them"
        if outer == "builtins.sum":
            self.draft.swap(node, expression("torch.arange(N).sum().item()", N=self.number(end)))
            return "count with `torch.arange`"
        return ""

    def spaced(self) -> str:
        match self.called():
            case ("torch.linspace", ast.Call(args=[start, end, steps], keywords=[]) as call):
                n = self.number(steps)
                text = "START + (END - START) * torch.arange(N) / max(N - 1, 1)"
                if isinstance(start, ast.Constant) and start.value == 0:
                    text = "END * torch.arange(N) / max(N - 1, 1)"
                self.draft.swap(call, expression(text, START=start, END=end, N=n))
                return "space them with `torch.arange`"
        return ""

    def classes_compared(self) -> str:
        """`one_hot(x)`, `one_hot(x, n)` with a number that was read."""
        found = self.called()
        if found is None or not found[0].endswith("functional.one_hot"):
            return ""
        call = found[1]
        given = [*call.args, *(one.value for one in call.keywords if one.arg == "num_classes")]
        if not given or len(given) != len(call.args) + len(call.keywords):
            return ""
        owner = given[0]
        if len(given) == 1:
            number = expression("X.max().item() + 1", X=owner)
            check = expression("(X >= 0).all()", X=owner)
        else:
            number = self.number(given[1])
            check = expression("((X >= 0) & (X < N)).all()", X=owner, N=number)
        if not self.check(call, check, "a class is out of range"):
            return ""
        text = "(X.unsqueeze(-1) == torch.arange(N, device=X.device)).long()"
        self.draft.swap(call, expression(text, X=owner, N=number))
        return "compare with as many classes as there are"

    def resized(self) -> str:
        found = self.called()
        if found is None or not found[0].endswith("functional.interpolate") or not found[1].args:
            return ""
        for word in found[1].keywords:
            if word.arg == "scale_factor" and not isinstance(word.value, ast.Tuple | ast.List):
                others = [one for one in found[1].keywords if one is not word and one.arg != "recompute_scale_factor"]
                recomputes = any(
                    one.arg == "recompute_scale_factor" and ast.unparse(one.value) == "True"
                    for one in found[1].keywords
                )
                sizes = "[torch.sym_int(size * FACTOR) for size in X.shape[2:]]"
                new = expression(sizes, FACTOR=self.number(word.value), X=found[1].args[0])
                call = ast.Call(found[1].func, found[1].args, [ast.keyword("size", new), *others])
                self.draft.swap(found[1], call)
                # Without it, the factor as it is says where torch reads, and not that of the rounded sizes.
                return "give the size" if recomputes else "give the size, which is right for whole factors"
        return ""

    def first_piece(self) -> str:
        """`x.split(n)[0]` as `x[:n]`"""
        found = self.called()
        if found is None:
            return ""
        call = found[1]
        method = found[0].removeprefix("torch.") if found[0].startswith("torch.") else getattr(call.func, "attr", "")
        args = call.args if found[0].startswith("torch.") else [getattr(call.func, "value", None), *call.args]
        match self.draft.parent(call), args:
            case ast.Subscript(slice=ast.Constant(value=0)) as above, [ast.expr() as owner, ast.expr() as given] if (
                not call.keywords and method in {"split", "chunk"} and self.view.is_data(owner)
            ):
                text = "X[:N]" if method == "split" else "X[: -(-X.shape[0] // N)]"
                self.draft.swap(above, expression(text, X=owner, N=self.number(given)))
                return "take a slice"
        return ""

    def repeated(self) -> str:
        """`torch.stack([x] * n)`, `rows = [x] * n` that are stacked later"""
        match node := self.node:
            case ast.BinOp(left=ast.List(elts=[one]), op=ast.Mult(), right=times):
                pass
            case ast.BinOp(left=times, op=ast.Mult(), right=ast.List(elts=[one])):
                pass
            case _:
                return ""
        uses, statement = self.places(node)
        for use in uses:
            call = self.draft.parent(use)
            kind = self.name(call.func) if isinstance(call, ast.Call) and len(call.args) == 1 else ""
            dims = {"torch.stack": "X.dim()", "torch.cat": "(X.dim() - 1)"}.get(kind)
            if dims is None or not isinstance(call, ast.Call) or call.keywords:
                return ""
            self.draft.swap(call, expression(f"X.repeat(N, *[1] * {dims})", X=one, N=self.number(times)))
        if statement is not None:
            if not self._stays_as_it_is(node):
                return ""
            self.draft.replace(statement, [])
        return "repeat the tensor" if uses else ""

    def complex_number(self) -> str:
        match self.called():
            case ("builtins.complex", ast.Call(args=[given], keywords=[]) as call) if self.tensor(given) is not None:
                self.draft.swap(call, expression("X.to(torch.complex64)", X=self.tensor(given) or given))
                return "go on with the tensor"
        return ""

    def number_returned(self) -> str:
        """`float(t)` that is given back."""
        match self.called():
            case ("builtins.float", ast.Call(args=[given], keywords=[]) as call) if self.view.value(given).is_tensor:
                above = self.draft.parent(call)
                if isinstance(above, ast.Tuple | ast.List | ast.Dict):
                    above = self.draft.parent(above)
                if not isinstance(above, ast.Return):
                    return ""
                self.draft.swap(call, expression("X.double().item()", X=given))
                return "read it with `.item()`"
        return ""

    def reduced(self) -> str:
        """`np.mean(t.tolist())`, `statistics.median(t.tolist())`"""
        found = self.called()
        if found is None or len(found[1].args) != 1 or found[1].keywords:
            return ""
        name, given = found[0], found[1].args[0]
        texts = {"mean": "X.double().mean().item()", "median": "X.double().quantile(0.5).item()",
                 "sum": "X.sum().item()", "fmean": "X.double().mean().item()"}  # fmt: skip
        text = texts.get(name.rpartition(".")[2]) if name.startswith(("numpy.", "statistics.")) else None
        match given:
            case ast.Call(func=ast.Attribute(value=owner, attr="tolist"), args=[]) if text and self.view.is_data(owner):
                self.draft.swap(found[1], expression(text, X=owner))
                return "compute with torch"
        return ""

    def stacked(self) -> str:
        """`torch.tensor(row)` of a name that holds a list of tensors."""
        match self.called():
            case ("torch.tensor", ast.Call(args=[ast.Name(id=name) as row], keywords=[]) as call):
                held = self.view.value(row)
                grown = held.container == "list" and held.element is not None and held.element.is_tensor
                match self.view.only_value(name):
                    case ast.List(elts=elements) if elements and all(self.view.value(e).is_tensor for e in elements):
                        pass
                    case None | ast.List(elts=[]) if grown:
                        pass
                    case _:
                        return ""
                self.draft.swap(call, expression("torch.stack(ROW).detach()", ROW=row))
                return "stack the tensors"
        return ""

    # -- Asked -----------------------------------------------------------------------------------------------------

    def type_known(self) -> str:
        """`isinstance(n, int)`, `type(n) is int`"""
        match self.node:
            case ast.Call(args=[asked, cls]) if self.name(self.node.func) == "builtins.isinstance":
                pass
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="type"), args=[asked]), ops=[ast.Is() | ast.Eq()], comparators=[cls]
            ):
                pass
            case _:
                return ""
        tensor = self.tensor(asked)
        wanted = {self.name(one) for one in (cls.elts if isinstance(cls, ast.Tuple) else [cls])}
        plain = {"builtins.int", "builtins.float", "builtins.str", "builtins.list", "builtins.tuple"}
        if tensor is None or self.view.value(asked).is_tensor or not wanted <= plain:
            return ""
        if not self.form._is_whole(tensor):  # noqa: SLF001 - what the form knows of integers
            return ""
        answer = "builtins.int" in wanted
        match above := self.draft.parent(self.node):
            case ast.IfExp(test=test) if test is self.node:
                self.draft.swap(above, above.body if answer else above.orelse)
            case _:
                self.draft.swap(self.node, ast.Constant(answer))
        return "leave the question out"

    def of_enum(self) -> str:
        """`Phase(n).value` is `n`."""
        found = self.called()
        match self.draft.parent(self.node):
            case ast.Attribute(attr="value") as above if found and len(found[1].args) == 1:
                cls = self.site.module.classes.get(getattr(found[1].func, "id", ""))
                bases = [ast.unparse(base).rpartition(".")[2] for base in cls.node.bases] if cls is not None else []
                if {"Enum", "IntEnum"} & {*bases} and self.view.holds_data(found[1].args[0]):
                    self.draft.swap(above, found[1].args[0])
                    return "use the number itself"
        return ""

    # -- Counted ---------------------------------------------------------------------------------------------------

    def occurrences(self) -> str:
        """`t.tolist().count(0)`"""
        match self.node:
            case ast.Call(func=ast.Attribute(value=listed, attr="count"), args=[item]):
                owner = self._values(listed)
                if owner is not None:
                    self.draft.swap(self.node, expression("(X == ITEM).sum().item()", X=owner, ITEM=item))
                    return "count with torch"
        return ""

    def distinct(self) -> str:
        """`len(set(t.tolist()))`, `Counter(t.tolist())[3]`"""
        tensor, counts = self._gathered()
        if tensor is None or not isinstance(self.node, ast.expr):
            return ""
        places, statement = self.places(self.node)
        text = "torch.unique(X).shape[0]"
        for place in places:
            above = self.draft.parent(place)
            around = self.draft.parent(above) if above is not None else None
            match above, around:
                case _ if (length := self.length_of(place)) is not None:
                    self.draft.swap(length, expression(text, X=tensor))
                case ast.Subscript(value=owner, slice=key), _ if counts and owner is place:
                    self.draft.swap(above, expression("(X == KEY).sum().item()", X=tensor, KEY=key))
                case ast.Attribute(attr="get"), ast.Call(args=[key, ast.Constant(value=0)]) if counts:
                    self.draft.swap(around, expression("(X == KEY).sum().item()", X=tensor, KEY=key))
                case _:
                    return ""
        if not places:
            return ""
        if statement is not None:
            self.draft.replace(statement, [])
        return "count with torch"

    def _gathered(self) -> tuple[ast.expr | None, bool]:
        """The tensor whose values are the keys, and whether they are counted."""
        match self.node:
            case (
                ast.SetComp(elt=ast.Name(id=one), generators=[made])
                | ast.DictComp(key=ast.Name(id=one), generators=[made])
            ) if isinstance(made.target, ast.Name) and made.target.id == one and not made.ifs:
                return self._values(made.iter), False
            case ast.Call(func=func, args=[given], keywords=[]):
                name = self.name(func)
                known = {"builtins.set", "builtins.frozenset", "builtins.dict.fromkeys", "collections.Counter"}
                if name in known or ast.unparse(func) == "dict.fromkeys":
                    return self._values(given), name == "collections.Counter"
        return None, False

    def _values(self, node: ast.expr) -> ast.expr | None:
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr="tolist"), args=[]) if self.view.is_data(owner):
                return owner
        return None

    # -- Looked up -------------------------------------------------------------------------------------------------

    def looked_up(self) -> str:
        """`{1: 0.5, 2: 1.5}[n.item()]`, `scales.get(n.item(), 1.0)`, `[0.5, 1.5][n]`"""
        default: ast.expr | None = None
        match self.node:
            case ast.Subscript(value=owner, slice=key):
                pass
            case ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[key, default]):
                pass
            case _:
                return ""
        if not self.view.is_data(key):
            return ""
        match self._display(owner):
            case ast.Dict(keys=keys, values=values) if all(map(_is_number, values)) and all(map(_is_whole, keys)):
                return self._of_dict(owner, key, default, values)
            case ast.List(elts=values) | ast.Tuple(elts=values) if all(map(_is_number, values)) and default is None:
                return self._of_list(owner, key, values)
        return ""

    def _display(self, owner: ast.expr) -> ast.expr | None:
        """The dict or list itself, as the function, the class or the file writes it once."""
        match owner:
            case ast.Name(id=name) if (value := self.view.only_value(name)) is not None:
                return value
            case ast.Attribute(value=ast.Name(id="self")) if self.view.cls is not None:
                made = [
                    one.value for one in walked(self.view.cls.node)
                    if isinstance(one, ast.Assign) and path_of(owner) in map(path_of, one.targets)
                ]  # fmt: skip
                return made[0] if len(made) == 1 else None
        return self.view.literal(owner)

    def _of_dict(self, owner: ast.expr, key: ast.expr, default: ast.expr | None, values: list[ast.expr]) -> str:
        wide = "" if all(map(_is_whole, values)) else ", dtype=torch.float64"
        found = f"torch.tensor(list(OWNER.values()){wide})[torch.tensor(list(OWNER)) == KEY]"
        parts = {"OWNER": owner, "KEY": self.number(key)}
        if default is None:
            new = expression(f"{found}[0].item()", **parts)
        elif _is_number(default):
            new = expression(f"torch.cat([{found}, torch.tensor([DEFAULT]{wide})])[0].item()", **parts, DEFAULT=default)
        else:
            return ""
        self.draft.swap(self._node, new)
        return "look it up in a tensor"

    def _of_list(self, owner: ast.expr, key: ast.expr, values: list[ast.expr]) -> str:
        wide = "" if all(map(_is_whole, values)) else ", dtype=torch.float64"
        index = self.tensor(key)
        if index is None:
            return ""
        new = expression(f"torch.tensor(OWNER{wide})[INDEX.reshape(1)].item()", OWNER=owner, INDEX=index)
        self.draft.swap(self._node, new)
        return "look it up in a tensor"

    @property
    def _node(self) -> ast.expr:
        if not isinstance(self.node, ast.expr):
            raise CannotError("it is no expression")
        return self.node

    def _stays_as_it_is(self, node: ast.expr) -> bool:
        """Do all names in it hold one thing, wherever the function reads them?"""
        stored = {one.id for one in walked(self.view.node)
                  if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}  # fmt: skip
        names = {one.id for one in walked(node) if isinstance(one, ast.Name)}
        return all(self.view.only_value(name) is not None for name in names & stored)

    # -- Numbers of NumPy ------------------------------------------------------------------------------------------

    def plain_functions(self) -> str:
        """`np.prod(x.shape[1:])`, `np.ceil(np.log2(n))`: by Python, wherever in the function."""
        if not self._is_of_numpy():
            return ""
        self.uses_math = False
        found = False
        todo: list[ast.AST] = [self.view.node]
        while todo:
            node = todo.pop()
            if isinstance(node, ast.Call) and (new := self._by_python(node)) is not None:
                self.draft.swap(node, new)
                found = True
            else:
                todo += ast.iter_child_nodes(node)
        if self.uses_math:
            self.draft.add_import("math")
        return "compute with Python" if found else ""

    def _is_of_numpy(self) -> bool:
        """Is it about a number of NumPy, and not about one that was read from a tensor?"""
        return any(self.view.value(one).kind is Kind.ARRAY for one in walked(self.node))

    def _by_python(self, node: ast.expr) -> ast.expr | None:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr="item"), args=[], keywords=[]):
                return self._by_python(inner)
            case ast.Call(func=ast.Attribute(value=inner, attr="astype"), args=[kind], keywords=[]):
                made, name = self._by_python(inner), _PYTHON_TYPES.get(self._name_of_type(kind))
                return None if made is None or name is None else expression(f"{name}(A)", A=made)
        name = self.name(node.func) if isinstance(node, ast.Call) else ""
        text = _PLAIN.get(name.removeprefix("numpy.")) if name.startswith("numpy.") else None
        if not isinstance(node, ast.Call) or text is None or node.keywords or len(node.args) != 1 + ("B" in text):
            return None
        parts = [self._by_python(one) or (one if self._is_plain(one) else None) for one in node.args]
        if None in parts:
            return None
        self.uses_math |= "math." in text
        return expression(text, **{key: one for key, one in zip("AB", parts, strict=False) if one is not None})

    def _name_of_type(self, kind: ast.expr) -> str:
        if isinstance(kind, ast.Constant):
            return str(kind.value)
        return self.name(kind).removeprefix("numpy.").removeprefix("builtins.")

    def _is_plain(self, node: ast.expr) -> bool:
        """Numbers of Python, sizes, or a list of these."""
        if self.view.value(node).kind is Kind.ARRAY or any(
            isinstance(one, ast.expr) and self.view.value(one).kind is Kind.UNBACKED for one in walked(node)
        ):
            return False
        return isinstance(node, ast.List | ast.Tuple | ast.Constant) or self.view.nature(node) in {
            Nature.SIZE, Nature.LISTED}  # fmt: skip

    def kept(self) -> str:
        """What `__init__` or the file made with NumPy, and the function reads."""
        if not self._is_of_numpy():
            return ""
        names = {
            path_of(one) for one in walked(self.view.node)
            if isinstance(one, ast.Name | ast.Attribute) and self.view.value(one).kind is Kind.ARRAY
        }  # fmt: skip
        owners: list[ast.AST] = [one for one in self.site.module.tree.body if isinstance(one, ast.Assign)]
        if self.view.cls is not None:
            owners += [one for one in walked(self.view.cls.node) if isinstance(one, ast.Assign)]
        found = False
        for one in owners:
            match one:
                case ast.Assign(targets=[target], value=ast.Call() as value) if path_of(target) in names:
                    if isinstance(target, ast.Name) and one not in self.site.module.tree.body:
                        continue
                    name = self.site.module.dotted(value.func) or ""
                    if name.startswith("numpy."):
                        method = "tolist" if name.removeprefix("numpy.") in _LISTING else "item"
                        self.draft.swap(value, expression(f"X.{method}()", X=value))
                        found = True
        return "keep Python numbers" if found else ""

    every: tuple[Callable[[_Forms], str], ...] = (
        checked_math, divided, steps_counted, spaced, classes_compared, resized, first_piece, repeated, complex_number,
        number_returned, reduced, stacked, type_known, of_enum, occurrences, distinct, looked_up,
        plain_functions, kept,
    )  # fmt: skip


def _is_number(node: ast.expr | None) -> bool:
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float())):
            return True
    return False


def _is_whole(node: ast.expr | None) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    return _is_number(node) and isinstance(inner, ast.Constant) and isinstance(inner.value, int)
