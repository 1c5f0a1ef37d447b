"""What a call gives and leaves besides values: kinds of containers, memory it shares, layouts, warnings, what it sets.

Values decide whether a rewrite is right. Somebody who uses a model may also count on what is here: the name of a field,
a `view` of the output, a log of the file's own, the next random number.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
import random
import sys
import warnings
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.pytree_leaves import PLAIN, Leaves, leaves, snapshot
from exportlint.trial.child.execution.state import outside_readers
from exportlint.trial.protocol.frames import is_installed, is_user_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.trial.child.execution.inputs.input_sets import Inputs

_DEEP = 3


@dataclass(frozen=True)
class CallTraces:
    """Of one call, in words that two processes share.

    kinds      the path of each container of the output -> its class
    shared     the path of each tensor of the output -> whose memory it is: `the input [0]`, `bias`
    alike      the path of each tensor of the output -> the other tensors of the output in whose memory it lies
    scattered  the tensors of the output that `view(-1)` refuses
    inference  those that autograd refuses, for they were made in inference mode
    generators  the state of the random generators afterwards, by the name of the library
    warned     what was warned of
    errors     what was written to stderr
    """

    kinds: Mapping[str, str] = field(default_factory=dict)
    shared: Mapping[str, frozenset[str]] = field(default_factory=dict)
    alike: Mapping[str, frozenset[str]] = field(default_factory=dict)
    scattered: frozenset[str] = frozenset()
    inference: frozenset[str] = frozenset()
    generators: Mapping[str, str] = field(default_factory=dict)
    warned: tuple[str, ...] = ()
    errors: str = ""


@dataclass
class Beside:
    """What a block warned of, and wrote to stderr."""

    caught: list[warnings.WarningMessage] = field(default_factory=list)
    written: io.StringIO = field(default_factory=io.StringIO)


@contextlib.contextmanager
def recorded_beside() -> Iterator[Beside]:
    """Note it, and keep it from the terminal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        beside = Beside(caught)
        with contextlib.redirect_stderr(beside.written):
            yield beside


def traces_of(model: Any, inputs: Inputs, output: Any, beside: Beside) -> CallTraces:
    """Right after the call, before anything else is drawn."""
    generators = _generators()
    tensors = [(path or "itself", leaf) for path, leaf in leaves(output) if _has_memory(leaf)]
    return CallTraces(
        dict(_kinds(output)),
        {path: frozenset(_sharing(leaf, model, inputs)) for path, leaf in tensors},
        dict(_alike(tensors)),
        frozenset(path for path, leaf in tensors if _is_scattered(leaf)),
        frozenset(path for path, leaf in tensors if leaf.is_inference()),
        generators,
        tuple(dict.fromkeys(f"{one.category.__name__}: {one.message}".split("\n")[0] for one in beside.caught)),
        beside.written.getvalue(),
    )


def _kinds(value: Any, path: str = "", levels: int = 6) -> Iterator[tuple[str, str]]:
    """Lists, tuples, dicts, and classes made of these. What gives its values one by one is a list for whoever looks."""
    if levels and isinstance(value, list | tuple | dict):
        yield path, type(value).__qualname__
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in list(items):
            yield from _kinds(item, f"{path}[{key!r}]", levels - 1)


def _has_memory(leaf: Any) -> bool:
    return (
        isinstance(leaf, torch.Tensor)
        and leaf.layout is torch.strided
        and not (leaf.is_nested or leaf.is_quantized or leaf.is_meta)
    )


def _sharing(leaf: torch.Tensor, model: Any, inputs: Inputs) -> Iterator[str]:
    own = _memory(leaf)
    held = [*getattr(model, "named_parameters", list)(), *getattr(model, "named_buffers", list)()]
    given = [(f"the input {path}", one) for path, one in leaves(inputs)]
    yield from (name for name, one in (*held, *given) if own and _has_memory(one) and _memory(one) == own)


def _alike(tensors: Sequence[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, frozenset[str]]]:
    where = [(path, _memory(leaf)) for path, leaf in tensors if leaf.numel()]
    for path, own in where:
        yield path, frozenset(other for other, one in where if own and one == own and other != path)


def _memory(tensor: torch.Tensor) -> int:
    with contextlib.suppress(Exception):  # tensors of other kinds have none
        return int(tensor.untyped_storage().data_ptr())
    return 0


def _is_scattered(leaf: torch.Tensor) -> bool:
    try:
        leaf.detach().view(-1)
    except RuntimeError:
        return True
    return False


def _generators() -> dict[str, str]:
    states = {"torch": torch.get_rng_state().numpy().tobytes(), "Python": repr(random.getstate()).encode()}
    if numpy := sys.modules.get("numpy"):
        parts = numpy.random.get_state(legacy=False)["state"].values()  # numbers, and an array, whose repr takes long
        states["NumPy"] = repr([one.tobytes() if hasattr(one, "tobytes") else one for one in parts]).encode()
    return {name: hashlib.sha256(state).hexdigest()[:16] for name, state in states.items()}


@dataclass(frozen=True)
class Otherwise:
    """How the traces of two models differ, in words: what somebody may count on, what is only to be told, and what
    nobody can say is right."""

    differs: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()


def other_traces(ours: CallTraces, theirs: CallTraces, *, others_drawn: bool) -> Otherwise:
    """Of two calls with the same inputs. `others_drawn`: it is known that they draw other random numbers."""
    return Otherwise(
        differs=(*_other_kinds(ours, theirs), *_other_memory(ours, theirs, others_drawn=others_drawn)),
        told=tuple(_told_of(ours, theirs)),
        unproved=tuple(
            f"`view(-1)` of the output {path} raises, and did not before"
            for path in sorted(theirs.scattered - ours.scattered)
            if path in ours.shared
        ),
    )


def _other_kinds(ours: CallTraces, theirs: CallTraces) -> Iterator[str]:
    for path, kind in ours.kinds.items():
        if path in theirs.kinds and theirs.kinds[path] != kind:
            yield f"the output {path or 'itself'} is of the class {theirs.kinds[path]}, and was of {kind}"


def _other_memory(ours: CallTraces, theirs: CallTraces, *, others_drawn: bool) -> Iterator[str]:
    for path, names in theirs.shared.items():
        if names and path in ours.shared and not ours.shared[path]:
            yield f"the output {path} is the memory of {min(names)} now, and was its own"
    for path, others in theirs.alike.items():
        if (others := others - ours.alike.get(path, others)) and others <= ours.alike.keys():
            yield f"the outputs {path} and {min(others)} are the same memory now, and were not"
            break
    if only := sorted(theirs.inference - ours.inference):
        yield f"the output {only[0]} is made in inference mode now, which autograd refuses"
    other = [name for name, state in ours.generators.items() if theirs.generators.get(name, state) != state]
    if other and not others_drawn:
        yield f"it leaves the random generator of {other[0]} in another state"


def _told_of(ours: CallTraces, theirs: CallTraces) -> Iterator[str]:
    for path, names in ours.shared.items():
        if names and path in theirs.shared and not theirs.shared[path]:
            yield f"the output {path} was the memory of {min(names)}, and is its own now"
    if ours.warned != theirs.warned:
        gone = [text for text in ours.warned if text not in theirs.warned]
        yield f"it no longer warns: {gone[0]}" if gone else f"it warns now: {theirs.warned[-1]}"
    if ours.errors != theirs.errors:
        yield "it writes something else to stderr"


# What calls leave behind: in the model beyond its plain public attributes, and outside of it.


@dataclass(frozen=True)
class Left:
    """After calls: what properties of the model give, what its attributes hold that are objects, the private ones;
    what it can do; and what the calls changed in the model's own files, of all that is there."""

    properties: Mapping[str, Leaves] = field(default_factory=dict)
    objects: Mapping[str, Leaves] = field(default_factory=dict)
    private: Mapping[str, Leaves] = field(default_factory=dict)
    outside: Mapping[str, Leaves] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    is_pickled: bool = False


def left_by(model: Any, outside: Mapping[str, Leaves] | None) -> Left:
    """`outside`: what the files held before the calls; None where nobody asks for it, or for a pickle."""
    if outside is None:
        return Left(_properties_of(model), _objects_of(model), _private_of(model))
    now = globals_now()
    return Left(
        _properties_of(model),
        _objects_of(model),
        _private_of(model),
        _changed_since(outside, now),
        frozenset(now),
        _is_pickled(model),
    )


def other_left(ours: Left, theirs: Left) -> Otherwise:
    """Of what both have; what is gone is told elsewhere, or renamed."""
    differs = [
        f"`{name}` of the model holds something else afterwards"
        for mine, others in ((ours.properties, theirs.properties), (ours.objects, theirs.objects))
        for name in _other(mine, others)
    ]
    changed = {**ours.outside, **theirs.outside}
    for name in changed:
        mine, other = ours.outside.get(name), theirs.outside.get(name)
        if name in ours.names & theirs.names and (mine is None or other is None or compare(mine, other)):
            differs.append(f"the calls leave something else in the {name}")
    if ours.is_pickled and ours.names and theirs.names and not theirs.is_pickled:
        differs.append("the model cannot be pickled any more")
    told = [
        f"`{name}`, which is private, holds something else afterwards" for name in _other(ours.private, theirs.private)
    ]
    return Otherwise(differs=tuple(differs), told=tuple(told))


def _other(ours: Mapping[str, Leaves], theirs: Mapping[str, Leaves]) -> Iterator[str]:
    return (name for name, held in ours.items() if name in theirs and compare(held, theirs[name]))


def globals_now() -> dict[str, Leaves]:
    """What the model's own files hold: lists, counters, caches; of objects what they hold."""
    found: dict[str, Leaves] = {}
    for name, read in outside_readers():
        with contextlib.suppress(Exception):  # an object of any class
            found[name] = snapshot(_open(read()), levels=_DEEP)
    return found


def _changed_since(before: Mapping[str, Leaves], now: Mapping[str, Leaves]) -> dict[str, Leaves]:
    """Those that are other ones now."""
    return {name: held for name, held in now.items() if compare(before.get(name, []), held, exact=True)}


def _properties_of(model: Any) -> dict[str, Leaves]:
    """What the public properties of the model's own classes give."""
    return {
        f"{prefix}.{name}".lstrip("."): found
        for prefix, part in _parts(model)
        for cls in type(part).__mro__
        if _is_own(cls)
        for name, value in vars(cls).items()
        if isinstance(value, property) and not name.startswith("_")
        if (found := _given_by(part, name)) is not None
    }


def _objects_of(model: Any) -> dict[str, Leaves]:
    """What public attributes hold that are no plain values: deques, sets, objects of the model's files, one level."""
    return {
        f"{prefix}.{name}".lstrip("."): snapshot(_open(value), levels=_DEEP)
        for prefix, part in _parts(model)
        for name, value in vars(part).items()
        if not name.startswith("_") and (isinstance(value, _COLLECTIONS) or _is_plain_object(value))
    }


def _private_of(model: Any) -> dict[str, Leaves]:
    """Private attributes of the model's own: plain values, containers, and objects."""
    known = vars(torch.nn.Module())
    return {
        f"{prefix}.{name}".lstrip("."): snapshot(_open(value), levels=_DEEP)
        for prefix, part in _parts(model)
        if _is_own(type(part))
        for name, value in vars(part).items()
        if name.startswith("_") and name not in known
        if isinstance(value, (torch.Tensor, list, tuple, dict, *_COLLECTIONS, *PLAIN)) or _is_plain_object(value)
    }


_COLLECTIONS = (deque, set, frozenset)


def _parts(model: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(model, torch.nn.Module):
        yield from model.named_modules()


def _given_by(part: Any, name: str) -> Leaves | None:
    try:
        return snapshot(_open(getattr(part, name)), levels=_DEEP)
    except Exception:  # noqa: BLE001 - a property of any class
        return None


def _open(value: Any) -> Any:
    """Collections as lists, and an object as what it holds."""
    if isinstance(value, deque):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(map(repr, value)) if all(isinstance(one, PLAIN) for one in value) else len(value)
    return {name: _open(held) for name, held in vars(value).items()} if _is_plain_object(value) else value


def _is_plain_object(value: Any) -> bool:
    fixed = (torch.Tensor, torch.nn.Module, type)
    return hasattr(value, "__dict__") and _is_own(type(value)) and not isinstance(value, fixed) and not callable(value)


def _is_own(cls: type) -> bool:
    file = str(getattr(sys.modules.get(cls.__module__), "__file__", None) or "")
    return is_user_path(file) and not is_installed(file)


class _Nowhere(io.RawIOBase):
    def write(self, data: Any) -> int:
        return len(data)


def _is_pickled(model: Any) -> bool:
    """May it go to another process?"""
    try:
        pickle.Pickler(_Nowhere(), protocol=pickle.HIGHEST_PROTOCOL).dump(model)
    except Exception:  # noqa: BLE001 - any class of the target may refuse, in any way
        return False
    return True
