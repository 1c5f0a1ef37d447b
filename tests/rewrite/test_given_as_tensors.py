"""A number that callers give is given as a tensor, in the function and where the file makes the inputs."""

import pytest
from proposed import proposed

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x, {parameter}):
        return {result}

def inputs():
    return {given}
"""


def change(parameter, result, given):
    text = MODEL.format(parameter=parameter, result=result, given=given)
    after = proposed(text, parameter.partition("=")[0].strip("* ,"), "given-as-tensors")[0]
    lines = [line.strip() for line in after.splitlines()]
    return [
        next(line for line in lines if line.startswith(start))
        for start in (
            "def forward",
            "return x",
            "return (",
        )
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            ("step: int", "x * step", "(torch.ones(3), 3)"),
            ["def forward(self, x, step: torch.Tensor):", "return x * step", "return (torch.ones(3), torch.tensor(3))"],
        ),
        (
            ("scale", "x + max(scale, 1.0)", "(torch.ones(3), -0.5)"),
            [
                "def forward(self, x, scale):",
                "return x + torch.clamp(scale, min=1.0)",
                "return (torch.ones(3), torch.tensor(-0.5))",
            ],
        ),
        (
            ("sigma: float = 0.5", "x * sigma", "(torch.ones(3), 0.25)"),
            [
                "def forward(self, x, sigma: torch.Tensor = torch.tensor(0.5)):",
                "return x * sigma",
                "return (torch.ones(3), torch.tensor(0.25))",
            ],
        ),
    ],
    ids=["a count", "a scale", "one that may be left out"],
)
def test_a_number_becomes_a_tensor_on_both_sides(before, after):
    assert change(*before) == after


def test_a_flag_selects():
    text = MODEL.format(parameter="double: bool", result="x * 2 if double else x", given="(torch.ones(3), True)")
    (after,) = proposed(text, "double: bool", "given-as-tensors")
    assert "return torch.where(double, x * 2, x)" in after
    assert "return (torch.ones(3), torch.tensor(True))" in after


def test_a_number_that_is_given_by_name():
    text = MODEL.format(parameter="*, step: int", result="x * step", given='{"step": 3}')
    after = proposed(text, "step: int", "given-as-tensors")[0]
    assert 'return {"step": torch.tensor(3)}' in after


@pytest.mark.parametrize(
    ("parameter", "given"),
    [("size: int", "(torch.ones(3), count())"), ("size: int", "(torch.ones(3), 3, 4)"), ("size: int", "[3]")],
    ids=["it is computed", "it is of another call", "it is no tuple"],
)
def test_where_nothing_in_the_file_gives_the_number_nothing_is_proposed(parameter, given):
    text = MODEL.format(parameter=parameter, result="x * size", given=given)
    assert proposed(text, parameter, "given-as-tensors") == []


def test_sizes_are_read_from_a_tensor_again():
    text = MODEL.format(
        parameter="size", result="nn.functional.interpolate(x, size=size)", given="(torch.ones(3), (4, 5))"
    )
    (after,) = proposed(text, "size", "given-as-tensors")
    assert "size = tuple(size.tolist())\n        return nn.functional.interpolate(x, size=size)" in after
    assert "return (torch.ones(3), torch.tensor((4, 5)))" in after


def test_what_is_given_the_number_goes_on_with_the_tensor_too():
    text = MODEL.format(parameter="step: int", result="x + angles(step, 4)", given="(torch.ones(8), 3)")
    text = "import math\n" + text + HELPER
    after = proposed(text, "step: int", "given-as-tensors")[0]
    assert "def angles(step: torch.Tensor, count):" in after
    assert "return torch.stack([torch.sin(step / i) for i in range(1, count)] + [torch.cos(step)])" in after
    assert after.count("torch.tensor(") == 1


HELPER = """
def angles(step: int, count):
    return torch.tensor([math.sin(step / i) for i in range(1, count)] + [math.cos(step)])

"""


BEGUN = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.width = width
        self.scale = nn.Parameter(torch.ones(width))

    def empty(self, rows, layers=1):
        return torch.zeros(layers, rows, self.width)

    def forward(self, x, state=None):
        {begin}
        return x + state[0], state * self.scale

def get_model():
    return Net()

def get_inputs():
    return (torch.ones(3, 4), None)

def get_other_inputs():
    return (torch.ones(3, 4), torch.rand(1, 3, 4))
"""


@pytest.mark.parametrize(
    ("begin", "given"),
    [
        ("if state is None: state = self.empty(x.size(0))", "torch.zeros(1, 3, 4)"),
        ("state = torch.ones(1, x.shape[0], 4) if state is None else state", "torch.ones(1, 3, 4)"),
        ("state = state if state is not None else x.new_zeros(1, *x.shape)", "torch.zeros(1, 3, 4)"),
        ("state = state if state is not None else x.new_zeros((1, 3, 4))", "torch.zeros(1, 3, 4)"),
        (
            "if state is None: state = torch.zeros(1, 3, 4, dtype=torch.float64)",
            "torch.zeros(1, 3, 4, dtype=torch.float64)",
        ),
        ("if state is None: state = torch.rand(1, 3, 4)", None),
        ("if state is None: state = self.scale.expand(1, 3, 4)", None),
        ("if state is None: state = torch.zeros(1, 3, 4, dtype=x.dtype)", None),
        ("if state is not None: state = torch.zeros(1, 3, 4)", None),
    ],
)
@pytest.mark.parametrize("at", ["state=None", "return x + state"])
def test_what_the_function_begins_with_is_given_in_the_place_of_none(at, begin, given):
    found = proposed(BEGUN.format(begin=begin), at.partition("=")[0], "given-as-tensors")
    assert [f"(torch.ones(3, 4), {given})" in one for one in found] == [True] * (given is not None)


def test_a_report_of_the_class_is_of_what_its_forward_is_given():
    text = MODEL.format(parameter="box", result="x[box[0] : box[1]]", given="(torch.ones(8), (2, 5))")
    (after,) = proposed(text, "class Net", "given-as-tensors")
    assert "box = tuple(box.tolist())" in after
    assert "return (torch.ones(8), torch.tensor((2, 5)))" in after


WORDS = """
import torch
from torch import nn

KINDS = {{"near": 1, "far": 2, "side": 3}}

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({{kind: nn.Linear(4, 4) for kind in KINDS}})
        self.rates = {{"far": 0.5, "near": 2.0}}

    def other(self, x, how):
        if how == "far":
            return x * 2
        return x + 1

    def forward(self, x, kind: str{default}):
        {lines}

def get_inputs():
    return (torch.ones(3, 4), "near")

def get_other_inputs():
    return (torch.ones(3, 4), "side")
"""


@pytest.mark.parametrize(
    ("lines", "places"),
    [
        ("return self.heads[kind](x)", {"near": 0, "far": 1, "side": 2}),
        ('return x.mean(1) if kind == "far" else x.amax(1)', {"far": 0, "near": 1, "side": 2}),
        ('return x * 2 if kind != "near" else x', {"near": 0}),
        ("return self.other(x, kind)", {"far": 0, "near": 1, "side": 2}),
        ('return self.heads[kind](x) + (x if kind == "all" else 0 * x)', {"near": 0, "far": 1, "side": 2, "all": 3}),
        ('if kind in ("side", "far"):\n            x = x + 3\n        return x', {"side": 0, "far": 1, "near": 2}),
    ],
)
@pytest.mark.parametrize("default", ["", '="far"'])
def test_a_word_is_given_as_its_place(lines, places, default):
    torch = pytest.importorskip("torch")
    text = WORDS.format(lines=lines, default=default)
    after = proposed(text, "kind: str", "given-as-tensors")[0]
    assert f"(torch.ones(3, 4), torch.tensor({places['near']}))" in after
    models = []
    for one in (text, after):
        torch.manual_seed(0)
        names = {}
        exec(one, names)  # noqa: S102 - made above
        models.append(names["Net"]())
    old, new = models
    x = torch.randn(2, 4)
    program = torch.export.export(new, (x, torch.tensor(0))).module()
    for word, place in places.items():
        if word != "all":
            for one in (new, program):
                torch.testing.assert_close(old(x, word), one(x, torch.tensor(place)))
    if default and "far" in places:
        torch.testing.assert_close(old(x), new(x))


@pytest.mark.parametrize(
    "lines",
    [
        "return x * self.rates.get(kind, 1.0)",  # no one asks how many words there are
        "return x * len(kind)",
        'kind = kind.lower()\n        return x if kind == "far" else x + 1',
        "return nn.functional.pad(x, (1, 1), mode=kind)",
        "return getattr(self, kind)(x)",
        "return x * {a: 1 for a in dir(x)}[kind]",
    ],
)
def test_a_word_that_is_more_than_a_choice_stays(lines):
    assert proposed(WORDS.format(lines=lines, default=""), "kind: str", "given-as-tensors") == []


@pytest.mark.parametrize(
    ("parameter", "given", "left_out"),
    [
        ("size=(2, 3)", "(torch.ones(1, 1, 4, 4), (4, 5))", True),
        ("size=None", "(torch.ones(1, 1, 4, 4), (4, 5))", True),
        ("size: int = 2", "(torch.ones(1, 1, 4, 4), 4)", True),
        ("size=2", "(torch.ones(1, 1, 4, 4), (4, 5))", False),
    ],
)
def test_callers_may_go_on_to_leave_it_out(parameter, given, left_out):
    torch = pytest.importorskip("torch")
    result = "nn.functional.interpolate(x, size=size) if size is not None else x"
    text = MODEL.format(parameter=parameter, result=result, given=given)
    found = proposed(text, parameter.partition("=")[0].strip(), "given-as-tensors")
    symbols = [one for one in found if ".tolist()" in one or ".item()" in one]
    assert bool(symbols) is left_out
    for one in symbols:
        x, models = torch.randn(1, 1, 4, 4), []
        for source in (text, one):
            names = {}
            exec(source, names)  # noqa: S102 - made above
            models.append(names["Net"]())
        torch.testing.assert_close(models[0](x), models[1](x))


def test_a_flag_that_is_left_out_selects_too():
    torch = pytest.importorskip("torch")
    text = MODEL.format(
        parameter="double: bool = False", result="x * 2 if double else x", given="(torch.ones(3), True)"
    )
    (after,) = proposed(text, "double: bool", "given-as-tensors")
    names = {}
    exec(after, names)  # noqa: S102 - made above
    torch.testing.assert_close(names["Net"]()(torch.ones(3)), torch.ones(3))
