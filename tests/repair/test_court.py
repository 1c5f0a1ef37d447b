"""What an edit takes away, the court sees: gradients, other settings, short rows, single rows, sides of branches."""

from textwrap import indent

import pytest
from court import verdict

pytestmark = pytest.mark.slow

TRAINED = """
class Net(nn.Module):
    def __init__(self, steps=1):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor([1.5, 0.5, 2.0]))
        self.steps = steps

    def forward(self, x):
{body}

    inputs = staticmethod(lambda: (torch.tensor([[0.3, -1.2, 0.7], [1.1, 0.2, -0.4]]),))
"""
PLAIN = TRAINED.replace("nn.Parameter(torch.tensor([1.5, 0.5, 2.0]))", "2.0")


def of(body, source=TRAINED):
    return source.format(body=indent(body, " " * 8))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ("x = x * self.scale\nreturn x / x.sum().item()", "x = x * self.scale\nreturn x / x.sum()", "gradient"),
        ("return x * self.scale.detach()", "return x * self.scale", "now requires"),
        ("return x * self.scale", "return x * self.scale.detach()", "no longer requires"),
    ],
)
def test_other_gradients_are_taken_only_where_that_is_allowed(before, after, told):
    found = verdict(of(before), of(after))
    assert "other gradients" in found.why_not
    assert told in found.why_not
    assert "--unsafe" in found.why_not
    allowed = verdict(of(before), of(after), unsafe=True)
    assert allowed.why_not == ""
    assert told in allowed.caveats[0]


def test_the_same_gradients_are_no_matter():
    found = verdict(
        of("x = x * self.scale\nreturn x / x.sum().item()"), of("x = x * self.scale\nreturn x / x.sum().detach()")
    )
    assert (found.why_not, found.caveats) == ("", [])


def test_inputs_that_a_loss_derives_by_stay_so():
    before, after = of("x.requires_grad_(True)\nreturn x * self.scale", PLAIN), of("return x * self.scale", PLAIN)
    assert "no longer requires" in verdict(before, after).why_not


def test_a_gradient_that_is_no_number_at_zeros_is_told():
    before = "norm = (x * self.scale).norm()\nif norm > 0:\n    return x * self.scale / norm\nreturn x * self.scale"
    after = "norm = (x * self.scale).norm()\nreturn torch.where(norm > 0, x * self.scale / norm, x * self.scale)"
    found = verdict(of(before), of(after))
    assert found.why_not == ""
    assert "on zeros" in found.caveats[0]
    assert "no number" in found.caveats[0]


def test_a_model_that_is_not_trained_needs_no_gradients():
    before, after = "return x / x.sum().item() * self.scale", "return x / x.sum() * self.scale"
    assert verdict(of(before, PLAIN), of(after, PLAIN)).why_not == ""


STEPS = """\
for step in range(4):
    x = x * self.scale
    if step >= self.steps - 1:
        break
return x"""


def test_a_step_that_is_right_for_the_number_of_the_sample_alone():
    found = verdict(of(STEPS), of("return x * self.scale"))
    assert found.why_not == ""
    assert "this configuration only" in found.settings.why
    assert "`steps` = 2" in found.settings.why
    allowed = verdict(of(STEPS), of("return x * self.scale"), unsafe=True).settings
    assert allowed.why is None
    assert "`steps` = 2" in allowed.differs


def test_what_is_right_for_every_number_is_taken():
    after = STEPS.replace("    x = x * self.scale\n", "    x = self.scale * x\n")
    assert verdict(of(STEPS), of(after)).settings.why is None


def test_a_number_that_is_an_argument_is_another_one():
    source = TRAINED.replace("forward(self, x)", "forward(self, x, times=1)")
    before = of("for _ in range(times):\n    x = x * self.scale\nreturn x", source)
    assert "`times` = 0" in verdict(before, of("return x * self.scale", source)).settings.why


def test_what_init_makes_of_a_number_is_not_judged_by_setting_it():
    before = of("return x * self.scale * torch.full((3,), float(self.steps))")
    after = of("return x * self.scale * self.full").replace(
        "        self.steps = steps\n",
        '        self.steps = steps\n        self.register_buffer("full", torch.full((3,), float(steps)))\n'
        "        del steps, self.steps\n        self.steps = 1\n",
    )
    assert verdict(before, after).settings.why is None


def test_a_number_that_became_a_buffer_is_set_there():
    before = of("self.steps += 1\nreturn x * self.scale * self.steps")
    after = of("self.steps.add_(1)\nreturn x * self.scale * self.steps").replace(
        "self.steps = steps", 'self.register_buffer("steps", torch.tensor(steps))'
    )
    found = verdict(before, after)
    assert (found.why_not, found.settings.why) == ("", None)


LENGTHS = """
class Net(nn.Module):
    def forward(self, x, lengths):
{body}

    inputs = staticmethod(lambda: (torch.rand(2, 4), torch.tensor([4, 2])))
"""


def test_rows_that_are_shorter_than_the_padding():
    before = of("x = x[:, : int(lengths.max())]\nreturn x.sum(1)", LENGTHS)
    found = verdict(before, of("return x.sum(1)", LENGTHS))
    assert "integers" in found.why_not
    masked = "keep = torch.arange(x.shape[1]) < lengths.max()\nreturn (x * keep).sum(1)"
    assert verdict(before, of(masked, LENGTHS)).why_not == ""


MASKED = """
class Net(nn.Module):
    def forward(self, x, mask):
{body}

    inputs = staticmethod(lambda: (torch.rand(2, 3), torch.tensor([[True, False, True], [True, True, False]])))
"""


def test_masks_that_leave_nothing_and_everything():
    before = of("if not mask.any():\n    return x\nreturn x * mask", MASKED)
    assert "integers all 0" in verdict(before, of("return x * mask", MASKED)).why_not


def test_a_single_row():
    before, after = "return x - x.mean(0)", "return x - (x[0] + x[1]) / 2"
    source = PLAIN.replace("torch.tensor([[0.3", "torch.tensor([[0.3")
    found = verdict(of(before, source), of(after, source))
    assert found.why_not == ""
    assert any("single row" in one for one in found.caveats)
    wrong = verdict(of("return x - x.mean(0)", source), of("return x - x.sum(0) / 2", source))
    assert "the first row alone" in wrong.why_not


@pytest.mark.parametrize(
    "test",
    [
        "x.mean() > 40",
        "x.abs().max() > 5000",
        "x.sum() < -700",
        "(x[0] == x[1]).all()",
        "(x[:, 1:] >= x[:, :-1]).all()",
        "x.std() < 1e-3",
        "x.isnan().any()",
        "(x.max() - x.mean()).abs() < 0.011",
    ],
)
def test_inputs_are_found_that_take_both_sides(test):
    body = f"if {test}:\n    return x * 2\nreturn x"
    kept = verdict(of(body, PLAIN), of(body, PLAIN)).kept
    assert len(kept.data["two_sided"]) == 1


def test_inputs_are_found_between_two_thresholds():
    body = "if x.mean() > 0.63:\n    return x\nif x.mean() > 0.61:\n    return x * 2\nreturn x - 1"
    kept = verdict(of(body, PLAIN), of(body, PLAIN)).kept
    assert len(kept.data["two_sided"]) == 2


def test_a_side_that_nothing_takes_is_said_and_ends_the_search():
    body = "if (x * 0 == 1).any():\n    return x * 2\nreturn x"
    kept = verdict(of(body, PLAIN), of(body, PLAIN)).kept
    assert [value for _, _, value in kept.data["one_sided"]] == [False]
    assert kept.seconds < 20


def test_weights_that_are_drawn_earlier_are_other_weights():
    lazy = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {early}

    def forward(self, x):
        if self.layer is None:
            self.layer = nn.Linear(3, 2)
        return self.layer(x)

    inputs = staticmethod(lambda: (torch.ones(2, 3),))
"""
    found = verdict(lazy.format(early="None"), lazy.format(early="nn.Linear(3, 2)"), unsafe=True)
    assert "the output differs" in found.why_not


def test_what_makes_the_inputs_may_set_what_the_model_reads():
    reading = """
import os

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.strength = self.read()

    def read(self):
        return float(os.environ["STRENGTH"])

    def forward(self, x):
        return x * {strength}

    @staticmethod
    def inputs():
        os.environ["STRENGTH"] = "1"
        return (torch.ones(2),)

    @staticmethod
    def other_inputs():
        os.environ["STRENGTH"] = "2"
        return (torch.ones(2),)

os.environ["STRENGTH"] = "1"
"""
    found = verdict(reading.format(strength="self.read()"), reading.format(strength="self.strength"), unsafe=True)
    assert "in turn, call 2: the output differs" in found.why_not


def test_a_loop_that_has_no_end_on_values_that_nobody_gave_says_nothing():
    small_only = "while x.abs().max() > 1:\n    x = x * (0.5 if x.abs().max() < 2 else 2)\nreturn x"
    assert verdict(of(small_only, PLAIN), of("# the same\n" + small_only, PLAIN)).why_not == ""


STEP = """
class Net(nn.Module):
    def forward(self, x, step):
        return {result}

    inputs = staticmethod(lambda: (torch.ones(3), {given}))
"""


@pytest.mark.parametrize(("result", "differs"), [("x * step", ""), ("x * step.clamp(max=3)", "`step` = 4")])
def test_callers_that_give_a_tensor_for_a_number_are_told_and_have_to_be_allowed(result, differs):
    before, after = STEP.format(result="x * step", given="3"), STEP.format(result=result, given="torch.tensor(3)")
    assert "its callers give tensors now" in verdict(before, after).why_not
    allowed = verdict(before, after, unsafe=True)
    assert "its callers give tensors now" in allowed.caveats[0]
    assert bool(allowed.settings.differs) == bool(differs)
    assert differs in (allowed.settings.differs or "")
