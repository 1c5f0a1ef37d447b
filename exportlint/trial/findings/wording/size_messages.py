"""Word facts about sizes; `protocol.size_facts` describes the facts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from exportlint.trial.protocol.size_facts import Fact, ShapesFound


_AS_IT_IS = "hand the size to operators as it is, or leave the dim static"


def shapes_text(found: ShapesFound) -> str:
    """What may be declared: the facts as comments, then the code."""
    comments = [f"# {comment(fact)}" for fact in found["facts"]]
    return "\n".join([*comments, *([found["code"]] if found["code"] else [])])


def sentences(found: ShapesFound) -> Iterator[tuple[str, Sequence[Any] | None]]:
    """Every fact as a sentence of its own, with its place."""
    subject = ""
    for fact in found["facts"]:
        text = comment({**fact, "place": None}).strip()
        if fact["fact"] == "range":
            subject = f"{_named(fact)}: "
        yield f"{subject}{text}" if fact["fact"] in _OF_THE_RANGE_BEFORE else text, fact.get("place")


_OF_THE_RANGE_BEFORE = frozenset({"because", "equal", "eager-ends"})


def comment(fact: Fact) -> str:
    """One line about sizes, as it stands beside a `dynamic_shapes`."""
    return _COMMENTS[fact["fact"]](fact)


def wrong_declaration(fact: Fact) -> tuple[str, str]:
    """What is wrong with a declaration, and what to do."""
    return _WRONG[fact["fact"]](fact)


def span(low: int, high: int | None) -> str:
    """A range in words."""
    if low == high:
        return f"{low} only"
    return f"from {low} to {high}" if high is not None else f"{low} or more"


def dim_in_words(dim: Sequence[Any]) -> str:
    label, number = dim
    return f"dim {number} of `{label}`"


def _joined(dims: Iterable[Sequence[Any]]) -> str:
    return " and ".join(map(dim_in_words, dims))


def _listed(dims: Iterable[Sequence[Any]]) -> str:
    """ "dim 0 of `x` and of `mask`, dims 1 and 2 of `y`"."""
    by_label: dict[str, list[int]] = {}
    for label, number in dims:
        by_label.setdefault(label, []).append(number)
    by_numbers: dict[tuple[int, ...], list[str]] = {}
    for label, numbers in by_label.items():
        by_numbers.setdefault(tuple(numbers), []).append(f"of `{label}`")
    return ", ".join(f"{_numbered(numbers)} {' and '.join(labels)}" for numbers, labels in by_numbers.items())


def _numbered(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"dim {numbers[0]}"
    return f"dims {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _where(place: Sequence[Any] | None) -> str:
    """The line, to be written behind a sentence; "" for none."""
    return f" ({_short_path(place[0])}:{place[1]}: `{place[2]}`)" if place else ""


def _short_path(path: str) -> str:
    """From the working directory, or from the folder where packages are installed."""
    _, installed, inside = path.rpartition(f"-packages{os.sep}")
    return inside if installed else os.path.relpath(path)


def _here(fact: Fact) -> str:
    return " at this line" if fact["here"] else ""


def _range(fact: Fact) -> str:
    smaller, (low, high) = fact["smaller"], fact["range"]
    tried = f" ({smaller} was tried and is right too)" if smaller is not None else ""
    return f"{_named(fact)}: {span(low, high)}{_steps(fact['step'], low)}{_tried_up_to(fact)}{tried}"


def _tried_up_to(fact: Fact) -> str:
    """Of a range that has no end, or one that was not reached."""
    most, (_, high), memory = fact["tried"], fact["range"], fact["memory"]
    if most is None or (high is not None and most >= high):
        return ""
    more = f", as more takes over {memory / 1e9:.1f} GB of memory" if memory else ""
    return f", tried up to {most}{more}"


def _eager_ends(fact: Fact) -> str:
    low, high = fact["range"]
    what = f"at most {high}" if low is None else f"{low} or more"
    sizes = [str(size) if len(fact["beyond"]) == 1 else f"{name}={size}" for name, size in fact["beyond"]]
    return f"  {what}: with {' and '.join(sizes)} eager raises {fact['eager_says']}{_where(fact['place'])}"


def _named(fact: Fact) -> str:
    """The name with its dims; none where they all are computed from it."""
    return ", ".join(filter(None, (fact["name"], _listed(fact["dims"]))))


def _steps(step: int, low: int) -> str:
    if step == 1:
        return ""
    return f", multiples of {step}" if low % step == 0 else f", in steps of {step}"


def _because(fact: Fact) -> str:
    if "multiple" in fact:
        what = f"a multiple of {fact['multiple']}"
    else:
        low, high = fact["range"]
        what = f"at most {high}" if low is None else f"{low} or more"
    return f"  {what}{_where(fact['place'])}"


def _fixed_by(fact: Fact) -> str:
    return f"{fact['expression']}{_where(fact['place'])}, so {_listed(fact['dims'])} {_stay(fact)}{_untried(fact)}"


def _untried(fact: Fact) -> str:
    """Of dims that hang together, which are declared each by itself or not at all."""
    return "" if len(fact["dims"]) == 1 else " (one of them free and the others computed from it was not tried)"


def _stay(fact: Fact) -> str:
    return "stays as in the sample" if len(fact["dims"]) == 1 else "stay as in the sample"


def _not_run(fact: Fact) -> str:
    why = (
        f"eager takes no other size that was tried: {fact['eager_says']}" if fact["eager_says"] else "no other size ran"
    )
    return f"{_listed(fact['dims'])} {_stay(fact)}: {why}"


def _goes_wrong(fact: Fact) -> str:
    return f"{_listed(fact['dims'])} {_stay(fact)}: the program was wrong with {fact['size']} ({fact['says']})"


def _argument(fact: Fact) -> str:
    return f"`{fact['name']}` is always {fact['value']}: the export made a constant of it"


def _data(fact: Fact) -> str:
    low, high = fact["range"]
    words = f": {span(low, high)}" if low is not None else "" if high is None else f": at most {high}"
    return f"{fact['name']} is read from data{_where(fact['place'])}{words}"


def _others_inside(fact: Fact) -> str:
    sizes = ", ".join(f"{name}={size}" for name, size in fact["sizes"])
    ran = {True: ", and the program agrees with eager", False: ", and the program is wrong there", None: ""}
    return f"the other inputs ({sizes}) are within these ranges{ran[fact['agrees']]}"


def _others_outside(fact: Fact) -> str:
    sizes = ", ".join(f"dim {dim} of `{label}` is {size}" for label, dim, size in fact["dims"])
    because = f"; {fact['expression']}{_where(fact['place'])}" if "expression" in fact else ""
    return f"the other inputs are outside of this: {sizes} there{because}"


def _fixed(fact: Fact) -> str:
    dim, value = dim_in_words(fact["dim"]), fact["value"]
    if fact["special"]:
        why = "torch fixes sizes of 0 and 1, so give a sample of 2 or more to free it"
        return f"{dim} stays {value}: {why}{_where(fact['place'])}"
    return f"{dim} is always {value}{_where(fact['place'])}"


def _not_all_tried(fact: Fact) -> str:
    why = f"torch says {fact['torch_says']}" if "torch_says" in fact else f"this came to no end in {fact['seconds']} s"
    return f"not every dim was tried; with all of them free, {why}"


_COMMENTS: Mapping[str, Callable[[Fact], str]] = {
    "range": _range,
    "because": _because,
    "eager-ends": _eager_ends,
    "equal": lambda fact: f"  equal{_where(fact['place'])}",
    "follows": lambda fact: f"{dim_in_words(fact['dim'])} is {fact['expression']}{_where(fact['place'])}",
    "holds": lambda fact: f"{fact['expression']}{_where(fact['place'])}",
    "limits": lambda fact: f"{fact['expression']}{_where(fact['place'])}; the ranges above keep to it",
    "fixed-by": _fixed_by,
    "goes-wrong": _goes_wrong,
    "not-taken": lambda fact: f"{_listed(fact['dims'])} {_stay(fact)}: torch says {fact['torch_says']}",
    "not-run": _not_run,
    "argument": _argument,
    "data": _data,
    "others-inside": _others_inside,
    "others-outside": _others_outside,
    "others-same": lambda _fact: "the other inputs have the sample's sizes, and show nothing about others",
    "fixed": _fixed,
    "batches-joined": lambda fact: (
        f"{_listed(fact['dims'])} is taken as the same batch, though nothing in the code demands it"
    ),
    "one-in-sample": lambda fact: (
        f"in the sample {_joined(fact['dims'])} is 1, which torch makes a constant: "
        "export with a sample of 2 or more there"
    ),
    "not-all-tried": _not_all_tried,
    "not-found": lambda _fact: "no declaration was found that torch takes and whose program agrees with eager",
    "none": lambda _fact: "no dim of the inputs can be dynamic",
    "none-declared": lambda _fact: (
        "no dim that is declared can be dynamic; without the declarations `--dynamic auto` looks at every dim"
    ),
}


def _special(fact: Fact) -> tuple[str, str]:
    declared = f"{dim_in_words(fact['dim'])}, declared dynamic as `{fact['declared']}`, "
    message = f"{declared}is {fact['sample']} in the sample, and torch makes a constant of a size of 0 or 1"
    return message, "export with a sample whose size there is 2 or more"


def _equals_static(fact: Fact) -> tuple[str, str]:
    others, declared = _joined(fact["others"]), fact["declared"]
    message = f"{dim_in_words(fact['dim'])} (declared dynamic as `{declared}`) and {others} (static) must be equal"
    return message + _here(fact), f"declare {others} as `{declared}` too"


def _constant(fact: Fact) -> tuple[str, str]:
    declared = f"{dim_in_words(fact['dim'])}, declared dynamic as `{fact['declared']}`, "
    return f"{declared}became the constant {fact['value']}{_here(fact)}", _AS_IT_IS


def _narrowed(fact: Fact) -> tuple[str, str]:
    least, most = fact["range"]
    because = " because of this line" if fact["here"] else ""
    possible = str(least) if least == most else span(least, most)
    message = f"{_listed(fact['dims'])}, declared dynamic ({span(*fact['asked'])}), can only be {possible}{because}"
    if least == most == 1 and fact.get("goes_on"):
        return message, "export with a sample whose size there is 2 or more: eager takes that"
    if least == most:
        return message, "take the size from the input where this line fixes it, or declare the dim static"
    bound = "" if most is None else f", max={most}"
    return message, f'declare `Dim("{fact["name"]}", min={least}{bound})`, or take both ways'


def _condition(fact: Fact) -> tuple[str, str]:
    if "multiple" in fact:
        message = f"declared dynamic, yet {fact['name']} is a multiple of {fact['multiple']}"
        return message, f"declare the dim as `{fact['multiple']} * _n`, with `_n` a Dim"
    return f"declared dynamic, yet {fact['expression']}", "declare it Dim.DYNAMIC"


def _unequal(fact: Fact) -> tuple[str, str]:
    other, declared = dim_in_words(fact["other"]), fact["other_declared"]
    both = f"{other} (declared dynamic as `{declared}`) and {dim_in_words(fact['dim'])} (`{fact['declared']}`)"
    return f"{both} must be equal{_here(fact)}", f"declare both as `{declared}`"


def _outside(fact: Fact) -> tuple[str, str]:
    declared = f"declared dynamic as `{fact['declared']}` {span(*fact['asked'])}"
    message = f"the sample's {dim_in_words(fact['dim'])} is {fact['sample']}, {declared}"
    (low, high), size = fact["asked"], fact["sample"]
    return message, f"give a sample with {_instead_of(size, low, high)} there, or declare a range that has {size}"


def _instead_of(size: int, low: int, high: int | None) -> str:
    """The nearest size that is declared."""
    return f"{low} or more instead of {size}" if size < low else f"{high} or less instead of {size}"


def _other_inputs(fact: Fact) -> tuple[str, str]:
    message = f"the other inputs differ from the sample in {_joined(fact['dims'])}, and nothing declares that dynamic"
    proposal = fact["proposal"]
    if not proposal:
        return message, "make the dim free to move"
    return message, f"{'export with' if proposal['code'] else 'make the dim free to move'}\n{shapes_text(proposal)}"


def _other_inputs_fixed(fact: Fact) -> tuple[str, str]:
    message = f"the other inputs differ from the sample in {_joined(fact['dims'])}, of which the code makes a constant"
    return message, "hand the size to operators as it is"


_WRONG: Mapping[str, Callable[[Fact], tuple[str, str]]] = {
    "special": _special,
    "equals-static": _equals_static,
    "constant": _constant,
    "narrowed": _narrowed,
    "condition": _condition,
    "unequal": _unequal,
    "outside": _outside,
    "other-inputs": _other_inputs,
    "other-inputs-fixed": _other_inputs_fixed,
}
