"""Torch's words, as the installed torch says them, are read into data; nothing else in the trial reads them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
import torch
from packages import modules, tree
from torch import nn

from exportlint.trial.protocol import torch_messages as said

if TYPE_CHECKING:
    from collections.abc import Iterator

READERS = {"search", "match", "findall", "finditer", "fullmatch", "split", "sub"}
# The words of exportlint_rules, which each rule declares itself, and texts that are not torch's.
OTHER_TEXTS = {
    ("exportlint.trial.findings.classify", "pattern"),
    ("exportlint.trial.findings.wording.torch_messages", "_LEN"),
}


class Branches(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


class Counts(nn.Module):
    def forward(self, x):
        return torch.zeros(int(x.sum().item()) % 3)


class OwnClass:
    pass


class GivesOwnClass(nn.Module):
    def forward(self, x):
        x + 1
        return OwnClass()


class Fixed(nn.Module):
    def forward(self, x):
        return x.reshape(3, 2)


def message(model: nn.Module, *, strict: bool = False, **more: object) -> str:
    try:
        torch.export.export(model, (torch.ones(3, 2),), strict=strict, **more)
    except Exception as error:  # noqa: BLE001 - whatever torch raises is what is read
        return str(error)
    raise AssertionError("torch takes the model")


def test_a_branch_on_data_is_a_value_that_decides() -> None:
    text = message(Branches())
    found = said.refusal(text)
    assert found
    assert found.kind == "value"
    assert "u0" in found.parts["expr"]
    assert said.depends_on_data(text)
    assert said.needs_a_value(text)


def test_a_number_that_is_data_is_named_with_what_torch_asks_of_it() -> None:
    text = message(Counts())
    assert said.depends_on_data(text)
    assert {symbol.lstrip("z")[0] for symbol in said.unknown_symbols(text)} == {"u"}


def test_a_class_that_torch_cannot_flatten_is_named() -> None:
    found = said.unknown_class_name(message(GivesOwnClass()))
    assert found
    assert found.endswith("OwnClass")


def test_an_object_that_is_given_or_returned_is_told_apart() -> None:
    assert said.gives_unknown_class(message(GivesOwnClass()))
    given = "Unsupported input type <class 'net.Batch'>. Export only supports pytree containers"
    assert (said.given_class_name(given), said.gives_unknown_class(given)) == ("net.Batch", False)
    assert said.given_class_name(message(GivesOwnClass())) is None


def test_a_declaration_that_does_not_hold_gives_its_dims_and_reasons() -> None:
    text = message(Fixed(), dynamic_shapes={"x": {0: torch.export.Dim("rows")}})
    assert said.violates_declared_sizes(text)
    assert said.violated_names(text) == {"rows"}
    found = said.violation(text)
    assert found.dims == "rows"
    assert "rows" in str(found.reasons)


def test_a_break_of_the_graph_has_a_title_an_explanation_and_an_id() -> None:
    text = message(Branches(), strict=True)
    found = said.graph_break(text)
    assert found
    assert found.title
    assert found.explanation
    assert (said.graph_break_id(text) or "").startswith("GB")


# As torch 2.6 and 2.10 put it into the structured trace for `with a_generator_context():`, calls of torch's left out.
LEFT_BY_2_6 = """Graph break: skip: from user code at:
  File "/app/model.py", line 27, in torch_dynamo_resume_in_forward_at_27
    with ctx():

Traceback (most recent call last):
  File "/site-packages/torch/_dynamo/exc.py", line 317, in unimplemented
    raise Unsupported(msg, case_name=case_name)
torch._dynamo.exc.Unsupported: BEFORE_WITH UserDefinedObjectVariable(_GeneratorContextManager)

from user code:
   File "/app/model.py", line 27, in torch_dynamo_resume_in_forward_at_27
    with ctx():

Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more information
"""
LEFT_BY_2_10 = """Graph break: torch.compile cannot properly resume from this graph break, which results in a skip.
torch.compile will skip tracing the frame forward (/app/model.py line 25) and fall back to eager.
The graph break occurred in the following user code:
  File "/app/model.py", line 28, in forward
    torch._dynamo.graph_break()

Traceback (most recent call last):
  File "/site-packages/torch/_dynamo/exc.py", line 588, in unimplemented
    raise Unsupported(msg)
torch._dynamo.exc.Unsupported: Call to `torch._dynamo.graph_break()`
  Explanation: User-inserted graph break. Message: None
  Hint: Remove the `torch._dynamo.graph_break()` call.

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0025.html

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/site-packages/torch/_dynamo/exc.py", line 587, in unimplemented
    raise Unsupported(msg, real_stack=past_real_stack) from from_exc
torch._dynamo.exc.Unsupported: Graph break under GenericContextWrappingVariable
  Explanation: Attempted to graph break in an active context manager(s) that doesn't support graph breaking.

 For more details about this graph break, please visit: https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0066.html

from user code:
   File "/app/model.py", line 28, in forward
    torch._dynamo.graph_break()
"""


@pytest.mark.parametrize(
    ("text", "line", "itself", "gb_id"),
    [
        (LEFT_BY_2_6, 27, "BEFORE_WITH UserDefinedObjectVariable(_GeneratorContextManager)", None),
        (LEFT_BY_2_10, 28, "Call to `torch._dynamo.graph_break()`", "GB0025"),
    ],
    ids=["2.6", "2.10"],
)
def test_a_function_that_an_older_torch_leaves_to_python_is_told_by_the_break_in_it(
    text: str, line: int, itself: str, gb_id: str | None
) -> None:
    reason, frames = said.logged_break(text) or ("", ())
    assert said.break_kind(reason) == said.SKIPPED_FRAME
    assert [(frame.path, frame.line) for frame in frames] == [("/app/model.py", line)]
    assert said.break_itself(reason).splitlines()[0] == itself
    assert said.graph_break_id(reason) == gb_id


def test_a_break_that_dynamo_cannot_resume_from_is_told_by_itself() -> None:
    around = (
        "Encountered graph break that we cannot resume from. Compiling up to the previous resumable state, then skipping"
        " the rest of the function. Graph break encountered:\n\n"
    )
    itself = "Attempted to wrap RNN, GRU, or LSTM\n  Explanation: Dynamo does not support RNN, GRU, or LSTM."
    assert said.break_itself(around + itself) == itself
    assert said.break_kind(around + itself) == said.BREAK, "what comes before it is one graph, or several"


@pytest.mark.parametrize(
    ("text", "relations"),
    [
        ("Could not guard on data-dependent expression u0 > 4 (unhinted: u0 > 4)", ["u0 > 4", "u0 <= 4"]),
        ("Could not guard on data-dependent expression Ne(u0, 0) (unhinted: ..)", ["u0 > 0", "u0 != 0", "u0 == 0"]),
        ("Could not guard on data-dependent expression u0 > u1 (unhinted: u0 > u1)", None),
        ("nothing of the kind", None),
    ],
)
def test_what_torch_asks_of_a_number_is_written_as_python(text: str, relations: list[str] | None) -> None:
    found = said.asked(text)
    assert (found and found.relations) == relations


def test_nothing_else_reads_torchs_words() -> None:
    """What an observation or an exception says is matched in one file alone."""
    elsewhere = {
        (name, what)
        for name, path in modules().items()
        if name.startswith("exportlint.trial") and name != said.__name__
        for what in _read(tree(path))
    }
    assert elsewhere <= OTHER_TEXTS


def _read(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        match node:
            case ast.Compare(left=ast.Constant(value=str()), ops=[ast.In() | ast.NotIn()], comparators=[given]):
                if _is_text(given):
                    yield ast.unparse(node)
            case ast.Call(func=ast.Attribute(value=pattern, attr=name), args=given) if name in READERS:
                if any(map(_is_text, given)):
                    yield ast.unparse(pattern)


def _is_text(node: ast.expr) -> bool:
    """The words of an observation."""
    return any(isinstance(one, ast.Attribute) and one.attr in {"text", "first_line"} for one in ast.walk(node))


def test_a_guard_is_said_as_python_with_the_names_of_the_inputs() -> None:
    sources = {"s17": "L['x'].size()[0]", "s98": "L['y']['a'].size()[1]"}
    assert said.condition("Eq(Mod(s17*s98, 4), 0)", sources) == "x.shape[0] * y['a'].shape[1] % 4 == 0"
    assert said.condition("s17 < <", sources) == "s17 < <"
