"""Findings in words: each message is made once, from the fields of what a trial found."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.trial.findings.wording.difference_messages import NOT_KNOWN, OF_CAUSES, in_words, unknown_axes
from exportlint.trial.findings.wording.size_messages import wrong_declaration
from exportlint.trial.findings.wording.torch_messages import Words, advised, one_line, torch_words
from exportlint.trial.protocol.outcomes import DIFFERS, MODES, SKIPPED, Outcome
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.shown_by import OTHER_SIZE
from exportlint.trial.protocol.stages import EAGER, SCRIPT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import StageResult
    from exportlint.trial.protocol.stages import Stage


_MESSAGES = {
    "output": "the exported program gives other values than eager{others}: {text}",
    "state": "the second call of the exported program differs from eager's: {text}",
    "raises": "the exported program raises where eager does not{others}: {text}",
    "eager-after-export": "the export changed the model itself: {text}",
    "sizes": "the exported program is wrong for another size: {text}",
    "baked": "a value of the moment of the export is fixed in the program: {text}",
}
_INSTEAD = {
    "state": "keep what must outlive a call in a buffer (`register_buffer`), or return it",
    "gradients": "write it with operations that have the gradient that is meant, such as "
    "`x + (x.round() - x).detach()`; a `backward` of one's own is lost where the forward is traced",
}
_EVAL = "call `.eval()` before the export; torch.export keeps the mode of the moment for good"
_IN_EVERY_PROCESS = {
    "sets": "take the names in an order of their own: `sorted(…)`, a tuple or a dict",
    "hash": "take a number that is the same in every process: of a table, or `zlib.crc32(text.encode())`",
}
_OF_NOTES = {
    "training-mode": _EVAL,
    "undeclared-write": "name what it changes in `mutates_args`, or let it work on a copy",
    "dropped-guard": "lower one program for each value that callers give",
    "steering-input": "export one program for each value that callers give, or decide it when the model is built",
}
_WITH_DYNAMO = (
    "export with `dynamo=True`, the default, and the opset that it writes: tried here, its file gives what eager gives"
)
_DRAWN = (
    "take what is drawn here from the caller; a dropout that stays on can be written out, as"
    " `x * (torch.rand_like(x) >= p) / (1 - p)`"
)
_OF_A_LOOP = (
    "compute with whole tensors; or put the loop into a function of its own with `@torch.jit.script`, which a trace"
    " keeps as it is"
)
_OF_A_BRANCH = (
    "compute with whole tensors, so that nothing asks for the size; or export `torch.jit.script(model)`, of which a"
    " file keeps both branches"
)
_BY_NAMES = "name the axes by the names of inputs and outputs, and give these with `input_names` and `output_names`"
_NEW_NUMBER = "make a new number, `n = n + 2` for `n += 2`: the size then stays as it is"
_HOLDS = (
    "what the program demands of sizes, and the lines that make it so, stands at the target: compute there with tensors"
    " what Python asks of sizes, or declare what holds"
)
_DECLARE = (
    "export with a `dynamic_shapes` that declares the dim; what could be declared, and what fixes a size, stands at the"
    " target"
)
_TAKEN_BY_NAME = "what it is given as `args` is a dict, whose keys it takes for names of arguments"
_AS_TUPLE = "give a tuple that ends with the arguments by name, which may be none: `args=(batch, {})` for `args=batch`"
_BY_KEYWORDS = (
    "give the dict, whose keys are parameters of forward, by name: `args=()` and `kwargs=` the dict, as"
    " `model(**inputs)` does"
)
_INPUTS = "give example inputs that the model accepts"


def exception_words(stage: Stage, seen: Observation, *, known: bool) -> Words:
    """Of what torch refused, or of what ended a stage. `known`: a rule knows it as its own."""
    if stage == SCRIPT and seen.details.get("ended"):
        return Words(one_line(seen.text))
    if ended := seen.details.get("ended"):
        return Words(f"{stage.name} {str(ended).replace('-', ' ')}: {one_line(seen.text)}")
    words = torch_words(seen)
    if stage == SCRIPT:
        call = seen.details.get("during")
        if unknown := seen.details.get("unknown_axes"):
            return Words(
                f"the script's `{call}` raises here: {unknown_axes(unknown, seen.details['names'])}", _BY_NAMES
            )
        if seen.details.get("bare_dict"):
            return Words(f"the script's `{call}` raises here: {_TAKEN_BY_NAME}", _AS_TUPLE)
        undeclared = _HOLDS if seen.details.get("declares") else _DECLARE
        instead = undeclared if seen.check == OTHER_SIZE else words.suggestion
        return Words(f"the script's {f'`{call}`' if call else 'run'} raises here: {words.message}", instead)
    if stage == EAGER:
        usual = words.suggestion or (None if known else _INPUTS)
        return Words(f"eager itself raises: {words.message}", _BY_KEYWORDS if seen.details.get("by_name") else usual)
    if facts := seen.details.get("sizes"):
        pairs = [wrong_declaration(fact) for fact in facts]
        messages, suggestions = (dict.fromkeys(part) for part in zip(*pairs, strict=True))
        return Words("; ".join(messages), "; ".join(suggestions))
    if summary := seen.details.get("summary"):
        return Words(f"{stage.name}, {one_line(str(summary))}", seen.details.get("suggestion") or None)
    return advised(words, seen, thorough=not stage.reports_on) if stage.of_export else words


def unchecked_words(seen: Observation) -> Words:
    """Of a check of the exported program that raised in place of an answer."""
    return Words(
        "whether the exported program computes what eager computes is not known: the check itself raised "
        f"{one_line(seen.text)}",
        "compare the two by hand before you ship it, and report the model to exportlint",
    )


def graph_break_words(seen: Observation) -> Words:
    """Of a break that torch.compile would make."""
    words = torch_words(seen)
    return Words(f"torch.compile breaks the graph here (export may still pass): {words.message}", words.suggestion)


def submodule_words(seen: Observation) -> str:
    """Which submodule it is that is refused by itself."""
    details = seen.details
    what = f"`{details['submodule']}` ({details['class_name']})"
    return f"the submodule {what} is refused by itself with {details['inputs']}"


def difference_words(stage: Stage, seen: Observation, changed: str | None = None) -> Words:
    """Of a disagreement with eager. `changed`: what the line changes, where it stands at such a line."""
    text = seen.first_line if seen.check == "raises" else in_words(seen)
    text = one_line(f"{text}; this line changes `{changed}`" if changed else text)
    others = " on other inputs than the sample" if seen.details.get("input_set") else ""
    message = _MESSAGES.get(str(seen.check), "{text}").format(text=text, others=others)
    if seen.check == "state" and "tried" in seen.details:
        message = f"after calls with other sizes the exported program differs from eager: {text}"
    if stage.lowering:
        message = f"{stage.name}, {text}"
    if seen.details.get("tolerant"):
        message += ", as a trace shows that went on after the refusals"
    if facts := seen.details.get("sizes"):
        return Words(message, wrong_declaration(facts[0])[1])
    if stage.lowering:
        usual = _DRAWN if seen.check == "drawn-once" else OF_CAUSES.get(str(seen.details.get("cause")))
        return Words(message, seen.details.get("suggestion") or usual)
    instead = seen.details.get("suggestion") or _INSTEAD.get(str(seen.check))
    if seen.check == "onnx-trace":
        instead = _WITH_DYNAMO if seen.details.get("dynamo") else None
        instead = _BY_NAMES if "unknown_axes" in seen.details else instead
    if seen.details.get("in_place"):
        instead = _NEW_NUMBER
    if seen.details.get("loops"):
        instead = _OF_A_LOOP
    elif not instead and seen.check == "onnx-trace" and seen.user and seen.user.text.startswith(("if ", "elif ")):
        instead = _OF_A_BRANCH
    if seen.check == "other-process":
        instead = "; or ".join(_IN_EVERY_PROCESS[one] for one in seen.details.get("follows", ["sets"]))
    return Words(message, instead)


def warning_words(seen: Observation) -> Words:
    """Of a warning of torch that is about the model."""
    return Words(f"torch warns while it exports: {one_line(seen.text)}")


def note_words(seen: Observation, stage: Stage | None = None) -> Words:
    """Of a fact that is worth a finding. `stage`: a lowering says its name."""
    name = f"{stage.name}, " if stage and stage.lowering else ""
    return Words(name + in_words(seen), _OF_NOTES.get(str(seen.details.get("note"))))


def lowering_text(seen: Observation) -> str:
    """What a lowering saw, beside its name."""
    return one_line(str(seen.details.get("summary") or in_words(seen)))


def effect_in_words(effect: Mapping[str, str]) -> str:
    """ "refused in either mode", or what each mode does."""
    if len(effect) == len(MODES) and len(set(effect.values())) == 1:
        return f"{next(iter(effect.values()))} in either mode"
    exports = Outcome.EXPORTS.value
    return ", ".join(
        f"{outcome} and agrees with eager in {mode} mode" if outcome == exports else f"{outcome} in {mode} mode"
        for mode, outcome in effect.items()
    )


def stage_detail(result: StageResult) -> tuple[str, str | None]:
    """The one line of a stage that left it to us, and the class of what was raised, where it is about that."""
    if result.status == SKIPPED:
        return result.support or NOT_KNOWN, None
    if result.status == DIFFERS:
        told = [seen for seen in result.observations if seen.kind == "difference" or seen.is_wrong_kernel]
        seen = min(told, key=lambda one: one.kind != "difference")
        return short(_with_mode(result, seen)), None
    raised = [seen for seen in result.observations if seen.kind == "exception"]
    if raised:
        last = replace(raised[-1], details={k: v for k, v in raised[-1].details.items() if k != "read"})
        if facts := last.details.get("sizes"):
            return short("; ".join(dict.fromkeys(wrong_declaration(fact)[0] for fact in facts))), last.error_class
        bare = f"{(last.error_class or '').rpartition('.')[2]}: "
        return short(torch_words(last).message.removeprefix(bare)), last.error_class
    return (short(_with_mode(result, result.observations[0])) if result.observations else ""), None


def _with_mode(result: StageResult, seen: Observation) -> str:
    """The sentence; of soundness, which looks at several modes, with the mode and with why the line was named."""
    if not result.row.by_mode:
        return in_words(seen, with_divergence=False)
    text = in_words(seen)
    return f"without what is refused: {text}" if seen.details.get("tolerant") else f"{seen.details['mode']}: {text}"
