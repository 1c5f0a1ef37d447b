"""Why the program of a target gives what eager does not, and what to write instead: each cause in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


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
