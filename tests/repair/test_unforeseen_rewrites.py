"""What only a trial finds, where the engine knows no value, is rewritten by the syntax of its line."""

from pathlib import Path

import pytest

from exportlint.edited_source import edited
from exportlint.finding import Evidence, Finding, Fix, Severity
from exportlint.static.unforeseen_rewrites import with_rewrites

_PATH = Path("/nowhere/net.py")
_BRANCH = "data-dependent-branch"


def _first(text: str, line: int, rule: str = _BRANCH, evidence: Evidence = Evidence.DISCOVERED) -> str:
    """The text after the first rewrite of what is found at its line; "" where there is none."""
    found = Finding(rule, "net.py", line, 1, line, 1, Severity.ERROR, "seen", evidence)
    rewrites = with_rewrites(found, _PATH, text).rewrites
    return edited(text, rewrites[0].edits) if rewrites else ""


@pytest.mark.parametrize(
    ("check", "kept"),
    [
        ("assert (t[1:] > t[:-1]).all(), 'order'", "torch._assert_async((t[1:] > t[:-1]).all(), 'order')"),
        ("assert t.dim() == 1 and t.max() > low", "assert t.dim() == 1\n    torch._assert_async(t.max() > low, "),
    ],
    ids=["a-comparison", "with-a-test-of-Python"],
)
def test_checks_are_kept(check: str, kept: str) -> None:
    assert kept in _first(f"import torch\n\ndef solve(t, ok, low):\n    {check}\n    return t\n", 4)


def test_tests_of_python_stay() -> None:
    assert _first("import torch\n\ndef solve(t):\n    assert isinstance(t, torch.Tensor)\n", 4) == ""


def test_returned_distribution_is_registered() -> None:
    source = "import torch\nfrom torch.distributions import Normal\n\ndef made(mean):\n    return Normal(mean, 1.0)\n"
    after = _first(source, 5, "unregistered-pytree")
    assert "if torch.distributions.Normal not in torch.utils._pytree.SUPPORTED_NODES:" in after


@pytest.mark.parametrize("evidence", [Evidence.SUSPECTED, Evidence.CONFIRMED])
def test_what_a_rule_foresaw_is_left_to_it(evidence: Evidence) -> None:
    assert _first("def f(t):\n    assert t.all()\n", 2, evidence=evidence) == ""


@pytest.mark.parametrize(
    ("reason", "order"),
    [
        # What the statement alone needs is tried before a setting of the process, and that before the whole function.
        ("Dynamic shape operator: set capture_dynamic_output_shape_ops", ["the line", "by a setting", "the function"]),
        ("Unsupported Tensor.item() call", ["by a setting", "the line", "the function"]),
    ],
)
def test_a_setting_comes_behind_the_first_way_for_a_size(reason: str, order: list[str]) -> None:
    text = "import torch\n\ndef kept(t: torch.Tensor):\n    return t[t > 0].sum().item()\n"
    own = (Fix("change the line"), Fix("change the function"))
    found = Finding(
        *("data-dependent-shape", "net.py", 4, 1, 4, 1, Severity.WARNING, reason, Evidence.CONFIRMED),
        stage="breaks",
        rewrites=own,
    )
    told = [one.description for one in with_rewrites(found, _PATH, text).rewrites]
    assert [next(word for word in order if word in one) for one in told] == order


def test_what_is_left_out_of_an_export_is_left_out_of_what_torch_compiles() -> None:
    text = (
        "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n"
        "        self.log.info('size %s', self.weighed())\n        return x\n"
    )
    found = Finding(
        *("trial-breaks", "net.py", 6, 1, 6, 1, Severity.WARNING, "Logger method not supported", Evidence.DISCOVERED),
        stage="breaks",
    )
    told = [edited(text, one.edits) for one in with_rewrites(found, _PATH, text).rewrites]
    assert not any("is_exporting" in one for one in told)
    assert any("if not torch.compiler.is_compiling():\n            self.log.info(" in one for one in told)
