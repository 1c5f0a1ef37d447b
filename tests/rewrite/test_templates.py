"""Rows of the table: each fits what it says, and what it writes is equal where that can be measured."""

from __future__ import annotations

import ast
import math
import re
from textwrap import indent
from typing import Any

import pytest

from exportlint.rewrite.templates import Row, rows
from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")

_MEASURED = [row for row in rows() if row.measure]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.before)
def test_both_sides_of_a_row_are_python_and_know_the_same_variables(row: Row) -> None:
    left = set(re.findall(r"\b[A-Z][A-Z0-9_]*\b", row.before))
    right = {
        one.id for text in (row.after, row.above) for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Name)
    }
    assert row.pattern is not None
    assert {name for name in right if re.fullmatch(r"[A-Z][A-Z0-9_]*", name)} <= left | {"INPUT"}
    assert row.say
    assert row.torch


@pytest.mark.parametrize("row", _MEASURED, ids=lambda row: row.before)
def test_what_a_row_writes_is_what_stood_there(row: Row) -> None:
    """NumPy's and Python's functions get the same values as arrays and numbers."""
    torch.manual_seed(3)
    names: dict[str, Any] = {"torch": torch, "numpy": numpy, "math": math}
    exec(row.measure, names)  # noqa: S102 - it stands in our table
    arrays = {key: _as_given(value, row) for key, value in names.items()}
    before = eval(row.before, arrays)  # noqa: S307 - likewise
    exec(row.above.strip(), names)  # noqa: S102 - likewise
    after = eval(row.after.strip(), names)  # noqa: S307 - likewise
    torch.testing.assert_close(
        torch.as_tensor(after).double(),
        torch.as_tensor(before).double(),
        rtol=1e-4,
        atol=1e-5,
        equal_nan=True,
        check_stride=False,
    )


def _as_given(value: Any, row: Row) -> Any:
    if not isinstance(value, torch.Tensor) or row.group not in {"numpy", "math"}:
        return value
    return value.item() if row.group == "math" else value.numpy()


_NET = """
import numpy as np
import torch
import torch.nn.functional as F
from torch.autograd import Variable
from torch import nn

EDGES = np.array([0.5, 1.5])

class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        {line}
        return y
"""


@pytest.mark.parametrize(
    ("line", "at", "expected"),
    [
        ("y = x.data * 2  # stop", "x.data", "y = x.detach() * 2  # stop"),
        ("y = Variable(x + 1) * 2", "Variable(x + 1)", "y = (x + 1) * 2"),
        ("y = x + torch.zeros(3, device='cuda')", "torch.zeros", "y = x + torch.zeros(3, device=x.device)"),
        ("y = x.cuda() + 1", "x.cuda()", "y = x + 1"),
        ("y = F.one_hot(x, 5)", "F.one_hot", "y = (x.unsqueeze(-1) == torch.arange(5, device=x.device)).long()"),
        ("y = torch.from_numpy(np.sqrt(x.numpy()))", "torch.from_numpy(", "y = torch.sqrt(x)"),
        ("a = x.numpy()\n        y = torch.from_numpy(a + np.eye(4, dtype=a.dtype))", "torch.from_numpy(",
         "y = a + torch.eye(4, dtype=a.dtype)"),
        ("y = torch.from_numpy(np.searchsorted(EDGES, x.numpy()))", "torch.from_numpy(",
         "y = torch.searchsorted(torch.as_tensor(EDGES, dtype=torch.float64), x.double())"),
        ("y = torch.distributions.Normal(x, 1.0).mean", "torch.distributions",
         "y = torch.distributions.Normal(x, 1.0, validate_args=False).mean"),
        ("y = torch.cov(x)", "torch.cov(x)",
         "centred = x - x.mean(1, keepdim=True)\n        y = (centred @ centred.T / (centred.shape[1] - 1)).squeeze()"),
    ],
)  # fmt: skip
def test_a_row_is_written_for_what_it_fits(line: str, at: str, expected: str) -> None:
    assert expected in proposed(_NET.format(line=line), at, "templates")[0]


def test_an_import_that_nobody_uses_any_more_goes() -> None:
    assert "import Variable" not in proposed(_NET.format(line="y = Variable(x)"), "Variable(x)", "templates")[0]


def test_a_call_that_is_gone_is_called_as_today() -> None:
    script = """
        from torch._export import capture_pre_autograd_graph
        def main(model, x):
            return capture_pre_autograd_graph(model, (x,))
    """
    (text, *_) = proposed(script, "capture_pre_autograd_graph(model", "templates")
    assert "torch.export.export(model, (x,)).module()" in text
    assert "capture" not in text


def test_bounds_that_are_left_out_make_no_check() -> None:
    script = """
        import torch
        def main(n):
            torch._constrain_as_value(n, max=7)
    """
    (text,) = proposed(script, "torch._constrain", "old-constraints")
    assert "torch._check(n <= 7)" in text
    assert ">=" not in text


def test_an_array_that_another_method_makes_is_a_tensor_too() -> None:
    model = """
        import numpy as np
        import torch
        class Net(torch.nn.Module):
            def levels(self, x: torch.Tensor):
                rain = x.detach().cpu().numpy()
                return np.quantile(rain, (0.5, 0.9)).astype("float32")
            def forward(self, x: torch.Tensor):
                return x * torch.from_numpy(self.levels(x)).sum()
    """
    found = proposed(model, "x.detach().cpu().numpy()", "templates")
    assert any("return x * self.levels(x).sum()" in text and "torch.quantile(rain, " in text for text in found)


_POOLED = """
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.pool import ThreadPool

class Net(nn.Module):
    def forward(self, x):
{body}
"""


@pytest.mark.parametrize(
    ("body", "at"),
    [
        (("with ThreadPoolExecutor(2) as pool:\n    jobs = [pool.submit(torch.add, x, n) for n in (1, 2)]\n"
         "    return [job.result() for job in jobs]"), "ThreadPoolExecutor(2)"),
        ("with ThreadPoolExecutor(2) as pool:\n    return list(pool.map(torch.exp, [x, x + 1]))", "ThreadPoolExecutor(2)"),
        (("pool = ThreadPoolExecutor(2)\njobs = {pool.submit(torch.add, x, n): n for n in (1, 2)}\n"
         "found = {jobs[job]: job.result() for job in as_completed(jobs)}\npool.shutdown()\n"
         "return [found[1], found[2]]"), "ThreadPoolExecutor(2)"),
        (("pool = ThreadPool(2)\nboth = pool.starmap(torch.add, [(x, 1), (x, 2)])\n"
         "last = pool.apply_async(torch.mul, (x, 3))\nboth.append(last.get())\npool.close()\nreturn both"),
         "ThreadPool(2)"),
        (("found = {}\ndef work(n, factor=1):\n    found[n] = x * n * factor\n"
         "threads = [threading.Thread(target=work, args=(n,), kwargs={'factor': 2}) for n in (1, 2)]\n"
         "for one in threads:\n    one.start()\nfor one in threads:\n    one.join()\nreturn [found[1], found[2]]"),
         "threading.Thread("),
    ],
)  # fmt: skip
def test_what_threads_compute_is_computed_one_after_the_other(body: str, at: str) -> None:
    before = "import torch\nfrom torch import nn\n" + _POOLED.format(body=indent(body, " " * 8))
    (text, *_) = proposed(before, at, "templates")
    results = []
    for one in (before, text):
        names: dict[str, Any] = {}
        exec(one, names)  # noqa: S102 - it stands above
        results.append(names["Net"]()(torch.tensor([1.0, 2.0])))
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
    assert "Thread" not in text.partition("class Net")[2]
