"""What an edit takes away, the court sees: gradients, other settings, short rows, single rows, sides of branches."""

from textwrap import indent

import pytest
from court import program_beside, verdict

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


def test_a_number_of_layers_alone_is_no_other_configuration():
    """Of one more, the model has no layer; before, nothing went there, for nothing was to do."""
    parts = "self.parts = nn.ModuleList(nn.Linear(3, 3) for _ in range(steps))"
    source = TRAINED.replace("self.steps = steps", f"self.steps = steps\n        {parts}")
    step = "for i in range(self.steps):\n    if {test}:\n        x = x + self.parts[i](x) * self.scale\nreturn x"
    before = of("is_used = x.new_ones(1).tolist() + [0]\n" + step.format(test="is_used[i]"), source)
    assert verdict(before, of(step.format(test="True"), source)).settings.why is None


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
        "self.steps = steps", 'self.register_buffer("steps", torch.tensor(steps), persistent=False)'
    )
    found = verdict(before, after)
    assert (found.why_not, found.settings.why) == ("", None)


@pytest.mark.parametrize(
    ("before", "after", "is_right"),
    [
        ("return x * random.randrange(3 + self.steps)", "return x * torch.randint(3 + self.steps, ())", True),
        ("return x * random.randrange(3 + self.steps)", "return x * torch.randint(4, ())", False),
        ("order = [0, 1, 2]\nrandom.shuffle(order)\nreturn x[:, order] * self.steps",
         "return x[:, torch.randperm(3)] * self.steps", True),
        ("return x[:, random.sample(range(3), self.steps)]", "return x[:, torch.randperm(3)[: self.steps]]", True),
        ("return x * self.steps * random.choices([1, 2], weights=[0.2, 0.8])[0]",
         "return x * self.steps * (torch.multinomial(torch.tensor([0.2, 0.8]), 1)[0] + 1)", True),
        ("return x * self.steps * random.choices([1, 2], weights=[0.2, 0.8])[0]",
         "return x * self.steps * (torch.multinomial(torch.tensor([0.8, 0.2]), 1)[0] + 1)", False),
    ],
    ids=["number", "of the sample alone", "order", "sample", "by weight", "by other weights"],
)  # fmt: skip
def test_draws_of_the_same_numbers_are_the_same_under_other_settings_too(before, after, is_right):
    before, after = (f"import random\n{of(one, PLAIN)}" for one in (before, after))
    found = verdict(before, after, unsafe=True)
    assert (found.why_not == "" and not (found.settings and found.settings.differs)) is is_right


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


def test_other_numbers_of_rows():
    mean = of("return x - x.mean(0)", PLAIN)
    assert "the first row alone" in verdict(mean, of("return x - x.sum(0) / 2", PLAIN)).why_not
    assert "the first row once more" in verdict(mean, of("return x - (x[0] + x[1]) / 2", PLAIN)).why_not
    guarded = of("return x[1:].sum(0) if len(x) > 1 else x[0] * 0", PLAIN)
    assert "the first row alone" in verdict(guarded, of("return x[1:].sum(0) + x[1] * 0", PLAIN)).why_not


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
    assert "the other inputs, call 1: the output differs" in found.why_not


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


STATE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
{init}

    def forward(self, x):
{body}

    inputs = staticmethod(lambda: (torch.tensor([[0.3, -1.2, 0.7], [1.1, 0.2, -0.4]]),))
"""


INDEXED = """
class Net(nn.Module):
    def forward(self, x, idx):
{body}

    inputs = staticmethod(lambda: (torch.rand(3, 2), torch.tensor([0, 2, 1])))
"""


def kept(init, body):
    return STATE.format(init=indent(init, " " * 8), body=indent(body, " " * 8))


BUFFER = 'self.register_buffer("last", torch.zeros(2, 3), persistent=False)'


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        # what the first call keeps is not what each call computes
        (
            kept("self.last = None", "if self.last is None:\n    self.last = x.mean()\nreturn x - self.last"),
            kept("self.last = None", "return x - x.mean()"),
            "other inputs in each call, call 2",
        ),
        # a result that a later call writes to
        (
            kept("self.last = torch.zeros(2, 3)", "self.last = self.last + x\nreturn self.last"),
            kept(BUFFER, "self.last.add_(x)\nreturn self.last"),
            "output of call 1, after the calls that follow it",
        ),
        # a state of the sample's size, which smaller inputs are spread over
        (
            kept("self.last = None", "self.last = x * 1 if self.last is None else x + self.last[:1]\nreturn self.last"),
            kept(
                f'{BUFFER}\nself.register_buffer("is_set", torch.tensor(False), persistent=False)',
                "now = torch.where(self.is_set, x + self.last[:1], x * 1)\n"
                "self.last.copy_(now)\nself.is_set.fill_(True)\nreturn self.last * 1",
            ),
            "first row alone",
        ),
        (
            of("return x * 2 if x.shape[0] < 3 else x", PLAIN),
            of("return x * 2", PLAIN),
            "the first row once more",
        ),
        (
            of("return x * 2 if x.shape[1] == 3 else x", PLAIN),
            of("return x * 2", PLAIN),
            "one shorter",
        ),
        (
            of("return x / 2 if x.abs().max() < 1e5 else torch.zeros_like(x)", PLAIN),
            of("return x / 2 * (x.abs().max() < 1e5)", PLAIN),
            "infinity",
        ),
        # a side that raises where the other one was taken
        (
            of("return x[idx] if idx.max() < len(x) else x * 0", INDEXED),
            of("return torch.where(idx.max() < len(x), x[idx], x * 0)", INDEXED),
            "integers and 1",
        ),
        (
            of("return x[idx.clamp(max=len(x) - 1)]", INDEXED),
            of("return x[idx]", INDEXED),
            "integers and 1",
        ),
        (
            of("return x[: len(x) - 1] if len(x) > 1 else x", PLAIN),
            of("return x[: len(x) - 1 or x.unsqueeze_(0)]", PLAIN),
            "first row alone",
        ),
        # what the author raises is no input that the model is not made for
        (
            of("if x.abs().max() > 5000:\n    raise ValueError('too large')\nreturn x * 2", PLAIN),
            of("return x * 2", PLAIN),
            "ValueError",
        ),
        (
            of("return x * 2", PLAIN),
            of("torch.set_grad_enabled(False)\nreturn x * 2", PLAIN),
            "gradients are recorded",
        ),
        (
            of("return x * 2", PLAIN),
            of("self.double = lambda y: y * 2\nself.stream = (y for y in [1])\nreturn x * 2", PLAIN),
            "can be copied",
        ),
    ],
)
def test_what_inputs_of_users_would_show(before, after, told):
    found = verdict(before, after, unsafe=True)
    assert told in found.why_not
    assert found.why_not


def test_what_the_author_raises_may_be_raised_by_the_program():
    before = of("if x.abs().max() > 5000:\n    raise ValueError('too large')\nreturn x * 2", PLAIN)
    after = of("torch._assert_async(~(x.abs().max() > 5000), 'too large')\nreturn x * 2", PLAIN)
    assert verdict(before, after).why_not == ""


def test_checks_of_a_distribution_that_are_left_out_are_told():
    draw = "return torch.distributions.Normal(x, x.exp()).log_prob(x.sqrt())"
    found = verdict(of(draw, PLAIN), of(draw.replace("x.exp())", "x.exp(), validate_args=False)"), PLAIN), unsafe=True)
    assert found.why_not == ""
    assert any("a distribution refused its arguments" in one for one in found.caveats)


def test_sizes_that_are_not_taken_any_more_are_told():
    before = kept("self.last = None", "self.last = x if self.last is None else self.last + x\nreturn self.last * 1")
    after = kept(BUFFER, "self.last.copy_(self.last + x.reshape(2, 3))\nreturn self.last * 1")
    found = verdict(before, after)
    assert found.why_not == ""
    assert "the sample's sizes only" in found.caveats[0]


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (of("return x * x.new_ones(3)", PLAIN), of("return x * torch.ones(3, dtype=torch.float32)", PLAIN), ""),
        (of("return x @ x.new_ones(3)", PLAIN), of("return x @ torch.ones(3)", PLAIN), "float64"),
        (of("return x + x.new_ones(3)", PLAIN), of("return (x + torch.ones(3)).float()", PLAIN), "float64"),
        (
            kept("self.calls = 0", "self.calls += 1\nreturn x * self.calls"),
            kept('self.register_buffer("calls", torch.tensor(0))', "self.calls += 1\nreturn x * self.calls"),
            "new key, `calls`",
        ),
    ],
)
def test_other_precisions_and_checkpoints_are_taken_only_where_that_is_allowed(before, after, told):
    found = verdict(before, after)
    assert told in found.why_not
    if told:
        allowed = verdict(before, after, unsafe=True)
        assert allowed.why_not == ""
        assert told in allowed.caveats[0]


NORMED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.deep = nn.BatchNorm1d(3)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
{body}

    inputs = staticmethod(lambda: (torch.tensor([[0.3, -1.2, 0.7], [1.1, 0.2, -0.4]]),))
"""


def test_statistics_of_a_side_that_is_computed_now_are_told_and_excuse_nothing_else():
    learns = "if self.training:\n    self.seen.add_(x.mean(0).detach())\n"
    before = learns + "if x.abs().max() > 1:\n    return x * 2\nreturn self.deep(x)"
    after = "return torch.where(x.abs().max() > 1, x * 2, self.deep(x))"
    found = verdict(of(before, NORMED), of(learns + after, NORMED), unsafe=True)
    assert found.why_not == ""
    assert any("other statistics (deep.running_mean)" in one for one in found.caveats)
    assert "in training" in verdict(of(before, NORMED), of(after, NORMED), unsafe=True).why_not


def test_the_program_computes_on_all_inputs_what_the_unedited_model_does():
    counted = kept("self.calls = 0", "self.calls += 1\nreturn torch.where(x.sum() > 50, x * self.calls, x)")
    buffer = 'self.register_buffer("calls", torch.tensor(0), persistent=False)'
    right = kept(buffer, "self.calls += 1\nreturn torch.where(x.sum() > 50, x * self.calls, x)")
    assert program_beside(counted, right).passed
    baked = program_beside(counted, counted)
    assert (baked.status, "the sample times 100, call 2" in baked.full_detail) == ("differs", True)


def test_a_loop_without_an_end_on_inputs_that_nobody_gave_it():
    body = "while x.abs().max() > 1:\n    x = x / 2\nreturn x"
    found = verdict(of(body, PLAIN), of(body.replace("x / 2", "x * 0.5"), PLAIN))
    assert (found.why_not, found.kept.status) == ("", "passed")


COUNTED = """
RUN = {{"step": 0}}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {begins}

    def forward(self, x):
        {counts}
        return x * {step}

    inputs = staticmethod(lambda: (torch.ones(3),))
"""


def test_a_model_that_counts_in_a_global_begins_anew_in_each_comparison():
    kept = 'self.register_buffer("step", torch.tensor(0), persistent=False)'
    before = COUNTED.format(begins="", counts='RUN["step"] += 1', step='RUN["step"]')
    assert verdict(before, COUNTED.format(begins=kept, counts="self.step.add_(1)", step="self.step")).why_not == ""
    other = verdict(before, COUNTED.format(begins=kept, counts="self.step.add_(2)", step="self.step"))
    assert "the sample, call 1: the output differs" in other.why_not


TURNED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(3, 3) for _ in range(2))
        self.turn = 0

    def forward(self, x):
{body}

    inputs = staticmethod(lambda: (torch.ones(2, 3),))
"""


KEPT = TURNED.replace("self.turn = 0", 'self.register_buffer("turn", torch.tensor(0), persistent=False)')


def test_parameters_that_calls_left_under_other_names_are_told():
    before = of("y = self.layers[0](x)\nself.layers.append(self.layers.pop(0))\nreturn y", TURNED)
    stays = (
        "y = torch.stack([one(x) for one in self.layers])[self.turn.clone()]\nself.turn.copy_(1 - self.turn)\nreturn y"
    )
    assert "under other names" in verdict(before, of(stays, KEPT)).why_not
    allowed = verdict(before, of(stays, KEPT), unsafe=True)
    assert (allowed.why_not, "under other names" in allowed.caveats[0]) == ("", True)
    lost = "\n".join(
        [*stays.split("\n")[:2], "with torch.no_grad():\n    self.layers[0].bias += 0 * y.sum() + 1", "return y"]
    )
    assert verdict(before, of(lost, KEPT), unsafe=True).why_not


LOUD = "print('sum', {0}, x[0].tolist())\nreturn x * 2"


def test_what_is_printed_is_compared():
    before, other = of(LOUD.format("x.sum().item()"), PLAIN), of(LOUD.format("x.sum()"), PLAIN)
    assert "prints something else" in verdict(before, other).why_not
    assert any("prints something else" in one for one in verdict(before, other, unsafe=True).caveats)
    assert verdict(before, of(LOUD.format("x.T.sum().item()"), PLAIN)).why_not == ""


def test_the_time_that_is_printed_is_another_in_every_run():
    """Its words are compared, and none of its numbers."""
    text = "print('{0}', __import__('time').perf_counter_ns())\nreturn x * 2"
    before = of(text.format("took"), PLAIN)
    assert verdict(before, before.replace("x * 2", "x + x")).why_not == ""
    assert "prints something else" in verdict(before, of(text.format("it took"), PLAIN)).why_not


def test_a_count_that_goes_on_from_model_to_model_is_compared_where_it_is_printed():
    text = "SEEN.append(1)\nprint('seen', len(SEEN) * {0})\nreturn x * 2"
    before, other = (
        of(text.format(factor), PLAIN).replace("class Net", "SEEN = []\n\n\nclass Net") for factor in (1, 3)
    )
    assert "prints something else" in verdict(before, other).why_not


def test_what_attributes_hold_is_compared():
    text = "self.last = {0}\nreturn x * 2"
    before, other = of(text.format("float(x.max())"), PLAIN), of(text.format("x.max()"), PLAIN)
    assert "`last` of the model holds something else" in verdict(before, other).why_not
    assert verdict(before, of(text.format("x.max().item()"), PLAIN)).why_not == ""


STEPPED = """
class Net(nn.Module):
    steps = 0

    def forward(self, x):
        {0}.steps += 1
        return x * {0}.steps

    inputs = staticmethod(lambda: (torch.ones(2, 3),))
"""


def test_state_of_the_class_is_no_state_of_each_object():
    shared = STEPPED.format("Net")
    assert "its own state" in verdict(shared, STEPPED.format("self")).caveats[0]
    assert verdict(shared, STEPPED.format("type(self)")).caveats == []


def test_a_number_is_rounded_as_python_rounds_it():
    source = PLAIN.replace("0.3, -1.2, 0.7", "0.25, -1.25, 0.625")
    before = of("return x * int(x[0, 2].item() * 10)", source)
    assert "in tenths" in verdict(before, of("return x * (x[0, 2] * 10).long()", source)).why_not
    assert verdict(before, of("return x * (x[0, 2].double() * 10).long()", source)).why_not == ""


DROPPING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        {0}

    inputs = staticmethod(lambda: (torch.ones(2, 8),))
"""


def test_what_only_training_shows_is_told():
    before = DROPPING.format("return torch.stack([self.drop(row) for row in x])")
    mapped = verdict(before, DROPPING.format("return torch.vmap(self.drop)(x)"), unsafe=True)
    assert any("in training" in one for one in mapped.caveats)
    assert verdict(before, DROPPING.format("return torch.stack([self.drop(row) for row in [*x]])")).caveats == []


def test_longer_rows_than_the_sample_has_are_tried():
    before = of("return torch.stack([x[:, 0], x[:, 1], x[:, 2]], 1) * 2", PLAIN)
    assert "one longer in its second dim" in verdict(before, of("return x * 2", PLAIN)).why_not


def test_a_special_case_with_a_dtype_of_its_own_is_told():
    before = of("return x * 2 if x.any() else torch.zeros(x.shape)", PLAIN)
    found = verdict(before, of("return x * 2", PLAIN), unsafe=True)
    assert any("zeros in float64" in one for one in found.caveats)


WORDED = """
class Net(nn.Module):
    def __init__(self, mode="mean"):
        super().__init__()
        self.mode = mode

    def forward(self, x):
        if self.mode == "mean":
            s = {0}
        else:
            s = float(x.numel())
        {1}

    inputs = staticmethod(lambda: (torch.tensor([[0.3, -1.2, 0.7], [1.1, 0.2, -0.4]]),))
"""


def test_other_words_than_the_sample_s_are_set():
    before = WORDED.format("x.mean().item()", "return x * s if s > 0.1 else x")
    after = WORDED.format("x.mean().detach()", "return torch.where({0}, x * s, x)")
    assert verdict(before, after.replace("{0}", "s > 0.1"), unsafe=True).settings.differs.endswith("`mode` = ''")
    assert verdict(before, after.replace("{0}", "torch.as_tensor(s > 0.1)"), unsafe=True).settings.differs == ""


def test_a_size_that_is_taken_no_more_is_told():
    before = of("return x.topk(2).values * 2 if x.shape[1] > 1 else x[:, [0, 0]] * 2", PLAIN)
    found = verdict(before, of("return x.topk(2).values * 2", PLAIN))
    assert found.caveats == ["it does not take all sizes that it took before (a single entry in the second dim)"]


EXPORTED_IN_TRAINING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
        self.scale = 2

    def forward(self, x):
        return self.drop(x) * self.scale

    inputs = staticmethod(lambda: (torch.randn(4, 8),))
    export = staticmethod(lambda strict: torch.export.export(Net(), Net.inputs(), strict=strict))
"""


def test_a_model_that_is_put_into_eval_mode_is_compared_in_eval_mode():
    """In training mode a dropout gives something else; what eval mode computes has to be the same."""
    in_eval = EXPORTED_IN_TRAINING.replace("= 2", "= 2\n        self.eval()")
    right = verdict(EXPORTED_IN_TRAINING, in_eval)
    assert not right.why_not
    assert right.caveats == ["it was in training mode: compared with the unedited model in eval mode"]
    assert "the output differs" in verdict(EXPORTED_IN_TRAINING, in_eval.replace("= 2", "= 3")).why_not


KEEPING = """
class Net(nn.Module):
    keeps = {keeps}

    def forward(self, x):
        found = {{"y": x * {scale}, "state": [x, x.sum()]}}
        return found if self.keeps else {{"y": found["y"]}}

    inputs = staticmethod(lambda: (torch.tensor([[0.3, -1.2, 0.7], [1.1, 0.2, -0.4]]),))
"""


def test_a_part_of_the_output_that_is_left_out_is_told_and_only_where_somebody_takes_it():
    before, after = KEEPING.format(keeps=True, scale=2), KEEPING.format(keeps=False, scale=2)
    assert "no `['state']` any more" in verdict(before, after).why_not
    taken = verdict(before, after, unsafe=True)
    assert (taken.why_not, taken.caveats) == ("", ["its output has no `['state']` any more"])


def test_what_is_left_out_hides_no_other_difference():
    before, after = KEEPING.format(keeps=True, scale=2), KEEPING.format(keeps=False, scale=3)
    assert "the output" in verdict(before, after, unsafe=True).why_not
