"""Write REPORT.md from what `try_targets.py` saw: `python tests/real_models/report.py`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from tabulate import tabulate
from try_targets import HERE, LOWERINGS, PACKAGES, TARGETS, VERSIONS, tried

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


PAGE = HERE / "REPORT.md"
SHOWN = ("export-non-strict", "export-strict", *(f"lower-{name}" for name in LOWERINGS))

# Section -> its targets; the first one is the model on its way to a device.
SECTIONS = {
    "Whisper, encoder": ("whisper_encoder",),
    "Whisper, decoder step": ("whisper", "whisper_default", "whisper_logits"),
    "BLIP captioning": ("blip",),
    "SAM 2": ("sam2", "sam2_method", "sam2_wrapped"),
    "BERT": ("bert",),
    "ResNet": ("resnet",),
    "ViT": ("vit",),
    "MViT": ("mvit",),
    "Llama, static cache": ("llama_buffers", "llama"),
    "LSTM": ("lstm",),
    "U-Net": ("unet",),
    "Graph layer": ("graph_layer",),
    "Detector": ("detector",),
}

HEAD = """\
# Real models, from eager to where they run

Written by `python tests/real_models/report.py` from what `try_targets.py` beside it saw. The models have random weights
and small configurations, so nothing is downloaded; the large ones come from transformers. Of a target of deployment
"passed" means compiled, loaded in a process that has only its runtime, run twice on the sample, on other values and
where dims are dynamic on other sizes, and equal to eager within the target's tolerance.
"""


def text() -> str:
    return "\n".join(_page(tried())) + "\n"


def _page(known: Mapping[str, Any]) -> Iterator[str]:
    yield HEAD
    yield _table([(name, VERSIONS[name]) for name in PACKAGES], ("package", "version"))
    yield ""
    rows = [(name, *(_status(known[stems[0]], stage) for stage in SHOWN)) for name, stems in SECTIONS.items()]
    yield _table(rows, ("model", *(stage.removeprefix("lower-") for stage in SHOWN)))
    for name, stems in SECTIONS.items():
        yield f"\n## {name}\n"
        for stem in stems:
            yield from _target(stem, known[stem])


def _status(row: Mapping[str, Any], name: str) -> str:
    return next((status for stage, status, _detail in row["stages"] if stage == name), "not tried")


def _target(stem: str, row: Mapping[str, Any]) -> Iterator[str]:
    path = TARGETS / f"{stem}.py"
    yield f"### [{path.name}](targets/{path.name})\n"
    yield (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "") + "\n"
    yield _table(row["stages"], ("stage", "status", "detail"))
    yield ""
    for stage, status, place, reason in row["failures"]:
        yield f"- **{stage}** {status}{place}: {reason}\n"


def _table(rows: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
    return tabulate(rows, headers, tablefmt="github", disable_numparse=True)


if __name__ == "__main__":
    PAGE.write_text(text(), "utf-8")
