"""Reduce torch's forty lines to one sentence, and suggest what to write: only words, no place, no rule, no link."""

from __future__ import annotations

import linecache
import re
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from exportlint.trial.protocol.remedies import is_about_distributions, operator_without_fake_kernel
from exportlint.trial.protocol.torch_messages import (
    decides_by_numpy,
    depends_on_data,
    graph_break,
    is_about_numpy,
    misfit_of_shapes,
    refusal,
    uncompiled,
    violates_declared_sizes,
    violation,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.torch_messages import GraphBreak, Violation


MOST = 300  # characters of torch's own words that a person reads in a list
LONG = 160  # a hint that is longer is an essay on torch.compile


@dataclass(frozen=True, slots=True)
class Words:
    """`message` has no final stop. `suggestion` is what to write, or None where nothing general helps."""

    message: str
    suggestion: str | None = None


_SELECT = "compute both sides and select with `torch.where`, or keep both in the program with `torch.cond`"
STATE_WHAT_HOLDS = "state what holds with `torch._check(…)`, or compute with the tensor instead of a Python number"
_REGISTER = (
    "return or take tensors, lists, tuples and dicts, or register the class before the export: "
    '`torch.export.register_dataclass({name}, serialized_type_name="{dotted}")` for a dataclass, else '
    "`torch.utils._pytree.register_pytree_node({name}, flatten, unflatten, "
    'serialized_type_name="{dotted}")`'
)
_REGISTER_HERE = (
    "register it below its definition: "
    '`torch.export.register_dataclass({name}, serialized_type_name="{dotted}")`; or take its tensors as arguments'
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

# By the kind of the refusal. `{groups}` are its parts.
_REFUSED: Mapping[str, tuple[str, str | None]] = {
    "number": ("Python needs a number here (`{expr}`) that is known only when the program runs", STATE_WHAT_HOLDS),
    "size": (
        "the size of a tensor decides here (`{expr}`), and that size depends on data",
        "state what holds of the size with `torch._check(…)`, or do without the test",
    ),
    "value": ("the value of a tensor decides here (`{expr}`), and while it is traced a tensor has no value", _SELECT),
    "lost-data": (
        "an operation went past the tracer, so the program holds a tensor without data (`{name}`)",
        "look for `.data`, and for functions that keep a tensor they made while tracing; use `.detach()` and return it",
    ),
    "output-class": ("the model returns `{name}`, a class that torch.export cannot take apart into tensors", _REGISTER),
    "input-class": ("an input is a `{name}`, a class that torch.export cannot take apart into tensors", _REGISTER),
    "no-module": ("what is exported is a `{name}`, and torch.export takes a `torch.nn.Module` only", _WRAP),
    "script-part": (
        "the TorchScript module `{name}` is called here, and torch cannot trace what it does",
        "keep the module that it was made from, and export with that",
    ),
    "script-module": ("what is exported is a TorchScript module", "export the module that it was made from"),
    "missing-argument": (
        "the example inputs give no value for the argument `{name}` of forward",
        "add it to `example_args` or `example_kwargs`",
    ),
    "unexpected-argument": ("the example inputs name an argument `{name}`, which forward does not have", None),
    "predicate": (
        "`torch.cond` chooses by one element, and its predicate has several",
        "give it one, as in `(x > 0).all()`; to choose for each element, use `torch.where`",
    ),
    "no-attribute": (
        "this torch has no `{dotted}.{name}`",
        "write it with what the installed torch has, or install the one that it was written for",
    ),
    "double-backward": (
        "what torch.compile compiled is differentiated twice, and it has a first derivative only",
        'differentiate twice only what is not compiled, or compile with `backend="eager"`',
    ),
    "script-arguments": (
        "a TorchScript module is given {given} arguments with `self`, and takes {most}",
        "trace with all the inputs that it is called with: a trace has those of its example",
    ),
    "branch": ("the value of a tensor decides here, and while it is traced a tensor has no value", _SELECT),
    "answer": ("`{name}{operator}` gives Python an answer that depends on the values of a tensor", _SELECT),
    "address": (
        "the address of a tensor's memory is asked for, and while it is traced a tensor has none",
        "work with values, or hide the code behind a custom operator (`torch.library.custom_op`)",
    ),
    "builtin": ("torch cannot trace `{name}`, which is not written in Python", _BEFORE),
    "builtin-on-types": ("torch cannot trace the builtin `{name}` on {types}", None),
    "forbidden": ("torch refuses to trace into `{name}`", _BEFORE),
    "call": ("torch cannot trace through `{what}`: {why}", None),
}


def torch_words(seen: Observation) -> Words:
    """Reduce an exception or a graph break to a message and a suggestion."""
    text = seen.text
    if wrong := seen.details.get("not_traced"):
        return Words(
            f"torch.jit.trace takes an output of tensors only, and here {' and '.join(wrong)}",
            "return the tensors alone, and leave out what is None",
        )
    if operator := operator_without_fake_kernel(seen):
        return Words(_NO_FAKE_KERNEL.format(operator), "register one with `torch.library.register_fake`")
    if kind := seen.details.get("draft"):
        if kind == "DATA_DEPENDENT_ERROR" and seen.user and not decides(seen.user.text):
            return _decided_inside(seen)
        return _issue(str(kind), str(seen.details["subject"]))
    if misfit := misfit_of_shapes(text):
        if collected := seen.details.get("collected"):
            named = " and ".join(f"`{name}`" for name in collected)
            are = "is" if len(collected) == 1 else "are"
            message = f"{named} {are} collected by `**`, of which torch takes no `dynamic_shapes`"
            return Words(message, "give forward parameters of these names")
        return Words(_misfit(misfit), "write it in the structure of the arguments")
    if violates_declared_sizes(text):
        return _constraints(violation(text))
    if found := refusal(text):
        message, suggestion = _REFUSED[found.kind]
        if found.kind in ("value", "branch") and decides_by_numpy(text):
            return Words(*_NUMPY_DECIDES)
        if seen.user and not decides(seen.user.text):
            match found.kind:
                case "value" if "read" in seen.details:
                    message, suggestion = _ASKED_INSIDE
                case "value" | "branch":
                    return _decided_inside(seen)
        known = message if "read" in seen.details else message.replace(_SYMBOL, "")
        return _filled(found.parts, seen, known, suggestion)
    if broken := graph_break(text):
        return _graph_break(broken)
    words = f"{_bare(seen.error_class)}{one_line(seen.first_line or text)}"
    if told := uncompiled(text):
        return Words(words, FOR_TORCHSCRIPT.get(told.kind, "").format_map(told.parts) or None)
    return Words(words)


# What TorchScript cannot compile, by its kind: what to write instead. `{groups}` are its parts.
FOR_TORCHSCRIPT: Mapping[str, str] = {
    "module-index": "loop over the list itself, and test the number in the loop: "
    "`for i, layer in enumerate(self.layers):`, and in it `if i < n:`",
    "dict-index": "loop over the dict, and test the key in the loop: `for name, layer in self.layers.items():`, and in"
    " it `if name == key:`",
    "module-slice": "loop over the whole list, and test the number in the loop: "
    "`for i, layer in enumerate(self.layers):`, and in it `if i >= 1:`",
    "module-zip": "loop over the modules alone, `for i, layer in enumerate(self.layers):`, and take `others[i]` in it",
    "module-reversed": "keep the modules in a second `nn.ModuleList` in the order in which they are called",
    "module-break": "keep a flag instead: `if not done:` around what the loop does",
    "arguments": "name every argument, or take a list of them",
    "becomes-tensor": "annotate it where it is None, `{name}: Optional[torch.Tensor] = None`, and test it for None"
    " before it is used",
    "other-type": "give the other value a name of its own",
    "branches": "give both branches the same type, or the other value a name of its own",
    "undefined": "set `{name}` before the branch, or in both",
    "returns": "return the same type everywhere",
    "not-annotated": "annotate the parameter: `{name}: {type}`",
    "optional": "test it for None before, `if x is not None:`, which TorchScript follows for names, not for attributes",
    "default": "make the default None, and set it in the function",
    "format": "leave the format out, `{{x}}` for `{{x:.3f}}`; or put it into a method with `@torch.jit.unused`, called"
    " under `if not torch.jit.is_scripting():`",
    "lambda": "make it a function of the file",
    "try": "test before what would raise",
    "comprehension": "write it as a loop that appends",
    "empty-list": "annotate the empty list: `out: List[int] = []`",
    "global": "keep it on the module, set in `__init__`, or pass it in",
    "name-of-attribute": "keep the modules in an `nn.ModuleList` and loop over it",
    "super": "give the inherited code a method of its own name, and call that on `self`",
}


# The author's line decides nothing: an operation that it calls does.
_DECIDES = re.compile(
    r"\b(if|elif|while|and|or|not|in|is|assert|match|case|bool|any|all|min|max|sorted)\b|[<>=!]=|[<>]"
)


def decides(line: str) -> bool:
    """Does the author's line ask something, as `if` or a comparison do?"""
    return _DECIDES.search(line) is not None


_NUMPY_DECIDES = (
    "a number of NumPy's decides here, and strict mode traces NumPy as tensors, which have no value while it traces",
    "use the function of `math`, or ask the sizes of tensors, as in `x.numel()`",
)
_ASKED_INSIDE = (
    "an operation asks about a number here (`{expr}`) that is known only when the program runs",
    STATE_WHAT_HOLDS,
)
_DECIDED_INSIDE = (
    "what is called here decides by the value of a tensor{where}, and while it is traced a tensor has no value",
    "where it decides, compute both sides and select with `torch.where`, or keep both in the program with `torch.cond`",
)
_OF_TORCH = re.compile(r"[\\/](torch[\\/](?:nn|distributions)[\\/].*)")


def _decided_inside(seen: Observation) -> Words:
    """Where a layer of torch decides, its line: nobody can write that in another way, and arguments may spare it."""
    message, suggestion = _DECIDED_INSIDE
    after = seen.frames[seen.frames.index(seen.user) + 1 :] if seen.user in seen.frames else ()
    found = [(frame, place) for frame in after if (place := _OF_TORCH.search(frame.path))]
    if not found:
        return Words(message.format(where=""), suggestion)
    frame, place = found[-1]
    where = f" (torch does, in {place[1]}:{frame.line}, `{one_line(frame.text, 80)}`)"
    return Words(
        message.format(where=where),
        f"give it arguments for which `{frame.function}` of torch does not ask, or write without it what it does",
    )


# Issues of draft_export, by their type; `{subject}` is the expression or the operator.
_ISSUES: dict[str, tuple[str, str | None]] = {
    "DATA_DEPENDENT_ERROR": (
        "the value of a tensor decides here, and while it is traced a tensor has no value",
        _SELECT,
    ),
    "MISMATCHED_FAKE_KERNEL": ("the fake kernel of the custom operator `{subject}` does not agree with it", None),
    "GUARD_ADDED": ("the code goes on only where `{subject}`", None),
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


def _filled(found: Mapping[str, str], seen: Observation, message: str, suggestion: str | None) -> Words:
    parts = {key: one_line(value, 120) for key, value in found.items()}
    dotted = str(seen.details.get("class") or parts.get("dotted", ""))
    parts.setdefault("name", dotted.rpartition(".")[2])
    parts["dotted"] = re.sub(r"^exportlint_target_", "", dotted)
    if suggestion is _REGISTER:
        suggestion = _register(dotted)
        if seen.details.get("built"):
            message += ", built at this line"
        if defined := seen.details.get("defined"):
            message += ", and is defined at this line"
            suggestion = _REGISTER_HERE if defined == "dataclass" else suggestion
    return Words(message.format_map(parts), suggestion.format_map(parts) if suggestion else None)


def _register(dotted: str) -> str:
    """Library classes and builtins are not the user's to register."""
    if dotted.endswith("Cache"):
        return _NO_CACHE
    return _PLAIN if dotted.startswith("torch.") or ("." not in dotted and dotted.islower()) else _REGISTER


def _misfit(found: Mapping[str, str]) -> str:
    """How a `dynamic_shapes` differs from the arguments, in torch's own words where they are short."""
    if "names" in found:
        names = f"has the names {found['keys']}, and the arguments that are given are {found['names']}"
        return f"the `dynamic_shapes` {names}"
    if "spare" in found:
        return "the arguments that `**` collects take no `dynamic_shapes`"
    return f"the `dynamic_shapes` does not fit the arguments: {one_line(next(iter(found.values())))}"


def _constraints(found: Violation) -> Words:
    reasons = [
        one_line(reason, 200) if isinstance(reason, str) else f"the code makes `{reason[0]}` the constant {reason[1]}"
        for reason in found.reasons
    ]
    where = found.dims or "a dimension"
    message = one_line(f"the declared dynamic shapes do not hold ({where}): {'; '.join(dict.fromkeys(reasons))}")
    if not found.fixes:
        return Words(message)
    suggested = ", ".join(f"`{line}`" for line in found.fixes)
    return Words(message, f"change the code, or declare what it demands: {suggested}")


# Words of nearly every break; a person learns nothing from them.
_EMPTY = ("fundamental", "report an issue", "ile an issue", "error when running in eager", "docs.google.com")
# Advice for torch.compile, which export has no use for.
_OF_COMPILE = ("torch._dynamo.config", "torch._dynamo.disable", "torch.compile", "torch.compiler", "fullgraph")


_SAME_AGAIN = 0.9  # of a title and its explanation, how alike they are where one says the other again


def _graph_break(broken: GraphBreak) -> Words:
    """A sentence of the explanation behind the title; of the hints those that say something of export."""
    first = re.split(r"(?<!e\.g)\.\s+(?=[A-Z`])", one_line(broken.explanation), maxsplit=1)[0]
    if "Observed exception" in broken.title and broken.context:
        first = one_line(broken.context)
    hints = [
        hint
        for hint in map(one_line, broken.hints)
        if len(hint) < LONG and not any(word in hint for word in (*_EMPTY, *_OF_COMPILE))
    ]
    title = broken.title.rstrip(":")
    says_it_again = SequenceMatcher(None, title, first).ratio() > _SAME_AGAIN
    message = one_line(first if says_it_again else ": ".join(filter(None, (title, first))))
    return Words(message, "; ".join(dict.fromkeys(hints[:2])) or None)


# Say what to write instead of what torch refuses, by the cause that the refused line shows.


_ASSERT_READ = (
    "check the tensor inside the program, with `torch._assert_async(test)` before `.item()` reads it, or leave the"
    " check out of what is exported"
)
_ASSERT = "check it inside the program, with `torch._assert_async(test)`, or leave the check out of what is exported"
_DISTRIBUTION = "build the distribution with `validate_args=False`"
_LENGTH = "write `x.shape[0]` for `len(x)`, and state what holds of it with `torch._check(…)`"
_NUMPY = "compute with torch functions instead of NumPy's; what is constant can be made with `torch.from_numpy` before"
_OUTSIDE = (
    "compute it before the model runs and pass the result in, or put it behind a custom operator "
    "(`torch.library.custom_op`, with a fake kernel)"
)
ONE_BY_ONE = "export the parts of the model one by one, to see which of them it is"

_LEN = re.compile(r"\blen\(")


def advised(words: Words, seen: Observation, *, thorough: bool = True) -> Words:
    """The words with the advice that the refused line calls for; if `thorough`, where nothing better is known, with a
    thing to try."""
    suggestion = _by_cause(seen) or words.suggestion
    if suggestion is None and thorough:
        suggestion = _OUTSIDE if seen.user else ONE_BY_ONE
    return replace(words, suggestion=suggestion)


def _by_cause(seen: Observation) -> str | None:
    text = seen.user.text if seen.user else ""
    if is_about_distributions(seen):
        return _DISTRIBUTION
    if is_about_numpy(seen.text):
        return _NUMPY
    if depends_on_data(seen.text):
        if text.startswith("assert ") or _guards_a_raise(seen):
            return _ASSERT_READ if "read" in seen.details else _ASSERT
        asked = refusal(seen.text)
        of_values = asked is not None and asked.kind in ("value", "branch")  # `len(t) > 1 and t[0] > t[1]`
        if _LEN.search(text) and not of_values:
            return _LENGTH
    return None


def _guards_a_raise(seen: Observation) -> bool:
    """Is the line an `if` that only raises?"""
    if seen.user is None or not seen.user.text.startswith(("if ", "elif ")):
        return False
    return linecache.getline(seen.user.path, seen.user.line + 1).strip().startswith("raise")
