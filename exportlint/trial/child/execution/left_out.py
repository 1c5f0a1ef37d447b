"""Parts of an output that an edited model gives no more, where all else is what it was: a cache, say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.execution.comparison import compare

if TYPE_CHECKING:
    from collections.abc import Collection

    from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves


_KEYS = ".keys()"


def left_out(before: Leaves, now: Leaves) -> tuple[str, ...]:
    """The paths of what is None now, or no key of a dict any more; none where something else differs, too.

    >>> left_out([(".logits", 1.0), (".cache.length", 3)], [(".logits", 1.0), (".cache", None)])
    ('.cache',)
    >>> left_out([(".logits", 1.0), (".cache.length", 3)], [(".logits", 2.0), (".cache", None)])
    ()
    """
    ours, theirs = dict(before), dict(now)
    parts = [
        path for path, value in now if value is None and path not in ours and any(_is_below(path, one) for one in ours)
    ]
    for path, keys in before:
        if path.endswith(_KEYS) and path in theirs:
            parts += [f"{path.removesuffix(_KEYS)}[{key!r}]" for key in keys if key not in theirs[path]]
    return tuple(parts) if parts and compare(without(before, parts), without(now, parts)) is None else ()


def without(value: Leaves, parts: Collection[str]) -> Leaves:
    """The leaves but for those of these parts, and of the dicts that hold them without their keys."""
    kept = [(path, leaf) for path, leaf in value if not any(path == one or _is_below(one, path) for one in parts)]
    return [(path, _keys_left(path, leaf, parts) if path.endswith(_KEYS) else leaf) for path, leaf in kept]


def _keys_left(path: str, keys: list[str], parts: Collection[str]) -> list[str]:
    return [key for key in keys if f"{path.removesuffix(_KEYS)}[{key!r}]" not in parts]


def _is_below(path: str, other: str) -> bool:
    """Also the length of a list below it, which is a leaf called `len(…)`."""
    return other == f"len({path})" or other.removeprefix("len(").startswith((f"{path}.", f"{path}["))
