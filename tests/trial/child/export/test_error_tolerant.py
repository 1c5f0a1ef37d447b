"""An export past refusals tells of a read through `.data` what a plain export of that read alone does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from exportlint.trial.child.export.error_tolerant import eager_results, tolerant_export
from exportlint.trial.child.loading.loaded import Loaded
from exportlint.trial.protocol.target import Target, TargetKind
from exportlint.trial.protocol.torch_messages import lost_a_tensor

if TYPE_CHECKING:
    from collections.abc import Callable

READS: dict[str, Callable[[torch.Tensor], Any]] = {
    "new": lambda x: x.data.new(2, 4).zero_() + x,
    "new_tensor": lambda x: x.data.new_tensor([1.0, 2, 3, 4]) + x,
    "new_zeros": lambda x: x.data.new_zeros(2, 4) + x,
    "zeros_like": lambda x: torch.zeros_like(x.data) + x,
    "shape": lambda x: x * x.data.shape[0],
    "size": lambda x: x * x.data.size(0),
    "len": lambda x: x * len(x.data),
    "device": lambda x: torch.ones(4, device=x.data.device) + x,
    "add": lambda x: x.data + x,
    "write": lambda x: x.clone().data.mul_(2) + x,
    "view_as": lambda x: x.reshape(-1).view_as(x.data) * 1,
    "mask": lambda x: torch.where(x.data > 0, x, -x),
    "asked for None": lambda x: x * 1 if x.data is not None else x,
    "returned": lambda x: {"x": x * 2, "data": [x.data]},
}


class Read(nn.Module):
    def __init__(self, read: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.read = read

    def forward(self, x: torch.Tensor) -> Any:
        return self.read(x)


class LostBefore(Read):
    """Another read loses a tensor, so that the trace of the plain export ends."""

    def forward(self, x: torch.Tensor) -> Any:
        return self.read(x), x.data * 2


@pytest.mark.parametrize("name", READS)
def test_a_read_is_refused_where_a_plain_export_of_it_alone_is(name: str) -> None:
    read, sample = READS[name], (torch.randn(2, 4),)
    refused = False
    try:
        torch.export.export(Read(read), sample, strict=False)
    except RuntimeError as exc:
        refused = lost_a_tensor(str(exc))
    target = Target("net", TargetKind.MODULE, "net.py")
    loaded = Loaded(target, lambda: LostBefore(read), lambda: sample, dict[str, Any], lambda: None)
    told = tolerant_export(loaded, eager_results(loaded)).refusals
    lines = {seen.user_line for seen in told if lost_a_tensor(seen.text)}
    assert (read.__code__.co_firstlineno in lines) is refused
