"""Ask an edit what of it runs, and which way its decisions go: probes are written into copies of the edited files.

Lines show neither which side of `a if test else b` is taken, nor that what a dropped `if` guards never was left out. A
probe is a call around an expression, or before a statement, that notes what it sees and changes nothing; lines stay
where they are. Asked is what an edit adds, and what it takes away or writes in another way.
"""

from __future__ import annotations

import ast
import difflib
import enum
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.files import shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

Seen = dict[tuple[str, int], set[bool]]  # by file and number, what a probe saw

_RECORDER = '__import__("exportlint.trial.child.execution.inputs.probed_sides",fromlist=[""])'
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Kind(enum.Enum):
    """What a probe is put to; the function that notes it, and in words what it is where it never was true, or false."""

    FILE = ("ran", "is imported by nothing that was run", "")
    STATEMENT = ("ran", "is run by no input that was tried", "")
    LAMBDA = ("run", "is called by no input that was tried", "")
    DECISION = ("asked", "was False for every input that was tried", "was True for every input that was tried")
    SETTING = ("seen", "was False for every input that was tried", "was True for every input that was tried")
    CHECK = ("seen", "held for no input that was tried", "held for every input that was tried")
    LOOP = ("rounds", "has no round for any input that was tried", "has a round for every input that was tried")
    ENDLESS = ("rounds", "has no round for any input that was tried", "")  # a round for every input is what is meant
    MATCH = ("matching", "takes no case for any input that was tried", "takes a case for every input that was tried")
    CASE = ("matched", "is taken by no input that was tried", "")
    MANAGER = ("held", "suppresses nothing on any input", "suppresses what every input raises")
    CHOICE = (
        "choosing",
        "takes its second argument for every input that was tried",
        "takes its first argument for every input that was tried",
    )
    BOUND = ("bounding", "has a bound that no input that was tried reaches", "bounds every value that was tried")
    EDGE = ("edge", "had equal sides for no input that was tried, and the edit changes what it says of them", "")
    WORDS = ("words", "gives the same words for every input that was tried", "")
    OPTION = ("option", "was None, empty or one word for every input that was tried", "")
    DEFAULT = ("asking", "finds nothing on any input that was tried, and gives what stands for that", "")
    READ = ("looked_in", "has values that no input that was tried looks up", "")
    GET = ("looked_in", "has values that no input looks up", "has what every input that was tried looks up")

    @property
    def notes(self) -> str:
        return self.value[0]

    @property
    def never_true(self) -> str:
        return self.value[1]

    @property
    def never_false(self) -> str:
        return self.value[2]


@dataclass(frozen=True)
class Probe:
    """One of them.

    text      the source of what it is put to, on one line
    function  the qualified name of the function around it; "" in none
    is_asked  does the edit bring, change or drop it? The others answer where a function is called no more
    """

    kind: Kind
    path: str
    number: int
    line: int
    text: str
    function: str
    is_asked: bool

    def left_open(self, values: Collection[bool]) -> str:
        """In words, what it did not see; "" where it saw all of it."""
        if not values:
            return "was not asked by any input that was tried" if self.kind.never_false else self.kind.never_true
        return self.kind.never_true if True not in values else self.kind.never_false if False not in values else ""


@dataclass(frozen=True)
class Probed:
    """One side of an edit: its texts with probes, by real path, and the probes."""

    texts: Mapping[str, str]
    probes: tuple[Probe, ...]


def with_probes(own: Mapping[str, str], other: Mapping[str, str], *, untouched: bool = False) -> Probed:
    """The texts of one side of an edit with probes at what the `other` side has not, or not so; `untouched`: and at
    all decisions that it has too.

    >>> before = {"a.py": "def f(x):\\n    return -x if x.sum() > 7 else x\\n"}
    >>> [one.text for one in with_probes(before, {"a.py": "def f(x):\\n    return -x\\n"}).probes if one.is_asked]
    ['return -x if x.sum() > 7 else x', 'x.sum() > 7']
    """
    texts, probes = dict(own), list[Probe]()
    for path, text in own.items():
        if text != other[path]:
            texts[path], found = _of_file(path, text, other[path], untouched=untouched)
            probes += found
    return Probed(texts, tuple(probes))


@dataclass(frozen=True)
class _Place:
    """Where a probe goes. `key`: what has to be the same on the other side for the edit not to have touched it."""

    kind: Kind
    node: ast.expr | ast.stmt | ast.pattern
    text: str
    function: str
    key: tuple[str, ...] = ()
    cases: tuple[ast.match_case, ...] = ()

    @property
    def known_by(self) -> tuple[str, ...]:
        return (self.function, *self.key)


def _of_file(path: str, text: str, other: str, *, untouched: bool) -> tuple[str, list[Probe]]:
    theirs = _places_in(other)
    known = Counter(one.known_by for one in theirs)
    edges = {one.key for one in theirs if one.kind is Kind.EDGE}
    changed = _changed_lines(other, text)
    merged = dict[tuple[object, ...], tuple[_Place, bool]]()
    for one in _places_in(text):
        if one.key:
            known[one.known_by] -= 1
            is_asked = known[one.known_by] < 0
            if one.kind is Kind.EDGE:  # a comparison that is gone altogether is a decision that is gone
                is_asked = is_asked and _turned_at_edge(one.key) in edges
            elif one.kind in _OF_TOUCHED and not is_asked:
                continue
        else:
            is_asked = one.kind is Kind.FILE or not changed.isdisjoint(
                range(_span(one.node)[0], _span(one.node)[2] + 1)
            )
        # What stands there may be asked as a test and as a comparison.
        if one.kind is Kind.EDGE and not is_asked:
            continue
        at = (*_span(one.node), "decision" if one.kind in _DECISIONS else one.kind)
        place, was_asked = merged.get(at, (one, False))
        merged[at] = (place, was_asked or is_asked)
    probes, inserts = list[Probe](), _Inserts(path, text)
    for place, is_touched in merged.values():
        if not is_touched and (not place.key or not untouched):
            continue
        # Whether a check is gone is judged by what it says.
        is_asked = is_touched and not (place.kind is Kind.CHECK and untouched)
        number = _next(probes)
        words = " ".join(place.text.split())
        probes.append(Probe(place.kind, path, number, place.node.lineno, words, place.function, is_asked))
        inserts.put(place.kind if is_asked or place.kind is not Kind.DECISION else Kind.SETTING, place.node, number)
        for case in place.cases:
            words, line = f"case {ast.unparse(case.pattern)}", case.pattern.lineno
            probes.append(Probe(Kind.CASE, path, _next(probes), line, words, place.function, is_asked))
            inserts.guard(case, number, probes[-1].number)
    laid = inserts.laid_over()
    return (laid, probes) if _compiles(laid) else (text, probes)


_DECISIONS = (Kind.DECISION, Kind.SETTING, Kind.CHECK)
# What says nothing of a function that is called no more.
_OF_TOUCHED = (Kind.CHOICE, Kind.BOUND, Kind.WORDS, Kind.OPTION, Kind.DEFAULT)


def _next(probes: list[Probe]) -> int:
    """Below zero: above it are the numbers of lines."""
    return -1 - len(probes)


def _compiles(text: str) -> bool:
    try:
        compile(text, "probed", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


def _changed_lines(other: str, text: str) -> set[int]:
    """Of `text`; a line that only moved to the right is none."""
    old, new = ([line.strip() for line in one.split("\n")] for one in (other, text))
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return {line + 1 for tag, _, _, first, end in opcodes if tag != "equal" for line in range(first, end)}


def _places_in(text: str) -> list[_Place]:
    """All that may get a probe, in the order of the text."""
    places = _Places()
    places.visit(ast.parse(text))
    return places.found


class _Places(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: list[_Place] = []
        self._in_check = False
        self._only_says = False  # are words for somebody to read, such as a log?
        self._names: list[str] = []
        self._functions: list[str] = [""]
        self._options: list[set[str]] = [set()]
        self._around: list[str] = [""]  # the text of what a name is an operand or an argument of

    def visit_Module(self, node: ast.Module) -> None:
        first = next((one for one in node.body if _may_have_one_before(one)), None)
        if first is not None:
            self.found.append(_Place(Kind.FILE, first, "", ""))
        self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._names.append(node.name)
        self.generic_visit(node)
        self._names.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def _visit_function(self, node: _Function) -> None:
        for one in (*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(one)
        self._names.append(node.name)
        self._functions.append(".".join(self._names))
        self._options.append(_options_of(node.args))
        for statement in node.body:
            self.visit(statement)
        self._options.pop()
        self._functions.pop()
        self._names.pop()

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Of what stands inside of it, Python tells no places before 3.12: seen is which words it makes. They may be
        the key of what is computed next."""
        if not self._only_says and any(isinstance(one, ast.IfExp | ast.Compare | ast.BoolOp) for one in ast.walk(node)):
            self._add(Kind.WORDS, node, "words", ast.unparse(node), text=ast.unparse(node))

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and node.id in self._options[-1] and self._around[-1]:
            self._add(Kind.OPTION, node, "option", node.id, self._around[-1], text=f"{node.id}` in `{self._around[-1]}")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._statement(node)
            self.visit(node.value)

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._statement(node)
        match node:
            case ast.Expr(value=ast.Call(args=given)) | ast.Raise(exc=ast.Call(args=given)) if (
                any(isinstance(one, ast.JoinedStr) for one in given) and not self._only_says
            ):
                self._only_says = True
                self.generic_visit(node)
                self._only_says = False
                return
            case ast.Assert() | ast.If(body=[ast.Raise()]):
                self._check(node)
                return
            case ast.If(test=ast.Name(id=name) | ast.Attribute(attr=name), orelse=others) if (
                name == "TYPE_CHECKING" and not self._functions[-1]
            ):
                for one in others:
                    self.visit(one)
                return
            case ast.If() if is_effect_of_eager(node):
                for one in node.body:
                    self.visit(one)
                return
            case ast.If(test=test) | ast.While(test=test):
                self._test(test, "if" if isinstance(node, ast.If) else "while", _beside(node))
            case ast.IfExp(test=test):
                self._test(test, ast.unparse(node))
            case ast.comprehension(iter=given, ifs=tests, is_async=is_async):
                if not is_async:
                    self._loop(given, ast.unparse(node))
                for test in tests:
                    self._test(test, ast.unparse(node))
            case ast.For(iter=given):
                self._loop(given, "for", ast.unparse(node.target), _beside(node))
            case ast.BoolOp(values=values):
                for value in values[:-1]:
                    self._test(value, ast.unparse(node))
            case ast.Compare():
                self._decision(node, "compare")
                if isinstance(node.ops[0], ast.Is | ast.IsNot):
                    self._around.append("")  # which is asked as a decision
                    super().generic_visit(node)
                    self._around.pop()
                    return
                self._edge(node)
            case ast.Call(func=ast.Name(id="min" | "max"), args=[first, second], keywords=[]) if not (
                _is_fixed(first) and _is_fixed(second)
            ):
                self._add(Kind.CHOICE, node.func, "choice", ast.unparse(node), text=ast.unparse(node))
            case ast.Call(func=ast.Name(id="getattr"), args=[_, _, _]):
                self._add(Kind.DEFAULT, node.func, "default", ast.unparse(node), text=ast.unparse(node))
            case ast.Call(
                func=ast.Attribute(value=ast.Attribute(attr="environ"), attr="get") | ast.Attribute(attr="getenv")
            ):
                self._add(Kind.DEFAULT, node.func, "default", ast.unparse(node), text=ast.unparse(node))
            case ast.Call(func=ast.Attribute(attr="clamp" | "clamp_" | "clip" | "clip_")):
                self._add(Kind.BOUND, node.func, "bound", ast.unparse(node), text=ast.unparse(node))
            case ast.Lambda(body=body):
                self._add(Kind.LAMBDA, body, "lambda", text=ast.unparse(node))
            case ast.withitem(context_expr=manager) if isinstance(manager, ast.Call):
                self._manager(manager)
            case ast.Match(subject=subject, cases=cases):
                self._match(subject, cases)
            case ast.Subscript(value=container, slice=index, ctx=ast.Load()) if not _is_plain_index(index):
                self._add(Kind.READ, container, ast.unparse(node), text=ast.unparse(node))
            case ast.Call(func=ast.Attribute(value=container, attr="get"), args=[key, *_]) if not _is_constant(key):
                self._add(Kind.GET, container, ast.unparse(node), text=ast.unparse(node))
        holds = isinstance(node, ast.Call | ast.BinOp | ast.Subscript | ast.Return | ast.Assign | ast.AugAssign)
        if holds:
            self._around.append(ast.unparse(node))
        super().generic_visit(node)
        if holds:
            self._around.pop()

    def _edge(self, node: ast.Compare) -> None:
        """Where a comparison turns, two equal sides count as the larger one is, or as the smaller one."""
        edge = _edge_of(node)
        if edge is not None:
            self._add(Kind.EDGE, node, *edge, text=ast.unparse(node))

    def _check(self, node: ast.Assert | ast.If) -> None:
        """What only says which inputs are taken: the edit may say it in another way."""
        self._in_check = True
        if not _is_setting(node.test):
            self._test(node.test, "check")
        self.visit(node.test)
        self._in_check = False
        for statement in node.body + node.orelse if isinstance(node, ast.If) else ():
            self.visit(statement)

    def _test(self, test: ast.expr, *key: str) -> None:
        inner = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
        self._decision(test, "test", ast.unparse(test), *key)
        if isinstance(inner, ast.BoolOp):  # of others, the last one is only a value
            self._test(inner.values[-1], *key)

    def _decision(self, node: ast.expr, *key: str) -> None:
        if not isinstance(node, ast.Constant):
            kind = Kind.CHECK if self._in_check else Kind.SETTING if _is_setting(node) else Kind.DECISION
            self._add(kind, node, *key, ast.unparse(node), text=ast.unparse(node))

    def _loop(self, given: ast.expr, *key: str) -> None:
        text = ast.unparse(given)
        if not isinstance(given, ast.List | ast.Tuple | ast.Constant):
            self._add(Kind.LOOP if _may_be_empty(given) else Kind.ENDLESS, given, "loop", *key, text, text=text)

    def _manager(self, manager: ast.Call) -> None:
        name = ast.unparse(manager.func).rpartition(".")[2]
        if name == "suppress":
            self._add(Kind.MANAGER, manager, "with", ast.unparse(manager), text=ast.unparse(manager))

    def _match(self, subject: ast.expr, cases: list[ast.match_case]) -> None:
        text = ast.unparse(subject)
        key = [f"{ast.unparse(one.pattern)} {_beside(one)} {one.guard and ast.unparse(one.guard)}" for one in cases]
        last = cases[-1]
        takes_all = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
        # With a case for all that is left, each case says it.
        kind = Kind.CASE if takes_all else Kind.MATCH
        place = _Place(kind, subject, text, self._functions[-1], ("match", text, *key), tuple(cases))
        self.found.append(place)

    def _add(self, kind: Kind, node: ast.expr, *key: str, text: str) -> None:
        self.found.append(_Place(kind, node, text, self._functions[-1], key))

    def _statement(self, node: ast.stmt) -> None:
        if _may_have_one_before(node):
            self.found.append(_Place(Kind.STATEMENT, node, ast.unparse(node).split("\n")[0], self._functions[-1]))


_TRACING = frozenset({"is_compiling", "is_exporting", "is_dynamo_compiling"})


def is_effect_of_eager(node: ast.stmt) -> bool:
    """Is it `if not torch.compiler.is_compiling(): print(x)`, what eager does besides what it computes? No input turns
    the test, and the program, which the trial compares with eager, has nothing of it.

    >>> is_effect_of_eager(ast.parse("if not torch.compiler.is_exporting(): log.info(x)").body[0])
    True
    """
    match node:
        case ast.If(test=ast.UnaryOp(op=ast.Not(), operand=ast.Call(func=called, args=[])), body=body, orelse=[]):
            named = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            return named in _TRACING and all(isinstance(one, ast.Expr) for one in body)
    return False


_SIMPLE = (
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Return, ast.Raise, ast.Expr, ast.Delete, ast.Import),
    *(ast.ImportFrom, ast.Pass, ast.Break, ast.Continue, ast.Assert),
)


def _may_have_one_before(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return isinstance(node, _SIMPLE) and not is_text and not is_future


def _beside(node: ast.If | ast.While | ast.For | ast.match_case) -> str:
    """What of its body stands on its line, where no line shows that it runs."""
    line = node.pattern.lineno if isinstance(node, ast.match_case) else node.lineno
    return "; ".join(ast.unparse(one) for one in node.body if one.lineno == line)


def _is_constant(key: ast.expr) -> bool:
    inner = key.operand if isinstance(key, ast.UnaryOp) else key
    return isinstance(inner, ast.Constant)


def _options_of(args: ast.arguments) -> set[str]:
    """The parameters that are None, a word or empty where nobody gives them; other settings turn numbers and flags."""
    positional = [*args.posonlyargs, *args.args]
    defaults = zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True)
    pairs = [*defaults, *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    rest = [one for one in (args.vararg, args.kwarg) if one is not None]
    return {one.arg for one in rest} | {
        one.arg
        for one, default in pairs
        if isinstance(default, ast.Constant) and (default.value is None or isinstance(default.value, str))
    }


def _edge_of(node: ast.Compare) -> tuple[str, str, str, str] | None:
    """Both sides, and which of them counts as the larger one where they are equal: the same for `a < b`, `b > a` and
    `not a >= b`, and another one for `a <= b`."""
    if len(node.ops) > 1:
        return None
    one, other = ast.unparse(node.left), ast.unparse(node.comparators[0])
    low, high = sorted((one, other))
    match node.ops[0]:
        case ast.Lt() | ast.GtE():
            larger = one
        case ast.LtE() | ast.Gt():
            larger = other
        case _:
            return None
    return "edge", low, high, "first" if larger == low else "second"


def _turned_at_edge(key: tuple[str, ...]) -> tuple[str, ...]:
    return (*key[:-1], "second" if key[-1] == "first" else "first")


def _is_fixed(given: ast.expr) -> bool:
    """A number, or an attribute of the object, which other settings turn."""
    return isinstance(given, ast.Constant | ast.Attribute)


def _is_plain_index(index: ast.expr) -> bool:
    """Not one of several values that a call chooses."""
    if isinstance(index, ast.Tuple):
        return True  # of a tensor
    return isinstance(index, ast.Slice) or _is_constant(index)


def _is_setting(test: ast.expr) -> bool:
    """A flag, what is None, what class something has: no other values turn it."""
    match test:
        case ast.Attribute():
            return True
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _is_setting(inner)
        case ast.BoolOp(values=values):
            return all(map(_is_setting, values))
        case ast.Compare(ops=ops):
            return all(isinstance(one, ast.Is | ast.IsNot) for one in ops)
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr" | "callable")):
            return True
    return False


def _may_be_empty(given: ast.expr) -> bool:
    """A number of steps that is computed; not the rows of a tensor, of which there are some."""
    match given:
        case ast.Call(func=ast.Name(id="range"), args=limits):
            return any(not isinstance(one, ast.Constant | ast.Name | ast.Attribute | ast.Subscript)
                       and not _is_a_size(one) for one in limits)  # fmt: skip
    return False


def _is_a_size(limit: ast.expr) -> bool:
    match limit:
        case ast.Call(func=ast.Name(id="len") | ast.Attribute(attr="size")):
            return True
    return False


def _span(node: ast.expr | ast.stmt | ast.pattern) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


class _Inserts:
    """Texts that go into a file, by line and column in bytes."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._lines = path, [line.encode() for line in text.split("\n")]
        self._opening: dict[tuple[int, int], list[tuple[tuple[int, int], str]]] = defaultdict(list)
        self._closing: dict[tuple[int, int], list[tuple[tuple[int, int], str]]] = defaultdict(list)

    def put(self, kind: Kind, node: ast.expr | ast.stmt | ast.pattern, number: int) -> None:
        """Around an expression, or before a statement."""
        line, column, last, end = _span(node)
        if isinstance(node, ast.stmt):
            # Before what goes around its first expression.
            self._opening[line, column].append(((last + 1, end), f"{_RECORDER}.ran({self._path!r},{number});"))
            return
        if kind is Kind.EDGE and isinstance(node, ast.Compare):
            for notes, side in (("one_side", node.left), ("other_side", node.comparators[0])):
                line, column, last, end = _span(side)
                self._opening[line, column].append(((last, end), f"{_RECORDER}.{notes}({self._path!r},{number},("))
                self._closing[last, end].append(((line, column), "))"))
            return
        notes = "matching" if kind is Kind.CASE else kind.notes
        self._opening[line, column].append(((last, end), f"{_RECORDER}.{notes}({self._path!r},{number},("))
        self._closing[last, end].append(((line, column), "))"))

    def guard(self, case: ast.match_case, subject: int, number: int) -> None:
        call = f"{_RECORDER}.matched({self._path!r},{subject},{number},("
        if case.guard is not None:
            line, column, last, end = _span(case.guard)
            self._opening[line, column].append(((last + 1, end), call))  # outside of what else is around it
            self._closing[last, end].append(((line, -1), "))"))
            return
        _, _, last, end = _span(case.pattern)
        end = self._lines[last - 1].index(b":", end)  # behind the parentheses of the pattern
        self._closing[last, end].append(((0, 0), f" if {call}True))"))

    def laid_over(self) -> str:
        """The text with all of them."""
        lines = list(self._lines)
        for line, column in sorted({*self._opening, *self._closing}, reverse=True):
            # What ends here comes before what begins here; the inner one ends first, and the outer one begins first.
            closing = [one for _, one in sorted(self._closing[line, column], reverse=True)]
            opening = [one for _, one in sorted(self._opening[line, column], reverse=True)]
            whole = lines[line - 1]
            lines[line - 1] = whole[:column] + "".join(closing + opening).encode() + whole[column:]
        return b"\n".join(lines).decode()


def imported_files(probes: Iterable[Probe], seen: Seen) -> set[str]:
    """Those of them that something imports; a file of definitions alone cannot tell."""
    told = {one.path for one in probes if one.kind is Kind.FILE}
    return {one.path for one in probes} - {path for path in told if not _ran(path, probes, seen)}


def _ran(path: str, probes: Iterable[Probe], seen: Seen) -> bool:
    return any(one.path == path and seen.get((path, one.number)) for one in probes)


def left_open(probes: Iterable[Probe], seen: Seen, *, dropped: bool) -> Iterator[str]:
    """What the edit brings and nobody saw go both ways, or run; or drops: `dropped`."""
    for one in probes:
        if one.is_asked and one.kind is not Kind.FILE and (why := one.left_open(seen.get((one.path, one.number), ()))):
            place = f"{shown(Path(one.path))}:{one.line}"
            before = f"line {one.line} of {shown(Path(one.path))}"
            if one.kind is Kind.STATEMENT:
                ran = f"{before} as it was before the edit" if dropped else place
                yield f"no input that was tried runs {ran}"
            elif dropped:
                yield f"the edit drops `{one.text}`, {before} before it, which {why}"
            else:
                yield f"`{one.text}`, {place}, {why}"
