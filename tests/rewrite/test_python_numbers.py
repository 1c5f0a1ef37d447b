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


CHOSEN = [
    (
        ["return self.heads[f'h{n.argmax().item()}'](x)"],
        (
            "torch.stack([each(x) for each in self.heads.values()])"
            "[torch.tensor([int(key.removeprefix('h')) for key in self.heads]) == n.argmax().item()][0]"
        ),
    ),
    (
        ["head = self.heads[f'h{n.argmax().item()}']", "return head(x)"],
        (
            "torch.stack([each(x) for each in self.heads.values()])"
            "[torch.tensor([int(key.removeprefix('h')) for key in self.heads]) == n.argmax().item()][0]"
        ),
    ),
    (
        ["key = NAMES[n.argmax().item()]", "return self.heads[key](x)"],
        (
            "torch.stack([each(x) for each in [self.heads[name] for name in NAMES]])"
            "[torch.tensor(range(len(NAMES))) == n.argmax().item()][0]"
        ),
    ),
    (
        ["return x + self.scales[f'{n.argmax().item()}s']"],
        (
            "x + torch.stack(list(self.scales.values()))"
            "[torch.tensor([int(key.removesuffix('s')) for key in self.scales]) == n.argmax().item()][0]"
        ),
    ),
]


@pytest.mark.parametrize(("lines", "after"), CHOSEN, ids=["called", "called by a name", "by a table", "not called"])
def test_what_a_text_of_data_chooses_is_one_of_all(lines, after):
    body = "".join(f"        {line}\n" for line in lines)
    text = (
        f"{HEAD}NAMES = ['h0', 'h1', 'h2']\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.heads = nn.ModuleDict({name: nn.Linear(3, 3) for name in NAMES})\n"
        "        self.scales = nn.ParameterDict({f'{i}s': nn.Parameter(torch.randn(3)) for i in range(3)})\n\n"
        f"    def forward(self, x, n):\n{body}"
    )
    at = next(one for one in ("f'h{n", "NAMES[n", "f'{n") if one in body)
    (new,) = proposed(text, at, "python-numbers")
    assert new.endswith(f"    def forward(self, x, n):\n        return {after}\n")
    nets = []
    for source in (text, new):
        names = {}
        exec(compile(source, "net", "exec"), names)  # noqa: S102 - the text is ours
        torch.manual_seed(0)
        nets.append(names["Net"]().eval())
    x = torch.randn(2, 3)
    program = torch.export.export(nets[1], (x, torch.eye(3)[0]), strict=False).module()
    for n in torch.eye(3):
        assert torch.equal(nets[0](x, n), nets[1](x, n))
        assert torch.equal(nets[0](x, n), program(x, n))


def test_a_text_of_a_number_that_is_set_again_stays():
    lines = "        n = n.argmax().item()\n        key = f'h{n}'\n        n = 0\n        return self.heads[key](x)\n"
    text = (
        f"{HEAD}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.heads = nn.ModuleDict({f'h{i}': nn.Linear(3, 3) for i in range(3)})\n\n"
        f"    def forward(self, x, n):\n{lines}"
    )
    assert proposed(text, "f'h{n", "python-numbers") == []
