"""Every target of this folder up the whole ladder, written to REPORT.md: `python tests/real_models/report.py [NAME…]`.

With names of sections, only those are tried, and the page goes to the terminal.
"""

from __future__ import annotations

import ast
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from tabulate import tabulate

from exportlint.trial.discovery import from_text
from exportlint.trial.findings.wording.difference_messages import in_words
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import Event, StageResult, TargetReport


HERE = Path(__file__).resolve().parent
PAGE = HERE / "REPORT.md"
LOWERINGS = ("aotinductor", "executorch", "executorch-xnnpack", "onnxruntime", "openvino", "tvm")
PACKAGES = ("torch", "executorch", "onnx", "onnxscript", "onnxruntime", "openvino", "apache-tvm", "transformers")

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
OPTIONS = TrialOptions(lower=LOWERINGS, timeout=600)

HEAD = """\
# Real models, from eager to where they run

Written by `python tests/real_models/report.py`; what the tables and lists say was measured by it. The models have
random weights and small configurations, so nothing is downloaded; the large ones come from transformers. Of a target of
deployment "passed" means compiled, loaded in a process that has only its runtime, run twice on the sample, on other
values and where dims are dynamic on other sizes, and equal to eager within the target's tolerance.
"""


def main(names: Sequence[str]) -> None:
    """Try the named sections, or all of them and write the page."""
    chosen = {name: SECTIONS[name] for name in names or SECTIONS}
    paths = [HERE / "targets" / f"{stem}.py" for stems in chosen.values() for stem in stems]
    targets = [target for path in paths for target in from_text(str(path))]
    reports = {Path(report.name).stem: report for report in run_trials(targets, OPTIONS, _show)}
    text = "\n".join(_page({name: [reports[stem] for stem in stems] for name, stems in chosen.items()}))
    if names:
        print(text)  # noqa: T201 - asked for on the terminal
    else:
        PAGE.write_text(text, "utf-8")


def _show(event: Event) -> None:
    if event.status != "running":
        name = Path(event.target).stem
        print(f"{name:16} {event.stage:18} {event.status:9} {event.seconds:6.1f} s", file=sys.stderr)  # noqa: T201


def _page(sections: dict[str, list[TargetReport]]) -> Iterator[str]:
    yield HEAD
    yield _table([(name, version(name).partition("+")[0]) for name in PACKAGES], ("package", "version"))
    yield ""
    shown = ("export-non-strict", "export-strict", *(f"lower-{name}" for name in LOWERINGS))
    rows = [(name, *(_status(reports[0], stage) for stage in shown)) for name, reports in sections.items()]
    yield _table(rows, ("model", *(stage.removeprefix("lower-") for stage in shown)))
    for name, reports in sections.items():
        yield f"\n## {name}\n"
        for report in reports:
            yield from _target(report)
    yield from _not_measured({Path(report.name).stem for reports in sections.values() for report in reports})


def _not_measured(measured: set[str]) -> Iterator[str]:
    """The targets of the folder that no trial of this page ran."""
    left = sorted(path for path in (HERE / "targets").glob("*.py") if path.stem not in measured)
    if left:
        yield "\n## Not measured\n"
        for path in left:
            caption = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n\n")[0]
            yield f"- [{path.name}](targets/{path.name}): {' '.join(caption.split())}"


def _status(report: TargetReport, name: str) -> str:
    stage = report.stage(name)
    return stage.status if stage else "not tried"


def _target(report: TargetReport) -> Iterator[str]:
    path = Path(report.name)
    yield f"### [{path.name}](targets/{path.name})\n"
    yield (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "") + "\n"
    yield _table(
        [(stage.name, stage.status, _plain(stage.detail)) for stage in report.stages], ("stage", "status", "detail")
    )
    yield ""
    for stage in report.stages:
        if stage.status not in ("passed", "skipped"):
            yield from _failure(stage)


def _failure(stage: StageResult) -> Iterator[str]:
    failures = [seen for seen in stage.observations if seen.kind in ("exception", "difference")]
    for seen in failures or [None]:
        reason = _reason(seen) if seen else stage.detail
        yield f"- **{stage.name}** {stage.status}{_place(seen)}: {_plain(reason)}\n"


def _reason(seen: Observation) -> str:
    if summary := seen.details.get("summary"):
        return str(summary)
    if seen.kind == "difference":
        return in_words(seen)
    words = seen.text.partition("\n\n")[0]
    return f"{seen.error_class.rpartition('.')[2]}: {words}" if seen.error_class else words


def _place(seen: Observation | None) -> str:
    """The model's own line; where torch names none, the line of torch that raised."""
    if seen is None:
        return ""
    if seen.user:
        return f" at `{_plain(seen.user.path)}:{seen.user.line}`" + (f" (`{seen.user.text}`)" if seen.user.text else "")
    inner = seen.frames[-1] if seen.frames else None
    return f", no line of the model; raised at `{_plain(inner.path)}:{inner.line}`" if inner else ""


_INSTALLED = re.compile(r"/[^\s\"'`]+/site-packages/")
_BYTES = re.compile(r"([\d,]+) bytes")


def _plain(text: str) -> str:
    """One line, the same in every run: paths relative, sizes rounded, nothing that a table takes for a column."""
    text = _INSTALLED.sub("", text.replace(f"{HERE.parents[1]}/", ""))
    text = _BYTES.sub(lambda found: _size(int(found[1].replace(",", ""))), text)
    return " ".join(text.split()).replace("|", "\\|")[:500]


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e6 else f"{count / 1e3:.0f} kB"


def _table(rows: Sequence[Sequence[str]], headers: Sequence[str]) -> str:
    return tabulate(rows, headers, tablefmt="github", disable_numparse=True)


if __name__ == "__main__":
    main(sys.argv[1:])
