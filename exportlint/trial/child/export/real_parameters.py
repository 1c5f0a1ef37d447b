"""draft_export by the values that parameters have.

draft_export computes with real tensors beside the fake ones, and takes the side of a branch that they take. Torch 2.13
copies only what is of the type torch.Tensor itself into them (`_safe_copy` in torch/_subclasses/meta_utils.py), so a
parameter's real tensor keeps what the memory held before: other issues in every run, or a failure at a nan.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import patch

from torch import Tensor, nn
from torch._subclasses import meta_utils

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def real_parameters() -> Iterator[None]:
    """While it is open, torch copies a parameter's values where it makes a real tensor for it."""
    copy = getattr(meta_utils, "_safe_copy", None)
    if copy is None:
        yield
        return

    def copied(to: Tensor, source: Tensor | None) -> None:
        copy(to, source.data if isinstance(source, nn.Parameter) else source)

    with patch.object(meta_utils, "_safe_copy", copied):
        yield
