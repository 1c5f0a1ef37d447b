"""How long diagnostics take to follow what is typed, through a client of the protocol.

    python tests/benchmarks/typing_latency.py FOLDER [--files N] [--edits N] [--write]

In files of 400 to 600 lines below FOLDER, a copy of it, lines are typed word by word in bodies of functions, so that the
file does not parse half of the time. What is measured is the time from `didChange` to the diagnostics of that version.
`--write` makes TYPING.md anew. Times of a busy machine say little.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient
from tabulate import tabulate

HERE = Path(__file__).parent
TYPED = ("y = ", "x", ".sum(", "dim=-1)", "\n        ")  # parses after the second, the fourth and the fifth


class Typing:
    """One client, and the version that it was last told of."""

    def __init__(self) -> None:
        self.client = LanguageClient("typing", "1")
        self.seen = asyncio.Condition()
        self.versions: dict[str, int | None] = {}

        async def published(params: types.PublishDiagnosticsParams) -> None:
            async with self.seen:
                self.versions[params.uri] = params.version
                self.seen.notify_all()

        self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(published)

    async def shown(self, uri: str, version: int) -> None:
        async with self.seen:
            await asyncio.wait_for(self.seen.wait_for(lambda: self.versions.get(uri) == version), 60)

    async def seconds_to_open(self, path: Path, text: str) -> float:
        start = time.perf_counter()
        item = types.TextDocumentItem(path.as_uri(), "python", 0, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await self.shown(path.as_uri(), 0)
        return time.perf_counter() - start

    async def seconds_of_edits(self, path: Path, text: str, edits: int) -> list[float]:
        """Words are typed at the ends of lines that are drawn; a line is done before the next one begins."""
        lines = text.split("\n")
        inside = [n for n, line in enumerate(lines) if line.startswith("        ") and line.endswith(")")]
        drawn, found = random.Random(path.name), list[float]()  # noqa: S311 - lines, not secrets
        for version in range(1, edits + 1):
            word = (version - 1) % len(TYPED)
            if word == 0:
                at = drawn.choice(inside)
                place = types.Position(at + 1, 0)
            start = types.Range(place, place)
            change = types.TextDocumentContentChangePartial(start, ("        " if word == 0 else "") + TYPED[word])
            place = types.Position(place.line, place.character + len(change.text))
            told = types.VersionedTextDocumentIdentifier(version=version, uri=path.as_uri())
            begun = time.perf_counter()
            self.client.text_document_did_change(types.DidChangeTextDocumentParams(told, [change]))
            await self.shown(path.as_uri(), version)
            found.append(time.perf_counter() - begun)
        return found


def chosen(folder: Path, count: int) -> dict[Path, str]:
    sizes = {path: path.read_text("utf-8") for path in sorted(folder.rglob("*.py"))}
    middle = [path for path, text in sizes.items() if 400 <= text.count("\n") <= 600 and "def forward" in text]
    some = random.Random(5).sample(middle, min(count, len(middle)))  # noqa: S311 - files, not secrets
    return {path: sizes[path] for path in some}


async def measured(folder: Path, texts: dict[Path, str], edits: int) -> list[list[str]]:
    rows, everything = list[list[str]](), list[float]()
    for path, text in texts.items():
        typing = Typing()
        await typing.client.start_io(sys.executable, "-m", "exportlint", "server")
        await typing.client.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities()))
        typing.client.initialized(types.InitializedParams())
        opened = await typing.seconds_to_open(path, text)
        found = await typing.seconds_of_edits(path, text, edits)
        await typing.client.shutdown_async(None)
        typing.client.exit(None)
        everything += found
        name = f"{path.relative_to(folder)}, {text.count(chr(10))} lines"
        rows.append([name, f"{opened * 1000:.0f}", *_spread(found)])
    return [*rows, ["all", "", *_spread(everything)]]


def _spread(seconds: list[float]) -> list[str]:
    ordered = sorted(seconds)
    return [f"{1000 * one:.0f}" for one in (statistics.median(ordered), ordered[int(0.95 * len(ordered))], ordered[-1])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--edits", type=int, default=40)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made, options.folder.name)
        shutil.copytree(options.folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
        rows = asyncio.run(measured(copy, chosen(copy, options.files), options.edits))
    head = ["file", "opened, ms", "edit, median, ms", "95th percentile", "longest"]
    text = (
        "# How long diagnostics take to follow what is typed\n\n"
        f"Made by `tests/benchmarks/typing_latency.py` on {len(os.sched_getaffinity(0))} cores, load "
        f"{os.getloadavg()[0]:.0f} when it ended: files of {options.folder.name}, {options.edits} edits each, through a\n"
        "client of the protocol.\n\n" + tabulate(rows, head, tablefmt="github", disable_numparse=True) + "\n"
    )
    if options.write:
        (HERE / "TYPING.md").write_text(text, "utf-8")
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
