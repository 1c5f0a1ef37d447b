"""submodules: which parts of a refused model are refused by themselves, with the inputs that they really got; of those
inside each other only the smallest."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.call_record import arguments_text
from exportlint.trial.child.execution.inputs.input_sets import Inputs, inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import leaves
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.frames import Frame, is_user_path
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED, PASSED, REFUSED, SKIPPED, STRICT
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.torch_messages import is_about_input_types, unknown_class_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


# Each costs an export.
_MOST = 24
_MOST_BYTES = 512 << 20


def run(request: StageRequest) -> StageAnswer:
    """`modes` in the options are those that refuse the whole; the first is asked."""
    model = request.loaded.eager()
    if request.loaded.export or not isinstance(model, torch.nn.Module):
        return StageAnswer(SKIPPED, "the target is no module that export is called on")
    if isinstance(model, torch.jit.ScriptModule):
        return StageAnswer(SKIPPED, "no part of a TorchScript module can be exported")
    search = _Search(request, model, _inputs_got(request, model))
    smallest = list(search.failing(""))
    for path in smallest:
        request.emit(search.refusal(path))
    if not smallest:
        return StageAnswer(PASSED, "no submodule is refused by itself")
    return StageAnswer(REFUSED, short(f"refused by themselves: {', '.join(smallest)}"))


def _inputs_got(request: StageRequest, model: torch.nn.Module) -> dict[str, Inputs]:
    """The arguments of the first call of every submodule, by path."""
    got: dict[str, Inputs] = {}
    held = 0

    def keep(path: str, _module: Any, args: Any, kwargs: Any) -> None:
        nonlocal held
        held += sum(leaf.nbytes for _, leaf in leaves((args, kwargs)) if isinstance(leaf, torch.Tensor))
        if path not in got and held < _MOST_BYTES:
            got[path] = copied((args, kwargs))

    for path, module in model.named_modules():
        if not isinstance(module, torch.jit.ScriptModule):  # which takes no hooks
            module.register_forward_pre_hook(partial(keep, path), with_kwargs=True)
    args, kwargs = inputs_of(request.loaded, 0)
    seed(0)
    with torch.no_grad():
        model(*args, **kwargs)
    return got


@dataclass
class _Search:
    request: StageRequest
    model: torch.nn.Module
    got: Mapping[str, Inputs]
    refusals: dict[str, Observation] = field(default_factory=dict)
    _judged: dict[str, str | None] = field(default_factory=dict)  # what a module looks like -> the path that is refused

    def failing(self, above: str) -> Iterator[str]:
        """The smallest failing submodules inside one that fails; torch's own layers, which export is made for, where
        nothing else fails."""
        inside = self._inside(above)
        layers = [path for path in inside if self._is_layer_of_torch(path)]
        found = False
        for path in inside:
            if path not in layers and self._fails(path):
                found = True
                yield from list(self.failing(path)) or [path]
        if above and not found:
            yield from filter(self._fails, layers)

    def _is_layer_of_torch(self, path: str) -> bool:
        module = type(self.model.get_submodule(path)).__module__
        return module.partition(".")[0] == "torch" and not self._inside(path)

    def _inside(self, above: str) -> list[str]:
        """The nearest submodules that were called: a ModuleList never is."""
        under = [path for path in self.got if path and path != above and path.startswith(f"{above}." if above else "")]
        return [path for path in under if not any(path.startswith(f"{other}.") for other in under)]

    def _fails(self, path: str) -> bool:
        module, (args, kwargs) = self.model.get_submodule(path), self.got[path]
        alike = f"{type(module)} {module!r} {arguments_text(args, kwargs)}"
        if alike not in self._judged and len(self._judged) < _MOST:
            export = partial(_export, self.request, path, self.got[path])
            result = in_fork(export, self.request.folder)
            ended = Observation("exception", result.ended, details={"ended": CRASHED}) if result.ended else None
            seen = result.raised or ended
            failed = seen is not None and not _is_about_inputs_or_outputs(seen)
            self._judged[alike] = path if failed else None
            if seen is not None:
                self.refusals[path] = seen
        return self._judged.get(alike) == path

    def refusal(self, path: str) -> Observation:
        """The refusal of a submodule, at its forward where torch names no line."""
        seen, module = self.refusals[path], self.model.get_submodule(path)
        code = getattr(type(module).forward, "__code__", None)
        frames = seen.frames
        if seen.user is None and code is not None and is_user_path(code.co_filename):
            frames = (Frame(code.co_filename, code.co_firstlineno, "forward", ""),)
        args, kwargs = self.got[path]
        within = {"submodule": path, "class_name": type(module).__name__, "inputs": arguments_text(args, kwargs)}
        return seen.with_details(**within, mode=self.request.options["modes"][0]).at(frames)


def _is_about_inputs_or_outputs(seen: Observation) -> bool:
    """Is it about the types that go in and out, which do not matter between submodules?"""
    return unknown_class_name(seen.text) is not None or is_about_input_types(seen.text)


def _export(request: StageRequest, path: str, inputs: Inputs) -> None:
    module = request.loaded.model().get_submodule(path)
    args, kwargs = inputs
    seed(0)
    torch.export.export(module, tuple(args), kwargs or None, strict=request.options["modes"][0] == STRICT)
