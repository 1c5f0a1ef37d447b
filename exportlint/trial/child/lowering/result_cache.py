"""Keep what a lowering came to, for the same graph, weights, inputs, target, versions and settings."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.lowering.arrays import TensorBytes
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


KEPT_DAYS = 30
_DAY = 86_400


def key_of(
    lowering: str,
    settings: Mapping[str, Any],
    packages: Sequence[str],
    program: torch.export.ExportedProgram,
    calls: Sequence[Sequence[Any]],
) -> str:
    """A name that changes with everything the result rests on."""
    digest = hashlib.blake2b(digest_size=20)
    head = [__version__, lowering, settings, versions_of(packages), os.environ.get("CXX", "")]
    digest.update(json.dumps(head, sort_keys=True, default=str).encode())
    for part in _parts(program, calls):
        digest.update(part)
    return digest.hexdigest()


def versions_of(packages: Sequence[str]) -> dict[str, str]:
    """Distribution -> its version; "" of one that is not installed."""
    return {name: _version(name) for name in packages}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _parts(program: torch.export.ExportedProgram, calls: Sequence[Sequence[Any]]) -> Iterator[bytes]:
    """The graph with its lines, since findings stand there; then every weight and every input by its bytes."""
    for node in program.graph.nodes:
        yield f"{node.format_node()} {_shape(node.meta.get('val'))} {node.meta.get('stack_trace')}".encode()
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield module.code.encode()
    yield f"{program.graph_signature} {program.range_constraints}".encode()
    for name, value in sorted({**program.state_dict, **program.constants}.items()):
        yield name.encode()
        yield from _bytes(value)
    for leaves in calls:
        for leaf in leaves:
            yield from _bytes(leaf)


def _shape(value: Any) -> str:
    return f"{value.dtype} {tuple(value.shape)}" if isinstance(value, torch.Tensor) else str(value)


def _bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_quantized:
        value = TensorBytes.of(value)
    if isinstance(value, TensorBytes):
        yield f"{value.dtype} {value.shape}".encode()
        yield value.data
    else:
        yield repr(value).encode()


def recalled(folder: Path, key: str) -> dict[str, Any] | None:
    """What `remember` kept; None where there is nothing, or nothing that can be read."""
    try:
        found = json.loads((folder / f"{key}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def remember(folder: Path, key: str, result: Mapping[str, Any]) -> None:
    """Keep it, whole or not at all; a folder that cannot be written keeps nothing."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        _forget_old(folder)
        handle, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(result, file, default=str)
        Path(name).replace(folder / f"{key}.json")


def _forget_old(folder: Path) -> None:
    for file in folder.iterdir():
        if time.time() - file.stat().st_mtime > KEPT_DAYS * _DAY:
            file.unlink(missing_ok=True)
