"""What torch.compile does with a model, in words: breaks of the graph, recompilations, other results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from exportlint.trial.findings.reaching import function_around
from exportlint.trial.findings.wording.difference_messages import in_words, program_of
from exportlint.trial.findings.wording.torch_messages import Words, one_line, torch_words
from exportlint.trial.protocol.torch_messages import (
    DISABLED,
    FOREIGN,
    LEFT_WITHOUT_REASON,
    SKIPPED_FRAME,
    break_itself,
    cause_of_break,
    graph_break,
    kind_of_guard,
    skipped_function,
)

if TYPE_CHECKING:
    import ast
    from collections.abc import Mapping, Sequence

    from exportlint.trial.protocol.observation import Observation


# Breaks.


_WHAT = {
    SKIPPED_FRAME: "torch.compile cannot go on after this line, and leaves the whole function to Python",
    DISABLED: "torch.compile leaves the graph here, for a function that is kept out of it",
    FOREIGN: "torch.compile breaks the graph here, for a call that it does not follow",
}
OF_BREAKS: Mapping[str, str] = {
    "says": "put it behind `if not torch.compiler.is_compiling():`, or behind the last tensor work of the call",
    "branch": "choose with `torch.where`, or with `torch.cond`",
    "assertion": "write `torch._assert_async(test)`, or leave the check out of what is compiled",
    "number": "keep the number a tensor; or set `torch._dynamo.config.capture_scalar_outputs = True`",
    "size": (
        "work with a mask of the full size; or set `torch._dynamo.config.capture_dynamic_output_shape_ops = True`"
    ),
    "recurrent": "compile the parts around the layer; or set `torch._dynamo.config.allow_rnn = True`",
    "forced": "take the call away",
}
_EMPTY_HINTS = ("fundamental", "ile an issue", "report an issue", "caused by an earlier graph break", "docs.google.com")


def reason_of_break(seen: Observation) -> Words:
    """Torch's reason, without what it says of the function around it."""
    return torch_words(replace(seen, text=break_itself(seen.text)))


def break_words(seen: Observation) -> Words:
    """Of a break of the graph."""
    if seen.text == LEFT_WITHOUT_REASON:
        return Words(f"torch.compile leaves the whole function to Python: {LEFT_WITHOUT_REASON}", None)
    words = reason_of_break(seen)
    what = _WHAT.get(str(seen.details.get("kind")), "torch.compile breaks the graph here")
    if seen.details.get("kind") == SKIPPED_FRAME and (caller := _left_caller(seen)):
        what = f"torch.compile cannot go on after this line, and leaves {caller}, which calls this, to Python"
    return Words(f"{what}: {words.message}", _instead_of_break(seen))


def _left_caller(seen: Observation) -> str | None:
    """The function that is left to Python, where it is another one than that of the line."""
    left = skipped_function(seen.text)
    if left is None or seen.user is None:
        return None
    path, line, name = left
    around = function_around(seen.user.path, seen.user.line)
    if around is None or (path == seen.user.path and line in range(_begins(around), around.body[0].lineno)):
        return None
    where = f"line {line}" if path == seen.user.path else f"{PurePath(path).name}:{line}"
    return f"the whole `{name}` ({where})"


def _begins(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return min(one.lineno for one in (function, *function.decorator_list))


def _instead_of_break(seen: Observation) -> str | None:
    if seen.details.get("kind") == DISABLED:
        return None
    if cause := cause_of_break(seen.text):
        asserts = cause == "branch" and seen.user is not None and seen.user.text.startswith("assert ")
        return OF_BREAKS["assertion" if asserts else cause]
    broken = graph_break(break_itself(seen.text))
    hints = [one_line(hint) for hint in broken.hints] if broken else []
    said = [hint for hint in hints if not any(word in hint for word in _EMPTY_HINTS)]
    return said[0] if said else None


# Recompilations.


def recompile_words(seen: Observation) -> Words:
    """Of what is compiled again each time that something changes."""
    details = seen.details
    asks = f"the guard that fails is `{one_line(seen.text, 120)}`"
    often = f"{details['times']} times in {details['calls']} calls"
    ends = ", and at the limit the function runs in Python from then on" if details["over_limit"] else ""
    return Words(f"torch.compile compiles again {_each_time(details['changed'])} ({often}){ends}: {asks}", _mend(seen))


def changed_in_words(changed: Mapping[str, Any]) -> str:
    """What changed between the calls, as in "the size of `x` (dim 0): 4, 5, 6"."""
    values = ", ".join(str(value) for value in changed["values"] if value is not None)
    match changed["kind"]:
        case "size":
            return f"the size of {_dims(changed['names'])}: {values}"
        case "number":
            return f"the argument `{changed['names'][0]}`: {values}"
        case "length":
            return f"the length of `{changed['names'][0]}`: {values}"
        case "other-inputs":
            return "the other inputs"
        case "training":
            return "the mode: `model.train()` and `model.eval()` by turns"
        case "gradients":
            return "the gradient mode: `torch.no_grad()` around every other call"
    return "nothing: the same inputs again"


def _each_time(changed: Mapping[str, Any]) -> str:
    match changed["kind"]:
        case "size":
            return f"for each size of {_dims(changed['names'])}"
        case "number":
            return f"for each value of the argument `{changed['names'][0]}`"
        case "length":
            return f"for each length of `{changed['names'][0]}`"
        case "other-inputs":
            return "for the other inputs"
        case "training":
            return "where `model.train()` and `model.eval()` come by turns"
        case "gradients":
            return "where calls with and without `torch.no_grad()` come by turns"
    return "in each call, with the same inputs"


def _dims(names: Sequence[Sequence[Any]]) -> str:
    return " and ".join(f"`{name}` (dim {dim})" for name, dim in names)


OF_GUARDS: Mapping[str, str] = {
    "size": (
        "this line makes a plain number of the size: compute with the size itself, or with tensors, so that one graph "
        "does for all sizes"
    ),
    "length": "give it a fixed length, or one tensor in place of the list",
    "growing": "keep it as a buffer of a fixed size, and how much of that is used in another",
    "tensor": "give all calls tensors of one kind: cast or copy before the call, or compile a function for each",
    "word": "each value has a graph of its own: choose by it where the model is built, or compile a function for each",
    "object": "an object that is made anew in each call is another one for Dynamo: make it once, in `__init__`",
    "value": "keep what changes from call to call in a tensor: a buffer, or an argument",
}


def _mend(seen: Observation) -> str | None:
    for mend in seen.details["mends"]:
        if mend["helped"]:
            others = ", together with what ends the others" if mend["with_others"] else ""
            then = "nothing compiles again then, and it agrees with eager"
            return f"{_mend_in_words(mend)}, as this trial did{others}: {then}"
    changed, asked = seen.details["changed"]["kind"], kind_of_guard(seen.text) or ""
    if changed == "number":
        return "give it as a tensor, or compile a function for each value that there is"
    match changed, asked:
        case "other-inputs", "value" | "object" | "":  # a flag, a dtype, None in place of a tensor
            asked = "word"
        case "again", "length" | "size":
            asked = "growing"
    return OF_GUARDS.get(asked)


def _mend_in_words(mend: Mapping[str, Any]) -> str:
    match mend["how"]:
        case "dynamic":
            return "compile with `dynamic=True`"
        case "tensor":
            return f"give `{mend['name']}` as a tensor, `torch.tensor({mend['name']})`"
        case "buffer":
            return f"keep `{mend['name']}` as a buffer, `self.register_buffer('{mend['name']}', torch.tensor(…))`"
        case "attribute":
            return f"keep `{mend['name']}` as a tensor"
    return f"set `torch._dynamo.config.{mend['setting']} = True`"


# Other results.


def compiled_words(seen: Observation) -> Words:
    """Of a compiled model that does what eager does not."""
    what = program_of(seen.details)
    others = " on other inputs than the sample" if seen.details.get("input_set") else ""
    text = one_line(seen.first_line if seen.check == "raises" else in_words(seen))
    by = f" ({seen.details['backend']})" if "backend" in seen.details else ""
    match seen.check:
        case "output":
            return Words(f"{what} gives other values than eager{others}{by}: {text}")
        case "state":
            return Words(f"the second call of {what} differs from eager's: {text}")
        case "raises":
            return Words(f"{what} raises where eager does not{others}: {text}")
    return Words(text)
