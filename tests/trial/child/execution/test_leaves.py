"""Values of any structure, flattened: looking at them runs none of their code."""

from __future__ import annotations

from collections import OrderedDict

import pytest

from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot


class _LoadsWhenAsked(dict):
    def items(self):
        raise ImportError("what is asked for is imported")

    __iter__ = keys = values = items


class _OrderedLoads(OrderedDict):
    def items(self):
        raise ImportError("what is asked for is imported")

    __iter__ = keys = values = items


@pytest.mark.parametrize(("made", "kind"), [(_LoadsWhenAsked, dict), (_OrderedLoads, OrderedDict)])
def test_a_table_that_imports_what_it_is_asked_for_is_not_asked(made: type[dict], kind: type[dict]) -> None:
    table = made()
    kind.__setitem__(table, "a", 1)
    assert snapshot(table) == [(".keys()", ["a"]), ("['a']", 1)]


def test_the_order_of_a_dict_that_was_reordered_is_kept() -> None:
    held = OrderedDict(a=1, b=2)
    held.move_to_end("a")
    assert snapshot(held)[0][1] == ["b", "a"]
