"""Say what to write instead of what torch refuses, by the cause that the refused line shows."""

from __future__ import annotations

import linecache
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.trial.protocol.remedies import is_about_distributions

if TYPE_CHECKING:
    from exportlint.trial.findings.wording.torch_messages import Words
    from exportlint.trial.protocol.observation import Observation


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
