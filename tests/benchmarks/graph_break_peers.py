"""What exportlint and its peers say of graph breaks, recompilations and silent differences of the same twelve models.

    python tests/benchmarks/graph_break_peers.py [--peers FOLDER] [--write]

FOLDER is where `pip install --no-deps --target FOLDER tlparse depyf astor` has put them. `--write` makes
GRAPH_BREAK_PEERS.md anew. Each peer compiles with Dynamo alone (backend eager), and calls the model twice on its sample
and on each of its other inputs. A line counts as named where its file and number stand together in what the peer says.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import torch
from tabulate import tabulate

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures"
# Of rules with such models, by what torch.compile was measured to do with them.
BREAKING = (
    ("graph_break_forced", "BadDisabledInPlace"),
    ("side_effect_in_forward", "BadLoggingTensor"),
    ("tensor_as_python_number", "BadRange"),
    ("data_dependent_branch", "BadMatch"),
    ("untraced_library", "BadDispatch"),
    ("unsupported_builtin", "BadSource"),
    ("operation_needs_size", "BadListRows"),
    ("autograd_in_forward", "BadOptimizer"),
)
RECOMPILING = (("state_on_self", None), ("python_scalar_input", None))
DIFFERING = (("container_order", None), ("state_on_self", "BadDequeWindow"))

CALLS = """\
import importlib.util, sys
import torch
spec = importlib.util.spec_from_file_location("fixture", {path!r})
fixture = importlib.util.module_from_spec(spec)
sys.modules["fixture"] = fixture
spec.loader.exec_module(fixture)
kind = getattr(fixture, {name!r})
model = kind()
given = [kind.inputs]
if hasattr(kind, "other_inputs"):
    others = kind.other_inputs()
    given += [lambda one=one: one for one in (others if isinstance(others, list) else [others])]
def call(program):
    for make in given:
        for _ in range(2):
            torch.manual_seed(0)
            program(*make())
"""
PEERS = {
    "`torch._dynamo.explain`": "for make in given:\n    print(torch._dynamo.explain(model)(*make()))\n",
    "`TORCH_LOGS=graph_breaks,recompiles`": "call(torch.compile(model, backend='eager'))\n",
    "`TORCH_TRACE` and tlparse": "call(torch.compile(model, backend='eager'))\n",
    "depyf": "import depyf\nwith depyf.prepare_debug({folder!r}):\n    call(torch.compile(model, backend='eager'))\n",
}
OURS = "`exportlint trial --for compile`"


@dataclass(frozen=True)
class Model:
    """A class of a fixture: `breaks`, the lines at which it is known to break; `recompiles`: those whose guard fails."""

    path: Path
    name: str
    breaks: frozenset[int]
    recompiles: frozenset[int]
    differs: bool


@dataclass
class Said:
    """What one peer said of all the models."""

    breaks: int = 0
    recompiles: int = 0
    differences: int = 0
    mentions: int = 0
    seconds: float = 0.0
    failed: list[str] = field(default_factory=list)


def models() -> list[Model]:
    found = []
    for outcome, pairs in (("breaks", BREAKING), ("recompiles", RECOMPILING), ("differs", DIFFERING)):
        for rule, name in pairs:
            stored = FIXTURES / "truth" / rule / f"torch-{torch.__version__.partition('+')[0]}.json"
            truth = json.loads(stored.read_text("utf-8"))["compiled"]
            chosen = name or next(one for one, record in truth.items() if record["outcome"] == outcome)
            record = truth[chosen]
            breaks = frozenset(line for line, *_ in record.get("graph_breaks", ()) if line)
            again = frozenset(line for line, *_ in record.get("recompiles", ()) if line)
            found.append(Model(FIXTURES / f"{rule}.py", chosen, breaks, again, record["outcome"] == "differs"))
    return found


def says(peer: str, model: Model, peers: Path, folder: Path) -> tuple[str, bool]:
    """All that it prints and writes, and whether it ended well."""
    environment = os.environ | {"PYTHONPATH": str(peers), "PYTHONDONTWRITEBYTECODE": "1"}
    trace = folder / "trace"
    if "TORCH_LOGS" in peer:
        environment["TORCH_LOGS"] = "graph_breaks,recompiles"
    if "tlparse" in peer:
        environment["TORCH_TRACE"] = str(trace)
    code = CALLS.format(path=str(model.path), name=model.name) + PEERS[peer].format(folder=str(folder / "depyf"))
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    text, ended = done.stdout + done.stderr, done.returncode == 0
    if "tlparse" in peer:
        report, command = folder / "report", peers / "bin" / "tlparse"
        logs = [str(path) for path in trace.glob("*.log")]
        parsed = subprocess.run(
            [str(command), *logs, "-o", str(report), "--no-browser"], capture_output=True, text=True, check=False
        )
        ended = ended and parsed.returncode == 0
        text = "\n".join(_plain(path) for path in report.rglob("*") if path.is_file())
    if peer == "depyf":
        text += "\n".join(_plain(path) for path in folder.rglob("*") if path.is_file())
    return text, ended


def _plain(path: Path) -> str:
    return html.unescape(re.sub(r"<[^>]+>", "", path.read_text("utf-8", "replace")))


def names(text: str, model: Model, line: int) -> int:
    """How often it says the line, with its file."""
    file = re.escape(model.path.name)
    return len(re.findall(rf'{file}(?::|", line |: line |, line ){line}\b', text))


def heard(peer: str, every: list[Model], peers: Path) -> Said:
    said = Said()
    for model in every:
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            text, ended = says(peer, model, peers, Path(folder))
            said.seconds += time.perf_counter() - began
        mentions = [names(text, model, line) for line in model.breaks]
        said.breaks += sum(map(bool, mentions))
        said.mentions += sum(mentions)
        said.recompiles += sum(bool(names(text, model, line)) for line in model.recompiles)
        said.failed += [] if ended else [model.name]
    return said


def ours(every: list[Model]) -> tuple[Said, int]:
    """The same of exportlint, and how many recompilations have a mend that was tried."""
    said, mends = Said(), 0
    for model in every:
        began = time.perf_counter()
        command = ["trial", f"{model.path}:{model.name}", "--for", "compile", "--output-format", "json"]
        done = subprocess.run(
            [sys.executable, "-m", "exportlint", *command], capture_output=True, text=True, check=False
        )
        said.seconds += time.perf_counter() - began
        target = json.loads(done.stdout)["targets"][0]
        lines = [one["line"] for one in target["graph_breaks"]]
        said.breaks += len(model.breaks & set(lines))
        said.mentions += sum(line in model.breaks for line in lines)
        again = [one for one in target["recompiles"] if one["line"] in model.recompiles]
        said.recompiles += len({one["line"] for one in again})
        mends += sum(bool(one.get("mend")) for one in again)
        said.differences += model.differs and any(
            stage["name"] == "agreement" and stage["status"] == "differs" for stage in target["stages"]
        )
    return said, mends


def models_table(every: list[Model]) -> str:
    """What is known of each model; a test compares it with the page."""
    return tabulate(
        [
            (
                f"[{one.name}](../../fixtures/{one.path.name})",
                ", ".join(map(str, sorted(one.breaks))),
                ", ".join(map(str, sorted(one.recompiles))),
                "yes" if one.differs else "",
            )
            for one in every
        ],
        headers=("model", "breaks at lines", "recompiles at lines", "differs silently"),
        tablefmt="github",
    )


def page(rows: list[tuple[str, Said]], every: list[Model], mends: int) -> str:
    breaks, recompiles = (sum(len(getattr(one, name)) for one in every) for name in ("breaks", "recompiles"))
    differing = sum(one.differs for one in every)
    ours_seconds = rows[-1][1].seconds
    table = tabulate(
        [
            (
                peer,
                f"{said.breaks} of {breaks}",
                f"{said.mentions / said.breaks:.1f}" if said.breaks else "",
                f"{said.recompiles} of {recompiles}",
                f"{said.differences} of {differing}" if peer == OURS else "does not compare",
                f"{said.seconds / ours_seconds:.2f}",
                ", ".join(said.failed),
            )
            for peer, said in rows
        ],
        headers=(
            "who",
            "lines of breaks named",
            "times each",
            "lines of recompilations named",
            "silent differences told",
            "time, by exportlint's",
            "did not end well on",
        ),
        tablefmt="github",
        disable_numparse=True,
    )
    return f"""# Who says what of a graph break

Written by `tests/benchmarks/graph_break_peers.py`, with torch {torch.__version__.partition("+")[0]}. Twelve models of the
rules' fixtures, each called twice on its sample and on its other inputs. A line is named where its file and its number
stand together in what is said, printed or written. "Times each" is how often, of those that are named: to read one
break once is what [users of tlparse ask for](https://github.com/pytorch/pytorch/issues/153669).

{table}

The lines are those of the stored truth, which exportlint measured: what it does not see itself is not asked here. For
{mends} of the recompilations it names what ends them, tried. It tells a line twice where Dynamo breaks there for two
reasons. Its time, of the same run, holds more: calls of eager, what compiles again over a schedule of inputs, agreement
with eager, and the time of a call compiled by inductor.

## The models

{models_table(every)}

Not measured here: the [graph break site](https://meta-pytorch.github.io/compile-graph-break-site/), which explains an id
and is what exportlint links; and [GraphMend](https://arxiv.org/abs/2509.16248), which mends two kinds of breaks (branches
on data, and prints) in the source before Dynamo sees it, and whose code we have not run.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", type=Path, default=Path("peers"))
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    every = models()
    rows = [(peer, heard(peer, every, given.peers.resolve())) for peer in PEERS]
    own, mends = ours(every)
    text = page([*rows, (OURS, own)], every, mends)
    if given.write:
        (HERE / "GRAPH_BREAK_PEERS.md").write_text(text, "utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
