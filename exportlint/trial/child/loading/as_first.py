"""The model of a target as it was when it was loaded, for every use: itself first, then copies, or itself put back.

What a use leaves in a model must not reach the next one, so a stage that needs it twice needs another. A deep copy is
one only where it computes the same, which many are not: `copy.deepcopy` makes plain tensors of the parameters of a
ScriptModule; it copies no function, so that a hook goes on with the module that it closes over, and no weak reference;
a dict of ids knows nothing of the copy; a class may copy what it likes. None of that may become an outcome of the
model, so the first use in a process is the model itself, which is what torch would be given without a trial. Later ones
are copies where the copy was looked at and holds nothing of the original, else the model with its state put back.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import weakref
from collections import deque
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import is_lazy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_ATOMS = (
    str,
    bytes,
    float,
    complex,
    bool,
    type(None),
    ModuleType,
    type,
    torch.dtype,
    torch.device,
    BuiltinFunctionType,
)
_COPYING = frozenset({"__deepcopy__", "__copy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"})


class AsFirst:
    """`make()` gives the value as it is now, however much the ones that it gave before were used.

    >>> make = AsFirst(torch.nn.BatchNorm1d(2))
    >>> _ = make()(torch.tensor([[1.0, 2.0], [3.0, 6.0]]))
    >>> make().running_mean
    tensor([0., 0.])
    """

    def __init__(self, value: Any) -> None:
        self._value = value
        self._given = False
        self._copy: Any = None
        self._state: _State | None = None

    def __call__(self) -> Any:
        """The value, a copy of it, or the value with its state put back."""
        if not self._given:
            self._given = True
            self._copy = _faithful_copy(self._value)
            self._state = None if self._copy is not None else _State(self._value)
            return self._value
        if self._state is None:
            return copy.deepcopy(self._copy)
        self._state.put_back()
        return self._value


def _faithful_copy(value: Any) -> Any | None:
    """A deep copy that holds nothing of the original, with its parts of the same classes; None where there is none."""
    ours = [one for one in _reached(value, names=isinstance(value, FunctionType)) if _is_own(one)]
    if any(isinstance(one, torch.jit.ScriptModule) or _copies_itself(type(one)) for one in ours):
        return None
    try:
        made = copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - any class of the target may refuse, in any way
        return None
    identities = set[int]()
    for one in ours:
        identities |= {id(one), _address(one)} - {0}
    theirs = list(_reached(made, names=True))
    if any((id(one) if _is_own(one) else one) in identities for one in theirs if _is_own(one) or type(one) is int):
        return None
    if [type(one) for one in ours] != [type(one) for one in _reached(made, names=False) if _is_own(one)]:
        return None
    return made


def _is_own(one: Any) -> bool:
    return isinstance(one, (torch.Tensor, torch.nn.Module))


def _copies_itself(cls: type) -> bool:
    """Does a class that is not torch's say what a copy of it is?"""
    own = (each for each in cls.__mro__ if each.__module__.partition(".")[0] not in {"torch", "builtins", "typing"})
    return any(_COPYING & vars(each).keys() for each in own)


def _address(one: Any) -> int:
    with contextlib.suppress(Exception):  # a tensor without storage has none
        return int(one.data_ptr()) if isinstance(one, torch.Tensor) else 0
    return 0


def _reached(value: Any, *, names: bool) -> Iterator[Any]:
    """What the value holds, itself first, each once. `names`: also modules and tensors of the file that its functions
    name."""
    seen = set[int]()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if is_gone(one) or isinstance(one, _ATOMS) or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        if type(one) is not int:
            waiting += _held(one, names=names)


def is_gone(one: Any) -> bool:
    """Is it a weak proxy whose object is no more? Such a one raises whatever is asked of it, its class too."""
    if type(one) in weakref.ProxyTypes:
        try:
            return one.__class__ is None
        except ReferenceError:
            return True
    return False


def _held(one: Any, *, names: bool) -> Iterable[Any]:
    match one:
        case dict():
            return [*one.keys(), *one.values()]
        case list() | tuple() | set() | frozenset() | deque():
            return list(one)
        case MethodType():
            return [one.__self__, one.__func__]
        case FunctionType():
            return [*_of_function(one), *(_by_name(one) if names else ())]
        case functools.partial():
            return [one.func, *one.args, *one.keywords.values()]
        case weakref.ref():
            return [one()]
        case torch.jit.ScriptModule():
            return [*one.parameters(), *one.buffers(), *one.children()]
        case torch.nn.Module() if names:
            own = (cls for cls in type(one).__mro__ if not cls.__module__.startswith("torch."))
            functions = (each for cls in own for each in vars(cls).values() if isinstance(each, FunctionType))
            return [*vars(one).values(), *(held for each in functions for held in _by_name(each))]
    return list(getattr(one, "__dict__", {}).values())


def _of_function(function: FunctionType) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        with contextlib.suppress(ValueError):  # nothing is in it yet
            yield cell.cell_contents
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from vars(function).values()


def _by_name(function: FunctionType) -> Iterator[Any]:
    """Modules and tensors that the code names in its file."""
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        yield from (found for name in code.co_names if _is_own(found := function.__globals__.get(name)))
        codes += [one for one in code.co_consts if isinstance(one, CodeType)]


class _State:
    """What a value and its parts hold now: the elements of tensors, attributes, containers, states of generators."""

    def __init__(self, value: Any) -> None:
        self._steps: list[Callable[[], None]] = []
        for one in _reached(value, names=isinstance(value, FunctionType)):
            self._keep(one)

    def _keep(self, one: Any) -> None:
        match one:
            case torch.Tensor() if is_lazy(one):
                pass  # it holds nothing yet, and cannot be made so again
            case torch.Tensor():
                was = one.detach().clone()
                self._steps.append(functools.partial(_put_tensor, one, was, one.grad, needs_grad=one.requires_grad))
            case torch.Generator():
                self._steps.append(functools.partial(one.set_state, one.get_state()))
            case dict() | set():
                self._steps.append(functools.partial(_put_items, one, one.copy()))
            case list() | deque():
                self._steps.append(functools.partial(_put_row, one, list(one)))
        if isinstance(attributes := getattr(one, "__dict__", None), dict) and not isinstance(
            one, torch.jit.ScriptModule
        ):
            self._steps.append(functools.partial(_put_items, attributes, attributes.copy()))

    def put_back(self) -> None:
        for step in self._steps:
            step()


def _put_tensor(tensor: torch.Tensor, was: torch.Tensor, grad: torch.Tensor | None, *, needs_grad: bool) -> None:
    with torch.no_grad():
        if tensor.shape != was.shape or tensor.dtype != was.dtype:
            tensor.data = was.clone()
        elif not tensor.is_inference() and not torch.equal(tensor, was):
            tensor.copy_(was)
    if tensor.is_leaf:
        tensor.requires_grad_(needs_grad)
        tensor.grad = grad


def _put_items(holder: Any, was: Any) -> None:
    """Of a dict or a set, which may be somebody's own class of one: what did not change is not touched."""
    if len(holder) != len(was) or any(a is not b for a, b in zip(_items(holder), _items(was), strict=True)):
        holder.clear()
        holder.update(was)


def _items(holder: Any) -> Iterator[Any]:
    return iter((*holder.keys(), *holder.values())) if isinstance(holder, dict) else iter(holder)


def _put_row(holder: Any, was: list[Any]) -> None:
    if len(holder) != len(was) or any(a is not b for a, b in zip(holder, was, strict=True)):
        holder.clear()
        holder.extend(was)
