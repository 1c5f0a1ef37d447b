"""Which lowerings run, and with which settings: the command line, pyproject.toml, and mistakes in either."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from plugin_lowering import install

from exportlint.config.settings import CommandLine, Config, load_config
from exportlint.errors import UserError
from exportlint.workflow.lowering_choice import chosen_lowerings, known_lowerings, lowering_options
from exportlint.workflow.python_api import diagnose

BUILT_IN = ("aotinductor", "executorch", "executorch-xnnpack", "onnxruntime", "openvino", "tvm")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(install(tmp_path / "site")))
    return tmp_path


def configured(here: Path, text: str) -> Config:
    (here / "pyproject.toml").write_text(f"[tool.exportlint]\n{text}\n", "utf-8")
    return load_config(["."], CommandLine())


def test_all_is_every_installed_one(here: Path) -> None:
    config = configured(here, "")
    assert set(known_lowerings()) == {*BUILT_IN, "saved", "elsewhere"}
    assert chosen_lowerings(["all"], config) == tuple(sorted(known_lowerings()))
    assert chosen_lowerings(["executorch", "all"], config) == tuple(sorted(known_lowerings()))
    assert chosen_lowerings(["none"], config) == ()


def test_the_command_line_overrules_the_table_and_that_the_usual_ones(here: Path) -> None:
    config = configured(here, 'lower = ["tvm", "executorch", "tvm"]')
    assert chosen_lowerings([], config, usual=["openvino"]) == ("tvm", "executorch")
    assert chosen_lowerings(["openvino"], config) == ("openvino",)
    assert chosen_lowerings(["none"], config, usual=["openvino"]) == ()
    assert chosen_lowerings([], configured(here, 'lower = "all"')) == tuple(sorted(known_lowerings()))
    assert chosen_lowerings([], configured(here, ""), usual=["openvino"]) == ("openvino",)


def test_settings_reach_the_lowering(here: Path) -> None:
    config = configured(here, "[tool.exportlint.lowerings.saved]\nlevel = 3\ntolerance = 1\nmissing = ['aten.add']")
    options = lowering_options(config)
    assert options.settings == {"saved": {"level": 3, "tolerance": 1, "missing": ["aten.add"]}}
    assert options.cache
    assert options.cache.name == "lowerings"
    assert lowering_options(config, cache=False).cache is None


def test_neither_torch_nor_a_package_of_a_target_is_imported_for_settings(here: Path) -> None:
    tables = "\n".join(f"[tool.exportlint.lowerings.{name}]\ntolerance = 0.1" for name in BUILT_IN)
    code = (
        "import sys; from exportlint.config.settings import CommandLine, load_config;"
        "from exportlint.workflow.lowering_choice import lowering_options;"
        f"(open('pyproject.toml', 'w')).write('''{tables}''');"
        "assert len(lowering_options(load_config(['.'], CommandLine())).settings) == 6;"
        "print(sorted({'torch', 'executorch', 'onnx', 'onnxruntime', 'openvino', 'tvm', 'numpy'} & set(sys.modules)))"
    )
    import subprocess  # noqa: PLC0415 - for this test alone

    assert subprocess.check_output([sys.executable, "-c", code], text=True, cwd=here) == "[]\n"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            'lower = ["executorc"]',
            "lower: there is no `executorc`; the nearest is `executorch`; choose none, all",
        ),
        ("[tool.exportlint.lowerings.onxruntime]", "there is no lowering `onxruntime`; the nearest is `onnxruntime`"),
        (
            "[tool.exportlint.lowerings.saved]\nlevle = 2",
            "lowerings.saved: there is no setting `levle`; the nearest is `level`; there are missing, refuses, level",
        ),
        ("[tool.exportlint.lowerings.tvm]\ntolerence = 2", "`tolerence`; the nearest is `tolerance`"),
        ("[tool.exportlint.lowerings.saved]\nlevel = '2'", "lowerings.saved.level: expected a whole number, got `2`"),
        ("[tool.exportlint.lowerings.saved]\nlevel = true", "level: expected a whole number, got `True`"),
        ("[tool.exportlint.lowerings.saved]\nexact = 1", "exact: expected true or false, got `1`"),
        ("[tool.exportlint.lowerings.saved]\ntolerance = '1'", "tolerance: expected a number, got `1`"),
        ("[tool.exportlint.lowerings.saved]\ntolerance = -1", "tolerance: expected a number that is not below 0"),
        ("[tool.exportlint.lowerings.saved]\nmissing = [1979-05-27]", "missing: a date or time is no setting"),
    ],
)
def test_a_mistake_is_one_sentence_with_the_nearest_valid_name(here: Path, text: str, sentence: str) -> None:
    config = configured(here, text)
    with pytest.raises(UserError, match=r"pyproject\.toml: tool\.exportlint\.") as error:
        _ = chosen_lowerings([], config), lowering_options(config)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_diagnosis_takes_names_as_text_or_as_a_list(here: Path) -> None:
    for lower in ("executorch,nowhere", ["executorch", "nowhere"]):
        with pytest.raises(
            UserError, match="there is no `nowhere`; the nearest is `elsewhere`; choose none, all or of"
        ):
            diagnose(None, lower=lower)
