"""The torch calls of a trial, as a person would write them down: no processes, no limits, no report."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys

import torch


def model() -> torch.nn.Module:
    torch.manual_seed(0)
    return getattr(importlib.import_module("models"), sys.argv[1])().eval()


def inputs(input_set: int = 0) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(7 + input_set)
    return tuple(
        torch.randn_like(x) if input_set else x
        for x in getattr(importlib.import_module("models"), sys.argv[1]).inputs()
    )


def calls(program: torch.nn.Module) -> list[torch.Tensor]:
    """The sample twice, then other values twice."""
    return [program(*inputs(input_set)) for input_set in (0, 0, 1, 1)]


def close(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> None:
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(ours, theirs, strict=True))


def export(*, strict: bool) -> tuple[torch.nn.Module, torch.export.ExportedProgram]:
    made = model()
    return made, torch.export.export(made, inputs(), strict=strict)


def go_on(ours: list[torch.Tensor], program: torch.export.ExportedProgram) -> None:
    """Core ATen; save and load."""
    close(ours, [program.run_decompositions().module()(*inputs())])
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    close(ours, [torch.export.load(file).module()(*inputs())])


def further(refused: list[bool]) -> None:
    """What else is refused: traced once more for the one mode, broken into graphs once more for the other."""
    for strict in refused:
        torch._dynamo.reset()
        with contextlib.suppress(Exception):
            torch._dynamo.explain(model())(*inputs()) if strict else export(strict=False)


def main() -> None:
    model()
    ours = calls(model())
    close(ours, calls(model()))  # does eager repeat itself?
    model()(*inputs())  # and which lines does it run
    torch._dynamo.explain(model())(*inputs())
    accepted = []
    for strict in (False, True):
        torch._dynamo.reset()
        with contextlib.suppress(Exception):
            _, program = export(strict=strict)
            close(ours[:1], [program.module()(*inputs())])
            accepted.append(strict)
            if len(accepted) == 1:
                go_on(ours[:1], program)
    if len(accepted) < 2:
        torch._dynamo.reset()
        torch.export.draft_export(model(), inputs())
        further([strict for strict in (False, True) if strict not in accepted])
    for strict in accepted:
        torch._dynamo.reset()
        if strict == accepted[0]:
            export(strict=strict)  # is the second graph the same?
        made, program = export(strict=strict)
        close(ours, calls(program.module()))
        close(ours, calls(made))


if __name__ == "__main__":
    main()
