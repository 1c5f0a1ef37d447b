"""Show two values side by side, at the place where they differ most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.comparison import compare

if TYPE_CHECKING:
    from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves


def values_beside(ours: Leaves, theirs: Leaves, before: Leaves) -> dict[str, Any]:
    """ "output" (path, and index in a tensor), "ours", "theirs", and "sample": what stands there in `before`."""
    found = compare(ours, theirs)
    path = found.path if found else ""
    values = [dict(side).get(path) for side in (ours, theirs, before)]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    where = ""
    if len(tensors) == len(values) and len({tensor.shape for tensor in tensors}) == 1 and tensors[0].numel():
        index = _widest(*(tensor.to(torch.cdouble).reshape(-1) for tensor in tensors[:2]))
        place = [int(one) for one in torch.unravel_index(torch.tensor(index), tensors[0].shape)]
        where = str(place) if place else ""
        values = [tensor.reshape(-1)[index].item() for tensor in tensors]
    ours_text, theirs_text, before_text = map(_text, values)
    return {"output": f"{path}{where}", "ours": ours_text, "theirs": theirs_text, "sample": before_text}


def _widest(ours: torch.Tensor, theirs: torch.Tensor) -> int:
    """Where they differ most; infinities that are equal do not, and what is no number on one side does most."""
    same = (ours == theirs) | (ours.isnan() & theirs.isnan())
    gap = torch.nan_to_num((ours - theirs).abs(), nan=torch.inf, posinf=torch.inf)
    return int(gap.masked_fill(same, 0).argmax())


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return f"{value:.4g}" if isinstance(value, float) else repr(value)
