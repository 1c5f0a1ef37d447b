"""Objects of classes that pytree does not know, where a file gives them to an export."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exportlint.edited_source import edited
from exportlint.files import SourceFile
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, check

if TYPE_CHECKING:
    from pathlib import Path

    from exportlint.finding import Finding

RULES = (all_rules()["unregistered-pytree"],)
HEAD = """import torch
from dataclasses import dataclass

@dataclass
class Batch:
    ids: torch.Tensor
    scale: int = 2

class Net(torch.nn.Module):
    def forward(self, x, given=None):
        return x

x = torch.ones(2)
"""
EXPORT = "torch.export.export(Net(), "


def _found(folder: Path, text: str, **others: str) -> list[Finding]:
    for name, content in others.items():
        (folder / f"{name}.py").write_text(content, "utf-8")
    file = folder / "model.py"
    file.write_text(text, "utf-8")
    return list(check([SourceFile(file, "model.py")], RULES, StaticOptions()).findings)


@pytest.mark.parametrize(
    "lines",
    [
        f"{EXPORT}(x, Batch(x)))",
        f"{EXPORT}(x,), {{'given': Batch(x)}})",
        f"{EXPORT}args=(x,), kwargs={{'given': (x, [Batch(x)])}})",
        f"batch = Batch(x)\nargs = (x, {{'a': batch}})\n{EXPORT}args)",
        f"def main():\n    batches = [Batch(x), Batch(x)]\n    {EXPORT}(x, batches))\n\nmain()",
        "model = Net()\nexample_args = (x, Batch(x))",
    ],
    ids=["by-place", "by-name", "inside", "by-way-of-names", "in-a-function", "kept"],
)
def test_what_is_surely_given_is_an_error(tmp_path: Path, lines: str) -> None:
    (found,) = _found(tmp_path, HEAD + lines)
    assert (found.severity.value, found.case) == ("error", "BadObjectGiven")
    assert found.line > HEAD.count("\n")


@pytest.mark.parametrize(
    "lines",
    [
        f"torch.export.register_dataclass(Batch, serialized_type_name='a.Batch')\n{EXPORT}(x, Batch(x)))",
        "for cls in (Batch,):\n    torch.export.register_dataclass(cls, serialized_type_name='a.B')\n"
        + EXPORT
        + "(x, Batch(x)))",
        f"{EXPORT}(x, Batch(x).ids))",
        f"{EXPORT}(x, vars(Batch(x))))",
        "Net()(x, Batch(x))",
    ],
    ids=["registered", "registered-in-a-loop", "a-field", "taken-apart", "called-only"],
)
def test_what_pytree_knows_or_never_sees_is_none(tmp_path: Path, lines: str) -> None:
    assert _found(tmp_path, HEAD + lines) == []


def test_the_class_of_another_file_is_registered_there(tmp_path: Path) -> None:
    config = "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Config:\n    scale: float\n"
    script = f"from config import Config\n{HEAD}{EXPORT}(x, Config(2.0)))"
    (found,) = _found(tmp_path, script, config=config)
    assert found.severity.value == "warning"  # a file that nobody reads may register it
    (fix,) = found.rewrites
    assert {edit.path.rpartition("/")[2] for edit in fix.edits} == {"config.py"}
    assert "`scale` becomes a constant of the program" in fix.description
    after = edited(config, fix.edits)
    assert after.endswith('\n\n\ntorch.export.register_dataclass(Config, serialized_type_name="config.Config")\n')
    assert "import torch\n" in after


def test_a_file_that_is_given_as_text_is_read_so_where_another_one_imports_it(tmp_path: Path) -> None:
    config = "from dataclasses import dataclass\n\n@dataclass\nclass Config:\n    scale: float\n"
    (tmp_path / "config.py").write_text(config, "utf-8")
    model = tmp_path / "model.py"
    model.write_text(f"from config import Config\n{HEAD}{EXPORT}(x, Config(2.0)))", "utf-8")
    text = f"import torch\n{config}\ntorch.export.register_dataclass(Config, serialized_type_name='c.Config')\n"
    given = [SourceFile(model, "a.py"), SourceFile(tmp_path / "config.py", "config.py", text)]
    assert check(given, RULES, StaticOptions()).findings == ()
