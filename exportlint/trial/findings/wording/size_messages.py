"""Word facts about sizes; `protocol.size_facts` describes the facts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from exportlint.trial.protocol.size_facts import Fact, ShapesFound


_AS_IT_IS = "hand the size to operators as it is, or leave the dim static"


def shapes_text(found: ShapesFound) -> str:
    """What may be declared: the facts as comments, then the code."""
    comments = [f"# {comment(fact)}" for fact in found["facts"]]
    return "\n".join([*comments, *([found["code"]] if found["code"] else [])])


def comment(fact: Fact) -> str:
    """One line about sizes, as it stands beside a `dynamic_shapes`."""
    return _COMMENTS[fact["fact"]](fact)


def wrong_declaration(fact: Fact) -> tuple[str, str]:
    """What is wrong with a declaration, and what to do."""
    return _WRONG[fact["fact"]](fact)


def span(low: int, high: int | None) -> str:
    """A range in words."""
    return f"from {low} to {high}" if high is not None else f"{low} or more"


def dim_in_words(dim: Sequence[Any]) -> str:
    label, number = dim
    return f"dim {number} of `{label}`"


def _joined(dims: Iterable[Sequence[Any]]) -> str:
    return " and ".join(map(dim_in_words, dims))


def _listed(dims: Iterable[Sequence[Any]]) -> str:
    """ "dim 0 of `x` and of `mask`, dim 1 of `y`"."""
    by_number: dict[int, list[str]] = {}
    for label, number in dims:
        by_number.setdefault(number, []).append(f"of `{label}`")
    return ", ".join(f"dim {number} {' and '.join(labels)}" for number, labels in by_number.items())


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
    smaller = fact["smaller"]
    tried = f" ({smaller} was tried and is right too)" if smaller is not None else ""
    return f"{fact['name']}, {_listed(fact['dims'])}: {span(*fact['range'])}{tried}"


def _because(fact: Fact) -> str:
    what = f"a multiple of {fact['multiple']}" if "multiple" in fact else span(*fact["range"])
    return f"  {what}{_where(fact['place'])}"


def _fixed(fact: Fact) -> str:
    dim, value = dim_in_words(fact["dim"]), fact["value"]
    if fact["special"]:
        why = "torch fixes sizes of 0 and 1, so give a sample of 2 or more to free it"
        return f"{dim} stays {value}: {why}{_where(fact['place'])}"
    return f"{dim} is always {value}{_where(fact['place'])}"


def _not_all_tried(fact: Fact) -> str:
    why = f"torch says {fact['torch_says']}" if "torch_says" in fact else f"torch came to no end in {fact['seconds']} s"
    return f"not every dim was tried; with all of them free, {why}"


_COMMENTS: Mapping[str, Callable[[Fact], str]] = {
    "range": _range,
    "because": _because,
    "equal": lambda fact: f"  equal{_where(fact['place'])}",
    "holds": lambda fact: f"it must hold that {fact['expression']}{_where(fact['place'])}",
    "fixed": _fixed,
    "batches-joined": lambda fact: (
        f"{_listed(fact['dims'])} is taken as the same batch, though nothing in the code demands it"
    ),
    "one-in-sample": lambda fact: (
        f"in the sample {_joined(fact['dims'])} is 1, which torch makes a constant: "
        "export with a sample of 2 or more there"
    ),
    "not-all-tried": _not_all_tried,
    "none": lambda _fact: "no dim of the inputs can be dynamic",
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
    message = (
        f"{_listed(fact['dims'])}, declared dynamic ({span(*fact['asked'])}), can only be {span(least, most)}{because}"
    )
    bound = "" if most is None else f", max={most}"
    return message, f'declare `Dim("{fact["name"]}", min={least}{bound})`, or take both ways'


def _condition(fact: Fact) -> tuple[str, str]:
    if "multiple" in fact:
        message = f"declared dynamic, yet {fact['name']} is a multiple of {fact['multiple']}"
        return message, f"declare the dim as `{fact['multiple']} * _n`, with `_n` a Dim"
    return f"declared dynamic, yet it must hold that {fact['expression']}", "declare it Dim.DYNAMIC"


def _unequal(fact: Fact) -> tuple[str, str]:
    other, declared = dim_in_words(fact["other"]), fact["other_declared"]
    both = f"{other} (declared dynamic as `{declared}`) and {dim_in_words(fact['dim'])} (`{fact['declared']}`)"
    return f"{both} must be equal{_here(fact)}", f"declare both as `{declared}`"


def _outside(fact: Fact) -> tuple[str, str]:
    declared = f"declared dynamic as `{fact['declared']}` {span(*fact['asked'])}"
    message = f"the sample's {dim_in_words(fact['dim'])} is {fact['sample']}, {declared}"
    return message, "give a sample within the range, or declare a wider one"


def _other_inputs(fact: Fact) -> tuple[str, str]:
    message = f"the other inputs differ from the sample in {_joined(fact['dims'])}, and nothing declares that dynamic"
    proposal = fact["proposal"]
    return message, f"export with\n{shapes_text(proposal)}" if proposal else "make the dim free to move"


_WRONG: Mapping[str, Callable[[Fact], tuple[str, str]]] = {
    "special": _special,
    "equals-static": _equals_static,
    "constant": _constant,
    "narrowed": _narrowed,
    "condition": _condition,
    "unequal": _unequal,
    "outside": _outside,
    "other-inputs": _other_inputs,
}
