"""`[tool.exportlint]` and the command line, and what is reported about mistakes in either."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from sources import ROOT

from exportlint import stored_truth
from exportlint.config.settings import CommandLine, Config, judged_by, load_config
from exportlint.errors import UserError
from exportlint.registry import TESTED_TORCH, all_rules, measured_versions, version_key

RULE, OTHER = (*all_rules(), "unused-suppression")[:2]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load_with(here: Path, table: str, **asked: object) -> Config:
    (here / "pyproject.toml").write_text(table, "utf-8")
    return load_config(["."], CommandLine(**asked))  # type: ignore[arg-type]


def test_without_a_table_the_defaults_hold(here: Path) -> None:
    config = load_with(here, "[tool.ruff]\nline-length = 100\n")
    assert (config.mode, config.modes, config.exclude) == ("non-strict", ("non-strict",), ())
    assert config.all_rules_run
    assert len(config.rules()) == len(all_rules())


def test_the_table_is_read(here: Path) -> None:
    config = load_with(
        here,
        f"""
        [tool.exportlint]
        ignore = ["{RULE}"]
        exclude = ["legacy"]
        mode = "both"
        [tool.exportlint.per-file-ignores]
        "tests/*" = ["{RULE}"]
        [tool.exportlint.targets.net]
        model = "net.py:make"
        args = "net.py:inputs"
        """,
    )
    assert config.modes == ("non-strict", "strict")
    assert config.exclude == ("legacy",)
    assert config.per_file_ignores == {"tests/*": (RULE,)}
    assert (config.targets["net"].model, config.targets["net"].kwargs) == ("net.py:make", None)
    assert not config.wants(RULE)
    assert config.wants(OTHER)


def test_the_command_line_overrules_the_table(here: Path) -> None:
    table = f'[tool.exportlint]\nselect = ["{RULE}"]\nmode = "strict"\n'
    config = load_with(here, table, select=(OTHER,), mode="both")
    assert (config.wants(RULE), config.wants(OTHER), config.mode) == (False, True, "both")


def test_the_nearest_table_above_the_named_paths_counts(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "pyproject.toml").write_text("[tool.exportlint]\nmode = 'strict'\n", "utf-8")
    (here / "a/deep").mkdir(parents=True)
    (here / "b").mkdir()
    (here / "a/pyproject.toml").write_text("[project]\nname = 'exportlint-user'\n", "utf-8")
    (here / "b/pyproject.toml").write_text("[tool.exportlint]\nmode = 'both'\n", "utf-8")
    assert load_config(["a/deep"], CommandLine()).mode == "strict", "a pyproject.toml without the table is passed by"
    assert load_config(["b/m.py"], CommandLine()).mode == "both"
    assert load_config(["a", "b"], CommandLine()).mode == "strict", "what the paths share"
    monkeypatch.chdir("/")
    assert load_config([str(here / "b")], CommandLine()).mode == "both"


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (
            "selct = []",
            "tool.exportlint: there is no key `selct`; the nearest is `select`; the keys are select, ignore, ",
        ),
        ("per_file_ignores = {}", "there is no key `per_file_ignores`; the nearest is `per-file-ignores`"),
        ("mode = 'strct'", "tool.exportlint.mode: there is no mode `strct`; the nearest is `strict`; the modes are "),
        ("mode = 3", "tool.exportlint.mode: expected a string, got a number"),
        ("select = 'x'", "tool.exportlint.select: expected a list, got a string"),
        (
            "ignore = ['unused-supression']",
            "ignore: there is no rule `unused-supression`; the nearest is `unused-suppr",
        ),
        ("per-file-ignores = {'a/*' = ['zzz']}", 'per-file-ignores."a/*": there is no rule `zzz`'),
        ("targets.net.modle = 'x:y'", "tool.exportlint.targets.net: there is no key `modle`; the nearest is `model`"),
        ("targets.net.model = 'x:y'", "tool.exportlint.targets.net: the key `args` is missing"),
        ("mode = ", "this is not TOML: "),
        ("torch = 'new'", "torch version `new`: write it as in 2.13"),
    ],
)
def test_mistakes_are_said_with_file_key_and_nearest_name(here: Path, table: str, sentence: str) -> None:
    with pytest.raises(UserError) as caught:
        load_with(here, f"[tool.exportlint]\n{table}\n")
    assert sentence in str(caught.value)
    if "torch version" not in sentence:
        assert str(here / "pyproject.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unknown_rule_on_the_command_line_is_said(here: Path) -> None:
    with pytest.raises(UserError, match="--ignore: there is no rule `unused-supression`; the nearest is `unused-suppr"):
        load_config(["."], CommandLine(ignore=("unused-supression",)))


@pytest.mark.parametrize(
    ("asked", "used", "remark"),
    [
        ("2.13", "2.13.0", ""),
        ("2.13.0", "2.13.0", ""),
        ("2.13.0+cpu", "2.13.0", ""),
        (
            "2.12",
            "2.12",
            "the measurements of 2.8.0 and 2.13.0 are used, and where these are not alike nothing is an error",
        ),
        ("3.0", "2.13.0", "nearest that is not newer"),
        ("2.8.1", "2.8.0", "nearest that is not newer"),
        ("2.1", "2.6.0", "the oldest that was measured"),
    ],
)
def test_a_version_that_was_not_measured_is_judged_by_those_beside_it(asked: str, used: str, remark: str) -> None:
    version, remarks = judged_by(asked, ["2.6.0", "2.8.0", "2.13.0"])
    assert version == used
    assert remark in " ".join(remarks)
    assert bool(remark) == bool(remarks)


def test_without_a_choice_the_installed_torch_is_judged_for(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = here / "torch-2.7.1.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.7.1+cu126\n", "utf-8")
    monkeypatch.syspath_prepend(here)
    config = load_config([], CommandLine())
    assert (config.torch, config.torch_chosen, config.remarks) == ("2.7.1", False, ())
    assert load_config([], CommandLine(torch="2.13")).torch == "2.13.0"


def test_where_no_torch_is_installed_the_tested_one_is_judged_for(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [path for path in sys.path if not Path(path, "torch").is_dir()])
    assert load_config([], CommandLine()).torch == TESTED_TORCH


def test_the_tested_torch_is_the_one_that_the_tests_install() -> None:
    assert f'"torch=={TESTED_TORCH}"' in (ROOT / "pyproject.toml").read_text("utf-8")


def test_truth_files_are_named_after_the_torch_in_them() -> None:
    folders = [rule.truth_dir for rule in all_rules().values()]
    named = [(one, folder) for folder in folders for one in stored_truth.versions(folder)]
    assert [one for one, folder in named if stored_truth.read(folder, one)["torch"] != one] == []
    assert measured_versions() == sorted({one for one, _ in named}, key=version_key)
