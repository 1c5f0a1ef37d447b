"""Hand a model that lives in the caller's process to the process of a trial.

By a file and not by a fork: the caller has run operators, so it has threads, and a fork that inherits a pool of threads
waits for them for ever at its first large operator (seen with torch 2.13).
"""

from __future__ import annotations

import importlib.util
import os
import pickle
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError
from exportlint.trial.parent import TrialUnavailable
from exportlint.trial.protocol.code_by_value import with_file_names
from exportlint.trial.protocol.target import Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import ModuleType


def live_target(parts: Mapping[str, Any], name: str, place: tuple[str | None, int | None], folder: Path) -> Target:
    """A target of the live `parts` (model, args, kwargs, dynamic_shapes, other_args), written into `folder`.

    Raises UserError where a part cannot leave this process, with the attribute that cannot.
    """
    file = folder / "parts.pt"
    _save(parts, file)
    path, line = place
    search = tuple(os.path.abspath(entry) for entry in sys.path)  # noqa: PTH100 - no links resolved
    return Target(name, TargetKind.OBJECTS, str(file), path=path, line=line, search=search)


def _save(parts: Mapping[str, Any], file: Path) -> None:
    try:
        import cloudpickle  # noqa: PLC0415 - comes with the extra
        import torch  # noqa: PLC0415 - the caller has it, or has no model
    except ImportError as exc:
        raise TrialUnavailable(f"a trial needs torch and cloudpickle ({exc}); pip install 'exportlint[torch]'") from exc
    with _by_value(cloudpickle, parts):
        try:
            # torch.save keeps what shares memory sharing it; cloudpickle takes classes of notebooks, and lambdas.
            torch.save(dict(parts), file, pickle_module=with_file_names(cloudpickle))
        except Exception as exc:
            where = next(_unpicklable(parts, cloudpickle), "a part of it")
            raise UserError(
                f"{where} cannot be handed to the trial's process ({type(exc).__name__}: {exc}); leave it out of the "
                "model, or run the script that builds the model: exportlint trial script.py"
            ) from exc


@contextmanager
def _by_value(cloudpickle: ModuleType, parts: Mapping[str, Any]) -> Iterator[None]:
    """Classes of modules that only this process can import travel with their code."""
    own = [module for module in _homes(parts) if not _importable(module.__name__)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _homes(parts: Mapping[str, Any]) -> list[ModuleType]:
    """The modules that define the model's classes."""
    model = parts["model"]
    model = getattr(model, "__self__", model)
    used = model.modules() if hasattr(model, "modules") else [model]
    names = {getattr(part, "__module__", None) for part in (parts["model"], *used)}
    return [sys.modules[name] for name in names if name in sys.modules and name != "__main__"]


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _unpicklable(parts: Mapping[str, Any], cloudpickle: ModuleType) -> Iterator[str]:
    """The attribute of the model, or the part, that cannot be pickled."""
    modules = getattr(parts["model"], "named_modules", lambda: ())
    for name, module in modules():
        for key, value in vars(module).items():
            if key not in ("_modules", "_parameters", "_buffers") and not _pickles(value, cloudpickle):
                yield f"the model's attribute `{f'{name}.{key}'.lstrip('.')}` ({type(value).__name__})"
    yield from (f"`{part}`" for part, value in parts.items() if not _pickles(value, cloudpickle))


def _pickles(value: Any, cloudpickle: ModuleType) -> bool:
    try:
        cloudpickle.dumps(value)
    except (pickle.PicklingError, TypeError, ValueError, RuntimeError, RecursionError, NotImplementedError):
        return False
    return True
