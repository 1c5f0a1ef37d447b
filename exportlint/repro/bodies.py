"""Write the second half of a script: what failed, by stage, and for a difference by what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.options import CALL_PLAN

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPORT = """\
def export(number=0):
    made, (args, kwargs) = model(), inputs()
    seed(number)
    program = torch.export.export(made, args, kwargs or None, dynamic_shapes=shapes(), strict={strict})
    return made, program
"""
OWN_EXPORT = """\
def export(number=0):
    seed(0)
    random.seed(number)
    return None, {cls}.export({strict})
"""
CALLS = """\
def calls(program, input_sets):
    rows = []
    for number, input_set in enumerate(input_sets):
        args, kwargs = inputs(input_set)
        seed(100 + number)
        output = program(*args, **kwargs)
        rows.append([x.detach().clone() if isinstance(x, torch.Tensor) else x for x in leaves([output, args, kwargs])])
    return rows


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    elif hasattr(value, "__dict__") and not isinstance(value, torch.Tensor) and not callable(value):
        value = list(vars(value).values())
    return [leaf for item in value for leaf in leaves(item)] if isinstance(value, (list, tuple)) else [value]


def same(ours, theirs, rtol=1e-4, atol=1e-5):
    ours, theirs = leaves(ours), leaves(theirs)
    assert len(ours) == len(theirs), f"{len(ours)} values in eager, {len(theirs)} in the exported program"
    for a, b in zip(ours, theirs):
        assert type(a) is type(b), f"eager {a!r}, the exported program {b!r}"
        if isinstance(a, (torch.Tensor, float)):
            torch.testing.assert_close(b, a, rtol=rtol, atol=atol, equal_nan=True)
        else:
            assert repr(a) == repr(b), f"eager {a!r}, the exported program {b!r}"
"""
PROGRAM = "_, program = export()\nexported = program.module() if hasattr(program, 'module') else program\n"
_PRINTED = """\
def printed(program):
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as out:
        calls(program, {input_sets})
    return out.getvalue()


"""
_LOGGED = """\
def logged(program):
    import logging

    texts, handler = [], logging.Handler(level=0)
    handler.emit = lambda entry: entry.name.startswith("torch") or texts.append(entry.getMessage())
    logging.getLogger().addHandler(handler)
    calls(program, {input_sets})
    logging.getLogger().removeHandler(handler)
    return texts


"""
_LITERALS = """\
def literals(value):
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in literals(item)]
    if isinstance(value, dict):
        return literals(list(value.values()))
    return [value] if isinstance(value, (bool, int, float, str)) else []


def graph(program):
    nodes = [(str(node.target), literals((node.args, node.kwargs))) for node in program.graph.nodes]
    return nodes, {name: repr(value) for name, value in program.constants.items()}


ballast = [bytes(size) for size in range(1, 480, 16) for _ in range(2_000)]
first = graph(export(0)[1])
kept = ballast[::3]
del ballast
second = graph(export(1)[1])
for a, b in zip(first[0], second[0]):
    assert a == b, f"a literal is another one in a second export: {a}, {b}"
assert first[1] == second[1], "a constant is another one in a second export"
"""
_FAKE = """\
from torch._subclasses.fake_tensor import FakeTensor

made, program = export()
held = dict(program.constants)
for name, module in made.named_modules():
    own = {**vars(module), **dict(module.named_buffers(recurse=False))}
    held |= {f"{name}.{key}": value for key, value in own.items()}
left = [name for name, value in held.items() if any(isinstance(leaf, FakeTensor) for leaf in leaves(value))]
assert not left, f"the export left tensors without data: {left}"
"""
_FROZEN = """\
ours, theirs = ([repr(row) for row in calls(one, (0, 0))] for one in (reference(), exported))
assert ours[0] == ours[1] or theirs[0] != theirs[1], "eager moves from call to call, the exported program never"
"""
_BUFFERS = """\
eager = reference()
calls(eager, {input_sets})
calls(exported, {input_sets})
theirs = dict(exported.named_buffers())
for name, value in eager.named_buffers():
    if name in theirs:
        torch.testing.assert_close(theirs[name], value, equal_nan=True, msg=lambda text: f"buffer {{name}}: {{text}}")
"""

# By `details["check"]`; `input_sets` are the calls up to the one that differs.
_CHECKS = {
    "output": PROGRAM + "same(calls(reference(), {input_sets}), calls(exported, {input_sets}))\n",
    "raises": PROGRAM + "calls(reference(), {input_sets})\ncalls(exported, {input_sets})\n",
    "raises-in-eager-only": PROGRAM + "calls(exported, {input_sets})\ncalls(reference(), {input_sets})\n",
    "frozen": PROGRAM + _FROZEN,
    "stdout": _PRINTED + PROGRAM + "ours, theirs = printed(reference()), printed(exported)\n"
    "assert ours == theirs, f'eager printed {{ours!r}}, the exported program {{theirs!r}}'\n",
    "log": _LOGGED + PROGRAM + "ours, theirs = logged(reference()), logged(exported)\n"
    "assert ours == theirs, f'eager logged {{ours}}, the exported program {{theirs}}'\n",
    "buffer": PROGRAM + _BUFFERS,
    "baked": _LITERALS.replace("{", "{{").replace("}", "}}"),
    "fake-tensor-left": _FAKE.replace("{", "{{").replace("}", "}}"),
    "eager-after-export": "before = calls(model(), {input_sets})\nmade, _ = export()\n"
    "same(before, calls(made, {input_sets}))\n",
}
_CHECKS["state"] = _CHECKS["input-effect"] = _CHECKS["output"]

LOAD = "model()\ninputs()\nshapes()\n"
EAGER = "args, kwargs = inputs()\nseed(100)\nreference()(*args, **kwargs)\n"


def difference(details: Mapping[str, Any]) -> str | None:
    """Code that shows what a comparison with eager found; None for a check that only exportlint makes."""
    body = _CHECKS.get(str(details.get("check")))
    # Each input set is called twice: call 1 of input set 0 is the second of the plan.
    last = 2 * int(details.get("input_set") or 0) + int(details.get("call") or 0)
    return body.format(input_sets=CALL_PLAN[: last + 1]) if body else None


# For a stage that goes on from the exported program; compiled kernels add up in another order.
BESIDE_EAGER = "same(calls(reference(), (0, 0)), calls(exported, (0, 0)), rtol=1e-3, atol=1e-4)\n"
