"""What Python or NumPy draws is drawn by torch, and the ways from an array to a tensor go."""

import pytest
from rewritten_text import forward, rewritten


def drawn(body):
    text = rewritten("import random\nimport numpy as np\n" + forward(body))
    return text.partition("self, x: torch.Tensor):\n")[2].strip()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("random.random()", "torch.rand(())"),
        ("random.uniform(0, 1)", "torch.rand(())"),
        ("random.uniform(-a, a)", "(torch.rand(()) * (a - (-a)) + (-a))"),
        ('random.uniform(0, a.get("b", {}))', '(torch.rand(()) * ((a.get("b", {})) - 0) + 0)'),
        ("random.gauss(0.5, 2.0)", "(torch.randn(()) * 2.0 + 0.5)"),
        ("random.randint(1, 6)", "torch.randint(1, 6 + 1, ())"),
        ("random.choice(self.scales)", "torch.tensor(self.scales)[torch.randint(len(self.scales), (1,))].squeeze(0)"),
        ("float(np.random.uniform())", "torch.rand(())"),
        ("torch.from_numpy(np.random.randn(*x.shape))", "torch.randn(*x.shape, dtype=torch.float64)"),
        ("torch.from_numpy(np.random.randn(2, 4).astype(np.float32))", "torch.randn(2, 4, dtype=torch.float32)"),
        ("torch.tensor(np.random.rand(4), dtype=x.dtype)", "torch.rand(4, dtype=x.dtype)"),
        ("torch.Tensor(np.random.normal(size=(4,)))", "torch.randn((4,), dtype=torch.float32)"),
        (
            "torch.from_numpy(0.1 * np.random.standard_normal(4)).float()",
            "(0.1 * torch.randn(4, dtype=torch.float32))",
        ),
        ("torch.tensor(np.random.randint(0, 3, 4))", "torch.randint(0, 3, 4, dtype=torch.int64)"),
    ],
)
def test_a_draw_is_one_of_torch(before, after):
    assert drawn(f"return x + {before}") == f"return x + {after}"


def test_an_array_with_a_name_is_a_tensor_where_it_is_read():
    body = 'noise = np.random.randn(2, 4).astype("float32")\nreturn x + torch.from_numpy(noise)'
    assert drawn(body).split("\n        ") == ["noise = torch.randn(2, 4, dtype=torch.float32)", "return x + noise"]


@pytest.mark.parametrize(
    "body",
    [
        "random.seed(0)\nreturn x * random.random()",
        "noise = np.random.randn(4)\nreturn x + torch.from_numpy(np.sort(noise))",
        "return x + random.Random(3).random()",
        "return x + random.betavariate(1.0, 2.0)",
    ],
    ids=["a seed of its own", "an array that goes elsewhere", "a generator of its own", "no such function in torch"],
)
def test_others_stay(body):
    assert drawn(body).split("\n        ") == body.split("\n")
