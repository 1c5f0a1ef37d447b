"""Reports with all that a page draws: trails, a program, graph breaks, guards, regions that never ran; and large ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sample import BACKGROUND, BRANCH, REPORT, TARGET, source

from exportlint.finding import Evidence, Finding, Fix, Link, Severity, TrailStep
from exportlint.output.background import KnownRewrite
from exportlint.output.report import Report
from exportlint.trial.protocol.compilation import CompilationReport, Graph, GraphBreak, Recompile
from exportlint.trial.protocol.result import Guard, StageResult
from exportlint.trial.protocol.stages import NEVER_RAN

MODEL = str(Path.cwd() / "src/model.py")
BREAK = GraphBreak(
    "src/model.py",
    4,
    "forward",
    ("src/model.py:2 in outer", "src/model.py:4 in forward"),
    "a tensor's value decides in `x.sum() > 0`",
    "GB0170",
    "https://meta-pytorch.github.io/compile-graph-break-site/gb/gb0170.html",
    "data-dependent-branch",
    3,
    "break",
)
MODULES = [
    {"name": "", "class": "Net", "depth": 0, "ms": 0.2, "path": "src/model.py", "line": 3, "end_line": 4},
    {"name": "first", "class": "Linear", "depth": 1, "ms": 0.12, "path": None, "line": None, "end_line": None},
    {"name": "helper", "class": "Helper", "depth": 1, "ms": 0.05, "path": "src/model.py", "line": 5, "end_line": 6},
    {"name": "helper.act", "class": "ReLU", "depth": 2, "ms": 0.0004, "path": None, "line": None, "end_line": None},
]
COMPILATION = CompilationReport(
    (
        BREAK,
        replace(BREAK, line=5, frames=("src/model.py:2 in outer", "src/model.py:5 in helper"), id=None, kind="foreign"),
    ),
    (
        Graph(3, 0.3, "src/model.py", 3, 2, 1),
        Graph(2, 0.123, "src/model.py", 5, 1, 1),
        Graph(1, None, None, None, 1, 1),
    ),
    (Recompile("src/model.py", 3, "x.size()[0] == 3", "a size", 8, "declare it dynamic", True, True),),
    (("graph", 0), ("break", 0), ("graph", 1), ("break", 1), ("graph", 2)),
    {"backend": "inductor", "eager_ms": 2.0, "compiled_ms": 1.0, "ratio": 0.5, "compile_s": 9.5, "modules": MODULES},
)
PROGRAM = {
    "mode": "strict",
    "inputs": [["x", "float32[s0, 3]"]],
    "lifted": [["parameter", "linear.weight", "float32[3, 3]", None], ["constant", "c0", "float32[3]", [MODEL, 4]]],
    "mutated": [["buffer", "seen", [MODEL, 5]]],
    "functional": [["aten.add_.Tensor", "aten.add.Tensor", [MODEL, 5]]],
    "graphs": [
        [
            "",
            [
                [[MODEL, 4], "if x.sum() > 0:", [["sum_1", "float32[]", "aten.sum.default(x)", False]]],
                [[MODEL, 5], "x = x.data", [["add_", "float32[3]", "aten.add_.Tensor(x, 1)", True]]],
                [[MODEL, 4], "if x.sum() > 0:", [["gt", "bool[]", "aten.gt.Scalar(sum_1, 0)", False]]],
                [None, "", [["alias", "float32[3]", "aten.alias.default(x)", False]]],
            ],
        ],
        ["true_graph_0", [[[MODEL, 7], "x.tolist()", [["neg", "float32[3]", "aten.neg.default(x)", False]]]]],
    ],
    "outputs": [["getitem", "float32[s0, 3]", ""]],
    "ranges": ["s0: 2 to 64"],
}
TRAIL = (TrailStep("`x` of forward", "src/model.py", 3), TrailStep("`self.net(…)`", "src/model.py", 2))
TRAILED = replace(BRANCH, trail=TRAIL, calls=(TrailStep("`self.net(x)` in forward", "src/model.py", 2),))
UNRUN = Finding(
    NEVER_RAN,
    "src/model.py",
    7,
    1,
    8,
    9,
    Severity.NOTE,
    "these lines never ran: needs `y`",
    Evidence.DISCOVERED,
    target=TARGET.name,
    stage="eager",
    fingerprint="8",
)
RICH = replace(
    TARGET,
    compilation=COMPILATION,
    graph=PROGRAM,
    guards=(Guard("`x` has at most 64 rows", MODEL, 4), Guard("no line made this so", None, None)),
)
PAGE = replace(
    REPORT,
    findings=(*(TRAILED if finding is BRANCH else finding for finding in REPORT.findings), UNRUN),
    targets=(RICH, replace(TARGET, name="other.py", stages=TARGET.stages[:2])),
    background=replace(BACKGROUND, beliefs=lambda finding: {4: ("x: tensor, 2 dims",)} if finding is TRAILED else {}),
)

HOSTILE = '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=1"><!--\'`\u202e{{7*7}}'


def hostile() -> Report:
    """The same text wherever a report holds any."""
    text = HOSTILE
    lines = ["", f"# {text}", f"class Net: {text}", f"    x = '{text}'"]
    path = f"src/{text}.py"
    finding = Finding(
        text,
        path,
        3,
        1,
        3,
        20,
        Severity.ERROR,
        text,
        Evidence.CONFIRMED,
        {"strict": text},
        text,
        "export-strict",
        (Link("docs", text, f"javascript:window.pwned=1//{text}"),),
        Fix(f"{text}\n{text}"),
        text,
        lowerings={text: text},
        trail=(TrailStep(text, path, 2), TrailStep(text, "elsewhere.py", 1)),
    )
    place = [str(Path.cwd() / path), 3]
    broken = replace(
        BREAK, path=path, function=text, frames=(text,), reason=text, id=text, url=f"javascript:{text}", rule=text
    )
    target = replace(
        RICH,
        name=text,
        stages=(
            StageResult("load", "passed", 1, text),
            StageResult("export-strict", "refused", 1, text, repros=(text,)),
        ),
        dynamic_shapes=text,
        guards=(Guard(text, place[0], 3),),
        graph={**PROGRAM, "inputs": [[text, text]], "graphs": [[text, [[place, text, [[text, text, text, False]]]]]]},
        compilation=replace(
            COMPILATION,
            graph_breaks=(broken, broken),
            recompiles=(Recompile(path, 3, text, text, 1, text, False, True),),
            cost={**(COMPILATION.cost or {}), "modules": [{**MODULES[0], "name": text, "class": text, "path": path}]},
        ),
    )
    behind = replace(
        BACKGROUND,
        beliefs=lambda _: {2: (text,)},
        tried=lambda _: [KnownRewrite(text, text, (f"--- {text}", f"+++ {text}", f"-{text}", f"+{text}"))],
    )
    return replace(
        REPORT,
        findings=(finding,),
        cleared=(),
        suppressed=(),
        targets=(target,),
        problems=(replace(REPORT.problems[0], path=text, message=text),),
        source=lambda file, line: lines[line] if file == path and line < len(lines) else None,
        background=behind,
    )


def many_findings(number: int) -> Report:
    """In 40 files, by 20 rules."""
    found = tuple(
        Finding(
            f"rule-{index % 20}",
            f"src/file{index % 40}.py",
            4 + index // 40,
            5,
            4 + index // 40,
            20,
            tuple(Severity)[index % 3],
            f"`x.sum() > {index}` branches on a tensor's value, as number {index} of all",
            fingerprint=f"{index:016x}",
            trail=(TrailStep("`x` of forward", f"src/file{index % 40}.py", 2),),
        )
        for index in range(number)
    )
    return Report(
        "2.13.0",
        "strict",
        40,
        found,
        source=lambda path, line: f"        if x.sum() > {line}:  # {path}" if line < 100 else None,
    )


def large_program(operations: int) -> Report:
    """Ten operations for each place of the program, over 100 lines of source that are traced again and again."""
    blocks = [
        [
            [MODEL, 10 + number % 100],
            f"x = self.layer{number % 100}(x)",
            [[f"v{number}_{i}", "float32[3]", f"aten.add.Tensor(v{number}, {i})", False] for i in range(10)],
        ]
        for number in range(operations // 10)
    ]
    target = replace(RICH, graph={**PROGRAM, "graphs": [["", blocks]]})
    lines = lambda path, line: source(path, line) or (f"x = self.layer{line}(x)" if line < 200 else None)  # noqa: E731
    return replace(PAGE, targets=(target,), source=lines)
