"""Rows of different lengths stay padded, with a mask: not packed for a layer, nested, or cut to the longest."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING, cast

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.shapes import dims_of
from exportlint.rewrite.draft import expression, statements
from exportlint.rewrite.tensor_form import TensorForm
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_PACKS = frozenset({"torch.nn.utils.rnn.pack_padded_sequence"})
_PADS = frozenset({"torch.nn.utils.rnn.pad_packed_sequence"})
_NESTS = frozenset({"torch.nested.nested_tensor", "torch.nested.as_nested_tensor"})
_END = 1_000_000  # behind all lines
_TO_CPU = frozenset({"cpu", "tolist", "numpy", "detach", "to"})


class PaddedRows:
    """`pack_padded_sequence`, one recurrent layer, and `pad_packed_sequence` or the last state; nested tensors."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None:
            return
        for node in walked(site.view.node):
            name = site.view.origin(node.func) if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Call) and name in _PACKS and (packed := _Packed.of(site, site.view, node)):
                for one in packed.variants():
                    yield from one.masked()
                    yield from one.stepped()
            elif isinstance(node, ast.Call) and name in _NESTS:
                yield from _unnested(site, site.view, node)
            elif isinstance(node, ast.Assign):
                yield from _uncut(site, site.view, node)


def _uncut(site: Site, view: View, line: ast.Assign) -> Iterator[Proposal]:
    """`longest = int(lengths.max())`, where `x[:, :longest]` cuts padding off that a mask leaves out."""
    match line.targets:
        case [ast.Name(id=name)] if view.only_value(name) is line.value and view.is_data(line.value):
            pass
        case _:
            return
    above = {
        one.id for statement in view.body if (statement.end_lineno or 0) < line.lineno
        for one in walked(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)
    }  # fmt: skip
    cut = list[tuple[ast.Subscript, str, int]]()
    for node in walked(view.node):
        match node:
            case ast.Subscript(value=ast.Name(id=owner), slice=index) if owner in {*above, *view.flow.parameters}:
                parts = index.elts if isinstance(index, ast.Tuple) else [index]
                match parts[-1]:
                    case ast.Slice(lower=None, upper=ast.Name(id=end), step=None) if end == name:
                        if all(isinstance(one, ast.Slice) for one in parts):
                            cut.append((node, owner, len(parts) - 1))
    counts = any(view.origin(one.func) == "torch.arange" for one in walked(view.node) if isinstance(one, ast.Call))
    if not cut or not (counts or len({owner for _, owner, _ in cut}) > 1):
        return
    for is_filled in (False, True):
        draft, (_, owner, place) = site.draft(), cut[0]
        draft.swap(line.value, expression(f"X.shape[{place}]", X=owner))
        longest = TensorForm(view).number(line.value)
        for node, owner, place in cut if is_filled else ():
            more = len(dims_of(view.value(node.value)) or ()) - place - 1
            rows = f"torch.arange({name}, device=X.device) < LONGEST"
            test = f"({rows})[:, {', '.join(['None'] * more)}]" if more > 0 else rows
            draft.swap(node, expression(f"torch.where({test}, X, 0)", X=owner, LONGEST=_before_item(longest)))
        how = ", and fill it with zeros" if is_filled else ""
        yield Proposal(f"leave the padding where it is, as the mask leaves it out{how}", draft)


def _before_item(node: ast.expr) -> ast.expr:
    match node:
        case ast.Call(func=ast.Attribute(value=tensor, attr="item"), args=[]):
            return tensor
    return node


def _argument(call: ast.Call, place: int, name: str) -> ast.expr | None:
    if len(call.args) > place:
        return call.args[place]
    return next((one.value for one in call.keywords if one.arg == name), None)


def _reads(view: View, name: str) -> list[ast.Name]:
    nodes = (one for one in walked(view.node) if isinstance(one, ast.Name))
    return [one for one in nodes if one.id == name and isinstance(one.ctx, ast.Load)]


# -- Packed for a recurrent layer --------------------------------------------------------------------------------------


class _Cut(Enum):
    """How the output is cut to the longest row, as padding does that is not told how long rows are."""

    BY_TENSOR = "X.max().item()"  # of lengths in a tensor
    BY_LIST = "max(X)"  # of numbers in a list


@dataclass
class _Packed:
    """`call` packs `rows` of these `lengths`; `run`: the layer's call with `place` for its input, in the `line`.

    test    of the `if` around the packing, where the layer gets rows as they are without it
    cut     of the output; None: none
    checks  does it raise where packing does, of lengths that are no rows' or not sorted?
    """

    site: Site
    view: View
    call: ast.Call
    rows: ast.expr
    lengths: ast.expr
    run: ast.Call
    place: ast.expr
    line: ast.Assign
    test: ast.expr | None = None
    cut: _Cut | None = None
    checks: bool = False

    @classmethod
    def of(cls, site: Site, view: View, call: ast.Call) -> _Packed | None:
        draft = site.draft()
        rows, lengths = _argument(call, 0, "input"), _argument(call, 1, "lengths")
        places: list[ast.expr] = [call]
        test = None
        match draft.parent(call):
            case ast.Assign(targets=[ast.Name(id=name)]) as packing:
                places = [*_reads_until_set(view, draft, name, packing)]
                test = _test_around(draft, packing)
        run = draft.parent(places[0]) if len(places) == 1 else None
        line = draft.parent(run) if run is not None else None
        if rows is None or lengths is None or not isinstance(run, ast.Call) or not isinstance(line, ast.Assign):
            return None
        if run.args[:1] != places or view.origin(run.func) in _PADS or not isinstance(line.targets[0], ast.Tuple):
            return None
        if test is not None and _test_around(draft, line) is test:
            test = None
        elif test is not None and (path_of(rows) != path_of(places[0]) or not _is_read_only(test)):
            return None
        whole = cls(site, view, call, rows, lengths, run, places[0], line, test)
        return whole if len(line.targets[0].elts) == 2 else None  # noqa: PLR2004 - output, state

    def variants(self) -> Iterator[_Packed]:
        """Uncut ones first, then those that are cut as padding does; again with what packing checks, which costs the
        program an assertion."""
        cuts: list[_Cut | None] = [None]
        if self.ends_with_longest:
            cuts += [_Cut.BY_TENSOR] if self._is_tensor else [_Cut.BY_LIST, _Cut.BY_TENSOR]
        for checks in (False, True):
            yield from (replace(self, cut=cut, checks=checks) for cut in cuts)

    @property
    def _is_tensor(self) -> bool:
        made = self._tensor_of_lengths()
        return self.view.is_data(made) or made is not self.lengths

    @property
    def _enforces_order(self) -> bool:
        asked = _argument(self.call, 3, "enforce_sorted")
        return not (isinstance(asked, ast.Constant) and asked.value is False)

    @property
    def batch_first(self) -> bool:
        first = _argument(self.call, 2, "batch_first")
        return isinstance(first, ast.Constant) and bool(first.value)

    @property
    def ends_with_longest(self) -> bool:
        out = cast("ast.Tuple", self.line.targets[0]).elts[0]
        pads = self._pads(out.id) if isinstance(out, ast.Name) else ()
        return any(_argument(one, 3, "total_length") is None for one, _ in pads)

    def _ended(self, pad: ast.Call, rows: ast.expr) -> ast.expr:
        """The rows that padding gives: no longer than the longest."""
        if self.cut is None or _argument(pad, 3, "total_length") is not None:
            return rows
        given = self.lengths if self.cut is _Cut.BY_LIST else self._lengths()
        end = expression(self.cut.value, X=given)
        return expression("X[:, :END]" if self.batch_first else "X[:END]", X=rows, END=end)

    @property
    def _in_words(self) -> str:
        cut = "" if self.cut is None else ", and cut to the longest"
        return f"{cut}, and check the lengths as packing does" if self.checks else cut

    def _tensor_of_lengths(self) -> ast.expr:
        """Without the move to the CPU that packing asks for, and without the list that it takes as well."""
        node = self.lengths
        while True:
            made = self.view.only_value(node.id) if isinstance(node, ast.Name) else node
            match made:
                case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method in _TO_CPU:
                    node = inner
                case ast.Call(func=ast.Name(id="list"), args=[inner], keywords=[]) if self.view.is_data(inner):
                    node = inner
                case _:
                    return node

    @property
    def _has_own_name(self) -> bool:
        return self.checks or self.test is not None or not self._is_tensor

    def _lengths(self) -> ast.expr:
        """A tensor of them."""
        if self._has_own_name:
            return ast.Name(self.site.draft().free_name("row_lengths", self.view.flow.names), ast.Load())
        return self._tensor_of_lengths()

    def _padded(self) -> ast.expr:
        """The rows, of which an expression that computes is written once."""
        if path_of(self.rows) is not None or not self._has_own_name:
            return self.rows
        return ast.Name(self.site.draft().free_name("padded", self.view.flow.names), ast.Load())

    def _made_tensor(self) -> str:
        """Of what is given: Dynamo leaves the graph for `as_tensor` of a list of numbers that data says."""
        given = self.view.value(self._tensor_of_lengths())
        if given.is_tensor:
            return "torch.as_tensor(GIVEN, device=ROWS.device)"
        if given.container in {"list", "tuple"}:
            return "torch.tensor(GIVEN, device=ROWS.device)"
        return "(GIVEN if torch.is_tensor(GIVEN) else torch.tensor(GIVEN)).to(ROWS.device)"

    def _prepared(self) -> list[ast.stmt]:
        """What stands in the place of the packing."""
        if not self._has_own_name:
            return []
        parts: dict[str, ast.expr | str | float] = {
            "NAME": path_of(self._lengths()) or "", "ROWS": self._padded(), "GIVEN": self._tensor_of_lengths(),
        }  # fmt: skip
        lines = statements("ROWS = GIVEN", ROWS=self._padded(), GIVEN=self.rows) if path_of(self.rows) is None else []
        lines += statements(f"NAME = {self._made_tensor()}", **parts)
        if self.checks:
            steps = "ROWS.shape[1]" if self.batch_first else "ROWS.shape[0]"
            text = f'torch._assert_async(((NAME > 0) & (NAME <= {steps})).all(), "a length is not one of a row")'
            lines += statements(text, **parts)
        if self.checks and self._enforces_order:
            text = 'torch._assert_async((NAME[1:] <= NAME[:-1]).all(), "rows are not sorted by their lengths")'
            lines += statements(text, **parts)
        return lines

    def masked(self) -> Iterator[Proposal]:
        """The layer runs over the padding, too: of one direction, this changes nothing before it."""
        draft, out, state = self.site.draft(), *cast("ast.Tuple", self.line.targets[0]).elts
        if not isinstance(out, ast.Name) or self._made_with("bidirectional") is not False or self.test is not None:
            return
        named = out if out.id != "_" else ast.Name(draft.free_name("output", self.view.flow.names), ast.Store())
        draft.swap(out, named)
        draft.swap(self.place, self._padded())
        self._without_packing(draft)
        padding = "torch.arange(OUT.shape[1], device=OUT.device) >= LENGTHS.to(OUT.device)[:, None]"
        last = "STATE = OUT.gather(1, (LENGTHS.to(OUT.device) - 1)[:, None, None].expand(-1, 1, OUT.shape[2]))"
        last += ".transpose(0, 1)"
        if not self.batch_first:
            padding = "torch.arange(OUT.shape[0], device=OUT.device)[:, None] >= LENGTHS.to(OUT.device)"
            last = "STATE = OUT.gather(0, (LENGTHS.to(OUT.device) - 1)[None, :, None].expand(1, -1, OUT.shape[2]))"
        parts: dict[str, ast.expr | str | float] = {"OUT": named.id, "LENGTHS": self._lengths()}
        name = draft.free_name("padding", self.view.flow.names)
        pads = list(self._pads(out.id))
        for pad, value in pads:
            new = expression("OUT.masked_fill(NAME[..., None], VALUE)", NAME=name, VALUE=value, **parts)
            self._unpadded(draft, pad, self._ended(pad, new))
        read = self._states_read(state)
        if len(pads) != self._packed_reads(draft, out.id, pads) or read is None:
            return
        lines = statements(f"NAME = {padding}", NAME=name, **parts) if pads else []
        lines += statements(last, STATE=read, **parts) if read else []
        draft.below(self.line, lines)
        if lines:
            yield Proposal(f"keep the rows padded, and mask{self._in_words}", draft)

    def _states_read(self, state: ast.expr) -> str | None:
        """The name of the state that is read; "": none; None: one that no output shows, as an LSTM's cell."""
        parts = state.elts if isinstance(state, ast.Tuple) else [state]
        read = [one.id for one in parts if isinstance(one, ast.Name) and _reads(self.view, one.id)]
        is_cell = self._layer() in {"LSTM", None} and (not isinstance(state, ast.Tuple) or path_of(parts[-1]) in read)
        return "" if not read else None if len(read) > 1 or is_cell else read[0]

    def stepped(self) -> Iterator[Proposal]:
        """Of any number of layers and directions, with every state."""
        draft, out = self.site.draft(), cast("ast.Tuple", self.line.targets[0]).elts[0]
        tree = draft.tree.body
        first = self.view.cls.node if self.view.cls is not None else self.view.node
        top = next((one for one in tree if one.lineno <= first.lineno <= (one.end_lineno or 0)), None)
        if top is None or not isinstance(out, ast.Name):
            return
        if self.test is not None and any(not self._is_under_the_test(draft, pad) for pad, _ in self._pads(out.id)):
            return
        draft.swap(self.place, self._padded())
        self._without_packing(draft)
        name = "run_padded"
        if all(getattr(one, "name", "") != name for one in tree):
            draft.above(top, ast.parse(_STEPPED if self.test is None else _STEPPED_IF_PACKED).body)
        lengths = self._lengths()
        if self.test is not None:
            lengths = expression("LENGTHS if TEST else None", LENGTHS=lengths, TEST=self.test)
        given = [self.run.func, self._padded(), lengths, *self.run.args[1:]]
        words = [ast.keyword("batch_first", ast.Constant(value=True))] if self.batch_first else []
        draft.swap(self.run, ast.Call(ast.Name(name, ast.Load()), given, [*self.run.keywords, *words]))
        pads = list(self._pads(out.id))
        for pad, value in pads:
            if not isinstance(value, ast.Constant) or value.value:
                return
            self._unpadded(draft, pad, self._ended(pad, ast.Name(out.id, ast.Load())))
        if len(pads) == self._packed_reads(draft, out.id, pads):
            yield Proposal(f"step over padded rows{self._in_words}", draft)

    def _pads(self, out: str) -> Iterator[tuple[ast.Call, ast.expr]]:
        """Where the packed output is padded again, and with what."""
        for one in walked(self.view.node):
            if isinstance(one, ast.Call) and self.view.origin(one.func) in _PADS and path_of(one.args[0]) == out:
                yield one, _argument(one, 2, "padding_value") or ast.Constant(0.0)

    def _packed_reads(self, draft: Draft, out: str, pads: Sequence[tuple[ast.Call, ast.expr]]) -> int:
        """How often the packed output is read: behind the layer, as long as the name is not set anew."""
        first = last = self.line.end_lineno or 0
        for pad, _ in pads:
            above = draft.parent(pad)
            is_set = isinstance(above, ast.Assign) and out in map(path_of, walked(above.targets[0]))
            last = max(last, (above.end_lineno or 0) if is_set and isinstance(above, ast.Assign) else _END)
        return sum(first < one.lineno <= (last if pads else _END) for one in _reads(self.view, out))

    def _unpadded(self, draft: Draft, pad: ast.Call, new: ast.expr) -> None:
        """Its two results are the new expression and the lengths."""
        above = draft.parent(pad)
        if isinstance(above, ast.Subscript) and isinstance(above.slice, ast.Constant) and above.slice.value == 0:
            draft.swap(above, new)
        elif isinstance(above, ast.Assign) and isinstance(above.targets[0], ast.Tuple):
            first, second = above.targets[0].elts
            is_there = path_of(first) is not None and path_of(first) == path_of(new)
            lines = [] if is_there else statements("PLACE = NEW", PLACE=first, NEW=new)
            if isinstance(second, ast.Name) and _reads(self.view, second.id):
                lines += statements("PLACE = LENGTHS", PLACE=second, LENGTHS=self._lengths())
            draft.replace(above, lines)
        else:
            draft.swap(pad, ast.Tuple([new, self._lengths()], ast.Load()))

    def _is_under_the_test(self, draft: Draft, pad: ast.Call) -> bool:
        statement, wanted = draft.statement_of(pad), self.test
        around = _test_around(draft, statement) if statement is not None else None
        return around is not None and wanted is not None and ast.dump(around) == ast.dump(wanted)

    def _without_packing(self, draft: Draft) -> None:
        above = draft.parent(self.call)
        if isinstance(above, ast.Assign) and self.place is not self.call:
            draft.replace(above, self._prepared())
        else:
            draft.above(self.line, self._prepared())

    def _constructors(self) -> Sequence[ast.Call]:
        """What sets the layer, in the class."""
        nodes = walked(self.view.cls.node) if self.view.cls is not None else ()
        lines = (one for one in nodes if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call))
        return [cast("ast.Call", one.value) for one in lines if path_of(one.targets[0]) == path_of(self.run.func)]

    def _layer(self) -> str | None:
        made = self._constructors()
        return (path_of(made[0].func) or "").rpartition(".")[2] if len(made) == 1 else None

    def _made_with(self, word: str) -> bool | None:
        """Is the layer's flag set? None: not known."""
        made = self._constructors()
        if len(made) != 1 or any(one.arg is None for one in made[0].keywords):
            return None
        given = next((one.value for one in made[0].keywords if one.arg == word), ast.Constant(value=False))
        return bool(given.value) if isinstance(given, ast.Constant) else None


def _reads_until_set(view: View, draft: Draft, name: str, at: ast.Assign) -> list[ast.Name]:
    """Where the name is read that the statement sets: it may have held the plain rows before, and hold what the layer
    gives afterwards."""
    begin, end = at.end_lineno or 0, _END
    for one in walked(view.node):
        is_set = isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store) and one.id == name and one.lineno > begin
        statement = draft.statement_of(one) if is_set else None
        if statement is not None and draft.parent(statement) is draft.parent(at):  # as often as this one
            end = min(end, statement.end_lineno or _END)
    return [one for one in _reads(view, name) if begin < one.lineno <= end]


def _test_around(draft: Draft, statement: ast.stmt) -> ast.expr | None:
    """Of the `if` without an `else` that the statement stands in."""
    above = draft.parent(statement)
    return above.test if isinstance(above, ast.If) and not above.orelse else None


def _is_read_only(test: ast.expr) -> bool:
    """Is it the same wherever it is asked? Names and attributes are, and `is None` of them."""
    allowed = (ast.Name, ast.Attribute, ast.UnaryOp, ast.Not, ast.Compare, ast.Is, ast.IsNot, ast.Constant, ast.Load)
    return all(isinstance(one, allowed) for one in walked(test))


_STEPPED = '''\
def run_padded(layer, rows, lengths, state=None, batch_first=False):
    """What a recurrent layer gives for packed rows of these lengths, computed on padded ones, step by step."""
    steps = rows.transpose(0, 1) if batch_first else rows
    lengths = (lengths if torch.is_tensor(lengths) else torch.tensor(lengths)).to(steps.device)
    runs = torch.arange(steps.shape[0], device=steps.device)[:, None, None] < lengths[:, None]
    has_cell, directions = layer.mode == "LSTM", 2 if layer.bidirectional else 1
    cells = {"LSTM": torch.lstm_cell, "GRU": torch.gru_cell, "RNN_RELU": torch.rnn_relu_cell}
    cell = cells.get(layer.mode, torch.rnn_tanh_cell)
    if state is None:
        zeros = steps.new_zeros(layer.num_layers * directions, steps.shape[1], layer.hidden_size)
        state = (zeros, zeros) if has_cell else zeros
    begun, ended = state if has_cell else (state,), []
    for number in range(layer.num_layers):
        outputs = []
        for index in range(number * directions, (number + 1) * directions):
            now, seen = tuple(part[index] for part in begun), {}
            order = range(steps.shape[0])
            for step in order if index % directions == 0 else reversed(order):
                new = cell(steps[step], now if has_cell else now[0], *layer.all_weights[index])
                new = new if has_cell else (new,)
                now = tuple(torch.where(runs[step], one, before) for one, before in zip(new, now))
                seen[step] = now[0]
            outputs.append(torch.stack([seen[step] for step in order]) * runs)
            ended.append(now)
        steps = torch.cat(outputs, -1)
        if number + 1 < layer.num_layers:
            steps = torch.nn.functional.dropout(steps, layer.dropout, layer.training)
    last = tuple(torch.stack(parts) for parts in zip(*ended))
    return steps.transpose(0, 1) if batch_first else steps, last if has_cell else last[0]
'''
_HEAD, _, _BODY = _STEPPED.partition("    steps = ")
_STEPPED_IF_PACKED = f"{_HEAD}    if lengths is None:\n        return layer(rows, state)\n    steps = {_BODY}"


# -- Nested tensors ----------------------------------------------------------------------------------------------------


def _unnested(site: Site, view: View, node: ast.Call) -> Iterator[Proposal]:
    """A nested tensor that is computed with, and padded once at the end: padded from the start, and masked there."""
    draft, rows = site.draft(), _argument(node, 0, "tensor_list")
    ends = [one for one in walked(view.node) if isinstance(one, ast.Call)]
    ends = [one for one in ends if getattr(one.func, "attr", "") == "to_padded_tensor"]
    statement = draft.statement_of(ends[0]) if len(ends) == 1 else None
    if statement is None or rows is None:
        return
    (end,) = ends
    whole = (view.origin(end.func) or "").startswith("torch.nested.")
    nested = end.args[0] if whole and end.args else cast("ast.Attribute", end.func).value
    value = _argument(end, int(whole), "padding") or ast.Constant(0.0)
    pad = "torch.nn.utils.rnn.pad_sequence(ROWS, batch_first=True, padding_value=VALUE)"
    if nested is node:
        draft.swap(end, expression(pad, ROWS=rows, VALUE=value))
    else:
        name = draft.free_name("mask", view.flow.names)
        ones = "[torch.ones_like(row[..., :1], dtype=torch.bool) for row in ROWS]"
        draft.above(statement, statements(f"NAME = torch.nn.utils.rnn.pad_sequence({ones}, batch_first=True)",
                                          NAME=name, ROWS=rows))  # fmt: skip
        draft.swap(node, expression(pad.replace(", padding_value=VALUE", ""), ROWS=rows))
        draft.swap(end, expression("torch.where(NAME, NESTED, VALUE)", NAME=name, NESTED=nested, VALUE=value))
    yield Proposal("pad the rows", draft)
