"""Names for new variables of a function."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exportlint.rule.code import Code


class FreshNames:
    """Gives names that the function does not use."""

    def __init__(self, code: Code) -> None:
        self._taken = set(code.sketch.bound)

    def of(self, name: str) -> str:
        """The name, with a number where it is taken."""
        numbered = (f"{name}_{number}" if number > 1 else name for number in count(1))
        found = next(one for one in numbered if one not in self._taken)
        self._taken.add(found)
        return found
