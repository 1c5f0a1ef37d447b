"""Torch's own words, raised by torch here, as one sentence at a line, under the rule that knows them."""

import dataclasses
import random
from pathlib import Path

import pytest
import torch
from inline_snapshot import snapshot
from torch import nn
from torch.export import Dim

from exportlint.finding import Evidence, Severity
from exportlint.trial.findings.classify import StageContext, classify
from exportlint.trial.findings.trial_finding import trial_rule_names
from exportlint.trial.findings.wording.torch_messages import torch_words
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.stages import stage_named
from exportlint.trial.protocol.target import TargetError

pytestmark = pytest.mark.slow

HERE = Path(__file__)


@dataclasses.dataclass
class Prediction:
    score: torch.Tensor


class Branch(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # Branch
            return x
        return x + 1


class Number(nn.Module):
    def forward(self, x):
        return [x] * int(x.sum())  # Number


class SizeOfMask(nn.Module):
    def forward(self, x):
        if x[x > 0].numel() == 0:  # SizeOfMask
            return x
        return x + 1


class Data(nn.Module):
    def forward(self, x):
        x.data[0] = 3
        return x * 2


class Returns(nn.Module):
    def forward(self, x):
        return Prediction(x)


class Frozen(nn.Module):
    def forward(self, x):
        return x + 1 if x.shape[0] == 3 else x


class TwoInputs(nn.Module):
    def forward(self, x, y):
        return x + y


class Draws(nn.Module):
    def forward(self, x):
        return x * random.random()  # noqa: S311 - what torch says of it is the point


class Raises(nn.Module):
    def forward(self, x):
        raise ValueError(f"only {x.dim()} dims")  # Raises


class Mismatch(nn.Module):
    def forward(self, x):
        return torch.nn.functional.linear(x, torch.ones(2, 12))  # Mismatch


class BranchInCond(nn.Module):
    def forward(self, x):
        def inner(t):
            return t if t.sum() > 0 else t + 1  # BranchInCond

        return torch.cond(x.sum() > 0, inner, lambda t: t * 2, (x,))


def refusal(model, *, strict=False, **more):
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the message is what is tested
        torch.export.export(model, (torch.ones(3),), strict=strict, **more)
    return of_exception(caught.value)


def findings(seen, stage, exported=frozenset()):
    where = StageContext("a target", stage_named(stage), HERE.parent, str(HERE), 1, exported)
    return [found.finding() for found in classify(where, seen)]


def finding(seen, stage="export-non-strict"):
    (found,) = findings(seen, stage)
    return found


@pytest.mark.parametrize("strict", [False, True])
def test_a_branch_is_one_sentence_at_its_line_with_its_pages(strict):
    found = finding(refusal(Branch(), strict=strict), f"export-{'strict' if strict else 'non-strict'}")
    assert found.rule == "data-dependent-branch"
    assert HERE.read_text("utf-8").splitlines()[found.line - 1].endswith("# Branch")
    assert (found.path, found.column, found.severity) == (HERE.name, 9, Severity.ERROR)
    assert found.message.startswith("the value of a tensor decides here")
    assert "torch.where" in found.fix.description
    assert "cond_predicate" in [link.id for link in found.links]
    assert ("GB0170" in [link.id for link in found.links]) == strict
    assert (found.evidence, found.target) == (Evidence.DISCOVERED, "a target")
    assert found.effect == {"strict" if strict else "non-strict": "refused"}


@pytest.mark.parametrize(
    ("model", "strict", "message", "suggestion", "rule"),
    [
        (
            Number(),
            False,
            "Python needs a number here that is known only when",
            "torch._check",
            "tensor-as-python-number",
        ),
        (SizeOfMask(), False, "the size of a tensor decides here", "torch._check", "data-dependent-size-branch"),
        (Data(), False, "the program holds a tensor without data", ".detach()", "tensor-data-access"),
        (Returns(), False, "the model returns `Prediction`", "register_dataclass(Prediction,", "unregistered-pytree"),
        (Returns(), True, "the model returns `Prediction`", "register_dataclass(Prediction,", "unregistered-pytree"),
        (TwoInputs(), False, "no value for the argument `y` of forward", "example_args", "trial-export-non-strict"),
        (TwoInputs(), True, "no value for the argument `y` of forward", "example_args", "trial-export-non-strict"),
        (Mismatch(), True, "cannot trace through `<built-in function linear>`: Run", "", "trial-export-non-strict"),
        (BranchInCond(), False, "the value of a tensor decides here", "torch.where", None),
        (Raises(), True, "Observed exception: raised exception ValueError('only 1 dims')", "", None),
    ],
    ids=lambda part: type(part).__name__ if isinstance(part, nn.Module) else "",
)
def test_what_torch_says_in_one_readable_sentence(model, strict, message, suggestion, rule):
    found = finding(refusal(model, strict=strict))
    assert message in found.message
    assert suggestion in (found.fix.description if found.fix else "")
    assert "\n" not in found.message
    assert rule is None or found.rule == rule


def test_an_older_torch_says_why_on_the_line_after():
    text = (
        "Failed running call_module L__self___fc(*(FakeTensor(..., size=(1, 16)),), **{}):\na and b do not fit.\n\nfr"
    )
    words = torch_words(Observation("exception", text))
    assert words.message == snapshot("torch cannot trace through `L__self___fc`: a and b do not fit")


def test_eager_that_a_rule_explains_is_not_blamed_on_the_inputs():
    text = "Cond doesn't work unless it is captured completely with torch.compile. Scroll up"  # torch 2.6
    found = finding(Observation("exception", text), "eager")
    assert (found.rule, found.fix) == ("cond-misuse", None)
    assert "inputs" in finding(Observation("exception", "no idea"), "eager").fix.description


def test_violated_constraints_name_the_dimension_and_what_to_declare():
    words = torch_words(refusal(Frozen(), dynamic_shapes={"x": {0: Dim("batch")}}))
    assert words.message == snapshot(
        "the declared dynamic shapes do not hold (batch): the code makes `batch` the constant 3"
    )
    assert words.suggestion == snapshot("change the code, or declare what it demands: `batch = 3`")


def test_a_function_that_dynamo_skips_is_named():
    seen = refusal(Draws(), strict=True)
    assert "Random.random" in torch_words(seen).message or "RandomValueSource" in torch_words(seen).message


def test_a_cache_of_a_library_is_switched_off_not_registered():
    text = "Found <class 'transformers.cache_utils.DynamicCache'> in output, which is not a known type."
    words = torch_words(Observation("exception", text))
    assert words.suggestion.startswith("pass `use_cache=False`")


def test_without_a_line_the_target_is_the_place():
    found = finding(Observation("exception", "no idea", "builtins.RuntimeError"))
    assert (found.path, found.line, found.rule) == (HERE.name, 1, "trial-export-non-strict")
    assert found.links == ()


def test_cases_that_torch_invents_are_not_linked():
    url = "https://pytorch.org/docs/main/generated/exportdb/index.html#"
    text = f"see {url}dynamic-shapes-validation and {url}cond-operands"
    assert [link.id for link in finding(Observation("exception", text)).links] == ["cond_operands"]


def test_a_refusal_inside_a_library_stands_at_the_call_of_it():
    own, library = (str(HERE), 5, "f", ""), ("/x/site-packages/lib/net.py", 9, "g", "")
    found = finding(Observation("exception", "bad").at([Frame(*own), Frame(*library)]))
    assert (found.path, found.line) == (HERE.name, 5)
    assert "bad (inside lib/net.py:9, ``) (" in found.message
    elsewhere = ("/somewhere/else/model.py", 7, "forward", "")
    found = finding(Observation("exception", "bad").at([Frame(*elsewhere), Frame(*library)]))
    assert (found.path.rpartition("/")[2], found.line) == ("model.py", 7), "a package never stands for the code beside"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("if self.encoder(x).sum() > 0:", "the value of a tensor decides here"),
        ("if len(x) > 1 and x[0] > x[1]:", "the value of a tensor decides here"),
        ("y = self.encoder(x)", "what is called here decides by the value of a tensor"),
    ],
)
def test_a_call_that_decides_inside_is_not_told_as_a_branch(line, said):
    text = "Could not guard on data-dependent expression Eq(u13, 1) (unhinted: Eq(u13, 1)).  (Size-like symbols: none)"
    found = finding(Observation("exception", text).at([Frame(str(HERE), 5, "forward", line)]))
    assert found.message.startswith(said)
    assert "torch.where" in found.fix.description


INSTALLED = Path(torch.__file__).parent


def test_a_layer_of_torch_that_decides_is_named_with_its_line():
    text = "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)"
    layer = Frame(str(INSTALLED / "nn/modules/transformer.py"), 7, "_detect_is_causal_mask", "make = bool(same)")
    fake = Frame(str(INSTALLED / "fx/proxy.py"), 3, "__bool__", "")
    found = finding(
        Observation("exception", text).at([Frame(str(HERE), 5, "forward", "y = self.encoder(x, m)"), layer, fake])
    )
    assert "(torch does, in torch/nn/modules/transformer.py:7, `make = bool(same)`)" in found.message
    assert found.fix.description.startswith(
        "give it arguments for which `_detect_is_causal_mask` of torch does not ask"
    )


def test_a_number_of_numpy_that_decides_is_no_value_of_a_tensor():
    text = (
        "Detected data-dependent branching\n  Developer debug context: attempted to jump with NumpyNdarrayVariable()\n"
    )
    found = finding(Observation("exception", text).at([Frame(str(HERE), 5, "forward", "if np.prod(x.shape) == 1:")]))
    assert found.message.startswith("a number of NumPy's decides here")


def test_a_graph_break_is_a_note_and_draft_export_s_own_failure_is_nothing():
    seen = refusal(Branch(), strict=True)
    broken = dataclasses.replace(seen, kind="graph-break")
    assert finding(broken, "explain").severity is Severity.NOTE
    assert findings(seen, "draft") == []


def test_what_draft_export_warns_of_is_a_note_where_the_real_export_passes():
    issue = Observation("exception", details={"draft": "GUARD_ADDED", "subject": "Eq(s0, 3)"})
    (refused,) = findings(issue, "draft")
    (passed,) = findings(issue, "draft", frozenset({"non-strict"}))
    assert (refused.severity, refused.effect) == (Severity.ERROR, {"non-strict": "refused"})
    assert (passed.severity, passed.effect) == (Severity.NOTE, {})


def test_a_stage_that_looks_for_more_and_crashes_says_nothing_about_the_model():
    ended = Observation("exception", "the process was ended by SIGSEGV", details={"ended": "crashed"})
    assert findings(ended, "further") == []
    assert len(findings(ended, "export-strict")) == 1


def test_a_check_that_raises_says_that_nothing_is_known_and_refuses_in_no_mode():
    seen = Observation("exception", "object is gone", error_class="ReferenceError", details={"mode": "non-strict"})
    unknown = finding(seen, "soundness")
    assert unknown.effect == {}
    assert "is not known: the check itself raised object is gone" in unknown.message
    ended = dataclasses.replace(seen, details={"mode": "non-strict", "ended": "timed-out"})
    assert "timed out" in finding(ended, "soundness").message


def test_a_mistake_in_naming_the_target_is_no_finding_about_the_model():
    seen = of_exception(TargetError("there is no file"))
    assert findings(seen, "load") == []


def test_every_stage_has_its_name_for_select_and_ignore():
    assert {"trial-export-strict", "trial-soundness", "trial-lower-executorch"} <= set(trial_rule_names())
