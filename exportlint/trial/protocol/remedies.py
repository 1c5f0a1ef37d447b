"""What may make a refused model export without a change of what it computes, and which of it a refusal calls for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.protocol.torch_messages import (
    asks_for_a_check,
    gives_unknown_class,
    is_about_gradients,
    is_in_distributions,
    misfit_of_shapes,
    needs_a_value,
    operator_without_fake,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.trial.protocol.observation import Observation


NO_GRAD, NO_VALIDATION, EVAL, FAKE_KERNEL, CHECKS = "no-grad", "no-validation", "eval", "fake-kernel", "checks"
FITTING_SHAPES, LARGER_SAMPLE, SWITCH = "fitting-shapes", "larger-sample", "switch"


def is_about_distributions(seen: Observation) -> bool:
    """Was it refused inside of torch.distributions, whose constructors test the values that they are given?"""
    return is_in_distributions(seen.text) or any(is_in_distributions(frame.path) for frame in seen.frames)


def operator_without_fake_kernel(seen: Observation) -> str | None:
    """The operator that torch says it is, as `namespace::operator`.

    >>> from exportlint.trial.protocol.observation import Observation
    >>> seen = Observation("exception", "There was no fake impl registered for shop.cut.default.")
    >>> operator_without_fake_kernel(seen)
    'shop::cut'
    """
    if seen.details.get("draft") == "MISSING_FAKE_KERNEL":
        name = str(seen.details["subject"])
    elif found := operator_without_fake(seen.text, seen.error_class):
        name = found
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
    if any(misfit_of_shapes(one.text) for one in seen):
        yield FITTING_SHAPES
        return
    if any(fact["fact"] == "special" for one in seen for fact in one.details.get("sizes", ())):
        yield LARGER_SAMPLE
        return
    if any(gives_unknown_class(one.text) for one in seen):
        yield SWITCH
    if any(map(is_about_distributions, seen)):
        yield NO_VALIDATION
    if any(asks_for_a_check(one.text) for one in seen):
        yield CHECKS
    if any(is_about_gradients(one.text) for one in seen) or not (
        exports or all(needs_a_value(one.text) for one in seen)
    ):
        yield NO_GRAD
    if not exports:
        yield EVAL
