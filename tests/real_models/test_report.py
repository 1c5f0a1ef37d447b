"""The page of real models stands, speaks of every model, and was made with the versions that development pins."""

import ast
import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import report  # noqa: E402 - a script beside this file, in no package
import try_targets  # noqa: E402 - likewise

PAGE = (HERE / "REPORT.md").read_text("utf-8")
PYPROJECT = (HERE.parents[1] / "pyproject.toml").read_text("utf-8")
STEMS = {path.stem for path in HERE.glob("targets/*.py")}
LOWERINGS = ("aotinductor", "executorch", "executorch-xnnpack", "onnxruntime", "openvino", "tvm")
STATUSES = ("passed", "refused", "differs", "crashed", "timed-out")


def rows(text):
    table = (line for line in text.splitlines() if line.startswith("|") and not line.startswith("|-"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def section(model):
    return PAGE.partition(f"\n## {model}\n")[2].partition("\n## ")[0]


def sections():
    return re.findall(r"^## (.+)$", PAGE, re.MULTILINE)


def main_ladder(model):
    """The first target of a section: the model on its way to a device."""
    return {row[0]: row[1:] for row in rows(section(model).partition("\n### ")[2].partition("\n### ")[0])}


@pytest.mark.parametrize("package", ["torch", "executorch", "onnxruntime", "openvino", "apache-tvm", "transformers"])
def test_the_versions_are_those_that_development_pins(package):
    (pinned,) = re.findall(rf'^ +"{package}==([^"]+)"', PYPROJECT, re.MULTILINE)
    assert [package, pinned] in rows(PAGE)


@pytest.mark.parametrize("model", sections())
@pytest.mark.parametrize("lowering", LOWERINGS)
def test_each_model_was_tried_on_each_target_and_what_passed_was_run(model, lowering):
    status, detail = main_ladder(model)[f"lower-{lowering}"]
    assert status in STATUSES
    assert status != "passed" or "run in a fresh process: sample twice" in detail


@pytest.mark.parametrize("model", sections())
def test_the_matrix_says_what_the_ladders_say(model):
    (row,) = (row for row in rows(PAGE.partition("\n## ")[0]) if row[0] == model)
    ladder = main_ladder(model)
    stages = ("export-non-strict", "export-strict", *(f"lower-{lowering}" for lowering in LOWERINGS))
    assert row[1:] == [ladder[stage][0] for stage in stages]


@pytest.mark.parametrize("model", sections())
def test_every_failed_stage_has_its_reason(model):
    for target in section(model).split("\n### ")[1:]:
        failed = [row[0] for row in rows(target) if row[1] in STATUSES[1:]]
        assert all(f"- **{stage}** " in target for stage in failed)


def test_the_page_is_made_from_what_was_tried():
    assert report.text() == PAGE


@pytest.mark.parametrize("stem", sorted(STEMS))
def test_each_target_was_tried_as_it_is_now(stem):
    assert try_targets.tried()[stem]["digest"] == try_targets.digest(stem), "python tests/real_models/try_targets.py"


def test_every_target_is_on_the_page_as_it_is_now():
    assert set(re.findall(r"\]\(targets/(\w+)\.py\)", PAGE)) == STEMS
    for stem in STEMS:
        caption = ast.get_docstring(ast.parse((HERE / "targets" / f"{stem}.py").read_text("utf-8")))
        assert caption in PAGE, stem
