"""Why the program of a target gives what eager does not, and what to write instead: each cause in a sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.findings.wording.size_messages import wrong_declaration
from exportlint.trial.protocol.frames import from_here
from exportlint.trial.protocol.operator_support import DELEGATED, FALLBACK, MISSING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.operator_support import OperatorRow, OperatorSupport


def lowered_cause(details: Mapping[str, Any]) -> str:
    """The end of a sentence that has said how the values differ."""
    match details:
        case {"cause": "as-exported"}:
            return "; the exported program gives just that, so it is not the target's doing"
        case {"cause": "starts-at-zero", "buffers": names}:
            return f"; {_buffers(names)} at zero in the lowered program, whatever the model holds there"
        case {"cause": "forgets", "buffers": names}:
            return f"; what a call writes to {_named(names)} is lost before the next one"
        case {"cause": "always-zero", "buffers": names}:
            return f"; every call starts from zeros in {_named(names)}"
        case {"cause": "not-written-back"}:
            return "; the model writes to it, and the lowered program leaves it as it was"
        case {"cause": "never-read", "input": name}:
            return f"; the lowered program never reads the input `{name}`: it gives what the sample's `{name}` gives"
        case {"cause": "order", "order": order}:
            return f"; the outputs come in another order: {', '.join(map(str, order))}"
        case {"first": first}:
            return _first(first)
    return ""


def _first(first: Mapping[str, Any]) -> str:
    match first:
        case {"only_fused": True}:
            return "; with every operator's result kept nothing differs: only the fused program does it"
        case {"only_later": True}:
            return "; in a first call it gives what eager gives: an earlier call changes what it does"
    return f"; the first operator that differs is `{first['operator']}`{_how(first)}"


def _how(how: Mapping[Any, Any]) -> str:
    if how.get("what") == "values":
        return f", by up to {how['max_error']:.4g}"
    return f": {how.get('what')} {how.get('theirs')} in place of {how.get('ours')}"


def _named(names: list[str]) -> str:
    return f"the buffer{'s' if len(names) > 1 else ''} {', '.join(f'`{name}`' for name in names)}"


def _buffers(names: list[str]) -> str:
    return f"{_named(names)} {'start' if len(names) > 1 else 'starts'}"


# What to write instead, by cause.
OF_CAUSES = {
    "starts-at-zero": "give the state to the model as an input and return it, or let the buffer start at zero",
    "always-zero": "give the state to the model as an input and return it",
    "forgets": "give the state to the model as an input and return it",
    "not-written-back": "return the new value instead of writing to the input",
}

# Word the dry run of a lowering: how much of a program its target takes, and what it lacks.


NOT_KNOWN = "the target cannot say before it compiles"
NOTHING_COMPILED = "nothing compiled: the same as in an earlier run"
_MOST_OPERATORS = 3


def support_line(support: OperatorSupport) -> str:
    """As in "97.2 % of 412 operators supported, 1 missing: aten.foo at model.py:31"; of a target that can say."""
    total, missing = support.total, support.of(MISSING)
    counted = "the one operator" if total == 1 else f"all {total} operators"
    head = f"{_share(total - support.count(MISSING), total)} % of {total} operators" if missing else counted
    parts = [f"{head} supported", *_further(support)]
    if missing:
        more = ", …" if len(missing) > _MOST_OPERATORS else ""
        parts.append(f"{len(missing)} missing: {', '.join(map(_at_its_line, missing[:_MOST_OPERATORS]))}{more}")
    return ", ".join(parts)


def _share(part: int, whole: int) -> str:
    """Rounded down, so that nothing short of all is 100 %."""
    return f"{part * 1000 // whole / 10:.1f}"


def _further(support: OperatorSupport) -> list[str]:
    """Who computes what is supported, where that is not the target's own kernels alone."""
    counts = ((support.count(DELEGATED), "delegated"), (support.count(FALLBACK), "by fallback"))
    return [f"{number} {how}" for number, how in counts if number]


def _at_its_line(row: OperatorRow) -> str:
    place = f" at {from_here(row.path)}:{row.line}" if row.path else ""
    return f"{row.name}{place}"


def missing_operator(seen: Observation) -> str:
    """Of an operator that the target lacks. `compiled`: did the trial go on to compile the program, and fail?"""
    details = seen.details
    often = f" ({details['count']} times)" if details["count"] > 1 else ""
    why = f": {details['reason']}" if details.get("reason") else ""
    tried = "" if details["compiled"] else ", says the dry run; it was not compiled"
    return f"`{details['operator']}`{often} is missing in the target{why}{tried}"


# Word differences and notes, each as one sentence; `protocol.observation` describes the fields.


Details = Mapping[str, Any]
_MOST_NAMES = 5


def in_words(seen: Observation, *, with_divergence: bool = True) -> str:
    """The sentence of a difference or a note; of anything else, the words of torch or of the model.

    `with_divergence`: also why it stands at its line, where eager and the program diverge there.
    """
    name = seen.check if seen.kind == "difference" else seen.details.get("note")
    words = _SENTENCES.get(str(name))
    plain = words(seen) if words else seen.text or _fields(seen, str(name))
    return plain + (_divergence(seen.details.get("divergence")) if with_divergence else "")


# Where an observation stands and applies, which every sentence leaves to the finding around it.
_ELSEWHERE = frozenset({"check", "note", "mode", "tolerant", "divergence", "input_set", "call", "step"})


def _fields(seen: Observation, name: str) -> str:
    """Of a check or note without a sentence of its own: its name, and the fields that it filled."""
    fields = ", ".join(f"{key} {value}" for key, value in seen.details.items() if key not in _ELSEWHERE)
    return f"{name}: {fields}" if fields else name


def program_of(details: Details) -> str:
    """What stands beside eager: what was exported, or what torch.compile made."""
    return f"the {_beside(details)} {'model' if 'beside' in details else 'program'}"


def _beside(details: Details) -> str:
    return str(details.get("beside", "exported"))


def _value(details: Details, other: str = "") -> str:
    """How two values differ. `other` is what is beside eager, where that has another word here."""
    other = other or _beside(details)
    match details["what"]:
        case "values":
            return f"values differ by up to {details['max_error']:.4g}"
        case "value":
            return f"eager {details['ours']}, {other} {details['theirs']}"
        case "eager-only" | "program-only" as side:
            who, value = ("eager", "ours") if side == "eager-only" else (program_of(details), "theirs")
            return f"only {who} returns {details['output'] or 'a value'} ({details[value]})"
        case "order":
            return "the order of the values is another"
    return f"{details['what']}: eager {details['ours']}, {other} {details['theirs']}"


def _at_its_path(details: Details, other: str = "") -> str:
    return f"{details['output']}: {_value(details, other)}".lstrip(": ")


def _after_export(seen: Observation) -> str:
    text = _at_its_path(seen.details, "then") if "what" in seen.details else seen.text
    return f"eager after the export is not eager before: {text}"


def literals_in_words(seen: Observation) -> str:
    """The two values that two traces gave."""
    return f"traced once it is {seen.details['ours']}, traced again {seen.details['theirs']}"


def _baked(seen: Observation) -> str:
    details = seen.details
    if "operator" in details:
        where = "returned" if details["operator"] == "output" else f"an argument of {details['operator']}"
        return f"{literals_in_words(seen)} ({where})"
    if details["ours"] == details["theirs"]:  # they differ further on
        return f"the constant {details['constant']!r} has other values in every export"
    return f"{literals_in_words(seen)} (the constant {details['constant']!r})"


def _other_process(seen: Observation) -> str:
    values = _at_its_path(seen.details, "there")
    follows = seen.details.get("follows", ["sets"])
    other = {"sets": "sets have another order", "hash": "`hash()` of a text is another number"}
    why = " and ".join(other[one] for one in follows)
    return f"in a process where {why} (PYTHONHASHSEED) eager gives other values: {values}"


def _gradients(seen: Observation) -> str:
    if raised := seen.details.get("raised"):
        return f"eager has gradients, and {program_of(seen.details)} has none: {raised}"
    return f"{program_of(seen.details)} gives another gradient of {_at_its_path(seen.details)}"


def _fake(seen: Observation) -> str:
    name = seen.details["name"]
    if seen.details["where"] == "constants":
        return f"constant {name!r} of the exported program is a FakeTensor, without data"
    return f"the export left a FakeTensor in the model's attribute {name!r}: eager is broken from now on"


def _wrong_kernel(seen: Observation) -> str:
    details = seen.details
    where = "here" if details["sample"] else "on other sizes than the model has here"
    return (
        f"the fake kernel of `{details['operator']}`, which the tracer believes, gives {details['fake']} where the "
        f"operator gives {details['real']}, {where}: {details['arguments']}"
    )


def _undeclared_write(seen: Observation) -> str:
    names = ", ".join(f"`{name}`" for name in seen.details["arguments"])
    return (
        f"the operator `{seen.details['operator']}` changes its argument{'s' * (len(seen.details['arguments']) > 1)} "
        f"{names}, and its schema says that it does not: what orders or joins the operations of the program goes by "
        "the schema"
    )


def unknown_axes(unknown: Sequence[str], names: Sequence[str]) -> str:
    """Of a `dynamic_axes`: what it names, beside the names that there are."""
    wrong, given = (", ".join(f"`{name}`" for name in some) for some in (unknown, names))
    return f"`dynamic_axes` names {wrong}, which is no name of an input or output ({given})"


def _jit_trace(seen: Observation) -> str:
    details = seen.details
    if unknown := details.get("unknown_axes"):
        return f"{unknown_axes(unknown, details['names'])}: torch warns, and keeps the sizes of the sample"
    if "how" not in details:
        code = details.get("in_place")
        why = f"; while torch.jit.trace runs a size is a tensor, which `{code}` changes under each of its names"
        return f"on the sample itself {_beside_traced(seen)}{why if code else ''}"
    if details.get("resized"):
        doubted = [f"line {line}, `{text}`" for _, line, text in details["doubted"]]
        warns = f"; torch.jit.trace warns of {' and '.join(doubted)}" if doubted else ""
        if loops := [f"`{text}` (line {line})" for _, line, text in details["loops"]]:
            warns = f"; it goes round {' and '.join(loops)} as often as for the sample{warns}"
        return f"torch.jit.trace keeps sizes of the sample: with {details['how']} {_beside_traced(seen)}{warns}"
    branch = details.get("line")
    why = f"; they part at {Path(branch[0]).name}:{branch[1]}, `{branch[2]}`" if branch else ""
    sample = f"; on the sample both give {details['sample']}" if "sample" in details else ""
    return (
        f"torch.jit.trace keeps one way only: on {details['how']} {_beside_traced(seen)}{sample}{why}; "
        f"the other input: {details['inputs']}"
    )


def _beside_traced(seen: Observation) -> str:
    details = seen.details
    traced = "the traced module" if seen.check == "jit-trace" else "the file of torch.onnx.export(dynamo=False)"
    if raised := details.get("raised"):
        return f"eager gives its outputs, {traced} raises {raised}"
    where = f" at {details['output']}" if details["output"] else ""
    return f"eager gives {details['ours']}{where}, {traced} {details['theirs']}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _files(seen: Observation) -> str:
    details = seen.details
    how = f"{_times(details['ours'])} ({', '.join(details['events'])})"
    return f"eager reaches outside {how}, {program_of(details)} {details['theirs']} times"


def _frozen(seen: Observation) -> str:
    return (
        f"eager gives another value at every call ({_value(seen.details)}), {program_of(seen.details)} always the same"
    )


def _observed(seen: Observation) -> str:
    return f"eager changed {seen.details['before']} to {seen.details['after']}, {program_of(seen.details)} left it"


def _sizes(seen: Observation) -> str:
    wrong = _at_its_path(seen.details) if "what" in seen.details else seen.text
    where = ", and here eager takes another branch than for the sample" if seen.frames else ""
    return f"with {_tried(seen.details)}, declared dynamic: {wrong}{where}"


def _tried(details: Details) -> str:
    return ", ".join(f"{name}={size}" for name, size in details["tried"])


def _declaration(seen: Observation) -> str:
    return wrong_declaration(seen.details["sizes"][0])[0]


def _lowered(seen: Observation) -> str:
    """Of a lowering: where, in which call, and how."""
    details = seen.details
    which = _LOWERED_CALLS.get(details["inputs"], f"the call with {details['inputs']}")
    what = details["output"] or "the output"
    if details["check"] == "input-effect":
        what = f"the input {details.get('input') or details['output']}"
    return f"compare: {what} of {which}: {_lowered_value(details)}{lowered_cause(details)}"


_LOWERED_CALLS = {
    "sample": "the first call",
    "sample again": "the second call, after an equal first one",
    "other values": "the call on other values",
}


def _lowered_value(details: Details) -> str:
    match details["what"]:
        case "structure":
            return f"eager returns {details['ours']} values, the lowered program {details['theirs']}"
        case "values":
            return f"values differ by up to {details['max_error']:.4g}"
        case "value":
            return f"eager gives {details['ours']}, the lowered program {details['theirs']}"
    return f"eager's {details['what']} is {details['ours']}, the lowered program's {details['theirs']}"


def _of_values(seen: Observation) -> str:
    return _lowered(seen) if seen.details.get("step") == "compare" else _at_its_path(seen.details)


def _some(names: list[str]) -> str:
    """The first of them, and how many there are besides."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


_ARGUMENT = re.compile(r"\[0\]\[(?P<number>\d+)\]|\[1\]\['(?P<name>\w+)'\]")


def _input_effect(seen: Observation) -> str:
    """Of the arguments that a call changed, by which of them it is: `output` is a path into (args, kwargs)."""
    details = seen.details
    if details.get("step") == "compare":
        return _lowered(seen)
    path = str(details["output"])
    found = _ARGUMENT.match(path)
    which = (
        f"argument {found['number'] or found['name']}{path[found.end() :]}" if found else f"arguments {path}".strip()
    )
    match details["what"]:
        case "eager-only":
            return f"only eager puts a value into its {which}"
        case "program-only":
            return f"only eager takes a value out of its {which}"
    program = program_of(details) if "beside" in details else "the program"
    return f"{program} leaves its {which} otherwise than eager: {_value(details)}"


def _steered(seen: Observation) -> str:
    name, value = seen.details["steers"], seen.details["value"]
    return f"the argument `{name}` decides this branch, and its value `{value}` is fixed in the program"


_SENTENCES: Mapping[str, Callable[[Observation], str]] = {
    "output": _of_values,
    "state": _of_values,
    "input-effect": _input_effect,
    "raises-in-eager-only": lambda seen: f"eager raises, {program_of(seen.details)} does not: {seen.details['raised']}",
    "stdout": lambda seen: (
        f"eager printed {seen.details['ours']!r}, {program_of(seen.details)} {seen.details['theirs']!r}"
    ),
    "log": lambda seen: (
        f"eager logged {_times(seen.details['ours'])}, {program_of(seen.details)} {seen.details['theirs']}"
    ),
    "files": _files,
    "buffer": lambda seen: (
        f"buffer {seen.details['output']} after the calls: {_value(seen.details)}{lowered_cause(seen.details)}"
    ),
    "observe": _observed,
    "outside-state": lambda seen: (
        f"every call of eager changes {seen.details['name']}, {program_of(seen.details)} never"
    ),
    "drawn-once": lambda _seen: "eager draws anew in every call, and what was compiled gives the same in each",
    "frozen": _frozen,
    "baked": _baked,
    "eager-after-export": _after_export,
    "other-process": _other_process,
    "gradients": _gradients,
    "jit-trace": _jit_trace,
    "onnx-trace": _jit_trace,
    "elsewhere": lambda seen: f"{seen.details['where']} gives other values: {_at_its_path(seen.details, 'there')}",
    "fake-kernel": _wrong_kernel,
    "undeclared-write": _undeclared_write,
    "fake-tensor-left": _fake,
    "frozen-dim": _declaration,
    "narrowed-dim": _declaration,
    "static-dim": _declaration,
    "sizes": _sizes,
    "input-set-without-end": lambda _seen: "eager did not end in time on the values drawn anew, which were left out",
    "input-set-refused": lambda seen: f"eager refuses the values drawn anew: {seen.text}",
    "attribute-changed": lambda seen: f"eager changes {seen.details['attribute']}, which is no buffer",
    "inputs-changed": lambda _seen: "eager writes into its inputs",
    "unused-input": lambda seen: f"the exported program never uses its input {seen.details['input']!r}",
    "steering-input": _steered,
    "training-mode": lambda seen: f"exported in training mode: {_some(seen.details['modules'])}",
    "eager-unstable": lambda _seen: "eager gives other values in every run",
    "dropped-guard": lambda seen: (
        f"the argument `{seen.details['argument']}` is fixed at {seen.details['value']}: the exported program refuses "
        f"{seen.details['other']} ({seen.text}), and the lowered program takes it and does not give what eager gives"
    ),
    "non-core": lambda seen: (
        f"`{seen.details['operator']}` is not in the Core ATen operator set: a backend for devices may not have it"
    ),
    "missing-operator": missing_operator,
    "size": lambda seen: f"eager refuses {_tried(seen.details)}: {seen.text}",
}


def _divergence(why: Details | None) -> str:
    match why:
        case {"why": "caught", "line": line, "torch_says": text}:
            return f"; this caught torch's refusal to trace line {line}: {text}"
        case {"why": "branch"}:
            return "; eager and the trace diverge here"
        case {"why": "operation", "name": name, "ours": ours, "theirs": theirs}:
            return f"; `{name}` is given {ours} in eager and {theirs} in the program"
        case {"why": "operation", "name": name}:
            return f"; `{name}` is the first operation whose result the program does not have"
    return ""
