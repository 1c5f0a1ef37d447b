"""Decisions, loops and numbers in data: what stands there before, and the first thing that is proposed for it."""

from __future__ import annotations

import ast
import re
import textwrap
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

WAYS = ("decide-in-data", "loop-in-data", "numbers-stay-tensors")
HEAD = """\
import dataclasses
import math
import numpy as np
import torch
from torch import Tensor, nn

SCALES = {0: 1.0, 1: 1.5, 2: 0.75, 3: 2.0, 4: 1.0, 5: 3.0, 6: 0.5, 7: 4.0}


@dataclasses.dataclass
class Options:
    curves: dict = dataclasses.field(default_factory=lambda: {1: (0.5, -1.0), 2: (2.0, 0.25)})


class State:
    def __init__(self, h):
        self.h, self.total = h, h.sum()

    def halve(self, by=0.5):
        self.h = self.h * by


def advance(state, by):
    state.h = state.h * by
    state.total = state.total + state.h.sum()
    return state.total


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.most = 5
        self.options = Options()

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
"""
# what the test's name says, forward before, where, forward after (None: whatever it is, it has to compute the same)
TABLE = [
    (
        "one side",
        """
        if x.sum() > 0:
            x = x * 2
        return x
        """,
        "x.sum() > 0",
        """
        x = torch.where(x.sum() > 0, x * 2, x)
        return x
        """,
    ),
    (
        "a number that is rounded, with the precision of Python's",
        """
        top = x.max().item()
        if top > 1:
            x = x + int(top * 10) + math.floor(x.sum().item() * 10) + y.numel() // 2
        return x
        """,
        "top > 1",
        None,
    ),
    (
        "early return",
        """
        if x.max() > 1:
            return x / x.max()
        return x
        """,
        "x.max() > 1",
        """
        return torch.where(x.max() > 1, x / x.max(), x)
        """,
    ),
    (
        "early return where Python asks something else first",
        """
        if x.shape[-1] > 2:
            loudest = x.max()
            if loudest > 1:
                return x / loudest
        y = y + 1  # the author's
        return x + y
        """,
        "loudest > 1",
        """
        if x.shape[-1] > 2:
            loudest = x.max()
            chosen = loudest > 1
            y = y + 1
            return torch.where(chosen, x / loudest, x + y)
        else:
            y = y + 1
            return x + y
        """,
    ),
    (
        "a flag guards",
        """
        if self.most > len(self.layers) and x.isnan().any():
            x = x.nan_to_num()
        return x
        """,
        "x.isnan().any()",
        """
        if self.most > len(self.layers):
            x = torch.where(x.isnan().any(), x.nan_to_num(), x)
        return x
        """,
    ),
    (
        "a ternary of numbers",
        """
        scale = 0.5 if x.abs().max() > 3 else 1.0
        return x * scale
        """,
        "x.abs().max() > 3",
        """
        scale = torch.where(x.abs().max() > 3, 0.5, 1.0)
        return x * scale
        """,
    ),
    (
        "a check",
        """
        if (x < 0).any():
            raise ValueError("negative")
        return x.sqrt()
        """,
        "(x < 0).any()",
        """
        torch._assert_async(~(x < 0).any(), 'negative')
        return x.sqrt()
        """,
    ),
    (
        "a write in place",
        """
        out = x.clone()
        if y.mean() > 0:
            out[0] = 1.0
        return out
        """,
        "y.mean() > 0",
        """
        out = x.clone()
        chosen = y.mean() > 0
        out[0] = torch.where(chosen, 1.0, out[0])
        return out
        """,
    ),
    (
        "a loop that is left",
        """
        for layer in self.layers:
            x = layer(x)
            if x.norm() < 1:
                break
        return x
        """,
        "x.norm() < 1",
        """
        done = x.new_zeros((), dtype=torch.bool)
        for layer in self.layers:
            x = torch.where(done, x, layer(x))
            done = done | (x.norm() < 1)
        return x
        """,
    ),
    (
        "rows under a mask",
        """
        high = x[y > 0]
        return high.mean()
        """,
        "high.mean()",
        """
        is_in_high = y > 0
        return torch.where(is_in_high, x, 0).sum() / is_in_high.sum()
        """,
    ),
    (
        "Python is asked as well",
        """
        assert self.most > 2 and x.max() < 100, "too large"
        return x
        """,
        "x.max() < 100",
        """
        assert self.most > 2, "too large"
        torch._assert_async(x.max() < 100, "too large")
        return x
        """,
    ),
    (
        "an exception for a matrix",
        """
        try:
            return torch.linalg.cholesky(x @ x.T)
        except RuntimeError:
            return x @ y.T
        """,
        "torch.linalg.cholesky(x @ x.T)",
        """
        result, info = torch.linalg.cholesky_ex(x @ x.T)
        return torch.where((info == 0).all(), result, x @ y.T)
        """,
    ),
    (
        "an exception for a matrix, and what is made of it",
        """
        try:
            gram = x @ x.T + y @ y.T
            low = torch.linalg.cholesky(gram)
            return torch.cholesky_solve(x, low)
        except torch.linalg.LinAlgError:
            return torch.linalg.pinv(gram) @ x
        """,
        "torch.linalg.cholesky(gram)",
        """
        gram = x @ x.T + y @ y.T
        low, info = torch.linalg.cholesky_ex(gram)
        return torch.where((info == 0).all(), torch.cholesky_solve(x, low), torch.linalg.pinv(gram) @ x)
        """,
    ),
    (
        "the best of some",
        """
        best = min([x, y], key=lambda one: one.norm())
        return best
        """,
        "min([x, y], key=lambda one: one.norm())",
        """
        best = torch.stack([x, y])[torch.stack([one.norm() for one in [x, y]]).argmin().reshape(1)].squeeze(0)
        return best
        """,
    ),
    (
        "a size decides",
        """
        if x.shape[0] > 8:
            x = x * 2
        return x
        """,
        "x.shape[0] > 8",
        """
        x = torch.where(torch.tensor(x.shape[0] > 8), x * 2, x)
        return x
        """,
    ),
    (
        "a size as a number",
        """
        rows = int(x.shape[0])
        return y[:rows]
        """,
        "int(x.shape[0])",
        """
        rows = x.shape[0]
        return y[:rows]
        """,
    ),
    (
        "a list of rows",
        """
        rows = [row / row.norm() for row in x]
        return torch.stack(rows)
        """,
        "row / row.norm()",
        """
        rows = torch.vmap(lambda row: row / row.norm())(x)
        return rows
        """,
    ),
    (
        "rows through a layer, which may draw numbers where it is trained",
        """
        return torch.stack([self.layers[0](row) for row in x])
        """,
        "self.layers[0](row)",
        """
        return torch.vmap(lambda row: self.layers[0](row), randomness="different")(x)
        """,
    ),
    (
        "a loop over rows",
        """
        outs = []
        for i in range(len(x)):
            scaled = x[i] * 2
            outs.append(scaled + y[i])
        return torch.stack(outs, 1)
        """,
        "range(len(x))",
        """
        def one_row(row, row2):
            scaled = row * 2
            return scaled + row2
        outs = torch.vmap(one_row)(x, y)
        return outs.movedim(0, 1)
        """,
    ),
    (
        "rows that add up",
        """
        total = torch.zeros(4)
        for i, row in enumerate(x):
            total = total + row * i
        return total
        """,
        "enumerate(x)",
        """
        total = torch.zeros(4)
        total = total + torch.vmap(lambda i, row: row * i)(torch.arange(x.shape[0]), x).sum(0)
        return total
        """,
    ),
    (
        "rows that data groups",
        """
        means = []
        for group in y[:, 0].unique():
            rows = x[y[:, 0] == group]
            means.append(rows.mean(0))
        return torch.stack(means)
        """,
        "y[:, 0].unique()",
        """
        def one_row(group):
            is_in_rows = y[:, 0] == group
            return torch.where(is_in_rows.unsqueeze(-1), x, 0).sum(0) / is_in_rows.unsqueeze(-1).sum(0)
        means = torch.vmap(one_row)(y[:, 0].unique())
        return means
        """,
    ),
    (
        "as many rows as data counts",
        """
        group = torch.where(y[:, 0] > 0, 1, 0)
        n = group.max().item() + 1
        means = []
        for g in range(n):
            rows = x[group == g]
            means.append(rows.sum(0))
        return torch.stack(means)
        """,
        "range(n)",
        """
        group = torch.where(y[:, 0] > 0, 1, 0)
        n = group.max().item() + 1
        def one_row(g):
            is_in_rows = group == g
            return torch.where(is_in_rows.unsqueeze(-1), x, 0).sum(0)
        means = torch.vmap(one_row)(torch.arange(n, device=x.device))
        return means
        """,
    ),
    (
        "rows of a tensor that data makes as large",
        """
        group = torch.where(y[:, 0] > 0, 1, 0)
        n = group.max().item() + 1
        sums = x.new_zeros(n, 4)
        for g in range(n):
            sums[g] = x[group == g].sum(0)
        return sums
        """,
        "range(n)",
        """
        group = torch.where(y[:, 0] > 0, 1, 0)
        n = group.max().item() + 1
        sums = x.new_zeros(n, 4)
        sums[:] = torch.vmap(
            lambda g: torch.where((group == g).unsqueeze(-1), x, 0).sum(0)
        )(torch.arange(n, device=x.device))
        return sums
        """,
    ),
    (
        "values that data lists",
        """
        total = x.sum() * 0
        for group in y.unique():
            total += x[y == group].sum()
        return total
        """,
        "y.unique()",
        """
        total = x.sum() * 0
        total += torch.vmap(lambda group: torch.where(y == group, x, 0).sum())(y.unique()).sum(0)
        return total
        """,
    ),
    (
        "a size in a root",
        """
        return x / math.sqrt(x.shape[0])
        """,
        "math.sqrt(x.shape[0])",
        """
        return x / (x.shape[0] ** 0.5)
        """,
    ),
    (
        "a decision by a size",
        """
        return x * 2 if x.shape[0] in (3, 4) else x
        """,
        "x.shape[0] in (3, 4)",
        """
        return torch.where(torch.tensor((x.shape[0] == 3) | (x.shape[0] == 4)), x * 2, x)
        """,
    ),
    (
        "whether a mask chose any",
        """
        kept = x[x > 0]
        assert len(kept) > 0, "nothing is left"
        return kept * 2
        """,
        "len(kept) > 0",
        """
        is_in_kept = x > 0
        kept = x[x > 0]
        torch._assert_async(is_in_kept.sum() > 0, "nothing is left")
        return kept * 2
        """,
    ),
    (
        "a table of numbers",
        """
        scale = SCALES[x.argmax().item()]
        return y * scale
        """,
        "x.argmax().item()",
        """
        scale = torch.tensor(list(SCALES.values())).index_select(0, x.argmax().reshape(1)).squeeze(0)
        return y * scale
        """,
    ),
    (
        "an error of a division",
        """
        n = int((x > 2.5).sum())
        try:
            share = 1 / n
        except ZeroDivisionError:
            share = 0.5
        return y * share
        """,
        "int((x > 2.5).sum())",
        """
        n = (x > 2.5).sum()
        share = torch.where(n != 0, 1 / n, 0.5)
        return y * share
        """,
    ),
    (
        "an error of a search",
        """
        late = (y[0] > 0.5).long()
        try:
            return x[:, late.tolist().index(1)]
        except ValueError:
            return x.sum(1)
        """,
        "late.tolist().index(1)",
        None,
    ),
    (
        "a table of pairs that another object holds",
        """
        kind = (y > 0).any().long() + 1
        scale, offset = self.options.curves[kind.item()]
        return x * scale + offset
        """,
        "self.options.curves[kind.item()]",
        """
        kind = (y > 0).any().long() + 1
        scale, offset = torch.tensor(list(self.options.curves.values()))[
            (torch.tensor(list(self.options.curves)) == kind).nonzero()[0]
        ].squeeze(0)
        return x * scale + offset
        """,
    ),
    (
        "NumPy",
        """
        far = np.max(x.numpy(), axis=1).astype(np.float32)
        return torch.from_numpy(far) + np.std(x.numpy())
        """,
        "x.numpy()",
        """
        far = torch.amax(x, dim=1).to(torch.float32)
        return far + torch.std(x, correction=0)
        """,
    ),
    (
        "Python decides on one side",
        """
        if x.sum() > 0:
            z = x
        elif self.most > 3:
            z = x * 2
        else:
            z = x * 3
        return z
        """,
        "x.sum() > 0",
        """
        chosen = x.sum() > 0
        if self.most > 3:
            z_else = x * 2
        else:
            z_else = x * 3
        z = torch.where(chosen, x, z_else)
        return z
        """,
    ),
    (
        "a text is told",
        """
        text = f"{x.mean():.2f}"
        print(text)
        return x
        """,
        "x.mean()",
        """
        if not torch.compiler.is_exporting():
            text = f"{x.mean():.2f}"
        if not torch.compiler.is_exporting():
            print(text)
        return x
        """,
    ),
    (
        "nothing is done for nothing",
        """
        z = x.clone()
        for i in range(3):
            rows = (y[:, 0] > i).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            z.index_add_(0, rows, x.index_select(0, rows))
        return z
        """,
        "rows.numel() == 0",
        """
        z = x.clone()
        for i in range(3):
            rows = (y[:, 0] > i).nonzero().squeeze(1)
            z.index_add_(0, rows, x.index_select(0, rows))
        return z
        """,
    ),
    (
        "a number in `math`",
        """
        return x / math.sqrt(x.abs().max().item() + 1)
        """,
        "x.abs().max().item()",
        """
        return x / torch.sqrt(x.abs().max().detach() + 1)
        """,
    ),
    (
        "a number of steps",
        """
        n = min(self.most, int(y.abs().sum()))
        for _ in range(n):
            x = x * 0.5
        return x
        """,
        "range(n)",
        """
        n = torch.clamp(y.abs().sum().long(), max=self.most)
        for step in range(self.most):
            past = step >= n
            x = torch.where(past, x, x * 0.5)
        return x
        """,
    ),
    (
        "the first layer that is sure",
        """
        best = None
        for layer in self.layers:
            best = layer(x)
            if best.abs().max() > 1:
                break
        return best
        """,
        "best.abs().max() > 1",
        """
        best = 0
        done = x.new_zeros((), dtype=torch.bool)
        for layer in self.layers:
            best = torch.where(done, best, layer(x))
            done = done | (best.abs().max() > 1)
        return best
        """,
    ),
    (
        "a layer that is called later",
        """
        layer = self.layers[int(x.sum().abs()) % 3]
        return layer(y) + 1
        """,
        "int(x.sum().abs())",
        """
        layer = x.sum().abs().long() % 3
        return torch.stack([each(y) for each in self.layers])[layer.reshape(1)].squeeze(0) + 1
        """,
    ),
    (
        "a list that grows as data says",
        """
        kept = []
        for row in x:
            if row.sum() > 5:
                kept.append(row * 2)
        if not kept:
            return x.new_zeros(0, 4)
        return torch.stack(kept)
        """,
        "row.sum() > 5",
        """
        kept = []
        is_in_kept = []
        for row in x:
            chosen = row.sum() > 5
            kept.append(row * 2)
            is_in_kept.append(chosen)
        return torch.stack(kept)[torch.stack(is_in_kept)]
        """,
    ),
    (
        "a list to which every side appends",
        """
        best, where = [], []
        for row in x:
            if row.sum() > 5:
                best.append(row.amax())
                where.append(row.argmax())
            elif row.sum() > 0:
                place = row.argmin()
                best.append(row[2])
                where.append(place)
            else:
                best.append(0.0)
                where.append(-1)
        return torch.stack([torch.as_tensor(one) for one in best]).sum() + len(where)
        """,
        "row.sum() > 5",
        """
        best, where = [], []
        for row in x:
            chosen_2 = row.sum() > 5
            chosen = row.sum() > 0
            place = row.argmin()
            next_best = torch.where(chosen_2, row.amax(), torch.where(chosen, row[2], 0.0))
            next_where = torch.where(chosen_2, row.argmax(), torch.where(chosen, place, -1))
            best.append(next_best)
            where.append(next_where)
        return torch.stack([one for one in best]).sum() + len(where)
        """,
    ),
    (
        "shares of rows as long as data says, and the first of them",
        """
        n = (y[:, 0] > -9).sum().item()
        rows = x[:n]
        shares = self.layers[0](rows).softmax(0)
        return (shares * rows).sum(0) + rows.max(0).values + rows[0] if n > 1 else rows[0]
        """,
        "n > 1",
        None,
    ),
    (
        "a count that says where the next one goes",
        """
        out, count = torch.zeros(8), 0
        for row in x:
            if row.sum() > 5:
                out[count] = row[0]
                count += 1
        return out
        """,
        "row.sum() > 5",
        """
        out, count = (torch.zeros(8), 0)
        for row in x:
            chosen = row.sum() > 5
            out[torch.as_tensor(count).reshape(1)] = torch.where(
                chosen, row[0], out[torch.as_tensor(count).reshape(1)]
            )
            count = torch.where(chosen, count + 1, count)
        return out
        """,
    ),
    (
        "a list that data filters",
        """
        kept = [row * 2 for row in x if row.sum() > 5]
        return torch.stack(kept).sum(0) if len(kept) > 0 else x[0] * 0
        """,
        "row.sum() > 5",
        None,
    ),
    (
        "steps until data ends them",
        """
        steps = [x[0]]
        while len(steps) < self.most:
            steps.append(self.layers[0](steps[-1]))
            if steps[-1].abs().max() < 0.9:
                break
        return torch.stack(steps, dim=-1)
        """,
        "steps[-1].abs().max() < 0.9",
        """
        steps = [x[0]]
        is_in_steps = [torch.tensor(True)]
        done = x.new_zeros((), dtype=torch.bool)
        while len(steps) < self.most:
            steps.append(self.layers[0](steps[-1]))
            is_in_steps.append(~done)
            done = done | (steps[-1].abs().max() < 0.9)
        return torch.stack(steps)[torch.stack(is_in_steps)].movedim(0, -1)
        """,
    ),
    (
        "what only the steps set, and which was the last",
        """
        for number, layer in enumerate(self.layers):
            x = layer(x)
            score = x.softmax(-1)
            if score.max() > 0.5:
                break
        return score * (number + 1)
        """,
        "score.max() > 0.5",
        """
        done = x.new_zeros((), dtype=torch.bool)
        last_number = 0
        score = 0
        for number, layer in enumerate(self.layers):
            last_number = torch.where(done, last_number, number)
            x = layer(x)
            score = torch.where(done, score, x.softmax(-1))
            done = done | (score.max() > 0.5)
        number = last_number
        return score * (number + 1)
        """,
    ),
    (
        "matrices that are tried with more and more on the diagonal, and the first that can be decomposed is returned",
        """
        square = x[:, :2] @ x[:, :2].mT - 2 * torch.eye(2)
        jitter = 0.5
        for attempt in range(5):
            try:
                return torch.linalg.cholesky(square + jitter * torch.eye(2))
            except torch.linalg.LinAlgError:
                jitter = 2.0**attempt
        return y[:, :2]
        """,
        "torch.linalg.cholesky(square + jitter * torch.eye(2))",
        None,
    ),
    (
        "matrices that are tried until one can be decomposed, else it is an error",
        """
        square = x[:, :2] @ x[:, :2].mT - 2 * torch.eye(2)
        for attempt in range(6):
            try:
                factor = torch.linalg.cholesky(square)
                break
            except RuntimeError as error:
                square = square + 2.0**attempt * torch.eye(2)
        else:
            raise RuntimeError("cannot be decomposed")
        return factor
        """,
        "torch.linalg.cholesky(square)",
        None,
    ),
    (
        "matrices that are tried, and what was there stays where none can be decomposed",
        """
        square, factor = x[:, :2] @ x[:, :2].mT - 9 * torch.eye(2), y[:, :2]
        for attempt in range(2):
            try:
                factor = torch.linalg.cholesky(square)
            except RuntimeError:
                square = square + 2.0**attempt * torch.eye(2)
                continue
            break
        return factor
        """,
        "torch.linalg.cholesky(square)",
        None,
    ),
    (
        "rows that fill two lists",
        """
        tops, means, scale = [], [], 2.0
        for row, other in zip(x, y):
            best, _ = row.topk(2)
            tops.append(best * scale)
            means.append(other.mean())
        return torch.stack(tops, dim=1).sum(1) + torch.stack(means)
        """,
        "for row, other in zip",
        """
        scale = 2.0
        def one_row(row, other):
            best, _ = row.topk(2)
            return (best * scale, other.mean())
        tops, means = torch.vmap(one_row)(x, y)
        return tops.movedim(0, 1).sum(1) + means
        """,
    ),
    (
        "how often a loop ran is read behind it",
        """
        steps = 0
        while steps < 6 and x.sum() > 4:
            x = x * 0.8
            steps += 1
        return x + steps * y
        """,
        "steps < 6 and x.sum() > 4",
        """
        steps = 0
        done = x.new_zeros((), dtype=torch.bool)
        last_steps = steps
        while steps < 6:
            done = done | ~(x.sum() > 4)
            x = torch.where(done, x, x * 0.8)
            steps += 1
            last_steps = torch.where(done, last_steps, steps)
        steps = last_steps
        return x + steps * y
        """,
    ),
    (
        "a loop that data ends, and Python after some steps",
        """
        count = 0
        while x.sum() > 4:
            x = x * 0.8
            count += 1
            if count >= 5:
                break
        return x + y
        """,
        "x.sum() > 4",
        """
        count = 0
        done = x.new_zeros((), dtype=torch.bool)
        while True:
            done = done | ~(x.sum() > 4)
            x = torch.where(done, x, x * 0.8)
            count += 1
            if count >= 5:
                break
        return x + y
        """,
    ),
    (
        "a loop that returns a dict",
        """
        for layer in self.layers:
            x = layer(x)
            if x.mean() > 0.1:
                return {"x": x * 2, "y": y}["x"]
        return x
        """,
        "x.mean() > 0.1",
        None,
    ),
    (
        "a loop that writes in tensors of its own",
        """
        left, out = torch.ones_like(x[0], dtype=torch.bool), 0
        kept = torch.zeros_like(x[0])
        while left.any():
            best = torch.where(left, x[0], x[0] * 0 - 9).argmax()
            kept[best] = x[0, best] + 1
            left[best] = False
            left = left & (y[0] < kept.sum())
        return kept + y
        """,
        "left.any()",
        None,
    ),
    (
        "a count for each label of a row",
        """
        labels, counts = (x[0] * 2).long() % 3, torch.zeros(3)
        for entry in x[1].argsort(descending=True):
            label = labels[entry]
            if counts[label] >= 1:
                continue
            counts[label] += x[1, entry]
        return counts.sum() + y
        """,
        "counts[label] >= 1",
        None,
    ),
    (
        "those that are left after the best of them",
        """
        order = x[0].argsort(descending=True)
        kept = []
        while order.numel() > 0:
            best = order[0]
            kept.append(x[1, best])
            near = (x[0, order[1:]] - x[0, best]).abs()
            order = order[1:][near > 0.5]
        return torch.stack(kept).sum() + y
        """,
        "order.numel() > 0",
        """
        order = x[0].argsort(descending=True)
        kept = []
        is_in_kept = []
        left = order.new_ones(order.shape[0], dtype=torch.bool)
        for step in range(order.shape[0]):
            chosen = left[step]
            best = order[step]
            kept.append(x[1, best])
            is_in_kept.append(chosen)
            near = (x[0, order[step + 1:]] - x[0, best]).abs()
            left[step + 1:] = torch.where(chosen, left[step + 1:] & (near > 0.5), left[step + 1:])
        return torch.stack(kept)[torch.stack(is_in_kept)].sum() + y
        """,
    ),
    (
        "those that are left, by their places, with a special case for the last one",
        """
        order = x[0].argsort(descending=True)
        kept = []
        while len(order) > 0:
            best = order[0]
            kept.append(x[1, best])
            if order.numel() == 1:
                break
            near = (x[0, order[1:]] - x[0, best]).abs()
            places = torch.where(near > 0.5)[0]
            order = order[places + 1]
        return torch.stack(kept).sum() + y
        """,
        "len(order) > 0",
        None,
    ),
    (
        "those that are left before the last of them, two lists, and not more than two",
        """
        order = x[0].argsort()
        kept, rows = [], x[1][order]
        values = x[0][order]
        while values.shape[0] > 0:
            kept.append(rows[-1])
            if len(kept) == 2:
                break
            rest = values[:-1]
            keep = rest < values[-1] - 0.5
            values = rest[keep]
            rows = rows[:-1][keep]
        return torch.stack(kept).sum() + y
        """,
        "values.shape[0] > 0",
        None,
    ),
    (
        "a loop that waits for something better",
        """
        best, waited = None, 0
        for _ in range(6):
            error = (x - y).abs().mean()
            if best is None or error < best - 0.1:
                best, waited = error, 0
            else:
                waited += 1
                if waited >= 2:
                    break
            x = x * 0.8
        return best
        """,
        "best is None or error < best - 0.1",
        """
        best, waited = None, 0
        done = x.new_zeros((), dtype=torch.bool)
        for _ in range(6):
            error = (x - y).abs().mean()
            if best is None:
                new_best, waited = (error, 0)
                best = torch.where(done, 0, new_best)
                x = x * 0.8
            else:
                chosen_2 = error < best - 0.1
                waited_else = waited + 1
                chosen = torch.as_tensor(waited_else >= 2)
                best = torch.where(done, best, torch.where(chosen_2, error, best))
                waited = torch.where(chosen_2, 0, waited_else)
                x = torch.where(chosen_2, x * 0.8, torch.where(chosen, x, x * 0.8))
                done = torch.where(chosen_2, done, done | chosen)
        return best
        """,
    ),
    (
        "a loop that only a return ends",
        """
        total = x.sum()
        while True:
            total = total * 0.5
            if total < 1:
                return total * y
        """,
        "total < 1",
        None,
    ),
    (
        "an object that a function of the file changes in each step",
        """
        state = State(x)
        for step in range(4):
            y = y + advance(state, 0.5 + step)
            if state.total > 20:
                break
        return y + state.h
        """,
        "state.total > 20",
        """
        state = State(x)
        done = x.new_zeros((), dtype=torch.bool)
        for step in range(4):
            last_h = state.h
            y = torch.where(done, y, y + advance(state, 0.5 + step))
            state.h = torch.where(done, last_h, state.h)
            done = done | (state.total > 20)
        return y + state.h
        """,
    ),
    (
        "an object that its own method changes in each step",
        """
        state = State(x)
        for _ in range(6):
            state.halve()
            if state.h.sum() < 0.5:
                break
        return state.h * y
        """,
        "state.h.sum() < 0.5",
        None,
    ),
    (
        "one row where data chose none",
        """
        high = x[x[:, 0] > 1]
        if high.shape[0] == 0:
            return x.new_zeros(1, 4)
        return self.layers[1](high)
        """,
        "high.shape[0] == 0",
        None,
    ),
    (
        "a place in a sorted list",
        """
        import bisect
        return x * bisect.bisect_left([0.5, 1.5, 2.5], y.sum().item())
        """,
        "y.sum().item()",
        """
        import bisect
        return x * torch.bucketize(y.sum().detach(), torch.tensor([0.5, 1.5, 2.5]), right=False)
        """,
    ),
]


@pytest.mark.parametrize(("before", "at", "after"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_what_is_written_instead(before: str, at: str, after: str | None) -> None:
    found = proposed(_model(before), at, *WAYS)
    assert found, "nothing is proposed"
    if after is not None:
        assert ast.unparse(_forward(_model(after))) in [ast.unparse(_forward(text)) for text in found]


@pytest.mark.parametrize(("before", "at"), [row[1:3] for row in TABLE], ids=[row[0] for row in TABLE])
def test_the_same_comes_out_and_it_exports(before: str, at: str) -> None:
    old = _built(_model(before))
    (new, *_) = [_built(text) for text in proposed(_model(before), at, *WAYS)]
    for seed in range(4):
        torch.manual_seed(seed)
        x, y = torch.rand(2, 4) * 3, torch.randn(2, 4)
        assert torch.allclose(old(x.clone(), y.clone()), new(x.clone(), y.clone()), equal_nan=True)
    program = torch.export.export(new, (torch.rand(2, 4), torch.randn(2, 4)))
    assert torch.allclose(program.module()(x.clone(), y.clone()), old(x.clone(), y.clone()), equal_nan=True)


RECURRENCES = {
    "cells with a state of two": """
        h = c = x.new_zeros(x.size(0), 4)
        steps = []
        for t in range(x.size(1)):
            h = torch.tanh(self.layers[0](x[:, t]) + h)
            c = c * 0.5 + h
            steps.append(self.layers[1](c))
        return torch.stack(steps, dim=1)
        """,
    "a moving average": """
        mean = x[:, 0]
        means = []
        for now in x.unbind(1):
            mean = 0.9 * mean + 0.1 * now
            means.append(mean.unsqueeze(1))
        return torch.cat(means, dim=1)
        """,
    "the last state alone": """
        h = torch.zeros_like(x[:, 0])
        for t in range(x.shape[1]):
            h = torch.tanh(self.layers[0](x[:, t, :]) + h)
        return h
        """,
    "a while that counts": """
        h, t = torch.zeros_like(x[:, 0]), 0
        while t < x.shape[1]:
            new = torch.tanh(self.layers[0](x[:, t]) + h)
            h = new
            t += 1
        return h
        """,
    "a while that counts to another number, which is read behind it": """
        length = x.size(1)
        h = torch.zeros_like(x[:, 0])
        t = 0
        while length != t:
            h = torch.tanh(self.layers[0](x[:, t]) + h)
            t = t + 1
        return h * t
        """,
    "a while that ends before the last one": """
        h = torch.zeros_like(x[:, 0])
        t = 0
        while t + 1 < x.size(1):
            h = torch.tanh(self.layers[0](x[:, t]) + h)
            t = t + 1
        return h
        """,
    "a while that counts down": """
        h = torch.zeros_like(x[:, 0])
        t = x.shape[1] - 1
        while t >= 0:
            h = torch.tanh(self.layers[0](x[:, t]) + h * 0.5)
            t -= 1
        return h
        """,
    "a while without a test of its own": """
        h = x[:, 0]
        t = 1
        while True:
            if not t < x.shape[1]:
                break
            h = torch.tanh(self.layers[0](x[:, t]) + h * 0.5)
            t += 1
        return h
        """,
    "all but the last, from the second on": """
        h = x[:, 0]
        for t in range(1, x.shape[1] - 1):
            h = torch.tanh(self.layers[0](x[:, t]) + h * 0.5)
        return h
        """,
    "backwards": """
        h = torch.zeros_like(x[:, 0])
        for t in reversed(range(x.shape[1])):
            h = torch.tanh(self.layers[0](x[:, t]) + h * 0.5)
        return h
        """,
}


@pytest.mark.parametrize("before", RECURRENCES.values(), ids=RECURRENCES)
def test_a_recurrence_over_a_dim_is_as_long_as_the_input_is(before: str) -> None:
    text = _model(before)
    at = next(line.strip() for line in before.split("\n") if line.strip().startswith(("for ", "while ")))
    (new, *_) = [_built(one) for one in proposed(text, at, "loop-in-data") if "scan" in one]
    old = _built(text)
    sizes = {"x": {1: torch.export.Dim("time", min=4, max=16)}, "y": {}}  # without two of them, two or more
    x, y = torch.randn(2, 5, 4), torch.randn(2)
    program = torch.export.export(new, (x, y), dynamic_shapes=sizes)
    for length in (5, 9):
        x = torch.randn(2, length, 4)
        assert torch.allclose(old(x, y), new(x, y), atol=1e-6)
        assert torch.allclose(old(x, y), program.module()(x, y), atol=1e-6)


def test_comments_and_what_does_not_change_stay() -> None:
    text = _model("""
        # loud recordings
        if x.max() > 1:  # over full scale
            # bring it down
            x = x / x.max()
        y  =  y + 1   # the author's blanks
        return x + y
        """)
    after = proposed(text, "x.max() > 1", *WAYS)[0]
    for kept in ("# loud recordings", "# over full scale", "# bring it down", "y  =  y + 1   # the author's blanks"):
        assert after.count(kept) == 1


NAMES = ("x", "y", "z")
values = st.sampled_from(["x * 2", "y - x", "z + 1.0", "x.clamp(min=0)", "y * z", "-x", "x + y"])
tests = st.sampled_from(["x.sum() > 0", "y.mean() < z.mean()", "x.max() > 0.5 and y.min() < 0", "not (z > 0).all()",
                         "-1 < x.mean() < 1"])  # fmt: skip
assignments = st.tuples(st.sampled_from(NAMES), values).map(lambda pair: [f"{pair[0]} = {pair[1]}"])


def decisions(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    block = st.lists(inner, min_size=1, max_size=2).map(lambda many: [line for one in many for line in one])
    both = st.tuples(tests, block, st.none() | block)
    return both.map(lambda it: [f"if {it[0]}:", *_in(it[1]), *(["else:", *_in(it[2])] if it[2] else [])])


programs = st.lists(st.recursive(assignments, decisions, max_leaves=6), min_size=1, max_size=4)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(programs, st.booleans(), tests)
def test_random_decisions_compute_what_they_computed(program: list[list[str]], early: bool, test: str) -> None:
    lines = ["z = x - y", *(line for one in program for line in one)]
    lines += [f"if {test}:", "    return x * 3", "return x + y + z"] if early else ["return x + y + z"]
    if not any(line.lstrip().startswith("if ") for line in lines):
        return
    text = _model("\n" + textwrap.indent("\n".join(lines), " " * 8))
    at = next(line for line in lines if line.lstrip().startswith("if ")).strip()[3:-1]
    found = proposed(text, at, "decide-in-data")
    old, new = _built(text), _built(found[-1])
    assert not any(isinstance(node, ast.If) for node in ast.walk(_forward(found[-1])))
    for seed in range(6):
        torch.manual_seed(seed)
        x, y = torch.randn(2, 4), torch.randn(2, 4)
        assert torch.allclose(old(x.clone(), y.clone()), new(x.clone(), y.clone()), equal_nan=True), found[-1]


def _in(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _model(forward: str) -> str:
    return HEAD + textwrap.indent(textwrap.dedent(forward).strip("\n"), " " * 8) + "\n"


def _forward(text: str) -> ast.FunctionDef:
    found = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.FunctionDef) and one.name == "forward"]
    return found[0]


def _built(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "model.py", "exec"), names)  # noqa: S102 - the text is ours
    torch.manual_seed(0)
    return names["Net"]().eval()


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("y.min() > 0", "return x * 2"),
        ("y.min() > 0 or self.most > 7", "if self.most > 7:\n            return x\n        return x * 2"),
    ],
    ids=["data alone", "beside Python"],
)
def test_a_special_case_that_computes_nothing_is_left_out(test: str, after: str) -> None:
    before = f"""
        if {test}:
            return x
        return x * 2
        """
    found = proposed(_model(before), "y.min() > 0", "decide-in-data")
    assert ast.unparse(_forward(_model(f"\n        {after}\n"))) in [ast.unparse(_forward(text)) for text in found]


def test_a_special_case_that_gives_no_rows_for_no_rows_is_left_out() -> None:
    before = """
        rows = (x * y)[x[:, 0] > 0]
        if len(rows) == 0:
            return x.new_zeros(0, 2), x.new_zeros(0)
        return rows[:, :2].exp(), rows[:, 2]
        """
    found = proposed(_model(before), "len(rows) == 0", "decide-in-data")
    after = "rows = (x * y)[x[:, 0] > 0]\n        return rows[:, :2].exp(), rows[:, 2]"
    assert ast.unparse(_forward(_model(f"\n        {after}\n"))) in [ast.unparse(_forward(text)) for text in found]


EXPERTS = """
import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(n))

    def forward(self, x: torch.Tensor, ids: torch.Tensor):
        y = torch.zeros_like(x)
        counts = torch.bincount(ids, minlength=len(self.experts)).tolist()
        for i, expert in enumerate(self.experts):
            if counts[i] == 0:
                continue
            rows = torch.where(ids == i)[0]
            y[rows] = expert(x[rows])
        return y{read}
"""


def test_counts_that_only_say_whether_there_is_any_go_with_their_tests() -> None:
    at = "torch.bincount(ids, minlength=len(self.experts))"
    *_, last = proposed(EXPERTS.replace("{read}", ""), at, "decide-in-data")
    assert "counts" not in last
    assert "continue" not in last
    assert "            rows = torch.where(ids == i)[0]\n" in last


def test_counts_that_somebody_else_reads_stay() -> None:
    at = "torch.bincount(ids, minlength=len(self.experts))"
    texts = proposed(EXPERTS.replace("{read}", " * counts[0]"), at, "decide-in-data")
    assert all("counts = " in one for one in texts)


def test_what_is_told_in_eager_only_is_told_where_the_test_holds() -> None:
    text = """
    import torch

    def told(x: torch.Tensor):
        if x.mean() > 0:
            if not torch.compiler.is_compiling():
                print("large", x)
            x = x * 2
        return x
    """
    first, *_ = proposed(text, "x.mean() > 0", "decide-in-data")
    assert "    if not torch.compiler.is_compiling() and chosen:\n        print(" in first
    assert first.count("is_compiling()") == 1


def test_what_a_flag_keeps_for_eager_stays_as_it_is() -> None:
    text = """
    import torch

    def told(x: torch.Tensor):
        in_eager = not torch.compiler.is_compiling()
        if in_eager:
            print(x.mean().item())
        if x.mean() > 0:
            x = x * 2
        return x
    """
    for one in proposed(text, "x.mean() > 0", "decide-in-data"):
        assert "    if in_eager:\n        print(x.mean().item())\n    x = torch.where(x.mean() > 0, x * 2, x)" in one


def test_sizes_that_data_says_are_symbols_and_no_tensors() -> None:
    text = """
    import torch

    def longest(x: torch.Tensor, n: torch.Tensor):
        rows = [one[: int(count.item())] for one, count in zip(x, n)]
        most = max(row.size(0) for row in rows)
        return torch.stack([torch.nn.functional.pad(row, (0, most - row.size(0))) for row in rows])
    """
    ways = ("decide-in-data", "loop-in-data", "numbers-stay-tensors")
    for one in proposed(text, "max(row.size(0) for row in rows)", *ways):
        assert "max(row.size(0) for row in rows)" in one


def test_rows_of_lengths_that_data_says_are_written_with_a_mask() -> None:
    before = """
        lengths = (y > -9).sum(1) // 4
        padded = torch.zeros(2, 3, 4)
        start = 0
        for row, n in enumerate(lengths.tolist()):
            padded[row, :n] = x[start : start + n]
            start += n
        return padded
        """
    (new, *_) = [one for one in proposed(_model(before), "padded[row, :n]", *WAYS) if "masked_scatter" in one]
    x, y = torch.randn(2, 4), torch.randn(2, 4)
    program = torch.export.export(_built(new), (x, y))
    assert torch.equal(program.module()(x, y), _built(_model(before))(x, y))


def test_numbers_that_single_precision_has_not_are_compared_as_in_python() -> None:
    """A tensor of 0.1 is not more than 0.1, and the number that Python reads of it is."""
    forward = """
        top = x.max().item()
        if top > 0.1:
            x = x * 2
        if x.min() > 0.1 or top > 0.5:
            x = x + 1
        return x
        """
    (text, *_) = proposed(_model(forward), "top > 0.1", *WAYS)
    assert "torch.where(top.double() > 0.1, x * 2, x)" in text
    assert "(x.min() > 0.1) | (top > 0.5)" in text


def test_what_is_rounded_is_computed_as_precisely_as_in_python():
    """In single precision 0.7 * 10 is 7."""
    forward = """
        top = x.max().item()
        if top > 0:
            x = x + int(top * 10)
        return x
        """
    (text, *_) = proposed(_model(forward), "int(top * 10)", *WAYS)
    assert "(top.double() * 10).long()" in text


@pytest.mark.parametrize(
    "step",
    [
        "kept.append(x[1, order].mean())\n            order = order[1:][x[0, order[1:]] > 1]",
        "kept.append(x[0, 0] * len(order))\n            order = order[1:][x[0, order[1:]] > 1]",
        "near = x[0, order[1:]] - x[0, order[0]]\n            order = order[1:][near > near.mean()]",
        "kept.append(order[0])\n            order = order[1:][x[0, order[1:]].softmax(0) > 0.1]",
        "kept.append(order[0])\n            order = order[1:][x[0, order[1:]].cumsum(0) < 2]",
        "kept.append(order[0])\n            order = order[1:][self.layers[0](x[:, order[1:]])[0] > 0]",
        "order = order[1:]\n            if order.numel() == 1:\n                break\n            order = order[x[0, order] > 1]",
    ],
    ids=[
        "the mean of those",
        "how many",
        "a limit that they make",
        "their softmax",
        "their running sum",
        "a layer, which nobody knows",
        "the last one is not taken",
    ],
)
def test_those_that_are_left_are_read_for_who_stays_alone(step: str) -> None:
    """A mask in the place of a shorter list knows nothing of what all of those that are left make together."""
    before = f"""
        order = x[0].argsort()
        kept = [x[1, 0]]
        while order.numel() > 0:
            {step}
        return torch.stack(kept).sum() + y
        """
    assert not any("left" in text for text in proposed(_model(before), "order.numel() > 0", *WAYS))


def test_rows_that_vmap_cannot_batch_are_computed_one_after_another() -> None:
    before = """
        places, sampled = [], []
        for row, other in zip(x, y):
            places.append(row.argmax())
            grid = other.reshape(1, 1, 2, 2)
            sampled.append(nn.functional.grid_sample(row.reshape(1, 1, 2, 2), grid, align_corners=True).sum())
        return torch.stack(places), torch.stack(sampled)
        """
    (new, *_) = proposed(_model(before), "for row, other in zip", "loop-in-data")
    assert "torch.vmap(one_row)(x, y)" in new
    (new, *_) = proposed(new, "nn.functional.grid_sample", "loop-in-data")
    assert "torch._higher_order_ops.map(one_row, (x, y))" in new
    rows = torch.export.Dim("rows", min=2, max=16)
    program = torch.export.export(_built(new), (torch.randn(2, 4), torch.randn(2, 4)), dynamic_shapes=[{0: rows}] * 2)
    x, y = torch.randn(5, 4), torch.randn(5, 4)
    for ours, theirs in zip(program.module()(x, y), _built(_model(before))(x, y), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-6)


def test_what_a_loop_does_that_nothing_left_is_not_done_where_python_left_it() -> None:
    before = """
        for step in range(6):
            if step > self.most:
                break
            if x.sum() > 4:
                break
            x = x * 1.5
        else:
            x = x * 0
        return x + y
        """
    assert not any("done" in text for text in proposed(_model(before), "x.sum() > 4", *WAYS))


@pytest.mark.parametrize(
    "tried",
    [
        "share = x / n",  # is infinite
        "share = 1 / n if n > 2 else 0.0",
        "share = self.share(1 / n)",
    ],
)
def test_an_error_that_values_do_not_tell_of_alone_stays(tried: str) -> None:
    text = _model(f"""
        n = int((x > 2.5).sum())
        try:
            {tried}
        except ZeroDivisionError:
            share = 0.5
        return y * share
        """)
    assert all("try:" in one for one in proposed(text, "int((x > 2.5).sum())", *WAYS))


BY_VALUE = {
    "sums and counts": """
        total, n = 0.0, 0
        for c in torch.unique(y):
            total = total + x[y == c].mean()
            n += 1
        return total / n
        """,
    "what a group adds to several things": """
        biggest = []
        total = 0.0
        for c in y.unique().tolist():
            group = x[y == c]
            total -= group.mean()
            biggest.append(group.sum())
        return total + torch.stack(biggest)
        """,
    "skipped groups": """
        sizes = []
        total, n = 0.0, 0
        for c in torch.unique(y):
            members = y == c
            if members.sum() < 2:
                continue
            total = total + x[members].mean()
            n += 2
            sizes.append(members.sum())
        return total / n + torch.stack(sizes)
        """,
    "groups that are large": """
        total = 0.0
        for c in torch.unique(y):
            members = y == c
            if members.sum() > 1:
                total += x[members].mean()
        return total + 0 * x
        """,
    "the mean of its group for each row": """
        means = torch.zeros_like(x)
        for c in torch.unique(y):
            members = y == c
            means[members] = x[members].mean()
        return means * 2
        """,
    "the spread of rows": """
        spreads = []
        for c in torch.unique(y):
            rows = x[:, None].repeat(1, 3)[y == c]
            spreads.append(((rows - rows.mean(0)) ** 2).sum(dim=1).mean())
        return torch.stack(spreads)
        """,
}


@pytest.mark.parametrize("before", BY_VALUE.values(), ids=BY_VALUE)
def test_what_is_computed_for_each_value_is_computed_for_all_at_once(before: str) -> None:
    text = _model(before)
    at = next(line.strip() for line in before.split("\n") if line.strip().startswith("for "))
    (new, *_) = [_built(one) for one in proposed(text, at, "loop-in-data") if "vmap" in one]
    old = _built(text)
    x, y = torch.randn(7), torch.tensor([3, 1, 1, 3, 0, 1, 3])
    program = torch.export.export(new, (x, y))
    for groups in (y, torch.tensor([2, 2, 2, 2, 2, 2, 2]), torch.tensor([5, 4, 5, 4, 5, 4, 5])):
        assert torch.allclose(old(x, groups), new(x, groups), atol=1e-6)
        assert torch.allclose(old(x, groups), program.module()(x, groups), atol=1e-6)


@pytest.mark.parametrize(
    "step",
    [
        "out[y == c + 1] = x[y == c].mean()",  # not each row is set
        "out[y == c] = x[y == c] * 2",  # each row to something else
        "out[y == c] = out.sum()",
        "total = total + x[y == c].sum() * n\n            n += 1",
    ],
)
def test_steps_that_are_more_than_one_value_are_not_mapped(step: str) -> None:
    text = _model(f"""
        out, total, n = torch.zeros_like(x), 0.0, 0
        for c in torch.unique(y):
            {step}
        return out + total
        """)
    assert all("vmap" not in one for one in proposed(text, "for c in", "loop-in-data"))


REPEATED = {
    "in a list that is joined": """
        return torch.cat([row.expand(n.item(), -1) for row, n in zip(x, y)])
        """,
    "each row": """
        rows = []
        for row, n in zip(x, y):
            rows.append(row.expand(int(n), -1))
        return torch.cat(rows)
        """,
    "rows that are there": """
        rows = []
        for i in range(len(x)):
            n = y[i].item()
            if n > 0:
                rows.append(x[i].unsqueeze(0).repeat(n, 1))
        return torch.cat(rows, dim=0) * 2
        """,
    "counts in a list": """
        rows = []
        for row, n in zip(x, y.tolist()):
            rows.append(row[None].expand(n, -1))
        return torch.cat(rows, 0)
        """,
}


@pytest.mark.parametrize("before", REPEATED.values(), ids=REPEATED)
def test_rows_that_are_repeated_as_data_says_are_repeated_at_once(before: str) -> None:
    text = _model(before)
    at = re.search(r"for \w+, n in zip\(x, y.*\):|n\.item\(\)|y\[i\]\.item\(\)", before)
    assert at is not None
    (new,) = [_built(one) for one in proposed(text, at[0], "loop-in-data") if "repeat_interleave" in one]
    x, y = torch.randn(3, 4), torch.tensor([2, 0, 3])
    program = torch.export.export(new, (x, y))
    for counts in (y, torch.tensor([0, 1, 0])):
        assert torch.equal(_built(text)(x, counts), new(x, counts))
        assert torch.equal(_built(text)(x, counts), program.module()(x, counts))


@pytest.mark.parametrize(
    ("step", "end"),
    [
        ("rows.append(row.repeat(int(n)))", "torch.cat(rows)"),
        ("rows.append(row.expand(int(n), -1))", "torch.stack(rows)"),
        ("rows.append(row.expand(int(n), -1))", "torch.cat(rows, 1)"),
        ("rows.append(row.expand(int(n), -1))", "torch.cat(rows) / len(rows)"),
        ("rows.append(row.expand(int(n) + 1, -1))", "torch.cat(rows)"),
    ],
)
def test_rows_that_are_put_together_otherwise_are_not_repeated_at_once(step: str, end: str) -> None:
    text = _model(f"""
        rows = []
        for row, n in zip(x, y):
            {step}
        return {end}
        """)
    assert all("repeat_interleave" not in one for one in proposed(text, "for row, n", "loop-in-data"))
