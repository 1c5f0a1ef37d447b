"""Reduce torch's forty lines to one sentence, and suggest what to write: only words, no place, no rule, no link."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from exportlint.trial.protocol.remedies import is_about_distributions, operator_without_fake_kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.protocol.observation import Observation


MOST = 300  # characters of torch's own words that a person reads in a list
LONG = 160  # a hint that is longer is an essay on torch.compile


@dataclass(frozen=True, slots=True)
class Words:
    """`message` has no final stop. `suggestion` is what to write, or None where nothing general helps."""

    message: str
    suggestion: str | None = None


_SELECT = "compute both sides and select with `torch.where`, or keep both in the program with `torch.cond`"
_CHECK = "state what holds with `torch._check(…)`, or compute with the tensor instead of a Python number"
_REGISTER = (
    "return or take tensors, lists, tuples and dicts, or register the class before the export: "
    '`torch.export.register_dataclass({name}, serialized_type_name="{dotted}")` for a dataclass, else '
    "`torch.utils._pytree.register_pytree_node({name}, flatten, unflatten, "
    'serialized_type_name="{dotted}")`'
)
_NO_CACHE = "pass `use_cache=False` (or set `model.config.use_cache = False`), so that no `{name}` is returned"
_PLAIN = "return tensors, numbers and text only"
_BEFORE = "call it before the model runs and pass the result in, or do without it"
_WRAP = (
    "export a small `torch.nn.Module` whose `forward` calls it, and which holds the modules that it uses: weights that"
    " no module holds become constants of the program"
)

_NO_FAKE_KERNEL = "the custom operator `{}` has no fake kernel, so the tracer cannot tell the shape of its result"

# What torch says in its own symbols (`u0 > 4`), which means something only beside the line that they were read at.
_SYMBOL = " (`{expr}`)"

# The first pattern that torch's message holds. `{groups}` come from the pattern.
_PATTERNS: tuple[tuple[str, str, str | None], ...] = (
    (
        r"Could not extract specialized integer from data-dependent expression (?P<expr>.+?) \(unhinted",
        "Python needs a number here (`{expr}`) that is known only when the program runs",
        _CHECK,
    ),
    (
        r"Could not guard on data-dependent expression (?P<expr>z?uf?\d+) \(unhinted",
        "Python needs a number here (`{expr}`) that is known only when the program runs",
        _CHECK,
    ),
    (
        r"Could not guard on data-dependent expression (?P<expr>.+?) \(unhinted.*Size-like symbols: u\d",
        "the size of a tensor decides here (`{expr}`), and that size depends on data",
        "state what holds of the size with `torch._check(…)`, or do without the test",
    ),
    (
        r"Could not guard on data-dependent expression (?P<expr>.+?) \(unhinted",
        "the value of a tensor decides here (`{expr}`), and while it is traced a tensor has no value",
        _SELECT,
    ),
    (
        r"We found a fake tensor in the exported program constant's list.*model attribute: (?P<name>\w+)",
        "an operation went past the tracer, so the program holds a tensor without data (`{name}`)",
        "look for `.data`, and for functions that keep a tensor they made while tracing; use `.detach()` and return it",
    ),
    (
        r"Found <class '(?P<dotted>[^']+)'> in output, which is not a known type",
        "the model returns `{name}`, a class that torch.export cannot take apart into tensors",
        _REGISTER,
    ),
    (
        r"unrecognized type (?:UserDefined\w+\()?(?P<dotted>\w+?)(?:Variable\(\))?\)? at output",
        "the model returns `{name}`, a class that torch.export cannot take apart into tensors",
        _REGISTER,
    ),
    (
        r"(?:Unsupported input type|one of the inputs with type) `?<class '(?P<dotted>[^']+)'>",
        "an input is a `{name}`, a class that torch.export cannot take apart into tensors",
        _REGISTER,
    ),
    (
        r"Expected `mod` to be an instance of `torch.nn.Module`, got <class '(?P<dotted>[^']+)'>",
        "what is exported is a `{name}`, and torch.export takes a `torch.nn.Module` only",
        _WRAP,
    ),
    (
        r"Exporting a ScriptModule is not supported",
        "what is exported is a TorchScript module",
        "export the module that it was made from",
    ),
    (
        r"missing a required (?:keyword-only )?argument: '(?P<name>\w+)'",
        "the example inputs give no value for the argument `{name}` of forward",
        "add it to `example_args` or `example_kwargs`",
    ),
    (
        r"got an unexpected keyword argument '(?P<name>\w+)'",
        "the example inputs name an argument `{name}`, which forward does not have",
        None,
    ),
    (
        r"Expected pred to be bool or single-element tensor, but got",
        "`torch.cond` chooses by one element, and its predicate has several",
        "give it one, as in `(x > 0).all()`; to choose for each element, use `torch.where`",
    ),
    (
        r"\bmodule '(?P<dotted>torch[\w.]*)' has no attribute '(?P<name>\w+)'",
        "this torch has no `{dotted}.{name}`",
        "write it with what the installed torch has, or install the one that it was written for",
    ),
    (
        r"Detected data-dependent branching",
        "the value of a tensor decides here, and while it is traced a tensor has no value",
        _SELECT,
    ),
    (
        r"\Aaten\.(?P<name>\w+)\.\w+\Z|Operator `aten\.(?P<operator>\w+)\.\w+` has a non-Tensor output whose value",
        "`{name}{operator}` gives Python an answer that depends on the values of a tensor",
        _SELECT,
    ),
    (
        r"Cannot access data pointer of Tensor",
        "the address of a tensor's memory is asked for, and while it is traced a tensor has none",
        "work with values, or hide the code behind a custom operator (`torch.library.custom_op`)",
    ),
    (
        r"does not know how to trace the builtin `(?:<unknown module>\.)?(?P<name>[^`]+?)\.?`",
        "torch cannot trace `{name}`, which is not written in Python",
        _BEFORE,
    ),
    (
        r"does not know how to trace builtin operator `(?P<name>\w+)` with argument types (?P<types>\[[^]]*\])",
        "torch cannot trace the builtin `{name}` on {types}",
        None,
    ),
    (
        r"intentionally marked that the function `(?P<name>[^`]+)`",
        "torch refuses to trace into `{name}`",
        _BEFORE,
    ),
    (
        r"(?:with fake tensors:|\AFailed running) call_\w+ (?P<what>[^\n(]+)\(.+?\}\):\s+(?:got )?(?P<why>[^\n]+)",
        "torch cannot trace through `{what}`: {why}",
        None,
    ),
)


def torch_words(seen: Observation) -> Words:
    """Reduce an exception or a graph break to a message and a suggestion."""
    text = seen.text
    if operator := operator_without_fake_kernel(seen):
        return Words(_NO_FAKE_KERNEL.format(operator), "register one with `torch.library.register_fake`")
    if kind := seen.details.get("draft"):
        return _issue(str(kind), str(seen.details["subject"]))
    if "Constraints violated" in text:
        return _constraints(text)
    for pattern, message, suggestion in _PATTERNS:
        if found := re.search(pattern, text, re.DOTALL):
            known = message if "read" in seen.details else message.replace(_SYMBOL, "")
            return _filled(found, seen, known, suggestion)
    if "Explanation:" in text:
        return _graph_break(text)
    return Words(f"{_bare(seen.error_class)}{one_line(seen.first_line or text)}")


# Issues of draft_export, by their type; `{subject}` is the expression or the operator.
_ISSUES: dict[str, tuple[str, str | None]] = {
    "DATA_DEPENDENT_ERROR": (
        "the value of a tensor decides here, and while it is traced a tensor has no value",
        _SELECT,
    ),
    "MISMATCHED_FAKE_KERNEL": ("the fake kernel of the custom operator `{subject}` does not agree with it", None),
    "CONSTRAINT_VIOLATION_ERROR": ("the code narrows a dimension that was declared dynamic: `{subject}`", None),
}


def _issue(kind: str, subject: str) -> Words:
    if kind in _ISSUES and subject:
        message, suggestion = _ISSUES[kind]
        return Words(message.format(subject=one_line(subject, 120)), suggestion)
    plain = kind.replace("_", " ").lower()
    return Words(one_line(f"{plain}: {subject}" if subject else plain))


def one_line(text: str, most: int = MOST) -> str:
    """White space folded, cut at a word; a final stop left out."""
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= most else line[:most].rpartition(" ")[0] + " …"


def _bare(error_class: str | None) -> str:
    return f"{error_class.rpartition('.')[2]}: " if error_class else ""


def _filled(found: re.Match[str], seen: Observation, message: str, suggestion: str | None) -> Words:
    parts = {key: one_line(value or "", 120) for key, value in found.groupdict().items()}
    dotted = str(seen.details.get("class") or parts.get("dotted", ""))
    parts.setdefault("name", dotted.rpartition(".")[2])
    parts["dotted"] = re.sub(r"^exportlint_target_", "", dotted)
    if suggestion is _REGISTER:
        suggestion = _register(dotted)
        if seen.details.get("built"):
            message += ", built at this line"
    return Words(message.format_map(parts), suggestion.format_map(parts) if suggestion else None)


def _register(dotted: str) -> str:
    """Library classes and builtins are not the user's to register."""
    if dotted.endswith("Cache"):
        return _NO_CACHE
    return _PLAIN if dotted.startswith("torch.") or ("." not in dotted and dotted.islower()) else _REGISTER


_VIOLATED = re.compile(r"Constraints violated \((?P<dims>[^)]*)\)")
_REASON = re.compile(r"^  - (?P<reason>.+?)(?=^  - |^\s*\n|^Suggested|\Z)", re.MULTILINE | re.DOTALL)
_FIXES = re.compile(r"Suggested fixes:\n(?P<fixes>(?:[ \t]+\S.*\n?)+)")
_SPECIALIZED = re.compile(
    r"You marked (?P<dim>\S+) as dynamic but your code specialized it to be a constant \((?P<n>\d+)\)"
)


def _constraints(text: str) -> Words:
    found = _VIOLATED.search(text)
    dims = found["dims"] if found else "a dimension"
    reasons = [_reason(match["reason"]) for match in _REASON.finditer(text)]
    message = f"the declared dynamic shapes do not hold ({dims}): {'; '.join(dict.fromkeys(reasons))}"
    fixes = _FIXES.search(text)
    if fixes is None:
        return Words(one_line(message))
    suggested = ", ".join(f"`{line.strip()}`" for line in fixes["fixes"].splitlines())
    return Words(one_line(message), f"change the code, or declare what it demands: {suggested}")


def _reason(message: str) -> str:
    if found := _SPECIALIZED.search(message):
        return f"the code makes `{found['dim']}` the constant {found['n']}"
    return one_line(message.partition("User stack")[0], 200)


# Words of nearly every break; a person learns nothing from them.
_EMPTY = ("fundamental", "report an issue", "ile an issue", "error when running in eager", "docs.google.com")
# Advice for torch.compile, which export has no use for.
_OF_COMPILE = ("torch._dynamo.config", "torch._dynamo.disable", "torch.compile", "torch.compiler", "fullgraph")


def _graph_break(text: str) -> Words:
    """Dynamo's form: a title, then `Explanation:`, `Hint:` … and a debug context."""
    title = _title(text)
    explanation = _field(text, "Explanation")
    first = re.split(r"(?<!e\.g)\.\s+(?=[A-Z`])", explanation, maxsplit=1)[0]
    context = _field(text, "Developer debug context")
    if "Observed exception" in title and context:
        first = context
    hints = [
        hint for hint in _hints(text) if len(hint) < LONG and not any(word in hint for word in (*_EMPTY, *_OF_COMPILE))
    ]
    message = one_line(f"{title}: {first}" if first else title.rstrip(":"))
    return Words(message, "; ".join(dict.fromkeys(hints[:2])) or None)


def _title(text: str) -> str:
    before = text.partition("Explanation:")[0]
    lines = [line.strip() for line in before.splitlines() if line.strip()]
    titled = [line for line in lines if not line.endswith("Got graph break/error:")]
    return titled[0] if titled else "Graph break"


def _field(text: str, name: str) -> str:
    found = re.search(
        rf"{name}: (?P<message>.*?)(?=\n\s*\n|\n\s+Hint:|\n\s+Developer debug|\n\s*For more|\Z)", text, re.DOTALL
    )
    return one_line(found["message"]) if found else ""


def _hints(text: str) -> Iterator[str]:
    for found in re.finditer(r"Hint: (?P<message>.*?)(?=\n\s*\n|\n\s+Hint:|\n\s+Developer debug|\Z)", text, re.DOTALL):
        yield one_line(found["message"])


# Say what to write instead of what torch refuses, by the cause that the refused line shows.


_ASSERT = "check it inside the program, with `torch._assert_async(test)`, or leave the check out of what is exported"
_DISTRIBUTION = "build the distribution with `validate_args=False`"
_LENGTH = "write `x.shape[0]` for `len(x)`, and state what holds of it with `torch._check(…)`"
_NUMPY = "compute with torch functions instead of NumPy's; what is constant can be made with `torch.from_numpy` before"
_OUTSIDE = (
    "compute it before the model runs and pass the result in, or put it behind a custom operator "
    "(`torch.library.custom_op`, with a fake kernel)"
)
_PARTS = "export the parts of the model one by one, to see which of them it is"

_DECIDES = re.compile(r"data-dependent|Data-dependent|DataDependent")
_LEN = re.compile(r"\blen\(")
_NO_NUMPY = re.compile(r"\.numpy\(\) is not supported|Cannot convert .* to numpy", re.IGNORECASE)


def advised(words: Words, seen: Observation, *, thorough: bool = True) -> Words:
    """The words with the advice that the refused line calls for; if `thorough`, where nothing better is known, with a
    thing to try."""
    suggestion = _by_cause(seen) or words.suggestion
    if suggestion is None and thorough:
        suggestion = _OUTSIDE if seen.user else _PARTS
    return replace(words, suggestion=suggestion)


def _by_cause(seen: Observation) -> str | None:
    text = seen.user.text if seen.user else ""
    if is_about_distributions(seen):
        return _DISTRIBUTION
    if _NO_NUMPY.search(seen.text):
        return _NUMPY
    if _DECIDES.search(seen.text):
        if text.startswith("assert ") or _guards_a_raise(seen):
            return _ASSERT
        if _LEN.search(text):
            return _LENGTH
    return None


def _guards_a_raise(seen: Observation) -> bool:
    """Is the line an `if` that only raises?"""
    if seen.user is None or not seen.user.text.startswith(("if ", "elif ")):
        return False
    return linecache.getline(seen.user.path, seen.user.line + 1).strip().startswith("raise")
