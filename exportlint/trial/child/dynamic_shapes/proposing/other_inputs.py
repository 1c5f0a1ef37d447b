"""Say what the further inputs of a target show of a proposal: whether it takes them, and whether eager agrees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.condition_text import sentence
from exportlint.trial.child.dynamic_shapes.conditions import FROM
from exportlint.trial.child.dynamic_shapes.facts import place_of_frames

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.trial.child.dynamic_shapes.conditions import Sizes
    from exportlint.trial.child.dynamic_shapes.declarations import DimPlace
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import SymbolicTrace
    from exportlint.trial.protocol.size_facts import Fact


def shown_by_others(
    trace: SymbolicTrace,
    everything: SymbolicTrace,
    called: Mapping[Any, str],
    free: Mapping[Any, Sizes],
    others: Mapping[DimPlace, int],
) -> Iterator[Fact]:
    """The dims of other sizes, or what keeps the further inputs out.

    trace        the proposal's
    everything   what was found with all dims free
    """
    different = [size for size in trace.sizes if others[size.place] != size.sample]
    outside = list(_outside(trace, free, others))
    if outside:
        dims = [[*place, others[place]] for place in outside]
        yield {"fact": "others-outside", "dims": dims, **_because(everything, called, others)}
    elif different:
        roots = {size.form: others[size.place] for size in different if size.form in free}
        yield {
            "fact": "others-inside",
            "sizes": [[called[root], number] for root, number in roots.items()],
            "agrees": None,
        }
    else:
        yield {"fact": "others-same"}


def _because(everything: SymbolicTrace, called: Mapping[Any, str], others: Mapping[DimPlace, int]) -> Fact:
    """The limit or the condition that the further inputs break; nothing where a dim is a constant, which is said."""
    pick = {size.form: others[size.place] for size in everything.sizes if size.form in everything.ranges}
    for root, number in pick.items():
        low, high = everything.ranges[root]
        if high is not None and number > high:
            place = place_of_frames(everything.why_narrowed(root, "high"))
            return {"expression": f"{called[root]} must be at most {high}", "place": place}
        if number < low and low > FROM:
            place = place_of_frames(everything.why_narrowed(root, "low"))
            return {"expression": f"{called[root]} must be at least {low}", "place": place}
    broken = next((c for c in everything.conditions if not c.holds(pick)), None)
    if broken is None:
        return {}
    return {"expression": sentence(broken.expr, called), "place": place_of_frames(broken.frames)}


def _outside(trace: SymbolicTrace, free: Mapping[Any, Sizes], others: Mapping[DimPlace, int]) -> Iterator[DimPlace]:
    pick = {size.form: others[size.place] for size in trace.sizes if size.form in free}
    for size in trace.sizes:
        number = others[size.place]
        if size.form in free:
            fits = number in free[size.form] and number == pick[size.form]
        else:
            known = size.fixed or size.form.free_symbols <= set(pick)
            fits = not known or number == (size.form if size.fixed else size.form.xreplace(pick))
        if not fits and not (size.fixed and number == size.sample):
            yield size.place
