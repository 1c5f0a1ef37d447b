"""Static meets dynamic on real small models: suspected, confirmed, discovered, cleared."""

import sys
from pathlib import Path

import pytest

from exportlint.finding import Evidence, Finding, Severity
from exportlint.trial.discovery import discover
from exportlint.trial.findings.merge import merge
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials

pytestmark = pytest.mark.slow

MODEL = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x, flag=False):
        {}
        return x * 2


model = Net().eval()
example_args = (torch.ones(3),)
"""


@pytest.fixture
def tried(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def trial(*lines, lower=()):
        body = "\n        ".join(lines)
        Path("net.py").write_text(MODEL.replace("{}", body), "utf-8")
        return run_trials(discover([Path("net.py")]), TrialOptions(lower=lower, timeout=120))

    return trial


def suspect(text, rule="some-rule", effect=None, shown_by=("export",)):
    """A suspicion on the line of net.py that holds the text; `shown_by`: what of a trial shows it."""
    lines = Path("net.py").read_text("utf-8").splitlines()
    line = next(number for number, source in enumerate(lines, 1) if text in source)
    effect = effect or {"non-strict": "refused", "strict": "refused"}
    kinds = dict.fromkeys(("non-strict", "strict"), shown_by)
    return Finding(
        rule, "net.py", line, 9, line, 30, Severity.ERROR, "the static message", effect=effect, shown_by=kinds
    )


def test_a_suspicion_on_the_failing_line_is_confirmed_and_keeps_its_words(tried):
    reports = tried("if x.sum() > 0:", "    x = x + 1")
    (met,) = merge([suspect("x.sum()")], reports)
    assert (met.rule, met.evidence, met.target) == ("some-rule", Evidence.CONFIRMED, "net.py")
    assert met.message.startswith("the static message; tried: the value of a tensor decides here")
    assert met.effect == {"non-strict": "refused", "strict": "refused"}
    assert "GB0170" in [link.id for link in met.links]


def test_what_nobody_suspected_is_discovered_once_for_both_modes(tried):
    (found,) = merge([], tried("if x.sum() > 0:", "    x = x + 1"))
    assert (found.rule, found.evidence, found.line) == ("data-dependent-branch", Evidence.DISCOVERED, 11)
    assert found.message.endswith("(refused in either mode)")
    assert "GB0170" in [link.id for link in found.links]


def test_a_line_that_ran_and_agreed_is_cleared(tried):
    reports = tried("y = x + 1", "x = y.clone()")
    every_call = ("export", "output", "state", "input-effect", "baked", "eager-after-export", "decompose", "save")
    (met,) = merge([suspect("y.clone()", shown_by=every_call)], reports)
    assert (met.evidence, met.target) == (Evidence.CLEARED, "net.py")


@pytest.mark.parametrize("kind", ["own-inputs", "sizes", "other-device", "other-process", "gradients", "observe"])
def test_what_no_check_of_the_trial_shows_stays_suspected(tried, kind):
    reports = tried("y = x + 1", "x = y.clone()")
    (met,) = merge([suspect("y.clone()", shown_by=("export", kind))], reports)
    assert met.evidence is Evidence.SUSPECTED


def test_a_line_that_appends_to_a_list_of_the_file_is_confirmed(tried, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "MODEL", MODEL.replace("import torch\n", "import torch\n\nSEEN = []\n"))
    reports = tried("SEEN.append(x.shape[0])")
    (met,) = merge([suspect("SEEN.append", effect={"non-strict": "differs", "strict": "differs"})], reports)
    assert (met.rule, met.evidence, met.stage) == ("some-rule", Evidence.CONFIRMED, "soundness")
    assert "every call of eager changes global SEEN, the exported program never" in met.message


def test_a_line_that_never_ran_stays_suspected_and_both_findings_say_so(tried):
    reports = tried("if flag:", "    x = x - 1")
    met = {found.rule: found for found in merge([suspect("x - 1")], reports)}
    assert met["some-rule"].evidence is Evidence.SUSPECTED
    assert met["some-rule"].message.endswith("no sample of a trial ran this line, so nothing is known of it")
    assert (met["trial-never-ran"].line, met["trial-never-ran"].severity) == (12, Severity.NOTE)


def test_one_failing_line_clears_no_other(tried):
    reports = tried("y = x + 1", "if y.sum() > 0:", "    x = x + 1")
    first, second = merge([suspect("y = x + 1"), suspect("y.sum()")], reports)
    assert (first.evidence, second.evidence) == (Evidence.SUSPECTED, Evidence.CONFIRMED)


def test_silent_state_is_found_at_the_line_that_changes_it(tried):
    (found,) = merge([], tried("self.calls += 1", "x = x * self.calls"))
    assert (found.rule, found.stage, found.line) == ("trial-soundness", "soundness", 11)
    assert "this line changes `calls`" in found.message
    assert (found.severity, found.effect["strict"]) == (Severity.ERROR, "differs")


def test_severity_follows_the_mode(tried):
    reports = tried("assert x.sum() > 0")
    (default,) = merge([], reports)
    (strict,) = merge([], reports, mode="strict")
    assert (default.severity, strict.severity) == (Severity.ERROR, Severity.NOTE)
    assert default.message.endswith("(refused in non-strict mode, exports and agrees with eager in strict mode)")
    (met,) = merge([suspect("assert", effect={"non-strict": "refused", "strict": "exports"})], reports)
    assert met.evidence is Evidence.CONFIRMED
    silent = suspect("assert", effect={"non-strict": "refused", "strict": "differs"})
    (met,) = merge([silent], reports, mode="strict")
    assert (met.evidence, met.severity) == (Evidence.CONFIRMED, Severity.NOTE)
    assert met.message.endswith("; in strict mode the program agrees with eager all the same")
    assert "export with `strict=True`" not in met.fix.description
    unseen = suspect("assert", effect=silent.effect, shown_by=("export", "other-environment"))
    (met,) = merge([unseen], reports, mode="strict")
    assert met.severity is Severity.WARNING


def test_where_torch_names_no_line_the_only_fitting_suspicion_is_meant(tried):
    reports = tried("x.data[0] = 3")
    effect = {"non-strict": "refused", "strict": "differs"}
    data = suspect("x.data", "tensor-data-access", effect)
    other = suspect("return x * 2", "other-rule")
    met = {found.rule: found for found in merge([data, other], reports)}
    assert met["tensor-data-access"].evidence is Evidence.CONFIRMED
    assert "torch names no line" in met["tensor-data-access"].message
    assert met["other-rule"].evidence is Evidence.SUSPECTED


def test_a_failed_lowering_confirms_nothing_about_export(tried):
    reports = tried("x = torch.linalg.svd(x.diag())[1]", lower=("executorch",))
    met = {found.rule: found for found in merge([suspect("svd")], reports)}
    assert met["some-rule"].evidence is Evidence.CLEARED
    lowered = met["trial-lower-executorch"]
    assert (lowered.evidence, lowered.line) == (Evidence.DISCOVERED, 11)
    assert lowered.message.startswith("lower-executorch, compile: neither a kernel nor a decomposition")


def test_breaks_of_torch_compile_alone_are_notes(tried):
    (found,) = merge([], tried("x = x * x.sum().item()"))
    assert (found.severity, found.evidence) == (Severity.NOTE, Evidence.DISCOVERED)


@pytest.mark.parametrize(("layer", "severity"), [("Dropout(0.5)", Severity.NOTE), ("BatchNorm1d(3)", Severity.WARNING)])
def test_training_mode_is_loud_where_every_call_changes_statistics(tmp_path, monkeypatch, layer, severity):
    monkeypatch.chdir(tmp_path)
    model = f"import torch\n\nmodel = torch.nn.Sequential(torch.nn.{layer})\nexample_args = (torch.ones(2, 3),)\n"
    Path("net.py").write_text(model, "utf-8")
    reports = run_trials(discover([Path("net.py")]), TrialOptions(modes=("non-strict",), timeout=60))
    reported = [finding for finding in merge([], reports) if "training mode" in finding.message]
    assert [finding.severity for finding in reported] == [severity]
