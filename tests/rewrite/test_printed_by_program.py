"""What forward prints is printed by its program, too: the same text, in each call."""

from __future__ import annotations

import io
import linecache
from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.proposed import proposed

if TYPE_CHECKING:
    from collections.abc import Callable

torch = pytest.importorskip("torch")

HEAD = """\
import sys
import torch
from torch import Tensor, nn


class Net(nn.Module):
    def forward(self, x: Tensor):
"""
TABLE = {
    'print(f"mean {x.mean().item():.3f}")': 'torch._higher_order_ops.print("mean {mean:.3f}", mean=x.mean().detach())',
    'print("rows", x.shape[0], x.max().item())': None,
    'print(f"{x.sum()} {{x}} {float(x.min()):6.2f}", flush=True)': None,
    "print('norm', x.norm())": None,
    "print(f'{x.max().item():.2f} {x.max().item():.4f} {x.abs().max().item():.1f}')": None,
}


@pytest.mark.parametrize(("printed", "after"), TABLE.items())
def test_the_program_prints_what_eager_printed(
    printed: str, after: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"{HEAD}        {printed}\n        return x * 2\n"
    (new,) = proposed(text, "print(", "printed-by-program")
    if after is not None:
        assert after in new
    old, edited = _built(text), _built(new)

    def shown(run: Callable[[Any], Any]) -> str:
        torch.manual_seed(1)
        run(torch.randn(3, 4))
        return capsys.readouterr().out

    exported, file = torch.export.export(edited, (torch.randn(3, 4),)), io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    programs = [exported, exported.run_decompositions(), torch.export.load(file)]
    capsys.readouterr()
    assert shown(old) == shown(edited) != ""
    assert [shown(one.module()) for one in programs] == [shown(old)] * len(programs)


@pytest.mark.parametrize("printed", ['print("a", file=sys.stderr)', 'print("a", end="")', "print(*x)", 'f"{x}"'])
def test_what_the_operator_cannot_do_is_left(printed: str) -> None:
    at = "print(" if "print" in printed else printed
    assert proposed(f"{HEAD}        {printed}\n        return x * 2\n", at, "printed-by-program") == []


def _built(text: str) -> Any:
    linecache.cache["printing.py"] = len(text), None, text.splitlines(keepends=True), "printing.py"
    names: dict[str, Any] = {}
    exec(compile(text, "printing.py", "exec"), names)  # noqa: S102 - it is ours
    return names["Net"]()
