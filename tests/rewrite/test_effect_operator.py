"""What forward tells the world about data is told by its program, too: the same, in each call."""

from __future__ import annotations

import io
import linecache
from typing import Any

import pytest

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

HEAD = """\
import logging
import torch
from torch import Tensor, nn

log = logging.getLogger("told")
SEEN = []
KEPT = []
RECORDS = []


class Keep(logging.Handler):
    def emit(self, record):
        RECORDS.append(record.getMessage())


log.addHandler(Keep())
log.setLevel("INFO")


def remember(word, number):
    SEEN.append((word, number))


def remember_all(word, number):
    remember(word, number)


class Net(nn.Module):
    def __init__(self, limit=1.5, name="net"):
        super().__init__()
        self.limit = limit
        self.name = name
        self.verbose = True
        self.last = 0
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: Tensor):
        peak = x.abs().max()
"""
TOLD = {
    'if peak > self.limit:\n    log.warning("%s: %.3f > %.1f", self.name, peak, self.limit)': (
        "(peak: torch.Tensor, limit: float, name: str) -> None:"
    ),
    'if self.verbose:\n    log.info(f"{self.name} {peak:.3f} of {x.shape[0]} rows")': (
        "if self.verbose:\n            tell_net(self.name, peak, x)"
    ),
    'log.info("called with %d", x.shape[0])': "tell_net(x)",
    'log.info("called")': "tell_net()",
    'high = peak.item()\nlog.info("peak %.2f", high)': "    high = peak.item()\n    log.info(",
    'SEEN.append({"mean": x.mean().item(), "n": x.shape[0]})': None,
    'for row in x:\n    if row.sum() > 0:\n        log.info("%.2f", row.sum())': None,
    'remember(f"{self.name}", float(peak))': None,
    'if peak > 1:\n    log.info("high")\nelse:\n    log.info("low")': None,
    "if self.limit > 1:\n    if peak > 1:\n        SEEN.append(round(peak.item(), 3))": None,
    'log.info("scale %.2f", (x * self.scale).mean())': "x, self.scale)",
    'items = {"a": x + 1, "b": 2}\nlog.info("%.2f", items["a"].mean())': None,
}


@pytest.mark.parametrize(("lines", "after"), TOLD.items())
def test_the_program_tells_what_eager_told(lines: str, after: str | None) -> None:
    text = _with(lines)
    (new,) = proposed(text, _place(lines), "effect-operator")
    if after is not None:
        assert after in new
    old, edited = _built(text), _built(new)

    def told(names: dict[str, Any], run: Any) -> list[Any]:
        names["SEEN"].clear()
        names["RECORDS"].clear()
        for seed in (1, 2):
            torch.manual_seed(seed)
            run(torch.randn(3, 4) * seed)
        return [*names["SEEN"], *names["RECORDS"]]

    exported, file = torch.export.export(edited["Net"](), (torch.randn(3, 4),)), io.BytesIO()
    torch.export.save(exported, file)
    file.seek(0)
    programs = [exported, exported.run_decompositions(), torch.export.load(file)]
    expected = told(old, old["Net"]())
    assert expected
    assert told(edited, edited["Net"]()) == expected
    assert [told(edited, one.module()) for one in programs] == [expected] * len(programs)


@pytest.mark.parametrize("lines", [
    "SEEN.append(peak)",  # its gradient would be lost, and its memory used again
    "SEEN.append((1, [x.mean()]))",
    "SEEN.append(x.detach())",
    'remember("a", x)',
    'remember_all("a", float(peak))',  # what that calls may change what the model reads
    "KEPT.append(float(peak))\nx = x * len(KEPT)",
    "print(x.mean())",  # eager shows the function that made it
    'log.info("%s", x * 2)',
    "self.last = peak.item()",
    "if peak > 1:\n    x.add_(1)\n    log.info('added')",
    "if peak > 1:\n    log.info('high')\n    return x",
    "high = peak.item()\nlog.info('%.2f', high)\nx = x * high",
    "torch.manual_seed(int(peak))",
])  # fmt: skip
def test_what_an_operator_cannot_tell_is_left(lines: str) -> None:
    assert proposed(_with(lines), _place(lines), "effect-operator") == []


def _with(lines: str) -> str:
    return HEAD + "".join(f"        {one}\n" for one in lines.splitlines()) + "        return x * 2\n"


def _place(lines: str) -> str:
    """The innermost line that tells."""
    return next(one.strip() for one in reversed(lines.splitlines()) if "(" in one)


def _built(text: str) -> dict[str, Any]:
    linecache.cache["telling.py"] = len(text), None, text.splitlines(keepends=True), "telling.py"
    names: dict[str, Any] = {"__name__": "telling"}
    exec(compile(text, "telling.py", "exec"), names)  # noqa: S102 - it is ours
    return names
