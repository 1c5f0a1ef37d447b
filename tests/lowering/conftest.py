"""Prove a model on one target, as the lower stages do it, without the processes of a trial."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import pytest
import torch

from exportlint.trial.child.dynamic_shapes.shape_decisions import recorded_decisions
from exportlint.trial.child.export.export_call import export
from exportlint.trial.child.loading.loaded import of_values
from exportlint.trial.child.lowering.comparing.input_calls import calls_of
from exportlint.trial.child.lowering.proof import Subject, prove
from exportlint.trial.protocol.outcomes import NON_STRICT
from exportlint.trial.protocol.target import Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from exportlint.lowering.backend import Lowering
    from exportlint.trial.child.lowering.proof import Proved

TARGET = Target("model", TargetKind.OBJECTS, "")


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
        name, lowering = made(lowering_name, settings)
        loaded = of_values(TARGET, model.eval(), args, dict(kwargs or {}), dynamic_shapes)
        with recorded_decisions() as decisions:
            exported = replace(export(loaded, NON_STRICT), sizes=decisions)
        folder = tmp_path_factory.mktemp(lowering_name) / "lowering"
        folder.mkdir()
        return prove(Subject(name, lowering, exported.program, loaded.eager, calls_of(loaded, exported), folder))

    return call


def made(lowering_name: str, settings: Mapping[str, Any] | None = None) -> tuple[str, Lowering]:
    """`module:Class` of a lowering that is installed, and one of the class."""
    (entry,) = entry_points(group="exportlint.lowerings", name=lowering_name)
    return entry.value, entry.load()(settings or {})


@pytest.fixture(autouse=True, scope="session")
def _seeded() -> None:
    torch.manual_seed(0)
