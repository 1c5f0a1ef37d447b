"""Read torch's messages into data: the one place that knows how torch words what it refuses, warns of and logs.

A message in, a kind with its parts, a name or a yes out; what a person is told is worded elsewhere. Where a torch
says it in other words, this file is what changes: `tests/trial/protocol/test_torch_messages.py` shows what is read.
Stack frames that a message quotes are read in `frames`, since Python writes them in the same form.
"""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from exportlint.trial.protocol.frames import Frame, frame_at, innermost_user, message_frames, package_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


# Refusals. The first pattern that the message holds names the kind; its groups are the parts.
_DECIDED = r"Could not guard on data-dependent expression (?P<expr>.+?) \(unhinted"
_GIVEN_CLASS = r"(?:Unsupported input type|one of the inputs with type) `?<class '(?P<dotted>[^']+)'>"
_REFUSALS = tuple(
    (kind, re.compile(pattern, re.DOTALL))
    for kind, pattern in (
        (
            "number",
            (
                r"Could not extract specialized integer from data-dependent expression (?P<expr>.+?) \(unhinted"
                r"|Could not guard on data-dependent expression (?P<symbol>z?uf?\d+) \(unhinted"
            ),
        ),
        ("size", _DECIDED + r".*Size-like symbols: u\d"),
        ("value", _DECIDED),
        (
            "lost-data",
            r"We found a fake tensor in the exported program constant's list.*model attribute: (?P<name>\w+)",
        ),
        ("output-class", r"Found <class '(?P<dotted>[^']+)'> in output, which is not a known type"),
        ("output-class", r"unrecognized type (?:UserDefined\w+\()?(?P<dotted>\w+?)(?:Variable\(\))?\)? at output"),
        ("input-class", _GIVEN_CLASS),
        ("no-module", r"Expected `mod` to be an instance of `torch.nn.Module`, got <class '(?P<dotted>[^']+)'>"),
        ("script-part", r"torch\.jit\.script/freeze modules unsupported(?:.*?original_name=(?P<name>\w+))?"),
        ("script-module", r"Exporting a ScriptModule is not supported"),
        ("missing-argument", r"missing a required (?:keyword-only )?argument: '(?P<name>\w+)'"),
        ("unexpected-argument", r"got an unexpected keyword argument '(?P<name>\w+)'"),
        ("predicate", r"Expected pred to be bool or single-element tensor, but got"),
        ("no-attribute", r"\bmodule '(?P<dotted>torch[\w.]*)' has no attribute '(?P<name>\w+)'"),
        ("branch", r"Detected data-dependent branching"),
        ("double-backward", r"does not currently support double backward"),
        ("script-arguments", r"forward\(\) expected at most (?P<most>\d+) argument\(s\) but received (?P<given>\d+)"),
        (
            "answer",
            r"\Aaten\.(?P<name>\w+)\.\w+\Z|Operator `aten\.(?P<operator>\w+)\.\w+` has a non-Tensor output whose value",
        ),
        ("address", r"Cannot access data pointer of Tensor"),
        (
            "builtin",
            r"does not know how to trace the builtin `(?:<unknown module>\.)?(?P<name>[^`]+?)\.?`",
        ),
        (
            "builtin-on-types",
            r"does not know how to trace builtin operator `(?P<name>\w+)` with argument types (?P<types>\[[^]]*\])",
        ),
        ("forbidden", r"intentionally marked that the function `(?P<name>[^`]+)`"),
        (
            "call",
            r"(?:with fake tensors:|\AFailed running) call_\w+ (?P<what>[^\n(]+)\(.+?\}\):\s+(?:got )?(?P<why>[^\n]+)",
        ),
    )
)


class Refusal(NamedTuple):
    """`kind` is one of those above; `parts` by name, "" where the message has none."""

    kind: str
    parts: Mapping[str, str]


def refusal(text: str) -> Refusal | None:
    """What torch refuses, as far as its words are known."""
    for kind, pattern in _REFUSALS:
        if found := pattern.search(text):
            parts = {name: value or "" for name, value in found.groupdict().items()}
            if "symbol" in parts:
                parts["expr"] = parts["expr"] or parts.pop("symbol")
            return Refusal(kind, parts)
    return None


def scripted_class_name(text: str) -> str:
    """The class of the TorchScript module that Dynamo met; "" where it names none."""
    found = refusal(text)
    return found.parts.get("name", "") if found is not None and found.kind == "script-part" else ""


def is_inside_scripted_part(text: str) -> bool:
    """Does Python's code of a TorchScript module meet what TorchScript has made of its methods and parts?"""
    return re.search(r"torch\._C\.ScriptMethod", text) is not None


def names_scripted_part(text: str) -> bool:
    """Does Dynamo say that it met a TorchScript module inside of the model?"""
    found = refusal(text)
    return found is not None and found.kind == "script-part"


# What is compared before anything is traced: the structure of a `dynamic_shapes` and that of the arguments.
_MISFIT = re.compile(
    r"its top-level keys must be the arg names (?P<names>\[[^]]*\]) of `inputs`, but here they are (?P<keys>\[[^]]*\])"
    r"|Detected mismatch between the structure of `inputs` and `dynamic_shapes`: (?P<structure>[^\n]+)"
    r"|(?P<rank>Expected dynamic shape spec [^\n]+ to have the same length as the actual tensor shape[^\n]*)"
    r"|(?P<number>Cannot associate shape [^\n]+ to non-tensor type[^\n]*)"
    r"|(?P<sizes>Unexpected input tensor shape [^\n]+ specified at `dynamic_shapes[^\n]*)"
    r"|(?P<whole>expected dynamic_shape to be None, int, or _DimHint[^\n]*)"
    r"|(?P<spare>Must provide a tree_name when there might be a mismatch)"
)


def misfit_of_shapes(text: str) -> Mapping[str, str] | None:
    """In which way a `dynamic_shapes` does not have the structure of the arguments; None where that is not said."""
    found = _MISFIT.search(text)
    return {name: part for name, part in found.groupdict().items() if part} if found else None


def gives_unknown_class(text: str) -> bool:
    """Does the model return an object that torch cannot take apart?"""
    found = refusal(text)
    return found is not None and found.kind == "output-class"


def asks_for_loose_trace(text: str) -> bool:
    """Does torch.jit.trace refuse a dict, which it gives with `strict=False`?"""
    return "Encountering a dict at the output of the tracer" in text


_UNKNOWN_CLASS = re.compile(
    r"Found <class '(?P<dotted>[\w.<>]+)'> in (?:output|input)"
    r"|unrecognized type UserDefinedObjectVariable\((?P<name>\w+)\)"
    r"|(?:TreeSpec of namedtuple class|Serializing|No registered serialization name for) <class '(?P<saved>[\w.<>]+)'>"
)


def unknown_class_name(text: str) -> str | None:
    """The class that torch cannot flatten: dotted, or its bare name where torch gives no more; None: none is named."""
    found = _UNKNOWN_CLASS.search(text)
    return (found["dotted"] or found["name"] or found["saved"]) if found else None


def given_class_name(text: str) -> str | None:
    """The class of an argument that torch cannot take apart, dotted; None: it is about something else."""
    found = re.search(_GIVEN_CLASS, text)
    return found["dotted"] if found else None


def is_about_input_types(text: str) -> bool:
    return "Unsupported input type" in text


def lost_a_tensor(text: str) -> bool:
    """Was a tensor without data found in the program, when the trace was over?"""
    return "found a fake tensor in the exported program constant" in text


_NO_FAKE = re.compile(
    r"(?:no fake impl registered for (?:<CustomOpDef\()?|unsupported operator: |\bUnsupportedOperatorException: )"
    r"(?P<name>(?!aten\b)\w+(?:::|\.)\w+(?:\.\w+)*)"
)


def operator_without_fake(text: str, error_class: str | None) -> str | None:
    """The operator that has no fake kernel, however torch writes it."""
    found = _NO_FAKE.search(f"{error_class}: {text}")
    return found["name"] if found else None


def lacks_fake(exc: BaseException) -> bool:
    """Does an operator say that it has no fake kernel?"""
    text = f"{exc} {exc.__cause__ or ''}"
    return "no fake impl registered" in text or type(exc).__name__ == "UnsupportedOperatorException"


_DISTRIBUTIONS = "torch/distributions/"
_NO_NUMPY = re.compile(r"\.numpy\(\) is not supported|Cannot convert .* to numpy", re.IGNORECASE)


def is_in_distributions(text: str) -> bool:
    """Does it quote a file of torch.distributions, or is it the path of one?"""
    return _DISTRIBUTIONS in text


def is_about_numpy(text: str) -> bool:
    return _NO_NUMPY.search(text) is not None


def is_about_gradients(text: str) -> bool:
    return "grad" in text


# What goes into a model, what comes out of it, and how torch asks for a size.
_INPUTS = re.compile(r"\b(?:example )?inputs?\b|argument", re.IGNORECASE)
_OUTPUTS = re.compile(r"\bin output\b|\bat output\b|outputs? of the traced|only support these types for outputs")
_OF_A_SIZE = re.compile(r"\.(size\(\)|shape)\[|Got invalid dimensions for input")  # the last of ONNX Runtime


def is_about_inputs(text: str) -> bool:
    return _INPUTS.search(text) is not None


def is_about_outputs(text: str) -> bool:
    return _OUTPUTS.search(text) is not None


def is_out_of_memory(text: str) -> bool:
    """Did an allocation fail, of the processor's memory or of a device's?"""
    return re.search(r"can't allocate memory|not enough memory|out of memory", text, re.IGNORECASE) is not None


def is_about_a_size(text: str) -> bool:
    """Of an exported program: does it refuse a size of its inputs?"""
    return _OF_A_SIZE.search(text) is not None


def dims_of_guard(text: str) -> list[tuple[str, int]]:
    """The inputs and dims whose sizes an exported program refuses.

    >>> dims_of_guard("Guard failed: x.size()[0] % 2 == 0")
    [('x', 0)]
    """
    found = re.finditer(r"(\w+)\.size\(\)\[(\d+)\]", text) if text.startswith("Guard failed") else ()
    return [(one[1], int(one[2])) for one in found]


def class_of_a_script(text: str) -> str:
    """The class or function of the running script that pickle looks for in vain in another process; "" for none.

    >>> class_of_a_script("Can't get attribute 'Cache' on <module '__main__' from 'other.py'>")
    'Cache'
    """
    found = re.search(r"Can't get attribute '(?P<name>[\w.]+)' on <module '__main__'", text)
    return found["name"] if found else ""


def decides_by_numpy(text: str) -> bool:
    """Is it a number of NumPy's that is asked? Dynamo traces its functions as operations on tensors."""
    return "attempted to jump with NumpyNdarrayVariable" in text


def lacks_operators(text: str) -> bool:
    """Does torch (2.13) not find an operator of a saved program? Which one it only warns of."""
    return "ran into an error when deserializing" in text


def outputs_are_refused(text: str) -> bool:
    """Does torch.jit.trace refuse what the model returns?"""
    return "can be output from traced functions" in text


def is_about_axes(text: str) -> bool:
    """Does torch.onnx.export not understand the `dynamic_axes`?"""
    return "Failed to convert 'dynamic_axes'" in text


# TorchScript. What it cannot compile it shows in an excerpt of the source; behind that, outwards, each call for which
# it compiles the function.
_EXCERPT = re.compile(r'^ *File "(?P<path>[^"\n]+)", line (?P<line>\d+)(?P<ran>, in (?P<function>\S+))?$', re.MULTILINE)
_COMPILED_FOR = re.compile(
    r"^'(?P<callee>[^'\n]+)' is being compiled since it was called from '(?P<caller>[^'\n]+)'\n\Z", re.MULTILINE
)
_INTERPRETED = "Traceback of TorchScript"
# Whole lines: schemas, and what stands above them.
_NOT_SAYING = re.compile(r"[\w:.]+\(.*\) -> .*:|The following variants are available:|The original call is:|:")
_CLASS_OF_SCRIPT = re.compile(
    r"__torch__\.(?:___torch_mangle_\d+\.)?|___torch_mangle_\d+\.| \(of Python compilation unit at: \w+\)"
)
_NO_CALL_FITS = "Arguments for call are not valid."
_UNCOMPILED = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("module-index", r"ModuleList/Sequential indexing is only supported"),
        ("dict-index", r"ModuleDict indexing is only supported"),
        ("module-slice", r"\bnn\.modules\.\S+' object has no attribute or method '__call__'"),
        ("module-zip", r"does not have a statically determinable length"),
        (
            "module-reversed",
            r"Expected a value of type 'Tensor' for argument '0' but instead found type '\S*ModuleList",
        ),
        ("module-break", r"do not support break or continue inside the body of these loops"),
        ("arguments", r"can't take variable number of arguments"),
        ("becomes-tensor", r"Variable '(?P<name>\w+)' previously had type NoneType"),
        ("other-type", r"Variable '(?P<name>\w+)' previously had type"),
        ("branches", r"Type mismatch: (?P<name>\w+) is set to type"),
        ("undefined", r"(?P<name>\w+) is not defined in the (?:true|false) branch"),
        ("returns", r"Previous return statement returned a value of type"),
        ("not-annotated", r"found type '(?P<type>[^']+)'\.\s+Inferred '(?P<name>\w+)' to be of type 'Tensor'"),
        ("optional", r"but instead found type '(?:Optional\[|NoneType)"),
        ("default", r"Mutable default parameters are not supported"),
        ("format", r"Don't support formatting in JoinedStr"),
        ("lambda", r"Lambda aren't supported"),
        ("try", r"try blocks aren't supported"),
        ("comprehension", r"Only a single generator|Comprehension ifs"),
        ("empty-list", r"Type variable 't' previously matched to type Tensor"),
        ("global", r"python value of type '(?P<type>\w+)' cannot be used as a value"),
        ("name-of-attribute", r"getattr's second argument must be a string literal"),
        ("super", r"'Tensor' object has no attribute or method 'forward'"),
    )
)


class Uncompiled(NamedTuple):
    """What TorchScript cannot compile. `sentence`: in its words, without schemas; `frames`: where, from the outermost
    function that it compiles inwards; `kind` and `parts` as those of a refusal, "" where its words are not known."""

    sentence: str
    frames: tuple[Frame, ...]
    kind: str = ""
    parts: Mapping[str, str] = {}


def uncompiled(text: str) -> Uncompiled | None:
    """None where the message is none of TorchScript's compiler."""
    excerpts = [*_EXCERPT.finditer(text)]
    if not excerpts or excerpts[0]["ran"] or not text[: excerpts[0].start()].rstrip().endswith(":"):
        return None
    before = _CLASS_OF_SCRIPT.sub("", text[: excerpts[0].start()])
    lines = [line.strip() for line in before.splitlines()]
    says = [line for line in lines if line and not _NOT_SAYING.fullmatch(line)]
    sentence = " ".join(says[:2]).replace(f"{_NO_CALL_FITS} ", f"{_NO_CALL_FITS[:-1]}: ").rstrip(" :")
    frames, inside = [excerpts[0]], [""]
    for one in excerpts[1:]:
        if found := _COMPILED_FOR.search(text[: one.start()]):
            inside[-1] = found["callee"]
            frames.append(one)
            inside.append(found["caller"])
    places = [frame_at(one["path"], int(one["line"]), name) for one, name in zip(frames, inside, strict=True)]
    for kind, pattern in _UNCOMPILED:
        if known := pattern.search(before):
            parts = {name: value or "" for name, value in known.groupdict().items()}
            return Uncompiled(sentence, tuple(reversed(places)), kind, parts)
    return Uncompiled(sentence, tuple(reversed(places)))


def torchscript_frames(text: str) -> tuple[Frame, ...]:
    """Where TorchScript is at what it cannot compile, or at what fails in its interpreter; outermost first."""
    if found := uncompiled(text):
        return found.frames
    quoted = text.rpartition(_INTERPRETED)[2] if _INTERPRETED in text else ""
    # What is read from a file has places in that, `code/`, instead of in the source.
    places = (one for one in _EXCERPT.finditer(quoted) if not one["path"].startswith("code/"))
    return tuple(frame_at(one["path"], int(one["line"]), one["function"] or "") for one in places)


def of_torchscript(text: str) -> str:
    """What failed in the TorchScript interpreter: of its message the last line; any other message as it is.

    >>> of_torchscript("The following operation failed in the TorchScript interpreter.\\n...\\nRuntimeError: too small")
    'too small'
    """
    if "TorchScript interpreter" not in text:
        return text
    return text.rstrip().rpartition("\n")[2].partition(": ")[2] or text


# Numbers that are data, in torch's own symbols: `u0 > 4`.
_ASKED = re.compile(_DECIDED, re.DOTALL)
_ON_ONE_LINE = re.compile(r"data-dependent expression (?P<expr>.+?) \(unhinted")
_CHECKABLE = re.compile(r"Could not guard on data-dependent expression [^\n]*?\bu\d+\b[^\n]*?\(unhinted")
_DATA_DEPENDENT = re.compile(r"data-dependent|Data-dependent|DataDependent")


def depends_on_data(text: str) -> bool:
    """Does the value of a tensor decide, which it does not have while it is traced?"""
    return _DATA_DEPENDENT.search(text) is not None


def needs_a_value(text: str) -> bool:
    """Does Python need a value, with or without gradients?"""
    return "data-dependent" in text.lower()


def asks_for_a_check(text: str) -> bool:
    """Does torch ask what holds of an integer that is data?"""
    return _CHECKABLE.search(text) is not None


def unknown_symbols(text: str) -> list[str]:
    """The numbers that are data of the expression that torch does not know."""
    found = _ON_ONE_LINE.search(text)
    return re.findall(r"\bz?uf?\d+\b", found["expr"]) if found else []


class Asked(NamedTuple):
    """What torch asks of a number that is data: the likeliest relation of it as Python first, then its opposite."""

    symbol: str
    relations: list[str]


def asked(text: str) -> Asked | None:
    """None where torch asks nothing, or of several numbers at once."""
    found = _ASKED.search(text)
    symbols = set(re.findall(r"\b[a-z]+\d+\b", found["expr"])) if found else set()
    return Asked(symbols.pop(), list(_relations(found["expr"]))) if found and len(symbols) == 1 else None


_COMPARED = {"Eq": "==", "Ne": "!="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_MOD = re.compile(r"\b(?:Python)?Mod\((\w+), (\w+)\)")
_ALLOWED = (
    *(ast.Expression, ast.Compare, ast.BinOp, ast.UnaryOp, ast.USub),
    *(ast.Name, ast.Constant, ast.Load, ast.operator, ast.cmpop),
)


def _relations(expr: str) -> Iterator[str]:
    """The relation as Python, and its opposite; of a size that is not 0, that it is larger comes first."""
    text = _MOD.sub(r"(\1 % \2)", expr.strip())
    if called := re.fullmatch(r"(Eq|Ne)\((.+), (-?\w+)\)", text):
        text = f"{called[2]} {_COMPARED[called[1]]} {called[3]}"
    match = re.fullmatch(r"(?P<left>.+?) (?P<op>==|!=|<=|>=|<|>) (?P<right>.+)", text)
    try:
        plain = all(isinstance(node, _ALLOWED) for node in ast.walk(ast.parse(text, mode="eval")))
    except SyntaxError:
        return
    if match is None or not plain:
        return
    left, op, right = match["left"], match["op"], match["right"]
    left = re.sub(r"^[1-9]\d*\*(?=\w+$)", "", left) if right == "0" else left  # 4*n > 0 where n > 0
    if op in ("==", "!=") and right == "0":
        yield f"{left} > 0"
    yield f"{left} {op} {right}"
    yield f"{left} {_OPPOSITE[op]} {right}"


# Declared sizes.
_VIOLATED = re.compile(r"Constraints violated \((?P<dims>[^)]*)\)")
_REASON = re.compile(r"^  - (?P<reason>.+?)(?=^  - |^\s*\n|^Suggested|\Z)", re.MULTILINE | re.DOTALL)
_FIXES = re.compile(r"Suggested fixes:\n(?P<fixes>(?:[ \t]+\S.*\n?)+)")
_SPECIALIZED = re.compile(
    r"You marked (?P<dim>\S+) as dynamic but your code specialized it to be a constant \((?P<n>\d+)\)"
)


def violates_declared_sizes(text: str) -> bool:
    return "Constraints violated" in text


def is_outside_declared_range(text: str) -> bool:
    """Is it the sample that does not keep to what is declared?"""
    return " not in range [" in text or "export 0/1 specialized due to hint of" in text


def violated_names(text: str) -> frozenset[str]:
    """The named dims that carry a condition; empty for another message."""
    found = _VIOLATED.search(text)
    return frozenset(re.findall(r"\w+", found["dims"])) if found else frozenset()


class Violation(NamedTuple):
    """`dims` as torch lists them, "" where it does not; each reason a dim with the number that it became, or words."""

    dims: str
    reasons: list[tuple[str, str] | str]
    fixes: list[str]


def violation(text: str) -> Violation:
    """Of a message that violates declared sizes."""
    dims, fixes = _VIOLATED.search(text), _FIXES.search(text)
    reasons: list[tuple[str, str] | str] = []
    for match in _REASON.finditer(text):
        constant = _SPECIALIZED.search(match["reason"])
        words = match["reason"].partition("User stack")[0]
        reasons.append((constant["dim"], constant["n"]) if constant else words)
    suggested = [line.strip() for line in fixes["fixes"].splitlines()] if fixes else []
    return Violation(dims["dims"] if dims else "", reasons, suggested)


def is_of_shared_dim(expr: str) -> bool:
    """Of an issue of draft_export: after a violated constraint it lets every dim go its own way, those too that share a
    Dim."""
    return re.fullmatch(r"Eq\(s\d+, s\d+\)", expr) is not None


class _AsPython(ast.NodeTransformer):
    """Of torch's expressions: its functions as Python's operators, its symbols by their names."""

    _OPERATORS: Mapping[str, ast.operator | ast.cmpop] = {
        "Mod": ast.Mod(), "PythonMod": ast.Mod(), "FloorDiv": ast.FloorDiv(), "Eq": ast.Eq(), "Ne": ast.NotEq()
    }  # fmt: skip

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.parse(self._names.get(node.id, node.id), mode="eval").body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        function = node.func.id if isinstance(node.func, ast.Name) else ""
        args = [self.visit(one) for one in node.args]
        match self._OPERATORS.get(function), args:
            case ast.cmpop() as relation, [left, right]:
                return ast.Compare(left, [relation], [right])
            case ast.operator() as operator, [left, right]:
                return ast.BinOp(left, operator, right)
        return ast.Call(node.func, args, node.keywords)


def condition(expr: str, sources: Mapping[str, str]) -> str:
    """A condition on sizes as Python says it, of a guard in torch's symbols; as it is, where that cannot be read.

    >>> condition("Eq(Mod(s17*s98, 4), 0)", {"s17": "L['x'].size()[0]", "s98": "L['y']['a'].size()[1]"})
    "x.shape[0] * y['a'].shape[1] % 4 == 0"
    """
    names = {
        symbol: re.sub(r"\bL\['(\w+)'\]", r"\1", text).replace(".size()", ".shape") for symbol, text in sources.items()
    }
    try:
        return ast.unparse(_AsPython(names).visit(ast.parse(expr, mode="eval")))
    except SyntaxError:
        return expr


# Graph breaks.
_GB_URL = re.compile(r"\bgb/(gb\d{4})\.html", re.IGNORECASE)


def graph_break_id(text: str, gb_type: str | None = None) -> str | None:
    """The id that the message links, or that the installed torch's registry has for the type; "GB0170"."""
    if found := _GB_URL.search(text):
        return found[1].upper()
    return _gb_types().get(gb_type or break_itself(text).strip().partition("\n")[0])


def graph_break_ids(text: str) -> list[str]:
    """The ids of the breaks that it links, or names: "GB0170"."""
    return list(dict.fromkeys(found.upper() for found in re.findall(r"\bgb\d{4}\b", text, re.IGNORECASE)))


@cache
def _gb_types() -> Mapping[str, str]:
    registry = package_folder("torch") / "_dynamo" / "graph_break_registry.json"
    if not registry.is_file():
        return {}
    entries = json.loads(registry.read_text("utf-8"))
    return {version["Gb_type"]: gb_id for gb_id, versions in entries.items() for version in reversed(versions)}


class GraphBreak(NamedTuple):
    """Dynamo's form: a title, then `Explanation:`, `Hint:` … and a debug context."""

    title: str
    explanation: str
    context: str
    hints: list[str]


def graph_break(text: str) -> GraphBreak | None:
    """The parts of a message in that form."""
    if "Explanation:" not in text:
        return None
    before = text.partition("Explanation:")[0]
    lines = [line.strip() for line in before.splitlines() if line.strip()]
    titled = [line for line in lines if not line.endswith("Got graph break/error:")]
    end = r"(?=\n\s*\n|\n\s+Hint:|\n\s+Developer debug|\Z)"
    hints = [found["message"] for found in re.finditer(rf"Hint: (?P<message>.*?){end}", text, re.DOTALL)]
    title = titled[0] if titled else "Graph break"
    return GraphBreak(title, _field(text, "Explanation"), _field(text, "Developer debug context"), hints)


def _field(text: str, name: str) -> str:
    end = r"(?=\n\s*\n|\n\s+Hint:|\n\s+Developer debug|\n\s*For more|\Z)"
    found = re.search(rf"{name}: (?P<message>.*?){end}", text, re.DOTALL)
    return found["message"] if found else ""


_LOGGED = re.compile(
    r"in user code at (?P<path>.+):(?P<line>\d+)\n(?:Graph Break )?Reason: (?P<reason>.*?)"
    r"(?=\nStack variable source attribution:|\nUser code traceback:|\nTraceback |\Z)",
    re.DOTALL,
)
_STACK = "\nUser code traceback:\n"
_ATTEMPT = re.compile(r"\AEncountered graph break when attempting to trace [^\n]*\n+")


def logged_break(text: str) -> tuple[str, tuple[Frame, ...]] | None:
    """Of an entry of Dynamo's log: the reason of a break, and its frames, outermost first."""
    if left := _LEFT_FUNCTION.match(text):
        return f"{left['says']}\n\n{_first_of_dynamos(left['errors'])}", message_frames(left["stack"])
    found = _LOGGED.search(text)
    if found is None:
        return None
    place = Frame(found["path"], int(found["line"]), "", "")
    stack = message_frames(text.partition(_STACK)[2])
    inner = [frame for frame in stack if frame[:2] == place[:2]]
    reason = _ATTEMPT.sub("", found["reason"]).strip()
    return reason, stack[: stack.index(inner[-1]) + 1] if inner else (place,)


# What torch up to 2.10 says of a function that it leaves to Python: the stack, then a traceback that ends with why.
_LEFT_FUNCTION = re.compile(
    r"\A(?P<says>Graph break: (?:skip:|torch\.compile cannot properly resume from this graph break[^\n]*))"
    r".*?user code(?: at)?:\n(?P<stack>.*?)\n(?P<errors>Traceback .*)",
    re.DOTALL,
)
_DYNAMOS_ERROR = re.compile(
    r"^torch\._dynamo\.exc\.\w+: (?P<message>.*?)(?=\n\n(?:from user code:|The above exception|During handling)|\Z)",
    re.DOTALL | re.MULTILINE,
)


def _first_of_dynamos(errors: str) -> str:
    """What a chain of tracebacks began with; what follows says that Dynamo could not handle that."""
    found = _DYNAMOS_ERROR.search(errors)
    return found["message"].strip() if found else errors.strip().rpartition("\n")[2]


def could_not_resume(text: str) -> bool:
    """Is it about the function around a break that Dynamo could not resume after?"""
    return "Failed to handle graph break gracefully" in text or bool(_COULD_NOT_RESUME.match(text))


_ENCOUNTERED = re.compile(r"Graph break encountered:\s*(?P<inner>.*?)(?=\n\*\*\* While handling|\Z)", re.DOTALL)
_NOT_RESUMED_HERE = re.compile(r"\AEncountered graph break that we cannot resume from\.[^\n]*encountered:\s*\n")
_COULD_NOT_RESUME = re.compile(r"\AGraph break: (?:skip:|torch\.compile cannot properly resume)[^\n]*\n\n")


def break_itself(text: str) -> str:
    """Of a function that Dynamo could not resume in, the break that it met there; any other text as it is."""
    if opening := _COULD_NOT_RESUME.match(text) or _NOT_RESUMED_HERE.match(text):
        return text[opening.end() :]
    found = _ENCOUNTERED.search(text) if could_not_resume(text) else None
    return found["inner"].strip() if found else text


_SKIPPED = re.compile(r"frame skipped: (?P<function>\S+) \((?P<path>.+?) line (?P<line>\d+)\)")


def skipped_function(text: str) -> tuple[str, int, str] | None:
    """Path, first line and name of the function that Dynamo leaves to Python, where torch says it.

    >>> skipped_function("Developer debug context: frame skipped: forward (/home/me/net.py line 17)")
    ('/home/me/net.py', 17, 'forward')
    """
    found = _SKIPPED.search(text)
    return (found["path"], int(found["line"]), found["function"]) if found else None


BREAK, SKIPPED_FRAME, DISABLED, FOREIGN = "break", "skipped", "disabled", "foreign"
# Torch says nothing there; this is ours.
LEFT_WITHOUT_REASON = "Dynamo makes no graph of the function, and gives no reason"
_DISABLED = "torch.compiler.disable()"
_FOREIGN_TITLES = (
    "Attempted to call function marked as skipped",
    "Attempted to inline function marked as skipped",
    "Failed to trace builtin operator",
)


def break_kind(reason: str) -> str:
    """Which kind of break it is.

    skipped   Dynamo does not go on after it in the function, which runs in Python as a whole
    disabled  a function that its author keeps out of the graph
    foreign   a call into C, or into a library that Dynamo leaves alone
    break     anything else that Dynamo cannot trace

    >>> break_kind("Skip calling `torch.compiler.disable()`d function\n  Explanation: …")
    'disabled'
    """
    if could_not_resume(reason):
        return SKIPPED_FRAME
    title = broken.title if (broken := graph_break(reason)) else reason.strip().partition("\n")[0]
    if _DISABLED in title:
        return DISABLED
    return FOREIGN if title.startswith(_FOREIGN_TITLES) else BREAK


_CAUSES_OF_BREAKS: Sequence[tuple[str, str]] = (
    ("says", r"`print`|logg(?:er|ing)|reorderable_logging|warnings?\.warn"),
    ("branch", r"Data-dependent branching|Data-dependent jump"),
    ("number", r"Tensor\.item|aten\._local_scalar_dense|\.tolist\(\)|capture_scalar_outputs"),
    ("size", r"capture_dynamic_output_shape_ops|[Dd]ynamic shape operator"),
    ("recurrent", r"RNN, GRU, or LSTM"),
    ("forced", r"torch\._dynamo\.graph_break\(\)"),
)


def cause_of_break(reason: str) -> str | None:
    """What the line does that breaks the graph: says (prints, logs, warns), branch, number (reads one out of a tensor),
    size (makes one of values), recurrent (runs such a layer), forced; None for anything else.

    >>> cause_of_break("Failed to trace builtin operator\n  Explanation: Dynamo does not know how to trace `print`")
    'says'
    """
    return next((cause for cause, pattern in _CAUSES_OF_BREAKS if re.search(pattern, reason)), None)


# Recompilations: a guard that failed, as `0/1: self.n == 2   # self.n += 1  # folder/model.py:7 in forward (HINT: …)`,
# with the frames behind "User stack trace:" in newer versions.
_GUARD = re.compile(
    r"\A\s*(?:\d+/\d+:\s*)?(?P<guard>.*?)"
    r"(?:\s+# (?P<code>.*?)\s+# (?P<path>\S+):(?P<line>\d+) in (?P<function>[\w<>.]+)(?: \(\S+:\d+ in [\w<>.]+\))?)?"
    r"\s*(?:\(HINT: .*)?\Z",
    re.DOTALL,
)
_USER_STACK = "\nUser stack trace:\n"


class FailedGuard(NamedTuple):
    """Why Dynamo compiles again: `guard` did not hold. Where torch says it, the `code` that it was made for, at a line
    of a file whose path may have lost its beginning, or the frames."""

    guard: str
    code: str
    path: str
    line: int
    function: str
    frames: tuple[Frame, ...]

    @property
    def at(self) -> tuple[str, int] | None:
        """The user's line."""
        user = innermost_user(self.frames)
        return (user.path, user.line) if user else None

    @property
    def subject(self) -> object:
        """What it is about, whatever it asks of that."""
        return self.at, subject_of_guard(self.guard)


def failed_guard(text: str) -> FailedGuard:
    """The parts of the reason of one recompilation.

    >>> failed_guard("0/1: k == 1.0      # return x * k  # app/model.py:8 in forward")[:5]
    ('k == 1.0', 'return x * k', 'app/model.py', 8, 'forward')
    """
    said, _, stack = text.partition(_USER_STACK)
    found = _GUARD.match(said.strip())
    if found is None:  # nothing stands there that the pattern would not take
        return FailedGuard(said.strip(), "", "", 0, "", ())
    line = int(found["line"] or 0)
    code, path, function = (found[name] or "" for name in ("code", "path", "function"))
    return FailedGuard(found["guard"].strip(), code, path, line, function, message_frames(stack))


# What Dynamo makes a symbol of by itself once it changes, or keeps one form for.
_OF_SIZES = re.compile(r"(?:size|dispatch key set) mismatch|\.size\(|\.shape\b|Duplicat|is not L\[")
_OF_STRIDES = re.compile(r"stride mismatch|\.stride\(")
_OF_NUMBER = re.compile(r"\A(?!len\().*==\s*-?[\d.]+(?:e-?\d+)?\s*\Z")  # not the length of a list
_KINDS_OF_GUARDS: Sequence[tuple[str, str]] = (
    ("size", r"\.size\(|\.shape\b|size mismatch"),
    ("length", r"len\("),
    ("tensor", r"(?:dtype|rank|stride|requires_grad) mismatch"),
    ("word", r"==\s*['\"]"),
    ("object", r"___check_obj_id|___check_type_id|ID_MATCH|\bid\("),
    ("value", r"=="),
)
_SIZE_GUARD = re.compile(r"tensor '(?P<name>.+?)' size mismatch at index (?P<dim>\d+)")


def kind_of_guard(guard: str) -> str | None:
    """What a guard asks for: the size of a tensor, the length of a container, a word, an object, another value."""
    return next((kind for kind, pattern in _KINDS_OF_GUARDS if re.search(pattern, guard)), None)


def is_about_size_or_number(guard: str, *, strides: bool = True) -> bool:
    """Is it about what Dynamo can make a symbol of? `strides`: those too, which change with the sizes."""
    of_strides = strides and _OF_STRIDES.search(guard)
    return bool(of_strides or _OF_SIZES.search(guard) or _OF_NUMBER.search(guard))


def subject_of_guard(guard: str) -> str:
    """What a guard is about, whatever it asks of that.

    >>> subject_of_guard("self.count == 3")
    'self.count'
    >>> subject_of_guard("___check_type_id(item, 94110), type=<class 'app.Text'>")
    'item'
    >>> subject_of_guard("33 <= x.size()[1] <= 64")
    'x.size()[1]'
    """
    if bounded := re.match(r"-?\d+\s*<=?\s*(.+?)(?:\s*<=?\s*-?\d+)?$", guard):
        return bounded[1]
    if kept := re.match(r"___check_\w+_id\((.+), \d+\)", guard):
        return kept[1]
    return re.split(r"\s*(?:==|!=|<=|>=|<|>|mismatch|\bis\b)", guard)[0]


def attribute_of_guard(guard: str) -> str | None:
    """The attribute that a guard compares: `step` of `self.block.step == 3`."""
    found = re.search(r"\.(\w+)\s*==", guard)
    return found[1] if found else None


def kept_tensor_of_guard(guard: str) -> str | None:
    """The attribute whose tensor a guard is about: `bank` of `tensor 'self._buffers['bank']' size mismatch at …`."""
    found = re.match(r"tensor 'self\.(?:.*?)(?:\b(\w+)|\['(\w+)'\])' \w+ mismatch", guard)
    return (found[1] or found[2]) if found else None


def global_of_guard(guard: str) -> str | None:
    """The variable of a file that a guard compares: `STEP` of `G['STEP'] == 3`."""
    found = re.search(r"\AG\['(\w+)'\]\s*==", guard)
    return found[1] if found else None


def is_source_of_guard(source: str, guard: str) -> bool:
    """Is `source`, as torch names a size, the one that a guard about a size is about?

    >>> is_source_of_guard("L['x'].size()[0]", "tensor 'x' size mismatch at index 0. expected 3, actual 4")
    True
    """
    found = _SIZE_GUARD.match(guard)
    return found is not None and _plain_source(source).endswith(
        _plain_source(f"{found['name']}.size()[{found['dim']}]")
    )


def _plain_source(source: str) -> str:
    """`L['x']` and `x` are the same."""
    return re.sub(r"L\['(\w+)'\]|\['(\w+)'\]", r"\1\2", source)


_LIMIT = "recompile limit exceeded"


def is_over_recompile_limit(text: str) -> bool:
    """Does Dynamo say that it compiled a function too often, and leaves it to Python from now on?"""
    return _LIMIT in text or "cache_size_limit" in text


# Warnings, and links. Most warnings are about torch's own future; these are about the model.
_ABOUT_THE_MODEL = re.compile(
    r"side effects happened|were assigned during export|mutated (?:input|buffer)|lru_cache", re.IGNORECASE
)
_EXPORTDB = re.compile(r"exportdb/index\.html#([\w-]+)")


def warns_of_the_model(text: str) -> bool:
    return _ABOUT_THE_MODEL.search(text) is not None


def exportdb_cases(text: str) -> list[str]:
    """The cases of ExportDB that it links."""
    return _EXPORTDB.findall(text)


def deprecated_name(text: str) -> str | None:
    """The call that a warning is about, which begins with its name."""
    found = re.match(r"`?([\w.]+)", text)
    return found[1] if found else None


def is_of_another_torch(text: str) -> bool:
    """Was the installed torchvision built for another torch?"""
    return "operator torchvision::" in text


# Nodes and operators of a graph.
_NODE = re.compile(r"(?:\b[Nn]ode(?:\.meta)? '?|%)(\w+)")
_ASSIGNED = re.compile(r"\s*(\w+)\s*(?::[^=]*)?=")
_OPERATOR = re.compile(r"\b([a-z_]\w*)(?:::|\.)(\w+)")
_OPERATOR_OF_ANY_CASE = re.compile(_OPERATOR.pattern, re.IGNORECASE)
_UNBOUNDED = re.compile(r"upper bound|unbacked|\bu\d+\b")


def node_names(text: str) -> list[str]:
    """What it may name as a node: `Node.meta NAME is missing a field`, `While executing %NAME`."""
    return _NODE.findall(text)


def node_of_line(file: str, line: str) -> str | None:
    """The node that a line of the code of an exported program computes; None for a line of another file."""
    found = _ASSIGNED.match(line) if file.startswith("<eval_with_key>") else None
    return found[1] if found else None


def operators_named(text: str, *, any_case: bool = False) -> list[str]:
    """Each `namespace::operator`, however it is written. `any_case`: namespaces in capitals too.

    >>> operators_named("aten.cumsum.default, or aten::add")
    ['aten::cumsum', 'aten::add']
    """
    return [
        f"{space}::{operator}" for space, operator in (_OPERATOR_OF_ANY_CASE if any_case else _OPERATOR).findall(text)
    ]


def is_about_unbounded_size(text: str) -> bool:
    """Does a target want a bound for a size that is read from data?"""
    return _UNBOUNDED.search(text) is not None


# Decomposing. Of torch: of the function that it puts around a program that is given the same memory twice and writes to
# it, and of inductor's trace of that.
_FUNCTIONAL = "mutating a non-functional tensor with a functional tensor"
_MEMORY_TWICE = ("expected compiled_fn to be GraphModule", _FUNCTIONAL)
# Of torch's decompositions, and of inductor's trace, which names no constant.
_CONSTANT = re.compile(r"Constant (\S+) is mutated in the forward method")
_SOME_CONSTANT = (_FUNCTIONAL, "to have an entirely functional graph")
_OTHER_SHAPE = (
    "num_mutated_inp_runtime_indices",
    "Encountered a set_ on a graph input",
    "input that received a metadata mutation",
)
_CARRIED_TWICE = re.compile(r"(cond_fn|body_fn|true_fn|false_fn) might be aliasing the input or the output")
_CLASS = re.compile(
    r"TreeSpec of namedtuple class <class '(?P<namedtuple>[^']+)'>"
    r"|No registered serialization name for <class '(?P<other>[^']+)'>"
)


class Undecomposed(NamedTuple):
    """What torch says of a program that it does not decompose or save.

    memory_twice      is it given the same memory twice, and writes to it?
    constant          the constant that it writes to; `some_constant`: it may be one, and none is named
    other_shape       does it change the shape or the storage of an input?
    number_in_branch  does a function that control flow is given make a tensor of Python numbers?
    carried_twice     the function of control flow that is given one tensor twice
    namedtuple        the class of an input or output that has no name in a file; `other_class`: one that is no tuple
    """

    memory_twice: bool
    constant: str | None
    some_constant: bool
    other_shape: bool
    number_in_branch: bool
    carried_twice: str | None
    namedtuple: str | None
    other_class: str | None


def undecomposed(text: str) -> Undecomposed:
    constant, carried, unnamed = _CONSTANT.search(text), _CARRIED_TWICE.search(text), _CLASS.search(text)
    return Undecomposed(
        any(sign in text for sign in _MEMORY_TWICE),
        constant[1] if constant else None,
        any(sign in text for sign in _SOME_CONSTANT),
        any(sign in text for sign in _OTHER_SHAPE),
        "Attempting to use FunctionalTensor on its own" in text,
        carried[1] if carried else None,
        unnamed["namedtuple"] if unnamed else None,
        unnamed["other"] if unnamed else None,
    )
