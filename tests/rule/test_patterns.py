"""What torch code looks like (exportlint/rule/patterns.py, taint.py)."""

import libcst as cst
import pytest

from exportlint import ValuesUsed, flat_targets, made_from_inputs, path_on_self, root_name, written_in_place
from exportlint.testing import code_of

WRITES = {
    "x[0] = 1": ["x"],
    "x[0], y = 1, 2": ["x"],
    "x += 1": ["x"],
    "x[0] += 1": ["x"],
    "x.add_(y)": ["x"],
    "self.mean.mul_(0.9).add_(y)": ["self.mean.mul_(0.9)"],
    "torch.relu_(x)": ["x"],
    "nn.init.ones_(self.w)": ["self.w"],
    "F.relu(x, inplace=True)": ["x"],
    "torch.add(a, b, out=x)": ["x"],
    "torch.max(a, 0, out=(x, y))": ["x", "y"],
    "x = 1": [],
    "x.add(y)": [],
    "F.relu(x, inplace=False)": [],
    "x.t_()": [],
    "x.requires_grad_(True)": [],
    "x.__setitem__": [],
}


def text(node):
    return cst.Module([]).code_for_node(node)


@pytest.mark.parametrize(("source", "written"), WRITES.items(), ids=WRITES)
def test_what_is_written_in_place(source, written):
    node = cst.parse_statement(source).body[0]
    node = node.value if isinstance(node, cst.Expr) else node
    assert [text(part) for part in written_in_place(node)] == written


def test_targets_are_taken_apart():
    node = cst.parse_statement("(a, *b), [c.d, e[0]] = f = 1").body[0]
    assert [text(target) for target in flat_targets(node)] == ["a", "b", "c.d", "e[0]", "f"]


def test_chains_have_a_root_and_a_path():
    assert root_name(cst.parse_expression("self.store['k'].t().data")) == "self"
    assert path_on_self(cst.parse_expression("self.meter.count")) == "meter.count"
    assert path_on_self(cst.parse_expression("meter.count")) == ""


def test_names_made_from_the_values_of_inputs():
    source = """
def forward(self, x, scale):
    size = x.shape[0]
    table = torch.arange(size, device=x.device)
    like = torch.zeros_like(x)
    y = x * 2
    z = helper(y, table)
    w = scale + size
"""
    names = made_from_inputs(cst.parse_module(source), lambda name: name.value == "x")
    assert names == {"x", "y", "z"}


def test_what_a_function_of_the_project_asks_for_its_device_alone_is_no_value():
    code = code_of("""
from torch import nn
import torch
def table(width, like):
    return torch.arange(width, device=like.device, dtype=like.dtype)
def scaled(width, like):
    return table(width, like) * like.mean()
def again(width, like):
    return again(width - 1, like)
class Net(nn.Module):
    def build(self, like, width=3):
        return table(width, like=like)
    def forward(self, x, y, z, w):
        return self.build(x), table(3, y), scaled(3, z), again(3, w), [table(3, *w)]
""", "forward")  # fmt: skip
    returned = next(node for node in _nodes(code.tree) if isinstance(node, cst.Return))
    returned.visit(used := ValuesUsed(lambda func: code.value(func).function))
    assert used.names & {"x", "y", "z", "w"} == {"z", "w"}


def _nodes(node: cst.CSTNode):
    yield node
    for child in node.children:
        yield from _nodes(child)
