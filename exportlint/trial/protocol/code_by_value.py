"""Pickle what no other process can import, with its code, and keep the file that each line of the code stands in."""

from __future__ import annotations

from operator import methodcaller
from types import CodeType, SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def with_file_names(cloudpickle: ModuleType) -> Any:
    """What `torch.save` takes as `pickle_module`: cloudpickle, with the file's name in each piece of code.

    cloudpickle 3.1.3 writes "<dynamic-code>" in its place (3.1.2 wrote the name), and no line of a notebook's model
    could be told. Reading needs cloudpickle only, not exportlint.

    >>> torch.save(model, "model.pt", pickle_module=with_file_names(cloudpickle))  # doctest: +SKIP
    """
    as_cloudpickle_does = cloudpickle.Pickler.dispatch_table[CodeType]

    def reduce_code(code: CodeType) -> Reduced:
        return methodcaller("replace", co_filename=code.co_filename), (_Reduced(as_cloudpickle_does(code)),)

    class Pickler(cloudpickle.Pickler):  # type: ignore[name-defined,misc] # cloudpickle has no types
        dispatch_table = cloudpickle.Pickler.dispatch_table.new_child({CodeType: reduce_code})

    return SimpleNamespace(__name__=cloudpickle.__name__, Pickler=Pickler)


class _Reduced:
    """Stands for an object in a pickle that is read as that object: a reducer may not name its own object again."""

    def __init__(self, reduced: Reduced) -> None:
        self._reduced = reduced

    def __reduce__(self) -> Reduced:
        return self._reduced
