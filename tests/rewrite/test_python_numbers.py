"""What Python or NumPy does with a number is done by what needs no value of it."""

import pytest
from proposed import proposed

torch = pytest.importorskip("torch")

HEAD = "import math\nfrom collections import Counter\n\nimport numpy as np\nimport torch\nfrom torch import nn\n\n\n"
WRITTEN = [
    ("divmod(x.argmax().item(), 3)", "(x.argmax().item() // 3, x.argmax().item() % 3)"),
    ("len(set(x.tolist()))", "torch.unique(x).shape[0]"),
    ("Counter(x.tolist())[3]", "(x == 3).sum().item()"),
    ("x.tolist().count(0)", "(x == 0).sum().item()"),
    ("sum(range(x.argmax().item()))", "torch.arange(x.argmax().item()).sum().item()"),
    ("len(range(x.argmax().item()))", "max(x.argmax().item(), 0)"),
    ("x.split(x.argmax().item())[0]", "x[:x.argmax().item()]"),
    ("torch.stack([x] * x.argmax().item())", "x.repeat(x.argmax().item(), *[1] * x.dim())"),
    ("np.prod(x.shape[1:])", "math.prod(x.shape[1:])"),
    ("np.ceil(np.log(x.shape[0])).astype(int).item()", "int(math.ceil(math.log(x.shape[0])))"),
]
SITES = {
    "len(set(x.tolist()))": "set(x.tolist())", "Counter(x.tolist())[3]": "Counter(x.tolist())",
    "x.split(x.argmax().item())[0]": "x.split(x.argmax().item())",
    "torch.stack([x] * x.argmax().item())": "[x] * x.argmax().item()",
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), WRITTEN)
def test_what_python_does_with_a_number_is_done_without_its_value(before, after):
    text = f"{HEAD}class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return {before}\n"
    assert f"return {after}\n" in proposed(text, SITES.get(before, before), "python-numbers")[0]


def test_a_list_of_one_tensor_that_is_stacked_later_is_a_repetition():
    text = (
        f"{HEAD}class Net(nn.Module):\n    def forward(self, x, n):\n"
        "        rows = [x] * n.item()\n        return torch.stack(rows)\n"
    )
    (new,) = proposed(text, "[x] * n.item()", "python-numbers")
    assert new.endswith("def forward(self, x, n):\n        return x.repeat(n.item(), *[1] * x.dim())\n")


def test_the_domain_of_a_function_is_checked_where_python_checks_it():
    text = f"{HEAD}class Net(nn.Module):\n    def forward(self, x: torch.Tensor):\n        return math.log(x.max().item())\n"
    (new,) = proposed(text, "math.log(x.max().item())", "python-numbers")
    assert "torch._assert_async(x.max().detach() > 0" in new
    assert "return torch.log(x.max().detach())" in new


def test_a_number_of_numpy_is_kept_as_one_of_python():
    text = (
        f"{HEAD}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.scale = np.sqrt(8)\n\n    def forward(self, x: torch.Tensor):\n        return x / self.scale\n"
    )
    (new,) = proposed(text, "x / self.scale", "python-numbers")
    assert "self.scale = np.sqrt(8).item()" in new


def test_nothing_is_written_for_numbers_that_python_knows():
    text = f"{HEAD}class Net(nn.Module):\n    def forward(self, x: torch.Tensor, n: int = 3):\n        return x * math.log(n)\n"
    assert proposed(text, "math.log(n)", "python-numbers") == []
