"""keep-model: write the model and its inputs to a file, where no code can be named that makes them, for `--save-repro`.

What is written needs no exportlint: also the module that a trial puts around a function travels with its code.
"""

from __future__ import annotations

import contextlib
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.loading import module_wrapper as wrapping
from exportlint.trial.protocol.code_by_value import with_file_names
from exportlint.trial.protocol.outcomes import PASSED, REFUSED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(request: StageRequest) -> StageAnswer:
    """`file` in the options is where to; `data["search"]` lists the folders that its classes are imported from."""
    loaded = request.loaded
    args, kwargs = inputs_of(loaded, 0)
    others = inputs_of(loaded, 1)[0] if loaded.other_args else None
    parts = {
        "model": loaded.model(),
        "args": args,
        "kwargs": kwargs,
        "shapes": loaded.dynamic_shapes(),
        "other_args": others,
    }
    try:
        with _pickling() as module:
            torch.save(parts, request.options["file"], pickle_module=module)
    except Exception as exc:  # noqa: BLE001 - whatever a class of the target raises when it is pickled
        return StageAnswer(REFUSED, short(f"its model cannot be pickled ({type(exc).__name__}: {exc})"))
    return StageAnswer(PASSED, "", {"search": [entry for entry in map(_absolute, sys.path) if _is_the_users(entry)]})


@contextlib.contextmanager
def _pickling() -> Iterator[Any]:
    """cloudpickle takes the classes of a script with their code; without it, only what can be imported is taken."""
    try:
        import cloudpickle  # noqa: PLC0415 - comes with the extra; in the environment of `--python` it may not be there
    except ImportError:
        yield pickle
        return
    cloudpickle.register_pickle_by_value(wrapping)
    try:
        yield with_file_names(cloudpickle)
    finally:
        cloudpickle.unregister_pickle_by_value(wrapping)


def _absolute(entry: str) -> str:
    return str(Path(entry).absolute())


def _is_the_users(entry: str) -> bool:
    """Not what every process of this interpreter finds."""
    installed = any(Path(entry).is_relative_to(prefix) for prefix in (sys.prefix, sys.base_prefix))
    return not installed and Path(entry).exists() and not Path(entry).joinpath("exportlint").is_dir()
