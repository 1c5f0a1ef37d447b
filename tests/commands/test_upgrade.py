"""`exportlint upgrade` as people call it: every claim is one of the stored truth, told for places in sources."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from processes import exportlint

from exportlint.registry import all_rules

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = json.loads(files("exportlint.output").joinpath("upgrade-1.json").read_text("utf-8"))

NET = """\
import copy

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.state = torch.zeros(4)
        self.register_buffer("peak", torch.zeros(4))

    def forward(self, x):
        x = copy.deepcopy(self.inner)(x)
        if x.sum() > 0:
            x = x * 2
        self.peak = torch.maximum(self.peak, x.amax(0))
        x = x + self.state
        self.state = x.mean(0)
        return x


program = torch.export.export_for_training(Net(), (torch.ones(3, 4),))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    return tmp_path


def told(folder: Path, *arguments: str) -> dict[str, Any]:
    done = exportlint(folder, "upgrade", *arguments, "--output-format", "json", "--no-cache")
    found: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(found, SCHEMA)
    assert done.returncode == (1 if found["gets_worse"] else 0)
    return found


def at(found: dict[str, Any], rule: str) -> dict[str, Any]:
    (place,) = [one for one in found["places"] if one["rule"] == rule]
    return dict(place)


def measured(rule: str, case: str, torch: str, mode: str = "non-strict") -> str:
    return str(all_rules()[rule].truth()[torch][case][mode]["outcome"])


def test_what_begins_to_fail_is_told_with_when_and_why_and_what_to_write(folder: Path) -> None:
    done = exportlint(folder, "upgrade", "--from", "2.6", "--to", "2.13", "net.py", "--no-cache")
    assert done.returncode == 1
    text = " ".join(done.stdout.split())
    assert "begins to fail (2) net.py:15:13 [unsupported-builtin]" in text
    assert (
        "torch 2.6 exports it correctly; torch 2.13 refuses to export it (changed between torch 2.6 and 2.10)" in text
    )
    assert "torch 2.13 says: module 'torch.export' has no attribute 'export_for_training'" in text
    assert "instead: use `torch.export.export`, which gives the same program" in text
    assert "(changed between torch 2.10 and 2.13)" in text, "export_for_training, which 2.10 still has"
    assert "without `strict=` is strict in torch 2.6 and non-strict in 2.13: `--mode default`" in done.stderr
    assert "data-dependent-branch" not in text, "it fails in both"
    assert "1 fails in both alike" in text


def test_each_place_says_what_was_measured(folder: Path) -> None:
    found = told(folder, "--from", "2.6", "--to", "2.13", "net.py")
    assert found["from"] == {"torch": "2.6", "judged_by": ["2.6.0"]}
    assert found["between"] == ["2.10.0"]
    assert found["places"]
    for place in found["places"]:
        for way in place["ways"]:
            for side, torch in (("from", "2.6.0"), ("to", "2.13.0")):
                outcome = way[side]["outcome"]
                assert outcome is None or outcome == measured(place["rule"], place["case"], torch)
    gone = at(found, "old-export-api")
    assert gone["ways"][0]["changed"] == {"after": "2.10.0", "by": "2.13.0"}
    assert gone["worse"]


def test_what_newly_differs_in_silence_is_the_worst(folder: Path) -> None:
    found = told(folder, "--from", "2.6", "--to", "2.13", "net.py")
    (kept,) = [one for one in found["places"] if one["line"] == 20]
    assert measured(kept["rule"], kept["case"], "2.6.0") == "refused"
    assert measured(kept["rule"], kept["case"], "2.13.0") == "differs"
    assert kept["kind"] == "silent"
    assert found["places"][0] == kept


def test_a_call_without_strict_changes_its_mode_with_the_release(folder: Path) -> None:
    """`self.peak = …` is refused in strict mode by 2.6, and exported in non-strict mode by 2.13."""
    (buffer,) = [
        one
        for one in told(folder, "--from", "2.6", "--to", "2.13", "--mode", "default", "net.py")["places"]
        if one["line"] == 18
    ]
    assert buffer["kind"] == "heals"
    assert "torch 2.6 (strict) refuses to export it; torch 2.13 (non-strict) exports it correctly" in buffer["message"]
    assert not [one for one in told(folder, "--from", "2.6", "--to", "2.13", "net.py")["places"] if one["line"] == 18]


def test_going_down_is_said_and_turns_all_round(folder: Path) -> None:
    found = told(folder, "--from", "2.13", "--to", "2.10", "net.py")
    assert found["downgrade"]
    assert at(found, "old-export-api")["kind"] == "heals"
    done = exportlint(folder, "upgrade", "--from", "2.13", "--to", "2.10", "net.py", "--no-cache")
    assert done.stdout.startswith("downgrade from torch 2.13 to 2.10")
    assert done.returncode == 0


def test_what_a_version_was_not_measured_with_is_not_known(tmp_path: Path) -> None:
    """2.6 has no measurement of the case; that of 2.13 does not stand in for it."""
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
        "    def forward(self, x):\n        return x if torch.cuda.is_available() else x + 1\n",
        "utf-8",
    )
    found = told(tmp_path, "--from", "2.6", "--to", "2.13", "net.py")
    (place,) = found["places"]
    assert "2.6.0" not in [
        version for version, cases in all_rules()[place["rule"]].truth().items() if place["case"] in cases
    ]
    assert (place["kind"], place["worse"], place["ways"][0]["from"]["outcome"]) == ("not-known", False, None)
    done = exportlint(tmp_path, "upgrade", "--from", "2.6", "--to", "2.13", "net.py", "--no-cache")
    assert "not known, and may get worse (1)" in done.stdout
    assert "torch 2.6 was not measured with it" in done.stdout


def test_a_refusal_for_want_of_another_package_says_nothing_of_torch(tmp_path: Path) -> None:
    """2.6 has `dynamo_export`, which was measured where onnxscript is not installed."""
    (tmp_path / "net.py").write_text(
        "import torch\n\n\ndef write(model, x):\n    return torch.onnx.dynamo_export(model, x)\n", "utf-8"
    )
    (place,) = told(tmp_path, "--from", "2.6", "--to", "2.13", "net.py")["places"]
    assert measured(place["rule"], place["case"], "2.6.0") == "refused"
    assert place["kind"] == "not-known"
    assert "measured where onnxscript is not installed" in place["message"]


def test_a_comment_silences_a_place_and_is_not_told_to_be_unused(folder: Path) -> None:
    loud = "torch.export.export_for_training(Net(), (torch.ones(3, 4),))"
    quiet = NET.replace(loud, f"{loud}  # exportlint: ignore[old-export-api]")
    (folder / "net.py").write_text(f"{quiet}total = 1  # exportlint: ignore[old-export-api]\n", "utf-8")
    found = told(folder, "--from", "2.6", "--to", "2.13", "net.py")
    assert {one["rule"] for one in found["places"]}.isdisjoint({"old-export-api", "unused-suppression"})
    assert found["summary"]["silenced"] == 1


def test_exit_zero_select_and_a_page(folder: Path) -> None:
    arguments = ("upgrade", "--from", "2.10", "--to", "2.13", "net.py", "--select", "old-export-api", "--no-cache")
    done = exportlint(folder, *arguments, "--exit-zero", "--output-format", "markdown", "--output-file", "page.md")
    assert (done.returncode, done.stdout) == (0, "")
    page = (folder / "page.md").read_text("utf-8")
    assert "### Begins to fail (1)" in page
    assert re.search(r"\| `net.py:24:11` +\| old-export-api +\|", page)
    assert exportlint(folder, *arguments).returncode == 1


def test_torch_compile_is_told_where_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.seen = {}\n\n    def forward(self, x):\n"
        "        y = x.detach().clone().requires_grad_()\n        y.retain_grad()\n        return y\n",
        "utf-8",
    )
    found = told(tmp_path, "--from", "2.6", "--to", "2.13", "--for", "compile", "net.py")
    ways = [(one["rule"], way["from"]["way"], way["to"]["way"]) for one in found["places"] for way in one["ways"]]
    assert ways
    assert {way[1:] for way in ways} == {("compile", "compile")}
    for place in found["places"]:
        compiled = all_rules()[place["rule"]].compiled()
        assert place["ways"][0]["to"]["outcome"] in {None, compiled["2.13.0"][place["case"]]["outcome"]}
    done = exportlint(tmp_path, "upgrade", "--from", "2.13", "--to", "2.15", "--for", "compile", "net.py")
    assert done.returncode == 2
    assert "torch.compile was not measured in torch 2.15" in done.stderr


def test_all_that_changed_for_the_rules(folder: Path) -> None:
    found = told(folder, "--from", "2.10", "--to", "2.13", "--rules")
    kinds = [one["kind"] for one in found["classes"]]
    order = list(SCHEMA["$defs"]["kind"]["enum"])
    assert kinds == sorted(kinds, key=order.index), "the worst first"
    by_name = {(one["rule"], one["case"]): one["kind"] for one in found["classes"]}
    assert by_name["old-export-api", "BadExportForTraining"] == "fails"
    assert by_name["torch-random-state", "BadGeneratorMade"] == "silent"
    assert by_name["data-dependent-branch", "BadIf"] == "still-fails"
    assert "not-known" in kinds
    for one in found["classes"]:
        (way,) = one["ways"]
        for side, torch in (("from", "2.10.0"), ("to", "2.13.0")):
            assert way[side]["outcome"] in {None, measured_or_none(one["rule"], one["case"], torch)}


def measured_or_none(rule: str, case: str, torch: str) -> str | None:
    record = all_rules()[rule].truth().get(torch, {}).get(case, {}).get("non-strict")
    return record["outcome"] if record else None


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("2.13", "2.13", "--from and --to are both torch 2.13, so there is nothing to compare"),
        ("2.13.0", "2.13.1", "are both judged by the measurements of 2.13.0"),
        ("2.7", "2.9", "are both judged by the measurements of 2.6.0 and 2.10.0"),
        ("1.13", "2.13", "torch 1.13 is older than all that was measured"),
        ("2.13", "99.0", "torch 99.0 is newer than all that was measured"),
        ("two", "2.13", "torch version `two`: write it as in 2.13 or 2.13.0"),
        ("", "2.13", "torch version ``: write it as in 2.13 or 2.13.0"),
    ],
)
def test_versions_of_which_nothing_is_known_are_refused_in_a_sentence(
    folder: Path, before: str, after: str, says: str
) -> None:
    done = exportlint(folder, "upgrade", "--from", before, "--to", after, "net.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_version_between_measured_ones_is_known_where_its_neighbours_are_alike(folder: Path) -> None:
    done = exportlint(folder, "upgrade", "--from", "2.8", "--to", "2.13", "net.py", "--no-cache")
    assert "torch 2.8 was not measured; it does what 2.6.0 and 2.10.0 both do, and the rest is not known" in done.stderr
    found = told(folder, "--from", "2.8", "--to", "2.13", "net.py")
    assert at(found, "old-export-api")["kind"] == "fails", "2.6 and 2.10 have it"
    assert at(found, "unsupported-builtin")["kind"] == "not-known", "2.6 exports it, 2.10 does not"
    assert "lies between two that are not known to be alike" in at(found, "unsupported-builtin")["message"]


def test_rules_go_without_paths(folder: Path) -> None:
    done = exportlint(folder, "upgrade", "--from", "2.6", "--to", "2.13", "--rules", "net.py")
    assert done.returncode == 2
    assert "leave PATH out" in done.stderr


def test_a_file_that_cannot_be_read_makes_the_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\nclass Net(torch.nn.Module:\n", "utf-8")
    done = exportlint(tmp_path, "upgrade", "--from", "2.6", "--to", "2.13", "net.py", "--no-cache")
    assert done.returncode == 2
    assert "net.py:2" in done.stderr
