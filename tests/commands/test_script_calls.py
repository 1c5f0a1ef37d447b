"""The call that a script makes is the one that is judged: what it fails of is an error at its line, with what helps."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from processes import exportlint

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

HEAD = "import torch\nfrom torch import nn\n\n\n"

ONLY_NON_STRICT = """\
class Named(nn.Module):
    def forward(self, x):
        import inspect
        return x * len(inspect.getsource(type(self)))


program = torch.export.export(Named().eval(), (torch.randn(2, 16),), strict=True)
"""

OTHER_BATCH = """\
model = nn.Sequential(nn.Linear(16, 4), nn.ReLU()).eval()
program = torch.export.export(model, (torch.randn(2, 16),))
for rows in (2, 4):
    print(program.module()(torch.randn(rows, 16)).shape)
"""

TRACED_WRAPPER = """\
compiled = torch.compile(nn.Linear(8, 8).eval(), backend="eager")
traced = torch.jit.trace(compiled, torch.randn(2, 8))
"""

OWN_END = """\
program = torch.export.export(nn.Linear(8, 8).eval(), (torch.randn(2, 8),))
raise SystemExit(3)
"""

COMPILED = """\
def step(x, limit):
    return x * 2 if x.sum() > limit else x


fast = torch.compile(step, backend="eager")
print(fast(torch.randn(4, 8), 0.5))
"""

NO_CONVERTER = """\
class Chosen(nn.Module):
    def forward(self, x, mask):
        return torch.masked_select(x, mask).sum()


torch.onnx.export(Chosen().eval(), (torch.randn(4, 4), torch.rand(4, 4) > 0.5), "chosen.onnx", dynamo=True)
"""

AXES = """\
class Halves(nn.Module):
    def forward(self, frames):
        return frames.relu() if frames.shape[0] < 8 else frames


axes = {"frames": {0: "batch"}}
torch.onnx.export(Halves().eval(), (torch.randn(4, 8),), "h.onnx", input_names=["frames"], dynamic_axes=axes)
"""

INSIDE_OF_TORCH = """\
from torch._higher_order_ops.while_loop import while_loop

steps = while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, v * 2), (torch.tensor(0), torch.ones(3)))
program = torch.export.export(nn.Linear(8, 8).eval(), (torch.randn(2, 8),))
"""

OLD_ONNX = """\
class Cached(nn.Module):
    def forward(self, x, cache):
        kept = torch.zeros_like(cache)
        mine = kept[0]
        mine[:, :] = x[:, -2:]
        return x * 2, kept


names = {"input_names": ["x", "cache"], "output_names": ["y", "kept"]}
torch.onnx.export(Cached().eval(), (torch.randn(3, 4), torch.randn(2, 3, 2)), "c.onnx", dynamo=False, **names)
"""

TRACED_SIZE = """\
class Repeated(nn.Module):
    def forward(self, x):
        return x.new_zeros(int(x.shape[0]), 4) + x


traced = torch.jit.trace(Repeated().eval(), torch.randn(3, 4))
"""

HALF_A_BATCH = """\
class Pairs(nn.Module):
    def forward(self, x):
        if x.shape[0] % 2 == 0:
            return x * 2
        return x + 1


pairs = Pairs().eval()
program = torch.export.export(pairs, (torch.randn(4, 3),), dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}})
for rows in (6, 5):
    print(program.module()(torch.randn(rows, 3)))
"""

OLD_AOT = """\
class Boxes(nn.Module):
    def forward(self, image, boxes):
        return image.mean() + boxes.sum()


rows = torch.export.Dim("rows", max=12)
sample = (torch.randn(1, 3, 8, 8), torch.Tensor([[0.5, 0.5, 1.0, 1.0]]))
torch._export.aot_compile(Boxes().eval(), sample, dynamic_shapes={"image": None, "boxes": {0: rows}})
"""

LOADED_AS_A_TARGET = """\
class Smoothed(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(x)


model = Smoothed()
example_args = (torch.randn(3, 4),)
program = torch.export.export(model, example_args)
raise ValueError("a lowering that wants eval mode")
"""

NONE_TRACED = """\
class Encoder(nn.Module):
    def forward(self, x, cache=None):
        kept = None if cache is None else cache + 1
        return x * 2, kept


traced = torch.jit.trace(Encoder().eval(), torch.randn(2, 8))
"""

UNSCRIPTABLE = """\
class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x):
        for number in range(2):
            x = self.layers[number](x)
        return x


scripted = torch.jit.script(Layers().eval())
"""

BARE_DICT = """\
class Forecast(nn.Module):
    def forward(self, window):
        return window["past"] * window["mask"]


window = {"past": torch.randn(1, 8), "mask": torch.ones(1, 8)}
torch.onnx.export(Forecast().eval(), window, "forecast.onnx")
"""

SHORT_SEQUENCE = """\
class Segments(nn.Module):
    def forward(self, x):
        if x.shape[1] > 16:
            x = x.reshape(x.shape[0], -1, 16).mean(2)
        return x.sum(1)


axes = {"x": {1: "frames"}}
torch.onnx.export(
    Segments().eval(), (torch.randn(2, 64),), "s.onnx", input_names=["x"], dynamic_axes=axes, dynamo=False
)
"""

OWN_OPERATOR = """\
library = torch.library.Library("shop", "DEF")
library.define("twice(Tensor x) -> Tensor")
library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")


class Shop(nn.Module):
    def forward(self, x):
        return torch.ops.shop.twice(x) + 1


program = torch.export.export(Shop().eval(), (torch.randn(3),))
"""


def script(folder: Path, source: str) -> Path:
    """The script `net.py`, with the imports that all of them have."""
    file = folder / "net.py"
    file.write_text(HEAD + source, "utf-8")
    return file


# source -> exit code, what is said, and what is not
SAID = {
    "strict": (
        ONLY_NON_STRICT,
        1,
        ("error[unsupported-builtin]", "instead (verified): export with `strict=False`", "net.py:8:"),
        ("Exported. Next",),
    ),
    "another batch": (
        OTHER_BATCH,
        1,
        ("error[undeclared-size]", "net.py:8:", "Guard failed", 'Dim("batch", min=1'),
        ("Exported. Next", "Found nothing"),
    ),
    "a traced wrapper": (
        TRACED_WRAPPER,
        1,
        ("error[torchscript-remnant]", "tried: the script's `torch.jit.trace` raises here", "jit-trace"),
        ("the traced module agrees", "trial-jit-trace"),
    ),
    "an end of its own": (OWN_END, 1, ("error[trial-script] the script ended with exit code 3",), ("Exported. Next",)),
    "a function that is compiled": (
        COMPILED,
        1,
        (
            "warning[data-dependent-branch]",
            "tried: torch.compile breaks the graph here",
            "(torch 2.13.0, torch.compile)",
        ),
        ("what is exported is a `function`", "error[", "note["),
    ),
    "no converter": (
        NO_CONVERTER,
        1,
        ("net.py:7:", "torch.onnx has no converter for aten.masked_select.default"),
        ("Exported. Next", "trial-script", "\x1b"),
    ),
    "axes": (AXES, 1, ("dim 0 of `frames`", "net.py:7:"), ("nothing is declared dynamic",)),
    "the old exporter": (
        OLD_ONNX,
        1,
        ("error[trial-onnx-trace] on the sample itself", "instead: export with `dynamo=True`"),
        ("Exported. Next",),
    ),
    "a size that a trace keeps": (
        TRACED_SIZE,
        0,
        ("note[torchscript-remnant] torch.jit.trace keeps sizes of the sample", "dim 0 of input 1", "net.py:7:"),
        ("error[",),
    ),
    "a guard of a declared size": (
        HALF_A_BATCH,
        1,
        (
            "error[dynamic-shape-frozen] `x.shape[0] % 2 == 0` decides by dim 0",
            "a multiple of 2; the script's run raises for it at net.py:15",
        ),
        ("trial-script", "cleared"),
    ),
    "the old call of AOTInductor": (
        OLD_AOT,
        1,
        ("given to torch._export.aot_compile", "is 1 in the sample", "instead (verified): use a sample of 2 or more"),
        ("the code makes",),
    ),
    "a file that raises where it exports": (
        LOADED_AS_A_TARGET,
        1,
        ("error[trial-script] the script's run raises here: ValueError", "[export-in-train-mode]", "net.py:16:"),
        ("does not load",),
    ),
    "an output that is None": (
        NONE_TRACED,
        1,
        ("takes an output of tensors only, and here `[1]` is None", "net.py:8:", "here it raises, at net.py:11"),
        ("still has it, and warns",),
    ),
    "what TorchScript refuses": (UNSCRIPTABLE, 2, ("here it raises, at net.py:12",), ("still has it, and warns",)),
    "a bare dict": (
        BARE_DICT,
        1,
        ("is a dict, whose keys it takes for names", "`args=(batch, {})`", "exports and agrees with eager"),
        ("eager itself raises",),
    ),
    "a smaller size": (
        SHORT_SEQUENCE,
        1,
        ("with an eighth of the size of frames", "net.py:7:", "export `torch.jit.script(model)`"),
        ("nothing is declared dynamic",),
    ),
    "an operator of the script": (
        OWN_OPERATOR,
        0,
        ("save-load (the script itself registers `shop::twice`",),
        ("trial-save-load",),
    ),
    "inside of torch": (INSIDE_OF_TORCH, 0, ("Found nothing in 1 file and 1 target",), ("error[", "warning[")),
}


@pytest.mark.parametrize("case", SAID)
def test_the_call_that_was_made_is_judged(tmp_path: Path, case: str) -> None:
    source, code, said, not_said = SAID[case]
    script(tmp_path, source)
    done = exportlint(tmp_path, "trial", "net.py", COLUMNS="200")
    words = " ".join(done.stdout.split())
    assert [text for text in said if text not in words] == [], done.stdout
    assert [text for text in not_said if text in words] == [], done.stdout
    assert done.returncode == code


DECIDES = """\
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)

    def forward(self, x):
        y = self.inner(x)
        if y.sum() > 0:
            y = y * 2
        return y


def main():
    program = torch.export.export(Gate().eval(), (torch.randn(2, 8),))
    print(program.module()(torch.randn(2, 8)).shape)


if __name__ == "__main__":
    main()
"""


def test_fix_runs_a_script_and_mends_its_modules(tmp_path: Path) -> None:
    """Lines move, so its targets are the same by their number."""
    script(tmp_path, DECIDES)
    done = exportlint(tmp_path, "fix", "net.py", "--write", COLUMNS="200")
    assert "+        y = torch.where(y.sum() > 0, y * 2, y)" in done.stdout
    assert "(tried on both sides)" in done.stdout
    assert done.returncode == 0, done.stdout
    assert exportlint(tmp_path, "fix", "net.py").stderr.splitlines()[-1] == "exportlint: nothing to do"


OTHER_ROWS = """\
class Scaled(nn.Module):
    def forward(self, frames):
        return frames.relu() * 2


program = torch.export.export(Scaled().eval(), (torch.randn(2, 16),))
out = program.module()(torch.randn(4, 16))
"""


def test_fix_mends_the_call_of_a_script(tmp_path: Path) -> None:
    script(tmp_path, OTHER_ROWS)
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="200")
    assert "dynamic_shapes={" in done.stdout
    assert "[undeclared-size] declare the dim with `dynamic_shapes=` (tried)" in done.stdout


EXPORTS_SCRIPTED = """\
class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 2)

    def forward(self, x: torch.Tensor):
        return {"logits": self.head(x)}


model = Heads().eval()
scripted = torch.jit.script(model)
scripted.save("heads.pt")
program = torch.export.export(scripted, (torch.randn(2, 4),))
"""


def test_fix_exports_the_module_that_a_scripted_one_was_made_from(tmp_path: Path) -> None:
    """The file keeps the scripted one for what else it does with it."""
    script(tmp_path, EXPORTS_SCRIPTED)
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="200")
    assert "[export-of-non-module] export the module that it was made from (tried)" in done.stdout
    assert "+program = torch.export.export(model, (torch.randn(2, 4),))" in done.stdout


IN_PARTS = """\
class Parts(nn.Module):
    def forward(self, scores, bias):
        parts = scores.view(5, -1)
        return [parts[i] - bias for i in range(5)]


rows = torch.export.Dim("rows", min=1, max=8)
shapes = {"scores": {0: 5 * rows}, "bias": {0: rows}}
program = torch.export.export(Parts().eval(), (torch.randn(20), torch.randn(4)), dynamic_shapes=shapes)
program.module()(torch.randn(5), torch.randn(1))
"""


def test_a_size_that_is_declared_and_not_taken_is_told_as_such_and_by_its_own_name(tmp_path: Path) -> None:
    script(tmp_path, IN_PARTS)
    report = " ".join(exportlint(tmp_path, "trial", "net.py", COLUMNS="200").stdout.split())
    assert "error[dynamic-shape-frozen] the script's run raises here: AssertionError: Guard failed" in report
    assert "undeclared-size" not in report
    assert "with rows=1, declared dynamic" in report


GIVES_NOTHING = """\
class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.jit.script(nn.Linear(4, 2))

    def forward(self, x):
        return self.head(x)


raise ImportError("no such reader")
torch.export.export(Kept().eval(), (torch.randn(2, 4),))
"""


def test_fix_of_a_script_that_gives_nothing_is_that_of_any_file(tmp_path: Path) -> None:
    script(tmp_path, GIVES_NOTHING)
    done = exportlint(tmp_path, "fix", "net.py", "--unsafe")
    assert "ImportError" in done.stderr
    assert "+        self.head = nn.Linear(4, 2)" in done.stdout
    assert done.returncode == 1


def test_fix_runs_no_file_that_hands_nothing_to_torch(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import re\nimport pathlib\n\nre.compile('a')\npathlib.Path('ran').touch()\n")
    done = exportlint(tmp_path, "fix", "net.py")
    assert not (tmp_path / "ran").exists()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "exportlint: nothing to do\n")


IN_TRAINING = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(8)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        return self.drop(self.norm(x))


CALL
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.export.export(Net(), (torch.randn(4, 8),))", "torch.export.export(Net().eval(), (torch.randn(4, 8),))"),
        (
            'torch.onnx.export(Net(), (torch.randn(4, 8),), "net.onnx", dynamo=True)',
            'torch.onnx.export(Net().eval(), (torch.randn(4, 8),), "net.onnx", dynamo=True)',
        ),
    ],
    ids=["export", "onnx"],
)
def test_fix_puts_the_model_of_a_script_into_eval_mode(tmp_path: Path, before: str, after: str) -> None:
    """Compared with the unedited model in eval mode; in training mode both compute something else in every call."""
    script(tmp_path, IN_TRAINING.replace("CALL", before))
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="200")
    assert f"+{after}" in done.stdout, done.stdout + done.stderr
    assert "it was in training mode: compared with the unedited model in eval mode" in done.stdout


RAISES_FIRST = """\
class Chosen(nn.Module):
    def forward(self, x):
        def grown(x):
            return x.abs() + 1

        def kept(x):
            return x

        y = torch.cond(x.sum() > 0, grown, kept, (x,))
        return y * 2


chosen = Chosen().eval()
print(chosen(torch.ones(3, 4)).sum())
program = torch.export.export(chosen, (torch.ones(3, 4),))
"""


def test_fix_mends_a_script_that_raises_before_it_exports(tmp_path: Path) -> None:
    """There is nothing to compare it with: the unedited script gave no result. That is told."""
    script(tmp_path, RAISES_FIRST)
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="200")
    assert "+            return x.clone()" in done.stdout, done.stdout + done.stderr
    assert "(the script runs on); without it the script's run raises here, so there was nothing to" in done.stdout
    assert done.returncode == 0


def test_a_script_that_no_rewrite_helps_is_left_as_it_is(tmp_path: Path) -> None:
    """The rewrite is right, and the script raises something else right after it."""
    source = HEAD + RAISES_FIRST.replace("print(chosen", "print(chosen.missing, chosen")
    tmp_path.joinpath("net.py").write_text(source, "utf-8")
    done = exportlint(tmp_path, "fix", "net.py", "--write")
    assert tmp_path.joinpath("net.py").read_text("utf-8") == source
    assert "a script that gives nothing to try is mended as any other file" in done.stderr


NAMED_AXES = """\
class Pooled(nn.Module):
    def forward(self, x, weight):
        return BODY


args = (torch.randn(1, 8, 4), torch.randn(1, 8, 1))
torch.onnx.export(
    Pooled().eval(), args, "pooled.onnx", dynamic_shapes=({0: "rows"}, {0: "rows"}), input_names=["x", "weight"]
)
"""


def test_axes_of_onnx_may_have_names_and_a_sample_of_one(tmp_path: Path) -> None:
    """torch.onnx.export declares a name as Dim.DYNAMIC, and has torch.export keep sizes of 1 free."""
    script(tmp_path, NAMED_AXES.replace("BODY", "(x * weight).sum(1)"))
    done = exportlint(tmp_path, "trial", "net.py")
    assert done.returncode == 0, done.stdout
    assert "agrees for batch 2, 3" in done.stdout


def test_an_axis_that_the_model_fixes_is_an_error_where_it_does(tmp_path: Path) -> None:
    """Eager takes no other size either; torch.onnx.export says nothing, and the file raises for every other one."""
    body = "(x.view(1, 8, 4) * weight.view(1, 8, 1)).sum(1)"
    script(tmp_path, NAMED_AXES.replace("BODY", body))
    done = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise")
    assert "net.py:7:17: error[operation-fixes-dim] `x.view(1, 8, 4)` fits few sizes of dim 0" in done.stdout
    assert "declared dynamic (2 or more), can only be 1 because of this line" in done.stdout


COMPILED_METHOD = """\
class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = torch.zeros(2)

    @torch.compile(backend="eager")
    def forward(self, x, at):
        self.cache[at] = x
        x.data = x * 2
        return self.cache + x


print(Kept()(torch.ones(1), torch.tensor([1])))
"""


def test_a_method_that_is_compiled_where_it_is_written_is_tried_on_its_object(tmp_path: Path) -> None:
    """What the source shows of an export is not said of what is only compiled."""
    script(tmp_path, COMPILED_METHOD)
    done = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise")
    assert done.returncode == 0, done.stdout
    assert (
        "bound method Kept.forward(float32[1], int64[1])"
        in exportlint(tmp_path, "trial", "net.py", COLUMNS="200").stdout
    )
    assert "[tensor-data-access]" not in done.stdout
    assert "[plain-tensor-write]" not in done.stdout


BOTH_CALLS = """\
class Loud(nn.Module):
    def forward(self, x):
        print("rows", x.shape[0])
        return x * 2


class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


torch.compile(Loud(), backend="eager")(torch.ones(2, 4))
torch.export.draft_export(Branch(), (torch.ones(2, 4),))
"""


def test_what_is_only_compiled_is_tried_for_torch_compile_and_the_rest_for_export(tmp_path: Path) -> None:
    script(tmp_path, BOTH_CALLS)
    done = exportlint(tmp_path, "trial", "net.py", "--output-format", "json")
    targets = {target["name"]: target for target in json.loads(done.stdout)["targets"]}
    stages = {name: {stage["name"] for stage in target["stages"]} for name, target in targets.items()}
    exports, compiles = "export-non-strict", {"breaks", "recompiles", "agreement"}
    loud, branch = sorted((name for name in targets if name != "net.py"), key=lambda name: int(name.rpartition(":")[2]))
    assert compiles <= stages[loud]
    assert exports not in stages[loud]
    assert exports in stages[branch]
    assert not compiles & stages[branch]
    assert [one["line"] for one in targets[loud]["graph_breaks"]] == [7]
    asked = exportlint(tmp_path, "trial", "net.py", "--for", "export", "--output-format", "json")
    assert not any(compiles & {s["name"] for s in t["stages"]} for t in json.loads(asked.stdout)["targets"])


DIFFERENTIATES = """\
class Guided(nn.Module):
    def __init__(self):
        super().__init__()
        self.value = nn.Linear(4, 1)

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            return torch.autograd.grad(self.value(x).sum(), x, create_graph=True)[0]


torch.export.export(Guided().eval(), (torch.ones(2, 4),))
"""


def test_words_that_torch_has_for_several_causes_confirm_the_one_that_is_suspected(tmp_path: Path) -> None:
    """`We found a fake tensor` is said of `.data`, and was measured for gradients in forward, too."""
    script(tmp_path, DIFFERENTIATES)
    done = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise")
    assert "[tensor-data-access]" not in done.stdout
    assert "net.py:13:20: error[autograd-in-forward]" in done.stdout


HARD_CODED = """\
class Weighed(nn.Module):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows
        self.embed = nn.Embedding(50, 8)
        self.head = nn.Linear(56, 2)

    def forward(self, tokens, mask):
        place = torch.arange(7).unsqueeze(0).expand(3, 7)
        weight = (place + 1) * mask
        return (self.embed(tokens) * weight.view(self.rows, 7, 1)).sum(1)


args = (torch.randint(0, 50, (3, 7)), torch.ones(3, 7))
CALL
"""
AXES_BY_NAME = """torch.onnx.export(
    Weighed(3).eval(), args, "weighed.onnx", input_names=["words", "kept"],
    dynamic_axes={"words": {0: "rows", 1: "length"}, "kept": [0, 1]},
)"""
AXES_AS_DIMS = """rows, length = torch.export.Dim("rows"), torch.export.Dim("length")
torch.export.export(Weighed(3).eval(), args, dynamic_shapes=({0: rows, 1: length}, {0: rows, 1: length}))"""


@pytest.mark.parametrize("call", [AXES_BY_NAME, AXES_AS_DIMS], ids=["axes", "dims"])
def test_sizes_that_are_written_as_numbers_are_taken_from_the_tensors(tmp_path: Path, call: str) -> None:
    """Of several declared dims at once, in the arguments that give sizes. With one row the old model repeated it."""
    script(tmp_path, HARD_CODED.replace("CALL", call))
    found = exportlint(tmp_path, "check", "net.py", "--output-format", "concise").stdout
    assert "[operation-fixes-dim] `(place + 1) * mask` needs dim 1" in found
    done = exportlint(tmp_path, "fix", "net.py", "--budget", "240", COLUMNS="250")
    assert (
        "+        place = torch.arange(mask.shape[1]).unsqueeze(0).expand(mask.shape[0], mask.shape[1])" in done.stdout
    )
    assert "weight.view(mask.shape[0], mask.shape[1], 1)" in done.stdout
    assert (
        "a size of 1 was repeated to fit the sample's, the only one that it took, and is a size as others now"
        in done.stdout
    )
    assert done.returncode == 0, done.stdout


def test_the_size_that_a_product_of_dims_has_to_be_is_reckoned_back(tmp_path: Path) -> None:
    script(
        tmp_path,
        """\
class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(40, 3)

    def forward(self, x):
        return self.head(x.reshape(4, -1))


batch = torch.export.Dim("batch")
torch.export.export(Flat().eval(), (torch.randn(4, 5, 8),), dynamic_shapes={"x": {0: batch}})
""",
    )
    found = exportlint(tmp_path, "check", "net.py", "--output-format", "concise").stdout
    assert "needs dim 0 (`batch`), which is declared dynamic, to be 4:" in found


def test_a_program_that_cannot_be_decomposed_is_no_error_of_a_script_that_only_exports(tmp_path: Path) -> None:
    file = script(
        tmp_path,
        """\
class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.cache = torch.zeros(2)

    def forward(self, x):
        self.cache[0] = x.sum()
        return self.cache + x


program = torch.export.export(Kept().eval(), (torch.ones(2),))
""",
    )
    done = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise")
    assert "net.py:11:9: warning[plain-tensor-write]" in done.stdout
    file.write_text(f"{file.read_text('utf-8')}program.run_decompositions()\n", "utf-8")
    done = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise")
    assert "error[" in done.stdout


CLASSIFIER = """\
import numpy
import onnxruntime


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 2)

    def forward(self, x):
        return self.head(x).softmax(-1)


classifier = Classifier().eval()
"""
CALLED_WITH_MORE = """\
program = torch.export.export(classifier, (torch.randn(1, 8),)).module()
for rows in (1, 3):
    program(torch.randn(rows, 8))
"""
RUN_WITH_MORE = """\
torch.onnx.export(classifier, torch.randn(1, 8), "classifier.onnx", input_names=["features"])
session = onnxruntime.InferenceSession("classifier.onnx")
session.run(None, {"features": numpy.ones((5, 8), numpy.float32)})
"""


@pytest.mark.parametrize(
    ("calls", "written"),
    [
        (CALLED_WITH_MORE, 'torch.export.export(classifier, (torch.randn(2, 8),), dynamic_shapes={"x": {0: batch}})'),
        (RUN_WITH_MORE, 'input_names=["features"], dynamic_shapes={"x": {0: batch}})'),
    ],
    ids=["program", "onnx"],
)
def test_a_size_that_was_not_declared_is_declared_as_the_trial_proposes(
    tmp_path: Path, calls: str, written: str
) -> None:
    """For torch.export with a sample of two: of a one it makes a constant."""
    script(tmp_path, CLASSIFIER + calls)
    done = exportlint(tmp_path, "fix", "net.py", "--write", COLUMNS="200")
    assert done.returncode == 0, done.stdout + done.stderr
    assert '+batch = torch.export.Dim("batch", min=1)' in done.stdout
    assert written in tmp_path.joinpath("net.py").read_text("utf-8")


OF_AXES = 'torch.onnx.export(classifier, torch.randn(2, 8), "classifier.onnx", {given}dynamic_axes={axes})\n'


@pytest.mark.parametrize(
    ("given", "axes", "told", "written"),
    [
        ('input_names=["features"], ', '{"x": {0: "rows"}}', "`x`", 'dynamic_axes={"features": {0: "rows"}}'),
        (
            'dynamo=False, input_names=["features"], ',
            '{"feature": {0: "rows"}}',
            "`feature`",
            'dynamic_axes={"features": {0: "rows"}}',
        ),
        (
            "",
            '{"features": {0: "rows"}, "scores": {0: "rows"}}',
            "`features`, `scores`",
            'input_names=["features"], output_names=["scores"]',
        ),
    ],
    ids=["renamed", "renamed-traced", "named"],
)
def test_axes_that_name_no_input_are_told_and_named(
    tmp_path: Path, given: str, axes: str, told: str, written: str
) -> None:
    script(tmp_path, CLASSIFIER + OF_AXES.format(given=given, axes=axes))
    done = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise")
    assert f"`dynamic_axes` names {told}, which is no name of an input or output (" in done.stdout
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="250")
    assert written in done.stdout
    assert done.returncode == 0, done.stdout


SETTINGS = """
EXPORT = {"input_names": ["feature"], "dynamic_axes": {"features": {0: "rows"}}}
torch.onnx.export(classifier, (torch.randn(2, 8),), "net.onnx", **EXPORT)
"""


def test_axes_of_a_dict_that_the_call_is_given_are_named(tmp_path: Path) -> None:
    script(tmp_path, CLASSIFIER + SETTINGS)
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="250")
    assert '+EXPORT = {"input_names": ["feature"], "dynamic_axes": {"feature": {0: "rows"}}}' in done.stdout


HELPER = """
def export(path="net.onnx"):
    shapes = {"image": {0: "rows"}}
    torch.onnx.export(classifier, (torch.randn(2, 8),), path, input_names=["image"], dynamic_shapes=shapes)


export()
"""


def test_shapes_in_a_helper_go_by_the_parameters_of_forward(tmp_path: Path) -> None:
    script(tmp_path, CLASSIFIER + HELPER)
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="250")
    assert '+    shapes = {"x": {0: "rows"}}' in done.stdout
    assert done.returncode == 0, done.stdout


def test_a_dim_that_onnx_makes_static_without_a_word_is_told(tmp_path: Path) -> None:
    """With a Dim of its own torch.onnx.export tries again with the sizes that torch suggests; with a name it raises."""
    source = """\
class Ranked(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rank", torch.arange(4.0)[:, None])

    def forward(self, x):
        return x + self.rank


rows = {DIM}
torch.onnx.export(Ranked().eval(), (torch.ones(4, 8),), "ranked.onnx", dynamic_shapes={"x": {0: rows}})
"""
    told = "torch.onnx.export goes on with other `dynamic_shapes` than these, and says nothing"
    script(tmp_path, source.replace("{DIM}", 'torch.export.Dim("rows")'))
    done = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise")
    assert "[operation-fixes-dim]" in done.stdout or "[dynamic-shape-frozen]" in done.stdout
    assert told in done.stdout
    script(tmp_path, source.replace("{DIM}", '"rows"'))
    assert told not in exportlint(tmp_path, "trial", "net.py", "--output-format", "concise").stdout


UNROLLED = """\
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])

    def through(self, x, count: int):
        for i in range(count):
            x = self.layers[i](x)
        return x

    def forward(self, x, count: int):
        return self.through(x, count)


if __name__ == "__main__":
    model, x = Net().eval(), torch.randn(2, 8)
    scripted = torch.jit.script(model)
    scripted.save("net.pt")
    print([torch.equal(model(x, count), torch.jit.load("net.pt")(x, count)) for count in (0, 1, 2)])
"""


def test_what_torchscript_cannot_compile_stands_at_its_line_and_is_mended(tmp_path: Path) -> None:
    script(tmp_path, UNROLLED)
    done = exportlint(tmp_path, "trial", "net.py", COLUMNS="200")
    words = " ".join(done.stdout.split())
    assert "error[trial-script] the script's `torch.jit.script` raises here: RuntimeError: Expected integer" in words
    assert "called at net.py:21, by way of `Net.forward` (net.py:16)" in words
    assert "--> net.py:12:13" in done.stdout
    assert "`for i, layer in enumerate(self.layers):`" in words
    mended = exportlint(tmp_path, "fix", "net.py", "--write", COLUMNS="200")
    assert "+        for i, layer in enumerate(self.layers):" in mended.stdout, mended.stdout + mended.stderr
    ran = subprocess.run([sys.executable, "net.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout == "[True, True, True]\n"


IN_PLACE = """\
class Longer(nn.Module):
    def forward(self, frames):
        batch, length = frames.shape[:2]
        padded = length
        padded += 2
        return padded + length


traced = torch.jit.trace(Longer(), torch.randn(2, 3))
"""


def test_a_size_that_is_changed_in_place_while_it_is_traced(tmp_path: Path) -> None:
    script(tmp_path, IN_PLACE)
    done = exportlint(tmp_path, "trial", "net.py", COLUMNS="200")
    words = " ".join(done.stdout.split())
    assert "error[torchscript-remnant] on the sample itself eager gives 8, the traced module 10;" in words
    assert "a tensor, which `padded += 2` changes under each of its names; called at net.py:13" in words
    assert "--> net.py:9:9" in done.stdout
    mended = exportlint(tmp_path, "fix", "net.py", "--write", COLUMNS="200")
    assert "+        padded = padded + 2" in mended.stdout, mended.stdout + mended.stderr
    assert "jit-trace          differs  passed" in mended.stdout


def test_what_torch_says_of_a_long_call_confirms_the_operand_that_is_meant(tmp_path: Path) -> None:
    """And the parts of what `nonzero` gives, of which torch keeps one tensor, are cloned."""
    script(
        tmp_path,
        """\
class Located(nn.Module):
    def forward(self, ids, features, limit):
        def seen(ids, features, limit):
            places = torch.nonzero(ids < 0, as_tuple=True)
            return ids.clamp(0, limit), places[0], places[1]

        def unseen(ids, features, limit):
            places = torch.where(torch.zeros((1, 1), dtype=torch.bool))
            return ids, places[0], places[1]

        return torch.cond(
            features.numel() > 0,
            seen,
            unseen,
            [ids, features, limit],
        )


args = (torch.arange(24).reshape(2, 12) - 8, torch.ones(2, 16), 9)
dims = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
torch.export.export(Located().eval(), args, dynamic_shapes=(dims, dims, None))
""",
    )
    told = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise").stdout.splitlines()
    (operand,) = (line for line in told if "the operand `limit` is a Python value" in line)
    assert operand.startswith("net.py:19:")
    assert "tried: " in operand
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="200")
    assert done.returncode == 0, done.stdout
    assert "return (ids.clamp(0, limit), places[0].clone(), places[1].clone())" in done.stdout


def test_a_program_that_holds_a_class_of_the_script_is_read_by_no_other_process(tmp_path: Path) -> None:
    script(
        tmp_path,
        """\
from dataclasses import dataclass


@dataclass
class Cache:
    keys: torch.Tensor


torch.export.register_dataclass(Cache, serialized_type_name="Cache")


class Cached(nn.Module):
    def forward(self, x, cache):
        return x + cache.keys


torch.export.export(Cached().eval(), (torch.ones(2), Cache(torch.ones(2))))
""",
    )
    done = exportlint(tmp_path, "trial", "net.py", COLUMNS="200")
    assert done.returncode == 0, done.stdout
    assert "`Cache` is a class of the script itself, which no process that loads it has" in done.stdout


HALVED = """\
class Restored(nn.Module):
    def forward(self, x, y):
        half = nn.functional.interpolate(x, scale_factor=0.5)
        return nn.functional.interpolate(half, scale_factor=2.0) + y


length = torch.export.Dim("length", min=16, max=64)
args = (torch.rand(1, 1, 32), torch.rand(1, 1, 32))
torch.export.export(Restored().eval(), args, dynamic_shapes={"x": {2: length}, "y": {2: length}})
"""


def test_what_is_declared_and_does_not_hold_gives_way_to_what_does(tmp_path: Path) -> None:
    """Torch writes the guard with `torch.sym_float`: only even lengths come back as they were."""
    script(tmp_path, HALVED)
    told = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise").stdout
    assert "net.py:8:9: error[dynamic-shape-frozen] declared dynamic, yet length is a multiple of 2" in told
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="200")
    assert "declare only the sizes that the trial found free (tried)" in done.stdout
    assert 'dynamic_shapes={"x": {2: 2 * _x_2}, "y": {2: 2 * _x_2}})' in done.stdout
    assert done.returncode == 0, done.stdout


def test_a_call_of_torch_jit_script_that_goes_is_missed_by_nobody(tmp_path: Path) -> None:
    """The scripted module was a target by itself; what is exported is still compared with what it was."""
    script(
        tmp_path,
        """\
class Scaled(nn.Module):
    def forward(self, x):
        return x * 2


scaled = torch.jit.script(Scaled())
scaled(torch.ones(3))
torch.onnx.export(scaled, (torch.ones(3),), "scaled.onnx")
""",
    )
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="200")
    assert "+scaled = Scaled()" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0, done.stdout


def test_a_loop_that_a_trace_unrolls_is_a_warning_at_the_loop(tmp_path: Path) -> None:
    script(
        tmp_path,
        """\
class Leaky(nn.Module):
    def forward(self, x):
        state = torch.zeros_like(x[0])
        for i in range(x.size(0)):
            state = 0.9 * state + x[i]
        return state.sum()


torch.jit.trace(Leaky().eval(), torch.ones(5, 4))
""",
    )
    told = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise").stdout
    assert "net.py:8:9: warning[torchscript-remnant] torch.jit.trace keeps sizes of the sample" in told
    assert "with twice the size of dim 0 of input 1 eager gives 26.05, the traced module 16.38" in told
    assert "it goes round `for i in range(x.size(0)):` (line 8) as often as for the sample" in told


def test_a_program_that_cannot_be_made_a_module_of_was_exported(tmp_path: Path) -> None:
    """torch.export passes; `.module()` raises, and its words name the layer."""
    script(
        tmp_path,
        """\
class Links(nn.Module):
    def __init__(self):
        super().__init__()
        self.weigh = nn.Linear(4, 4)

    def forward(self, x):
        return self.weigh(x)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.meta = Links()
        self.graph = Links()

    def forward(self, x):
        return self.graph(self.meta(x))


torch.export.export(Encoder().eval(), (torch.ones(2, 4),))
""",
    )
    done = exportlint(tmp_path, "trial", "net.py", COLUMNS="200")
    assert "exports and differs from eager in either mode" in done.stdout
    told = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise").stdout.splitlines()
    (layer,) = (line for line in told if "the layer `meta` has the name" in line)
    assert "tried: the exported program raises where eager does not" in layer


def test_what_bounds_a_declared_dim_is_no_line_of_the_script(tmp_path: Path) -> None:
    script(
        tmp_path,
        """\
class Scaled(nn.Module):
    def forward(self, x):
        return x * 2


rows = torch.export.Dim("rows", min=2, max=256)
torch.export.export(Scaled().eval(), (torch.ones(4, 8),), dynamic_shapes={"x": {0: rows}})
""",
    )
    told = exportlint(tmp_path, "trial", "net.py", COLUMNS="200").stdout
    assert "# rows, dim 0 of `x`: from 2 to 256" in told
    assert "at most 256 (" not in told


def test_what_onnx_draws_once_is_an_error_where_eager_draws(tmp_path: Path) -> None:
    """torch.onnx.export says nothing, and its file leaves the dropout out."""
    script(
        tmp_path,
        """\
class Uncertain(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 16)
        self.outer = nn.Linear(16, 1)

    def forward(self, x):
        x = nn.functional.dropout(self.inner(x), 0.2, training=True)
        return self.outer(x)


torch.onnx.export(Uncertain().eval(), (torch.ones(4, 8),), "uncertain.onnx")
""",
    )
    done = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise")
    assert "net.py:12:9: error[" in done.stdout
    assert "eager draws anew in every call, and what was compiled gives the same in each" in done.stdout


def test_nothing_but_what_the_run_failed_of_is_mended_without_a_comparison(tmp_path: Path) -> None:
    """Moving the count into the constructor would let the script run on, and compute something else."""
    file = script(
        tmp_path,
        """\
from typing import Optional


class Counted(nn.Module):
    number: Optional[int]

    def __init__(self):
        super().__init__()
        self.number = 0

    def forward(self, x):
        if self.number:
            self.number += 1
        return x * 2


torch.jit.script(Counted())
""",
    )
    source = file.read_text("utf-8")
    exportlint(tmp_path, "fix", "net.py", "--write")
    assert file.read_text("utf-8") == source


def test_arguments_that_forward_collects_take_no_dynamic_shapes(tmp_path: Path) -> None:
    script(
        tmp_path,
        """\
class Summed(nn.Module):
    def forward(self, *, x, **others):
        return x.sum() + others["z"].sum()


given = {"x": torch.ones(4, 4), "z": torch.ones(4, 4)}
shapes = {name: {0: torch.export.Dim.AUTO} for name in given}
torch.export.export(Summed(), (), given, dynamic_shapes=shapes)
""",
    )
    told = exportlint(tmp_path, "trial", "net.py", "--output-format", "concise").stdout
    assert "`z` is collected by `**`, of which torch takes no `dynamic_shapes`" in told


def test_fix_exports_in_the_mode_that_passes(tmp_path: Path) -> None:
    script(tmp_path, ONLY_NON_STRICT)
    done = exportlint(tmp_path, "fix", "net.py", COLUMNS="200")
    assert "export in non-strict mode (tried)" in done.stdout, done.stdout + done.stderr
    assert "+program = torch.export.export(Named().eval(), (torch.randn(2, 16),), strict=False)" in done.stdout
    assert done.returncode == 0


def test_what_is_only_suspected_is_not_called_nothing(tmp_path: Path) -> None:
    """The sample's values never reach the handler, so no trial shows what it hides."""
    script(
        tmp_path,
        """\
class Guarded(nn.Module):
    def forward(self, x):
        try:
            factor = 2.0 if bool((x > 9).any()) else 1.0
        except Exception:
            factor = 1.0
        return x * factor


torch.export.export(Guarded().eval(), (torch.zeros(4),))
""",
    )
    done = exportlint(tmp_path, "fix", "net.py")
    assert "no trial shows anything wrong; 1 suspected in the source, which `exportlint trial` lists" in done.stderr
