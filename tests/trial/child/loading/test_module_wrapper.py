"""Around whatever can be called, a module that exports as a person's own wrapper would."""

from functools import partial

import pytest
import torch

from exportlint.trial.child.loading.module_wrapper import is_called_with_arguments, wrapped

pytestmark = pytest.mark.slow


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(x)

    def scores(self, x, *, factor=2.0):
        return self(x) * factor


class Predictor:
    def __init__(self):
        self.model = Net()

    def predict(self, x, /, y=None):
        return self.model(x if y is None else x + y)

    def __call__(self, x):
        return self.predict(x)


net = Net()


def through_a_global(x, *more):
    return net(x) + len(more)


def through_a_closure():
    inner = Net()

    def call(x):
        return inner(x)

    return call


X = torch.ones(2, 3)


@pytest.mark.parametrize(
    ("call", "args", "words"),
    [
        (net.scores, (X,), "bound method Net.scores"),
        (Predictor().predict, (X, X * 2), "bound method Predictor.predict"),
        (Predictor(), (X,), "callable Predictor"),
        (through_a_global, (X, X), "function through_a_global"),
        (through_a_closure(), (X,), "function through_a_closure.<locals>.call"),
        (partial(torch.nn.functional.linear, weight=torch.ones(3, 3)), (X,), "callable partial"),
        (torch.relu, (X,), "function _VariableFunctionsClass.relu"),
    ],
)
def test_the_wrapper_exports_and_computes_what_the_bare_thing_does(call, args, words):
    module = wrapped(call)
    assert module.in_words == words
    with pytest.raises(ValueError, match=r"instance of `torch.nn.Module`"):
        torch.export.export(call, args)
    program = torch.export.export(module, args)
    assert torch.equal(program.module()(*args), call(*args))


@pytest.mark.parametrize("call", [net.scores, Predictor().predict, through_a_closure()])
def test_weights_stay_weights(call):
    """Else they would be constants of the program."""
    program = torch.export.export(wrapped(call), (X,))
    assert (len(program.state_dict), len(program.constants)) == (2, 0)


def test_dynamic_shapes_name_the_parameters_of_the_method():
    shapes = {"x": {0: torch.export.Dim("batch")}, "y": {0: torch.export.Dim("batch")}}
    program = torch.export.export(wrapped(Predictor().predict), (X, X + 1), dynamic_shapes=shapes, strict=True)
    assert program.module()(torch.ones(5, 3), torch.ones(5, 3)).shape == (5, 3)


def test_a_module_needs_no_wrapper():
    assert wrapped(net) is net


@pytest.mark.parametrize(
    ("found", "needed"),
    [(net.scores, True), (lambda x: x, True), (torch.relu, True), (Net, False), (lambda width=3: width, False)],
)
def test_what_needs_arguments_makes_no_models(found, needed):
    assert is_called_with_arguments(found) is needed
