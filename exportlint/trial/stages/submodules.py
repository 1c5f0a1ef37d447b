"""submodules: which parts of a refused model are refused by themselves, with the inputs that they really got; of those
inside each other only the smallest."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.births import unknown_class
from exportlint.trial.calls import inputs_of
from exportlint.trial.isolate import in_fork
from exportlint.trial.loading import copied
from exportlint.trial.observation import Frame, Observation, is_user_path, placed
from exportlint.trial.stage import PASSED, REFUSED, SKIPPED, Answer, Request, short
from exportlint.trial.stages.load import said
from exportlint.trial.values import leaves, seed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Each costs an export.
_MOST = 24
_MOST_BYTES = 512 << 20

Inputs = tuple[tuple[Any, ...], dict[str, Any]]


def run(request: Request) -> Answer:
    """`mode` in the options is one that refuses the whole."""
    model = request.loaded.eager()
    if request.loaded.export or not isinstance(model, torch.nn.Module):
        return Answer(SKIPPED, "the target is no module that export is called on")
    search = _Search(request, model, _inputs_got(request, model))
    smallest = list(search.failing(""))
    for path in smallest:
        request.emit(search.told(path))
    if not smallest:
        return Answer(PASSED, "no submodule is refused by itself")
    return Answer(REFUSED, short(f"refused by themselves: {', '.join(smallest)}"))


def _inputs_got(request: Request, model: torch.nn.Module) -> dict[str, Inputs]:
    """The arguments of the first call of every submodule, by path."""
    got: dict[str, Inputs] = {}
    held = 0

    def keep(path: str, _module: Any, args: Any, kwargs: Any) -> None:
        nonlocal held
        held += sum(leaf.nbytes for _, leaf in leaves((args, kwargs)) if isinstance(leaf, torch.Tensor))
        if path not in got and held < _MOST_BYTES:
            got[path] = copied((args, kwargs))

    for path, module in model.named_modules():
        module.register_forward_pre_hook(partial(keep, path), with_kwargs=True)
    args, kwargs = inputs_of(request.loaded, 0)
    seed(0)
    with torch.no_grad():
        model(*args, **kwargs)
    return got


@dataclass
class _Search:
    request: Request
    model: torch.nn.Module
    got: Mapping[str, Inputs]
    refusals: dict[str, Observation] = field(default_factory=dict)
    _judged: dict[str, str | None] = field(default_factory=dict)  # what a module looks like -> the path that is refused

    def failing(self, above: str) -> Iterator[str]:
        """The smallest failing submodules inside one that fails."""
        for path in self._inside(above):
            if self._fails(path):
                yield from list(self.failing(path)) or [path]

    def _inside(self, above: str) -> list[str]:
        """The nearest submodules that were called: a ModuleList never is."""
        under = [path for path in self.got if path and path != above and path.startswith(f"{above}." if above else "")]
        return [path for path in under if not any(path.startswith(f"{other}.") for other in under)]

    def _fails(self, path: str) -> bool:
        module, (args, kwargs) = self.model.get_submodule(path), self.got[path]
        if type(module).__module__.partition(".")[0] == "torch" and not self._inside(path):
            return False  # torch's own layers are what export is made for
        alike = f"{type(module)} {module!r} {said(args, kwargs)}"
        if alike not in self._judged and len(self._judged) < _MOST:
            export = partial(_export, self.request, path, self.got[path])
            outcome = in_fork(export, self.request.folder)
            ended = Observation("exception", outcome.ended, details={"ended": "crashed"}) if outcome.ended else None
            seen = outcome.raised or ended
            failed = seen is not None and not _of_its_edge(seen)
            self._judged[alike] = path if failed else None
            if seen is not None:
                self.refusals[path] = seen
        return self._judged.get(alike) == path

    def told(self, path: str) -> Observation:
        """The refusal of a submodule, at its forward where torch names no line."""
        seen, module = self.refusals[path], self.model.get_submodule(path)
        code = getattr(type(module).forward, "__code__", None)
        frames = seen.frames
        if seen.user_path is None and code is not None and is_user_path(code.co_filename):
            frames = (Frame(code.co_filename, code.co_firstlineno, "forward", ""),)
        args, kwargs = self.got[path]
        within = {"submodule": path, "kind": type(module).__name__, "inputs": said(args, kwargs)}
        details = {**seen.details, **within, "mode": self.request.options["mode"]}
        return placed(seen.kind, seen.text, frames, error_class=seen.error_class, gb_id=seen.gb_id, details=details)


def _of_its_edge(seen: Observation) -> bool:
    """Is it about what goes in and out, which between submodules is nobody's business?"""
    return unknown_class(seen) is not None or "Unsupported input type" in seen.text


def _export(request: Request, path: str, inputs: Inputs) -> None:
    module = request.loaded.model().get_submodule(path)
    args, kwargs = inputs
    seed(0)
    torch.export.export(module, tuple(args), kwargs or None, strict=request.options["mode"] == "strict")
