"""The page of real models stands, speaks of every model, and was made with the versions that development pins."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PAGE = (HERE / "REPORT.md").read_text("utf-8")
PYPROJECT = (HERE.parents[1] / "pyproject.toml").read_text("utf-8")
MODELS = ("Whisper", "BLIP captioning", "SAM 2", "BERT", "ResNet")


def rows(text):
    table = (line for line in text.splitlines() if line.startswith("|") and not line.startswith("|-"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def section(model):
    return PAGE.partition(f"\n## {model}\n")[2].partition("\n## ")[0]


def test_the_five_models_are_the_sections():
    assert tuple(re.findall(r"^## (.+)$", PAGE, re.MULTILINE)) == (*MODELS, "Not measured")


@pytest.mark.parametrize("package", ["torch", "executorch", "transformers"])
def test_the_versions_are_those_that_development_pins(package):
    (pinned,) = re.findall(rf'^ +"{package}==([^"]+)"', PYPROJECT, re.MULTILINE)
    assert [package, pinned] in rows(PAGE)


@pytest.mark.parametrize("model", MODELS)
def test_each_model_reached_both_packages(model):
    ladder = {row[0]: row[1:] for row in rows(section(model).partition("\n### ")[2].partition("\n### ")[0])}
    for stage in ("lower-aotinductor", "lower-executorch"):
        status, detail = ladder[stage]
        assert status == "passed"
        assert "run 2 times" in detail


@pytest.mark.parametrize("model", MODELS)
def test_every_failed_stage_has_its_reason(model):
    for target in section(model).split("\n### ")[1:]:
        failed = [row[0] for row in rows(target) if row[1] in ("refused", "differs", "crashed", "timed-out")]
        assert all(f"- **{stage}** " in target for stage in failed)


def test_every_target_is_on_the_page():
    """Those that were not tried yet are listed as such."""
    assert set(re.findall(r"\]\(targets/(\w+\.py)\)", PAGE)) == {path.name for path in HERE.glob("targets/*.py")}
