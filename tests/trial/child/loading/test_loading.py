"""A target that cannot be tried says why in one sentence; one that can leaves its file's folder as it was."""

import venv
from pathlib import Path

import pytest
import torch
from inline_snapshot import snapshot
from sources import MODELS

from exportlint.trial.child.loading.from_target import load
from exportlint.trial.discovery import from_callables
from exportlint.trial.parent import TrialUnavailable
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials

pytestmark = pytest.mark.slow

FILE = MODELS / "broken_targets.py"


def target(model, args, home=FILE, **parts):
    return from_callables(f"{home}:{model}", f"{home}:{args}", name=f"{model} {args}", **parts)


@pytest.fixture(scope="module")
def reports():
    targets = [
        target("make", "args"),
        target("make", "lone_tensor"),
        target("make", "args_list"),
        target("make", "args_that_raise"),
        target("make", "absent"),
        target("no_model", "args"),
        target("make", "wrong_shape"),
        target("bound", "args"),
        target("make", "args", MODELS / "import_fails.py"),
        target("make", "args", MODELS / "import_exits.py"),
        from_callables("no_such_package.model:make", f"{FILE}:args", name="module"),
        from_callables("torch.nn:Identity", f"{FILE}:args", name="library class"),
        from_callables(f"{FILE}:make", f"{FILE}:args", kwargs=f"{FILE}:kwargs_tuple", name="kwargs"),
    ]
    targets[8:10] = [_renamed(targets[8], "import fails"), _renamed(targets[9], "import exits")]
    found = run_trials(targets, TrialOptions(modes=("non-strict",), timeout=30))
    return {report.name: report for report in found}


def _renamed(old, name):
    return type(old).from_dict({**old.to_dict(), "name": name})


@pytest.mark.parametrize(
    ("name", "status", "sentence"),
    [
        ("make args_list", "refused", "args must give a tuple of arguments, it gave list"),
        ("make args_that_raise", "refused", "making the arguments raised ValueError: no data here"),
        ("make absent", "refused", "broken_targets.py has no 'absent'"),
        ("no_model args", "refused", "gives int, not an nn.Module"),
        ("import fails", "refused", "ModuleNotFoundError: No module named 'a_package_that_nobody_has'"),
        ("import exits", "crashed", "the process is gone"),
        ("module", "refused", "No module named 'no_such_package'"),
        ("kwargs", "refused", "kwargs must give a dict, it gave tuple"),
    ],
)
def test_a_target_that_does_not_load_is_broken_and_says_why(reports, name, status, sentence):
    report = reports[name]
    assert sentence in report.broken
    assert report.stages[0].status == status
    assert {stage.status for stage in report.stages[1:]} == {"skipped"}


@pytest.mark.parametrize("name", ["make args", "make lone_tensor", "library class"])
def test_what_loads_runs_the_ladder(reports, name):
    assert reports[name].broken is None
    assert reports[name].stage("export-non-strict").status == "passed"
    assert reports[name].stage("soundness").status == "passed"


def test_a_sample_that_eager_refuses_is_a_finding_of_the_eager_stage(reports):
    report = reports["make wrong_shape"]
    assert report.broken is None
    assert report.stage("eager").status == "refused"
    assert "shapes cannot be multiplied" in report.stage("eager").observations[0].text
    assert report.stage("export-non-strict").status == "refused"


def test_a_method_of_a_module_is_refused_and_what_wraps_it_is_tried(reports):
    report = reports["bound args"]
    assert report.broken is None
    assert report.stage("load").full_detail == snapshot(
        "bound method Linear.forward(float32[2, 3]), wrapped in a module"
    )
    export = report.stage("export-non-strict")
    assert "instance of `torch.nn.Module`" in export.observations[0].text
    assert (export.status, report.stage("soundness").status) == ("passed", "passed")


def test_a_trial_writes_nothing_beside_the_target(reports):
    assert reports["make args"].stages
    caches = [path for path in MODELS.rglob("*.pyc") if "broken_targets" in path.name]
    assert caches == []


def test_an_interpreter_without_torch_is_told_what_to_install(tmp_path):
    venv.create(tmp_path / "bare", with_pip=False)
    python = tmp_path / "bare" / "bin" / "python"
    with pytest.raises(TrialUnavailable, match=r"a trial needs torch.*-m pip install torch"):
        run_trials([target("make", "args")], TrialOptions(python=python))


def test_another_interpreter_needs_nothing_but_torch(tmp_path):
    """A virtual environment that sees torch, but neither exportlint nor its dependencies."""
    venv.create(tmp_path / "other", with_pip=False)
    site = next((tmp_path / "other" / "lib").glob("python*/site-packages"))
    needed = (
        "torch",
        "torchgen",
        "functorch",
        "sympy",
        "mpmath",
        "typing_extensions.py",
        "filelock",
        "networkx",
        "jinja2",
    )
    home = Path(torch.__file__).parents[1]
    for name in (*needed, "markupsafe", "fsspec", "numpy", "numpy.libs", "torch-" + torch.__version__ + ".dist-info"):
        if (home / name).exists():
            (site / name).symlink_to(home / name)
    options = TrialOptions(modes=("non-strict",), python=tmp_path / "other" / "bin" / "python", timeout=60)
    (report,) = run_trials([target("make", "args")], options)
    assert (report.broken, report.stage("export-non-strict").status) == (None, "passed")
    assert report.torch == torch.__version__


def test_an_interpreter_that_does_not_start_is_named(tmp_path):
    with pytest.raises(TrialUnavailable, match="cannot start"):
        run_trials([target("make", "args")], TrialOptions(python=tmp_path / "python"))


def test_what_a_maker_imports_may_seed_and_every_model_is_the_same(tmp_path, monkeypatch):
    """Python imports a file once, so the first model would be another one than those after it."""
    (tmp_path / "seeds_itself.py").write_text(
        "import torch\n\ntorch.manual_seed(123)\nNet = torch.nn.Linear\n", "utf-8"
    )
    lines = ["import torch", "", "def build():", "    from seeds_itself import Net", "    return Net(3, 3)"]
    makes = tmp_path / "makes.py"
    makes.write_text("\n".join([*lines, "", "def inputs():", "    return (torch.ones(1, 3),)", ""]), "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    loaded = load(from_callables(f"{makes}:build", f"{makes}:inputs"))
    first, second = loaded.model(), loaded.model()
    assert torch.equal(first.weight, second.weight)
