"""What a target of deployment would do with each operator of a program: the dry run of a lowering, as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


SUPPORTED, DELEGATED, FALLBACK, MISSING = "supported", "delegated", "fallback", "missing"
# What needs attention comes first.
SUPPORT = (MISSING, FALLBACK, DELEGATED, SUPPORTED)


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One operator.

    name     as torch prints it: `aten.cumsum.default`
    count    how often the graph has it
    support  one of SUPPORT
    path     the first line of the model that needs it, absolute; None where no line is known
    reason   why it is missing, or not delegated; "" where the target does not say
    """

    name: str
    count: int
    support: str
    path: str | None = None
    line: int | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class OperatorSupport:
    """Every operator of the graph that a target is given. Without rows, nothing is known."""

    rows: tuple[OperatorRow, ...] = ()

    @property
    def total(self) -> int:
        return sum(row.count for row in self.rows)

    def of(self, support: str) -> tuple[OperatorRow, ...]:
        """The operators with this support, the most frequent one first."""
        return tuple(
            sorted((row for row in self.rows if row.support == support), key=lambda row: (-row.count, row.name))
        )

    def count(self, support: str) -> int:
        return sum(row.count for row in self.of(support))

    @property
    def in_order(self) -> tuple[OperatorRow, ...]:
        """What needs attention first, then by how often it occurs."""
        return tuple(row for support in SUPPORT for row in self.of(support))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        return {"rows": [asdict(row) for row in self.in_order]}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> OperatorSupport:
        """The other way."""
        return cls(tuple(OperatorRow(**row) for row in raw.get("rows", ())))
