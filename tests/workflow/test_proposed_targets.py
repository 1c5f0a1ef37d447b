"""Which targets a project could declare, by reading alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.files import collect
from exportlint.workflow.proposed_targets import Seen, seen_in

if TYPE_CHECKING:
    from pathlib import Path

NETS = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)


class Base(nn.Module):
    pass


class Encoder(Base):
    def __init__(self, width, depth=2):
        super().__init__()
        self.block = Block(width)


class NotAModel:
    pass
"""


def seen(folder: Path, **files: str) -> Seen:
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return seen_in(collect([str(folder)]).files, folder)


def parts(found: Seen) -> dict[str, dict[str, str]]:
    return {one.name: dict(one.parts) for one in found.proposals}


def test_model_and_example_args_with_what_belongs_to_them(tmp_path: Path) -> None:
    text = (
        f"{NETS}\nmodel = Encoder(3)\nexample_args = (torch.ones(3),)\nexample_kwargs = {{}}\ndynamic_shapes = None\n"
    )
    assert parts(seen(tmp_path, enc=text)) == {
        "enc": {
            "model": "enc.py:model",
            "args": "enc.py:example_args",
            "kwargs": "enc.py:example_kwargs",
            "dynamic_shapes": "enc.py:dynamic_shapes",
        }
    }


def test_a_class_with_static_inputs(tmp_path: Path) -> None:
    text = "import torch\nclass MyGate(torch.nn.Module):\n    @staticmethod\n    def inputs():\n        return (1,)\n"
    assert parts(seen(tmp_path, gate=text)) == {"my-gate": {"model": "gate.py:MyGate", "args": "gate.py:MyGate.inputs"}}


def test_functions_without_arguments_also_where_the_model_has_a_name_first(tmp_path: Path) -> None:
    made = "def make_encoder(width=8):\n    net = Encoder(width)\n    net.load()\n    return net.to('cpu').eval()\n"
    given = "def sample_inputs():\n    x = torch.randn(2, 8)\n    return x\n"
    assert parts(seen(tmp_path, src__enc=f"{NETS}\n{made}\n{given}")) == {
        "encoder": {"model": "src/enc.py:make_encoder", "args": "src/enc.py:sample_inputs"}
    }


def test_the_inputs_whose_name_is_most_like_the_models(tmp_path: Path) -> None:
    text = f"{NETS}\ndef build():\n    return Encoder(3)\n"
    text += "dummy_input = torch.ones(1)\nencoder_inputs = (torch.ones(3),)\n"
    assert parts(seen(tmp_path, enc=text))["enc"]["args"] == "enc.py:encoder_inputs"


def test_inputs_in_the_one_file_that_imports_the_class(tmp_path: Path) -> None:
    net = "import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x\n"
    data = "import torch\nfrom net import Net\ndef example_args():\n    return (torch.ones(3),)\n"
    assert parts(seen(tmp_path, net=net, data=data)) == {"net": {"model": "net.py:Net", "args": "data.py:example_args"}}


def test_files_that_call_their_models_alike_have_each_their_own(tmp_path: Path) -> None:
    net = "import torch\nclass Net(torch.nn.Module):\n    pass\ninputs = (torch.ones(3),)\n"
    assert parts(seen(tmp_path, a=net, b=net)) == {
        "a-net": {"model": "a.py:Net", "args": "a.py:inputs"},
        "b-net": {"model": "b.py:Net", "args": "b.py:inputs"},
    }


def test_parts_of_models_and_tests_are_no_targets(tmp_path: Path) -> None:
    given = "\ninputs = (torch.ones(3),)\n"
    block = NETS.replace("def __init__(self, width):", "def __init__(self, width=3):", 1)
    made = "\ndef build():\n    return Encoder(3)\n"
    assert list(parts(seen(tmp_path, enc=block + made + given, test_enc=NETS + made + given))) == ["enc"]


def test_a_script_and_the_model_that_it_builds_with_inputs_that_can_be_written_elsewhere(tmp_path: Path) -> None:
    script = (
        "import torch\nfrom nets import Encoder\n\n"
        "def main():\n    model = Encoder(8)\n    x = torch.randn(2, 8)\n"
        "    torch.export.export(model, (x, torch.tensor([1])))\n\n"
        "if __name__ == '__main__':\n    main()\n"
    )
    found = seen(tmp_path, nets=NETS, save=script)
    assert [(one.path, one.line, one.call) for one in found.scripts] == [("save.py", 7, "torch.export.export")]
    (one,) = found.unfinished
    assert (one.cls, one.place) == ("nets.py:Encoder", "save.py:7")
    assert (one.build, one.inputs) == ("Encoder(8)", "(torch.randn(2, 8), torch.tensor([1]))")
    assert found.proposals == ()


def test_inputs_that_come_from_elsewhere_are_not_made_up(tmp_path: Path) -> None:
    script = "import torch\nfrom nets import Encoder\nfrom data import batch\nmodel = Encoder(8)\nmodel(batch())\n"
    (one,) = seen(tmp_path, nets=NETS, run=script).unfinished
    assert (one.inputs, one.place) == ("", "run.py:4")


def test_files_that_cannot_be_read_are_passed_by(tmp_path: Path) -> None:
    (tmp_path / "latin.py").write_bytes(b"import torch # \xff\n")
    found = seen(tmp_path, broken="import torch\nclass (", deep=f"import torch\nx = {'-' * 5000}1\n", empty="")
    assert (found.proposals, found.scripts, found.unfinished) == ((), (), ())
