"""A class that torch.export can take apart, for whoever imports this."""

from __future__ import annotations

import dataclasses

import torch


@dataclasses.dataclass
class Scores:
    low: torch.Tensor
    high: torch.Tensor


torch.export.register_dataclass(Scores, serialized_type_name="exportlint_tests.Scores")
