"""One report with everything in it; every format shows it, and the snapshots hold what people see."""

from __future__ import annotations

from pathlib import Path

from exportlint.finding import Applicability, Edit, Evidence, Finding, Fix, Link, Problem, Severity
from exportlint.output.background import Background, KnownRewrite, MeasuredExample
from exportlint.output.report import NextStep, Report, Shown
from exportlint.trial.protocol.operator_support import OperatorRow, OperatorSupport
from exportlint.trial.protocol.result import StageResult, TargetReport
from exportlint.trial.protocol.target import Target, TargetKind

SOURCE = {
    "src/model.py": [
        "import torch",
        "class Net(torch.nn.Module):",
        "    def forward(self, x):",
        "        if x.sum() > 0:  # 100%, they said",
        "            x = x.data",
        "\tif (x > 0).any() and y:",
        "        名前 = x.tolist(), [",
        "        ]",
    ]
}

BRANCH = Finding(
    "data-dependent-branch",
    "src/model.py",
    4,
    12,
    4,
    23,
    Severity.ERROR,
    "`x.sum() > 0` branches on a tensor's value (x ← parameter of forward, line 3)",
    Evidence.CONFIRMED,
    {"non-strict": "refused", "strict": "refused"},
    "src/model.py:Net",
    "export-non-strict",
    (
        Link(
            "exportdb", "cond_predicate", "https://pytorch.org/docs/main/generated/exportdb/index.html#cond-predicate"
        ),
        Link("graph-break", "GB0170", "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html"),
    ),
    Fix(
        "Compute both sides and choose with `torch.where(x.sum() > 0, a, b)`, or hand both to `torch.cond`.",
        Applicability.UNSAFE,
        (Edit("src/model.py", (4, 9), (4, 24), "x = torch.where("),),
        "verified",
    ),
    "0123456789abcdef",
)
DATA = Finding(
    "data-attribute", "src/model.py", 5, 17, 5, 23, Severity.WARNING, "`x.data` reads past autograd", fingerprint="1"
)
TAB = Finding("data-dependent-branch", "src/model.py", 6, 5, 6, 18, Severity.NOTE, "a | b,\nc", fingerprint="2")
WIDE = Finding("tensor-to-python", "src/model.py", 7, 14, 8, 10, Severity.NOTE, "`x.tolist()` <b>", fingerprint="3")
CLEARED = Finding(
    "in-place", "src/gone.py", 9, 1, 9, 2, Severity.ERROR, "was fine", Evidence.CLEARED, target="t", fingerprint="4"
)
SUPPRESSED = Finding("in-place", "src/model.py", 5, 13, 5, 14, Severity.ERROR, "known", fingerprint="5")

AGAIN = Finding(
    "data-dependent-branch",
    "src/model.py",
    2,
    1,
    2,
    10,
    Severity.ERROR,
    "a second place of the same cause",
    Evidence.CONFIRMED,
    BRANCH.effect,
    BRANCH.target,
    "soundness",
    BRANCH.links,
    BRANCH.fix,
    "6",
)
SILENT = Finding(
    "trial-soundness",
    "src/model.py",
    1,
    1,
    1,
    2,
    Severity.ERROR,
    "the exported program gives other values",
    Evidence.DISCOVERED,
    {"strict": "differs"},
    BRANCH.target,
    "soundness",
    fingerprint="7",
)

SUPPORT = OperatorSupport(
    (
        OperatorRow("aten.add.Tensor", 2, "delegated", str(Path.cwd() / "src/model.py"), 5),
        OperatorRow("aten.foo.default", 1, "fallback", str(Path.cwd() / "src/model.py"), 4, "no kernel | for bool"),
    )
)
TARGET = TargetReport(
    "src/model.py:Net",
    "src/model.py",
    2,
    (
        StageResult("load", "passed", 0.1234, "9.1 M parameters"),
        StageResult(
            "export-non-strict",
            "refused",
            1.5,
            " ".join(["u0"] * 30),
            error_class="torch.fx.GuardOnDataDependentSymNode",
        ),
        StageResult("soundness", "differs", 0.9, "strict: values differ"),
        StageResult("lower-executorch", "skipped", 0, "nothing was exported"),
        StageResult(
            "lower-aotinductor",
            "passed",
            9.5,
            "3,080.6 kB, run in a fresh process: sample twice; nothing compiled: the same as in an earlier run",
            data={"operators": SUPPORT.to_dict(), "recalled": True},
            support="all 3 operators supported, 2 delegated, 1 by fallback",
            artifact="kept/model-aotinductor",
        ),
        StageResult("lower-tvm", "compiled", 2.5, "12.0 kB; compiled, not run: it cannot run on this machine"),
    ),
    {},
    '{"x": {0: Dim("batch", min=2)}}',
    target=Target("src/model.py:Net", TargetKind.FIXTURE, "src/model.py:Net"),
)


def source(path: str, line: int) -> str | None:
    lines = SOURCE.get(path, [])
    return lines[line - 1] if line <= len(lines) else None


WHERE = MeasuredExample(
    "GoodWhere",
    "a model of what to write instead",
    "torch 2.13.0: exports in non-strict and strict",
    ("class GoodWhere:", "    x = 1"),
)
BACKGROUND = Background(
    beliefs=lambda finding: {4: ("x: tensor, 2 dims; from `x` of forward, line 3",)} if finding is BRANCH else {},
    examples=lambda finding: [WHERE] if finding is BRANCH else [],
    tried=lambda finding: (
        [KnownRewrite("stay with the tensor", "not taken: what failed fails as before", ("-x", "+y"))]
        if finding is DATA
        else []
    ),
)
REPORT = Report(
    "2.13.0",
    "both",
    3,
    (SILENT, AGAIN, BRANCH, DATA, TAB, WIDE),
    (CLEARED,),
    (SUPPRESSED,),
    (TARGET,),
    (Problem("src/bad.py", 3, "does not parse: invalid syntax"),),
    also=Shown(cleared=True, suppressed=True, operators=True),
    next_step=NextStep("Next, src/model.py:4: see what to write instead", "exportlint explain data-dependent-branch"),
    source=source,
    background=BACKGROUND,
)
CLEAN = Report("2.13.0", "non-strict", 1)
