"""ExportDB is the reference, which one wants to search where there is no network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from processes import exportlint

from exportlint.pages.search import search

PASTED = Path(__file__).parent / "pasted"


def explained(*words: str) -> str:
    done = exportlint(None, "explain", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.clause("`exportlint explain cond_predicate` works offline")
def test_a_case_is_shown_with_its_source_and_its_page() -> None:
    page = explained("cond_predicate")
    assert page.startswith("ExportDB case cond_predicate")
    assert "class CondPredicate(torch.nn.Module):" in page
    assert "https://pytorch.org/docs/main/generated/exportdb/index.html#cond-predicate" in page


@pytest.mark.clause("a tag")
def test_a_tag_lists_its_cases() -> None:
    page = explained("torch.cond")
    assert "cond_predicate" in page
    assert "cond_operands" in page


@pytest.mark.clause("a graph-break id")
@pytest.mark.parametrize("typed", ["GB0170", "gb170", "gb-170"])
def test_a_graph_break_id_is_explained_however_it_is_typed(typed: str) -> None:
    page = explained(typed)
    assert page.startswith("Graph break GB0170: Data-dependent branching")
    assert "Rules of exportlint: data-dependent-branch" in page


# What people type, and what stands first for it. Written before there was a search.
TYPED = {
    "scan": {"recurrent-loop-unrolled"},
    "item": {"tensor-as-python-number"},
    ".item()": {"tensor-as-python-number"},
    "tolist": {"tensor-as-python-number", "numpy-number"},
    "dynamic shape": {"dynamic-shape-frozen"},
    "dynamic shapes": {"dynamic-shapes-misfit", "dynamic-shape-frozen"},
    "GuardOnDataDependentSymNode": {"data-dependent-branch"},
    "torch.fx.experimental.symbolic_shapes.GuardOnDataDependentSymNode": {"data-dependent-branch"},
    "DynamicOutputShapeException": {"unsupported-operator"},
    "data dependant branch": {"data-dependent-branch"},
    "cond_predicat": {"cond_predicate"},
    "if on a tensor value": {"data-dependent-branch"},
    "print in forward": {"side-effect-in-forward"},
    "dropout": {"export-in-train-mode"},
    "model.train()": {"export-in-train-mode"},
    "random seed": {"torch-random-state", "python-random"},
    "manual_seed": {"torch-random-state"},
    "numpy": {"numpy-round-trip", "numpy-number"},
    "torch.jit.script": {"torchscript-remnant"},
    "register_fake": {"missing-fake-kernel"},
    "custom op": {"missing-fake-kernel"},
    "lru_cache": {"cached-tensor"},
    "dataclass output": {"unregistered-pytree"},
    "x.data": {"tensor-data-access"},
    "while loop": {"while-loop-misuse"},
    "time.time()": {"clock-or-environment"},
    "frozen storage": {"frozen-storage-write"},
    "kv cache": {"state-on-self", "cached-tensor"},
    "Data-dependent branching": {"GB0170"},
    "Constraints violated (batch)! For more information, run with TORCH_LOGS='+dynamic'.": {"dynamic-shape-frozen"},
    "AttributeError: 'ExportedProgram' object has no attribute 'eval'": {"program-used-as-model"},
    "RuntimeError: cannot mutate tensors with frozen storage": {"frozen-storage-write"},
    "Found <class 'transformers.modeling_outputs.BaseModelOutput'> in output, which is not a known type": {
        "unregistered-pytree"
    },
    "`h.mean() > 0` branches on the value of a tensor": {"data-dependent-branch"},
}
PASTES = {
    "guard": {"data-dependent-branch"},
    "size": {"data-dependent-size-branch"},
    "compile": {"GB0170"},
    "dims": {"dynamic-shape-frozen"},
    "output": {"unregistered-pytree"},
    "cond": {"cond-misuse", "GB0040"},
}
FOREIGN = (
    "asdfghjkl",
    "kubernetes ingress controller",
    "how do I bake sourdough bread",
    "ModuleNotFoundError: No module named 'pandas'",
    "IndexError: list index out of range",
    "torch._dynamo.exc.Unsupported: something that no torch has said so far",
    "GB9999",
    (PASTED / "out_of_memory.txt").read_text("utf-8"),
)


@pytest.mark.clause("what people type is found, the nearest first")
@pytest.mark.parametrize("typed", TYPED)
def test_what_people_type_is_found(typed: str) -> None:
    assert next((found.name for found in search(typed)), None) in TYPED[typed]


@pytest.mark.clause("a pasted error message is found")
@pytest.mark.parametrize("pasted", PASTES)
def test_a_pasted_traceback_is_found(pasted: str) -> None:
    text = (PASTED / f"{pasted}.txt").read_text("utf-8")
    assert next((found.name for found in search(text)), None) in PASTES[pasted]


@pytest.mark.parametrize("typed", FOREIGN)
def test_what_belongs_to_nothing_finds_nothing(typed: str) -> None:
    assert search(typed) == []


def test_words_that_are_no_name_list_the_nearest_in_a_line_each() -> None:
    lines = explained("dynamic", "shape").splitlines()
    assert lines[0] == "Nothing has this name; nearest first:"
    assert lines[2].split()[:2] == ["dynamic-shape-frozen", "rule"]
    assert lines[-1] == "`exportlint explain dynamic-shape-frozen` shows the first of them."


def test_a_traceback_is_read_from_a_pipe_and_the_page_of_its_rule_is_shown() -> None:
    done = exportlint(None, "explain", "-", stdin=(PASTED / "guard.txt").read_bytes())
    assert done.stdout.startswith("data-dependent-branch\n=====")
    assert done.returncode == 0


def test_what_fits_nothing_is_said_in_a_sentence() -> None:
    done = exportlint(None, "explain", "-", stdin=(PASTED / "out_of_memory.txt").read_bytes())
    assert done.returncode == 2
    assert done.stdout == ""
    assert "nothing fits `torch.OutOfMemoryError: CUDA out of memory." in done.stderr


def test_checking_a_file_does_not_load_what_searches(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\n")
    code = (
        "import sys\n"
        "from exportlint.cli import main\n"
        "try:\n    main(['check', '--jobs', '1', 'net.py'])\n"
        "finally:\n    assert 'exportlint.pages.search' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
