"""What may make a refused model export without a change of what it computes, and which of it a refusal calls for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.trial.protocol.observation import Observation


NO_GRAD, NO_VALIDATION, EVAL, FAKE_KERNEL, CHECKS = "no-grad", "no-validation", "eval", "fake-kernel", "checks"
_NO_FAKE = re.compile(
    r"(?:no fake impl registered for (?:<CustomOpDef\()?|unsupported operator: |\bUnsupportedOperatorException: )"
    r"(?P<name>(?!aten\b)\w+(?:::|\.)\w+(?:\.\w+)*)"
)
# Torch asks what holds of an integer that is data.
_ASKS_FOR_A_CHECK = re.compile(r"Could not guard on data-dependent expression [^\n]*?\bu\d+\b[^\n]*?\(unhinted")
_DISTRIBUTIONS = "torch/distributions/"


def is_about_distributions(seen: Observation) -> bool:
    """Was it refused inside of torch.distributions, whose constructors test the values that they are given?"""
    return _DISTRIBUTIONS in seen.text or any(_DISTRIBUTIONS in frame.path for frame in seen.frames)


def operator_without_fake_kernel(seen: Observation) -> str | None:
    """The operator that torch says it is, as `namespace::operator`.

    >>> from exportlint.trial.protocol.observation import Observation
    >>> seen = Observation("exception", "There was no fake impl registered for shop.cut.default.")
    >>> operator_without_fake_kernel(seen)
    'shop::cut'
    """
    if seen.details.get("draft") == "MISSING_FAKE_KERNEL":
        name = str(seen.details["subject"])
    elif found := _NO_FAKE.search(f"{seen.error_class}: {seen.text}"):
        name = found["name"]
    else:
        return None
    return operator_name(name)


def operator_name(name: str) -> str:
    """`namespace::operator`, with its overload if that has a name, however torch writes it.

    >>> operator_name("shop.cut.default"), operator_name("shop::cut.int")
    ('shop::cut', 'shop::cut.int')
    """
    namespace, _, operator = name.replace("::", ".").partition(".")
    return f"{namespace}::{operator.removesuffix('.default')}"


def worth_trying(refusals: Iterable[Observation], *, exports: bool) -> Iterator[str]:
    """The remedies for the refusals of a mode. `exports`: another mode takes the model, so only what torch hints at."""
    seen = list(refusals)
    if any(map(operator_without_fake_kernel, seen)):
        yield FAKE_KERNEL
        return
    if any(map(is_about_distributions, seen)):
        yield NO_VALIDATION
    if any(_ASKS_FOR_A_CHECK.search(one.text) for one in seen):
        yield CHECKS
    if any("grad" in one.text for one in seen) or not (exports or all(map(_reads_values, seen))):
        yield NO_GRAD
    if not exports:
        yield EVAL


def _reads_values(seen: Observation) -> bool:
    """Does Python need a value, which a tensor does not have while it is traced, with or without gradients?"""
    return "data-dependent" in seen.text.lower()
