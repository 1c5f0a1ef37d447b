"""Other settings of a model than its sample's: numbers, truth values and words of its objects and arguments.

A rewrite that leaves a loop or a branch out may be right for the numbers that the model was made with, and for no
others. Which of them an edited function reads is known from its text; here they are set.
"""

from __future__ import annotations

import functools
import inspect
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.trial.child.execution.inputs.input_sets import Inputs

    Read = tuple[str, str, Sequence[str]]


_MOST = 16


@dataclass(frozen=True, slots=True)
class OtherSetting:
    """A number, a truth value or a word that is another than in the sample.

    owner   the qualified name of a class whose objects hold it; "" for an argument of the model
    name    of the attribute, with dots where it lies deeper; of the argument
    """

    owner: str
    name: str
    value: float | str

    @property
    def in_words(self) -> str:
        return f"`{self.name}` = {self.value:g}" if type(self.value) is float else f"`{self.name}` = {self.value!r}"


def settings(model: Any, inputs: Inputs, read: Sequence[Read]) -> list[OtherSetting]:
    """Other values of each of `read` (owner, name, words) that holds a number, a truth value or a word: truth values
    turned, numbers 0, 1 and one more, of words those that it is compared with, and one that it is not. Words, truth
    values and whole numbers come first, and there are a few only."""
    found: list[tuple[str, str, Any, Sequence[str]]] = []
    for owner, name, words in read:
        held = _argument(model, inputs, name) if not owner else _first_held(model, owner, name)
        if (isinstance(held, bool | int | float) and math.isfinite(held)) or (isinstance(held, str) and words):
            found.append((owner, name, held, words))
    found.sort(key=lambda one: (isinstance(one[2], float), not isinstance(one[2], bool | str)))
    return [OtherSetting(owner, name, other) for owner, name, held, words in found for other in _others(held, words)][
        :_MOST
    ]


def with_setting(model: Any, inputs: Inputs, setting: OtherSetting) -> tuple[Any, Inputs] | None:
    """The model and the inputs with it; None where there is nothing to set."""
    if not setting.owner:
        given = _with_argument(model, inputs, setting)
        return None if given is None else (model, given)
    holders = list(_holders(model, setting.owner, setting.name))
    for holder, attribute in holders:
        held = getattr(holder, attribute)
        if isinstance(held, torch.Tensor):  # a rewrite made a buffer of the number
            held.detach().fill_(float(setting.value))
        else:
            setattr(holder, attribute, setting.value)
    return (model, inputs) if holders else None


def is_gone(model: Any, inputs: Inputs, setting: OtherSetting) -> bool:
    """Is it another word of an argument for which the callers give a tensor now, which is no word any more?"""
    is_word = not setting.owner and isinstance(setting.value, str)
    return is_word and isinstance(_argument(model, inputs, setting.name), torch.Tensor)


def _others(held: float | str, words: Sequence[str]) -> Iterator[float | str]:
    if isinstance(held, str):
        yield from (other for other in (*words, "") if other != held)
    elif isinstance(held, bool):
        yield not held
    elif isinstance(held, int):
        yield from (other for other in dict.fromkeys((0, 1, held + 1)) if other != held)
    else:
        yield from (other for other in (0.0, held * 2 + 1) if other != held)


def _first_held(model: Any, owner: str, name: str) -> Any:
    return next((getattr(holder, attribute) for holder, attribute in _holders(model, owner, name)), None)


def _holders(model: Any, owner: str, name: str) -> Iterator[tuple[Any, str]]:
    """The objects that hold the attribute as their own, and what it is called there."""
    *path, attribute = name.split(".")
    for part in model.modules() if isinstance(model, torch.nn.Module) else [model]:
        if any(base.__qualname__ == owner for base in type(part).__mro__):
            try:
                holder = functools.reduce(getattr, path, part)
                setattr(holder, attribute, getattr(holder, attribute))
            except Exception:  # noqa: BLE001, S112 - a property, or a class that refuses
                continue
            yield holder, attribute


def _argument(model: Any, inputs: Inputs, name: str) -> Any:
    bound = _bound(model, inputs)
    return bound.arguments.get(name) if bound else None


def _with_argument(model: Any, inputs: Inputs, setting: OtherSetting) -> Inputs | None:
    bound = _bound(model, inputs)
    if bound is None or setting.name not in bound.arguments:
        return None
    held = bound.arguments[setting.name]
    is_tensor = isinstance(held, torch.Tensor)  # which the callers give now for a number
    bound.arguments[setting.name] = torch.full_like(held, float(setting.value)) if is_tensor else setting.value
    return bound.args, bound.kwargs


def _bound(model: Any, inputs: Inputs) -> inspect.BoundArguments | None:
    call: Callable[..., Any] = getattr(model, "forward", model)
    args, kwargs = inputs
    try:
        bound = inspect.signature(call).bind(*args, **kwargs)
    except (TypeError, ValueError):
        return None
    bound.apply_defaults()
    return bound
