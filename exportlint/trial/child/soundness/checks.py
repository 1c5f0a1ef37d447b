"""The checks of soundness, in the order in which they run, and which kinds of difference they could have shown.

A check is a function of a `Subject` that gives observations. A new one is a function here, or a file beside, and a line
of `CHECKS`; its finding reads as its name and its fields, until `findings/wording/difference_messages.py` has a
sentence for it. Those that only read the program come first: the others ask for `Subject.runs`, and a run changes what
the program holds.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
import tokenize
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.custom_operators.examined_operators import UndeclaredWrite, wrong_operators
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.graph_places import constant_place
from exportlint.trial.child.soundness.differences import STATE, as_state, differences, eager_after, is_unsteady
from exportlint.trial.child.soundness.gradients import compares_gradients, other_gradients
from exportlint.trial.child.soundness.held_differences import beside_moment
from exportlint.trial.child.soundness.second_export import baked_literals
from exportlint.trial.child.soundness.unused_inputs import unused_inputs
from exportlint.trial.child.soundness.value_divergence import at_divergence
from exportlint.trial.child.torch_private.tensors import is_fake
from exportlint.trial.protocol.frames import Frame, is_installed, is_user_path
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.shown_by import OWN_INPUTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exportlint.trial.child.execution.call_record import CallRecord
    from exportlint.trial.child.execution.request import StageRequest
    from exportlint.trial.child.soundness.subject import Subject

# Check: the program gives what eager gives, on the sample and on other values, in the first call and in the second.


def differing_calls(subject: Subject) -> Iterator[Observation]:
    """Every difference, at the line where the two diverge or whose effect it is."""
    eager, program = subject.eager, subject.runs.program
    for seen in differences(eager, subject.again, program):
        on_other_values = seen.check == "output" and seen.details["input_set"]
        if on_other_values and subject.runs.state_alone:
            yield as_state(seen, eager, program)
        else:
            yield at_divergence(subject.request, seen, subject.exported.module, subject.mode)


# Check: after the export the model still gives what eager gives.


def changed_model(subject: Subject) -> Iterator[Observation]:
    """Differences between eager and the model after its export; none where the target has an export call of its own."""
    if (after := subject.runs.model_after) is not None:
        yield from eager_after(subject.eager, subject.again, after)


# Check: what the tracer believes of custom operators is so: their fake kernels, and what they write into.


def wrong_custom_operators(request: StageRequest) -> Iterator[Observation]:
    """A note for each fake kernel that is wrong ("sample" says whether for what the model gives it, or for other sizes
    only), and for each operator that changes an argument which its schema does not name.

    No difference: the program calls the operator itself, so its outputs may be right all the same.
    """
    for wrong in wrong_operators(request.loaded, request.folder):
        if isinstance(wrong, UndeclaredWrite):
            written = {"note": "undeclared-write", "operator": wrong.operator, "arguments": wrong.arguments}
            yield Observation("note", details=written).at([wrong.place] if wrong.place else [])
            continue
        if not wrong.sample and (wrong.place is None or is_installed(wrong.place.path)):
            continue  # what an installed package does with sizes that nobody gives it is not the project's affair
        fields = {"operator": wrong.operator, "arguments": wrong.arguments, "real": wrong.real, "fake": wrong.fake}
        details = {"note": "fake-kernel", **fields, "fake_kernel": wrong.code, "sample": wrong.sample}
        yield Observation("note", details=details).at([wrong.place] if wrong.place else [])


# Check: no tensor of the trace, which has no data, is left in the program or in the model that was exported.


def fakes_in_program(subject: Subject) -> Iterator[Observation]:
    """Constants of the program without data."""
    if not subject.exported.is_program:
        return
    program = subject.exported.program
    for name, value in program.constants.items():
        if is_fake(value):
            yield _left("constants", name).at(constant_place(program, name))


def fakes_in_model(subject: Subject) -> Iterator[Observation]:
    """Attributes and buffers of the exported model that hold a tensor without data, where its next calls show it.

    A leftover that is overwritten before it is read harms nobody.
    """
    left = list(fakes_left_in(subject.exported.model))
    if left and any(True for _ in changed_model(subject)):
        yield from left


def fakes_left_in(model: Any) -> Iterator[Observation]:
    """Attributes and buffers of any model that hold a tensor without data; none for what is no module."""
    for name, module in model.named_modules() if isinstance(model, torch.nn.Module) else ():
        held = {**vars(module), **dict(module.named_buffers(recurse=False))}
        for key, value in held.items():
            if is_fake(value) or (isinstance(value, (list, tuple)) and any(map(is_fake, value))):
                yield _left("model", f"{name}.{key}".lstrip(".")).at(attribute_frame(module, key))


def _left(where: str, name: str) -> Observation:
    return Observation("difference", details={"check": "fake-tensor-left", "where": where, "name": name})


# Where the class of a module sets an attribute while it runs, as its source shows it.


def attribute_frame(owner: object, name: str) -> list[Frame]:
    """The one line outside of `__init__` that sets it, `register_buffer` included; empty where there are several."""
    frames = {frame for cls in type(owner).__mro__ for frame in _frames(cls, name)}
    return list(frames) if len(frames) == 1 else []


def _frames(cls: type, name: str) -> Iterator[Frame]:
    try:
        path, (lines, first) = inspect.getsourcefile(cls), inspect.getsourcelines(cls)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):  # a builtin, or made by code
        return
    if path is None or not is_user_path(path):
        return
    for method in (one for top in tree.body if isinstance(top, ast.ClassDef) for one in top.body):
        if isinstance(method, ast.FunctionDef) and method.name != "__init__":
            for node in ast.walk(method):
                if isinstance(node, ast.expr) and _sets(node, name):
                    yield Frame(path, first + node.lineno - 1, method.name, "")


def _sets(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute, ctx=ast.Store()):
            return attribute == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="register_buffer"), args=[first, *_]):
            return isinstance(first, ast.Constant) and first.value == name
        case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id="self"), ast.Constant(value=attribute), _]):
            return bool(attribute == name)
    return False


# Check: the model was not in training mode when it was exported.


def exported_in_training_mode(subject: Subject) -> Iterator[Observation]:
    """The modules in training mode whose code looks at the flag."""
    model = subject.exported.model
    if not isinstance(model, torch.nn.Module):
        return
    modules = model.named_modules()
    training = [name or "the model" for name, module in modules if module.training and _asks_for_mode(module)]
    if training:
        learns = any(m.training and getattr(m, "track_running_stats", False) for m in model.modules())
        yield Observation("note", details={"note": "training-mode", "modules": training, "learns": learns})


def _asks_for_mode(module: Any) -> bool:
    """Does the code of the module's class, torch.nn.Module's own aside, look at the flag?"""
    classes = type(module).__mro__[: type(module).__mro__.index(torch.nn.Module)]
    codes = (getattr(member, "__code__", None) for cls in classes for member in vars(cls).values())
    return any(code is not None and "training" in code.co_names for code in codes)


# Check: eager gives the same values in a second run. Where it does not, values are not compared, as a note reports.


def unsteady_eager(subject: Subject) -> Iterator[Observation]:
    """A note where eager gives other values in another process."""
    if is_unsteady(subject.eager, subject.again):
        yield Observation("note", details={"note": "eager-unstable"})


# Say which kinds of difference the runs of a program could have shown, so that nothing is cleared unseen.


_EFFECTS = (
    "raises-in-eager-only",
    "stdout",
    "log",
    "files",
    "unused-input",
    "fake-tensor-left",
    "outside-state",
)
_TWICE = 2


def shown(subject: Subject) -> Iterator[str]:
    """The kinds of `exportlint.trial.protocol.shown_by` that the checks of this subject covered."""
    sample, other = (_calls(subject, input_set) for input_set in (0, 1))
    if not sample:
        return
    yield from _EFFECTS
    if subject.second_export is not None:
        yield "baked"
    if subject.runs.model_after is not None:
        yield "eager-after-export"
    if is_unsteady(subject.eager, subject.again):
        return  # values were not compared
    yield from ("input-effect", "buffer", "frozen")
    if compares_gradients(subject):
        yield "gradients"
    if len(sample) == _TWICE or len(other) == _TWICE:
        yield from (STATE, "raises")
    if other and _has_other_values(sample[0], other[0]):
        yield "output"
        if other[0].meant:
            yield OWN_INPUTS


def _calls(subject: Subject, input_set: int) -> list[CallRecord]:
    """The calls of eager on the input set, where both it and the program gave something."""
    ours, theirs = (
        [call for call in run.calls if call.input_set == input_set] for run in (subject.eager, subject.runs.program)
    )
    return [a for a, b in zip(ours, theirs, strict=False) if a.raised is None and b.raised is None]


def _has_other_values(sample: CallRecord, other: CallRecord) -> bool:
    return compare(sample.inputs, other.inputs, exact=True) is not None


def _custom_operators(subject: Subject) -> Iterator[Observation]:
    return wrong_custom_operators(subject.request)


CHECKS: tuple[Callable[[Subject], Iterator[Observation]], ...] = (
    unused_inputs,
    fakes_in_program,
    _custom_operators,
    baked_literals,
    exported_in_training_mode,
    fakes_in_model,
    differing_calls,
    beside_moment,
    changed_model,
    other_gradients,
    unsteady_eager,
)
