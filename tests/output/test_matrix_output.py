"""The matrix as people and programs see it."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest
from test_formats import assert_snapshot

from exportlint.output.matrix import Matrix, MatrixRow, WhyNot, as_json, as_markdown, render_matrix
from exportlint.output.report import RenderOptions

STAGES = ("eager", "export-non-strict", "export-strict", "soundness", "dynamic-shapes", "decompose", "save-load")
LOWERINGS = ("aotinductor", "executorch", "executorch-xnnpack", "onnxruntime", "openvino", "tvm")
ALL = (*STAGES, *(f"lower-{name}" for name in LOWERINGS))
SCHEMA = json.loads((files("exportlint.output") / "matrix-1.json").read_text("utf-8"))


def row(name: str, text: str, *reasons: WhyNot) -> MatrixRow:
    """`text`: the first letters of the statuses."""
    known = ("passed", "compiled", "refused", "differs", "crashed", "timed-out", "skipped")
    statuses = [next(one for one in known if one.startswith(short)) for short in text.split()]
    return MatrixRow(name, dict(zip(ALL, statuses, strict=True)), dict.fromkeys(ALL, 0.25), reasons)


NO_KERNEL = (
    "run: RuntimeError: method->execute() failed with error 0x14 (OperatorMissing); no kernel for aten::_fft_r2c"
)
MATRIX = Matrix(
    "2.13.0",
    ALL,
    (
        row("src/models/encoder.py", "p p p p sk p p p p p p p p"),
        row(
            "src/models/decoder.py",
            "p ref ref p sk sk sk sk sk sk sk sk sk",
            WhyNot(("export-non-strict", "export-strict"), "refused", "a tensor decides", "src/models/decoder.py", 14),
            WhyNot(tuple(ALL[7:]), "skipped", "no export passed"),
        ),
        row(
            "transformers:whisper",
            "p p p p p p p p ref d cr t comp",
            WhyNot(("lower-executorch",), "refused", NO_KERNEL, "src/audio.py", 31),
            WhyNot(("lower-executorch-xnnpack",), "differs", "values differ by up to 0.25", "src/audio.py", 40),
            WhyNot(("lower-tvm",), "compiled", "12.0 kB; compiled, not run: it cannot run on this machine"),
        ),
    ),
    ("lower-executorch",),
)


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_matrix_on_a_terminal(width: int) -> None:
    text = render_matrix(MATRIX, RenderOptions(width=width))
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert_snapshot(f"matrix-{width}.txt", text)


def test_what_passed_is_green_and_what_did_not_is_not() -> None:
    text = render_matrix(MATRIX, RenderOptions(color=True, width=200))
    assert "\x1b[32mpassed" in text
    assert "\x1b[1;31mdiffers" in text
    assert "\x1b[33mcompiled" in text
    assert "\x1b[32mcompiled" not in text


def test_markdown() -> None:
    assert_snapshot("matrix.md", as_markdown(MATRIX))


def test_json_keeps_its_schema() -> None:
    text = as_json(MATRIX)
    data = json.loads(text)
    jsonschema.validate(data, SCHEMA)
    assert [(one["target"], one["status"]) for one in data["unmet"]] == [
        ("src/models/decoder.py", "skipped"),
        ("transformers:whisper", "refused"),
    ]
    assert_snapshot("matrix.json", text)


def test_only_what_passed_is_enough_for_what_is_required() -> None:
    (whisper,) = (one for one in MATRIX.rows if one.name == "transformers:whisper")
    for status in ("compiled", "skipped", "crashed", "timed-out", "differs", "refused"):
        tried = Matrix("2.13.0", ALL, (MatrixRow("net", {"lower-tvm": status}, {}),), ("lower-tvm",))
        assert tried.unmet == (("net", "lower-tvm", status),)
    assert Matrix("2.13.0", ALL, (whisper,), ("lower-aotinductor",)).unmet == ()
    assert Matrix("2.13.0", ALL, (MatrixRow("net", {}, {}),), ("lower-tvm",)).unmet == (
        ("net", "lower-tvm", "not run"),
    )


def test_two_targets_with_the_same_file_name_keep_their_folders() -> None:
    rows = tuple(MatrixRow(name, {"eager": "passed"}, {}) for name in ("a/net.py", "b/net.py", "c/other.py"))
    text = render_matrix(Matrix(None, ("eager",), rows), RenderOptions(width=80))
    assert [line.split()[0] for line in text.splitlines()[1:4]] == ["a/net.py", "b/net.py", "other.py"]


def test_what_a_stage_has_found_stands_in_its_cell() -> None:
    found = WhyNot(("breaks",), "passed", "torch.compile breaks the graph here", "src/net.py", 7)
    statuses = {"eager": "passed", "breaks": "passed", "cost": "passed"}
    figures = {"breaks": "2", "cost": "0.41 x"}
    row_of_net = MatrixRow("src/net.py", statuses, dict.fromkeys(statuses, 0.25), (found,), figures)
    matrix = Matrix("2.13.0", ("eager", "breaks", "cost"), (row_of_net,))
    table, reasons, headline = render_matrix(matrix, RenderOptions(width=80)).split("\n\n")
    assert [line.split() for line in table.splitlines()] == [
        ["target", "eager", "breaks", "cost"],
        ["net.py", "passed", "2", "0.41", "x"],
    ]
    assert reasons == "src/net.py\n  src/net.py:7: breaks: torch.compile breaks the graph here"
    assert headline == "1 target (torch 2.13.0)\n"
    data = json.loads(as_json(matrix))
    jsonschema.validate(data, SCHEMA)
    assert [stage.get("figure") for stage in data["targets"][0]["stages"]] == [None, "2", "0.41 x"]
