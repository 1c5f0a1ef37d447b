"""Prove a model on one target, as the lower stages do it, without the processes of a trial."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import live_models
import pytest
import torch

from exportlint.trial.child.lowering.torch_forks import use_torch_forks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.child.lowering.proof_subject import Proved


@pytest.fixture(scope="session")
def lowered(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Proved]:
    """lowered("onnxruntime", Model(), args, kwargs, dynamic_shapes): exported, and all steps of the proof."""

    def call(
        lowering_name: str,
        model: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any] | None = None,
        dynamic_shapes: Any = None,
        settings: Mapping[str, Any] | None = None,
    ) -> Proved:
        folder = tmp_path_factory.mktemp(lowering_name) / "lowering"
        folder.mkdir()
        return live_models.proof_of(
            lowering_name, settings, model.eval(), (args, dict(kwargs or {})), dynamic_shapes, folder
        )

    return call


@pytest.fixture(autouse=True, scope="session")
def _artefacts_find_torch_loaded() -> Iterator[None]:
    """Each runs in a fork of a process that has torch, as in a trial; else each loads it for itself."""
    ours, theirs = socket.socketpair()
    program = [sys.executable, str(Path(__file__).with_name("torch_alone.py")), str(theirs.fileno())]
    with ours, subprocess.Popen(program, pass_fds=[theirs.fileno()]) as process:
        theirs.close()
        use_torch_forks(ours)
        yield
        process.kill()


@pytest.fixture(autouse=True, scope="session")
def _seeded() -> None:
    torch.manual_seed(0)
