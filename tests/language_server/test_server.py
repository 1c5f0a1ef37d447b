"""The language server, asked over stdio by a client of its own protocol, as an editor asks it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import default_converter
from pygls.workspace import PositionCodec
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import DEFAULT_CLIENT_FEATURES, register_lsp_features

from exportlint.language_server.positions import Sheet

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

pytestmark = pytest.mark.asyncio(loop_scope="module")

GATE = """\
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x: torch.Tensor):
        if x.mean() > 0:
            return x * 2
        return x
"""
READS = """\
import torch
from torch import nn


class Reads(nn.Module):
    def forward(self, x: torch.Tensor):
        y = x.data
        return y + 1
"""
TARGET = "\n\nmodel = Gate()\nexample_args = (torch.ones(2, 3),)\n"


class Client(LanguageClient):
    """Remembers of which version of a text the diagnostics are."""

    def __init__(self) -> None:
        super().__init__(converter_factory=default_converter)
        self.versions: dict[str, int | None] = {}
        own = {types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS: _published}
        register_lsp_features(self, {**DEFAULT_CLIENT_FEATURES, **own})


def _published(client: Client, params: types.PublishDiagnosticsParams) -> None:
    client.diagnostics[params.uri] = params.diagnostics
    client.versions[params.uri] = params.version


class Editor:
    """What a person does with one file, and what is shown of it."""

    def __init__(self, client: Client, path: Path, text: str) -> None:
        self.client = client
        self.path = path
        self.uri = path.as_uri()
        self.sheet = Sheet(text, PositionCodec())
        self.version = 1
        item = types.TextDocumentItem(self.uri, "python", self.version, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    @property
    def document(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)

    def types_over(self, old: str, new: str) -> None:
        """Send an edit of the place where `old` stands, as an editor does."""
        at = self.sheet.text.index(old)
        start, end = (self._position(offset) for offset in (at, at + len(old)))
        change = types.TextDocumentContentChangePartial(types.Range(start, end), new)
        self.sheet = self.sheet.after([change])
        self.version += 1
        told = types.VersionedTextDocumentIdentifier(version=self.version, uri=self.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(told, [change]))

    def applies(self, edit: types.WorkspaceEdit) -> None:
        for one in sorted(edit.changes[self.uri], key=lambda e: (e.range.start.line, e.range.start.character))[::-1]:
            self.sheet = self.sheet.after([types.TextDocumentContentChangePartial(one.range, one.new_text)])
        self.version += 1
        told = types.VersionedTextDocumentIdentifier(version=self.version, uri=self.uri)
        whole = types.TextDocumentContentChangeWholeDocument(self.sheet.text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(told, [whole]))

    async def shown(self, until: Callable[[Sequence[types.Diagnostic]], bool] | None = None) -> list[types.Diagnostic]:
        """The diagnostics of the text as it is now, once they are as they are waited for."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            found = self.client.diagnostics.get(self.uri)
            if found is not None and self.client.versions.get(self.uri) == self.version and (not until or until(found)):
                return list(found)
            await asyncio.sleep(0.02)
        raise AssertionError(f"{self.path} shows {self.client.diagnostics.get(self.uri)}")

    async def rules(self, until: Callable[[Sequence[types.Diagnostic]], bool] | None = None) -> list[tuple[Any, int]]:
        return [(one.code, one.range.start.line + 1) for one in await self.shown(until)]

    async def actions(self, diagnostic: types.Diagnostic) -> list[types.CodeAction]:
        context = types.CodeActionContext([diagnostic])
        asked = types.CodeActionParams(self.document, diagnostic.range, context)
        return list(await self.client.text_document_code_action_async(asked) or ())

    async def hover(self, text: str) -> str:
        at = self._position(self.sheet.text.index(text))
        found = await self.client.text_document_hover_async(types.HoverParams(self.document, at))
        return found.contents.value if found else ""

    async def lenses(self) -> list[types.CodeLens]:
        return list(await self.client.text_document_code_lens_async(types.CodeLensParams(self.document)) or ())

    def _position(self, offset: int) -> types.Position:
        before = self.sheet.text[:offset].split("\n")
        return self.sheet.position(len(before), len(before[-1]) + 1)


@pytest_lsp.fixture(
    scope="module",
    config=ClientServerConfig([sys.executable, "-m", "exportlint", "server"], client_factory=Client),
)
async def client(lsp_client: Client) -> AsyncIterator[None]:
    """One server for all tests, as an editor has one for all files."""
    capabilities = client_capabilities("neovim")
    assert capabilities.general
    capabilities.general.position_encodings = [types.PositionEncodingKind.Utf16]  # what every client has to know
    await lsp_client.initialize_session(types.InitializeParams(capabilities))
    yield
    await lsp_client.shutdown_session()


@pytest.fixture
def opened(client: Client, tmp_path: Path) -> Iterator[Callable[..., Editor]]:
    """Opens files of a folder, each with what lies on the disk; closes them when the test is over."""
    editors: list[Editor] = []

    def opened(name: str, text: str) -> Editor:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        editors.append(Editor(client, path, text))
        return editors[-1]

    yield opened
    for editor in editors:
        client.text_document_did_close(types.DidCloseTextDocumentParams(editor.document))


def none(diagnostics: Sequence[types.Diagnostic]) -> bool:
    return not diagnostics


async def test_what_is_open_is_judged_as_it_is_typed(opened: Callable[..., Editor]) -> None:
    editor = opened("gate.py", GATE)
    (found,) = await editor.shown()
    assert (found.code, found.source) == ("data-dependent-branch", "exportlint")
    assert found.severity == types.DiagnosticSeverity.Error
    assert (found.range.start, found.range.end) == (types.Position(6, 11), types.Position(6, 23))
    assert found.code_description
    assert found.code_description.href.startswith("https://")
    assert "instead: " in found.message
    editor.types_over("x.mean() > 0", "x.dim() > 0")
    assert await editor.rules(none) == []
    editor.types_over("x.dim() > 0", "x.sum() > 0")
    assert await editor.rules(bool) == [("data-dependent-branch", 7)]


async def test_the_lines_that_a_value_comes_from_are_told_until_the_text_is_edited(
    opened: Callable[..., Editor],
) -> None:
    editor = opened("gate.py", GATE.replace("if x.mean() > 0", "y = x + 1\n        if y.mean() > 0"))
    (found,) = await editor.shown(bool)
    steps = [(one.location.range.start.line, one.message) for one in found.related_information or ()]
    assert steps == [(6, "comes from `y`"), (5, "comes from parameter `x` of forward")]
    assert {one.location.uri for one in found.related_information or ()} == {editor.document.uri}


async def test_while_a_line_is_half_typed_the_others_keep_their_findings(opened: Callable[..., Editor]) -> None:
    editor = opened("gate.py", GATE)
    await editor.shown(bool)
    editor.types_over("class Gate", "first = (\n\n\nclass Gate")
    found = await editor.rules(lambda found: len(found) == 2)
    assert found[0] == ("data-dependent-branch", 10)
    assert found[1][0] is None
    editor.types_over("x.mean() > 0", "x.mean() >")
    found = await editor.shown(lambda found: len(found) == 1)
    assert found[0].message.startswith("this is not valid Python")


async def test_a_finding_stands_in_the_other_file_that_is_open(opened: Callable[..., Editor]) -> None:
    rows = opened("rows.py", "def halved(x):\n    if x.sum() > 0:\n        return x / 2\n    return x\n")
    assert await rows.rules() == []
    net = opened(
        "net.py",
        GATE.replace("if x.mean() > 0", "if halved(x) is None").replace(
            "from torch", "from rows import halved\nfrom torch"
        ),
    )
    assert await rows.rules(bool) == [("data-dependent-branch", 2)]
    assert await net.rules() == []
    rows.types_over("x.sum() > 0", "x.dim() > 0")
    assert await rows.rules(none) == []


async def test_columns_are_counted_in_utf_16(opened: Callable[..., Editor]) -> None:
    editor = opened("gate.py", GATE.replace("if x.mean() > 0:", "if '😋é' and x.mean() > 0:"))
    (found,) = await editor.shown()
    line = editor.sheet.lines[found.range.start.line].encode("utf-16-le")
    code = line[found.range.start.character * 2 : found.range.end.character * 2].decode("utf-16-le")
    assert code in ("'😋é' and x.mean() > 0", "x.mean() > 0")
    editor.types_over("x.mean()", "x.dim()")
    assert await editor.rules(none) == []


async def test_a_finding_and_an_expression_are_explained_where_they_stand(opened: Callable[..., Editor]) -> None:
    editor = opened("gate.py", GATE)
    await editor.shown(bool)
    told = await editor.hover("x.mean() > 0")
    assert told.startswith("`x`: tensor, an input; from parameter `x` of forward, line 6")
    assert "**data-dependent-branch**" in told
    assert "- non-strict: refused" in told
    assert await editor.hover("import torch") == ""


async def test_a_rewrite_leaves_no_finding(opened: Callable[..., Editor]) -> None:
    editor = opened("reads.py", READS)
    (found,) = await editor.shown(bool)
    rewrite = next(one for one in await editor.actions(found) if one.title.startswith("exportlint: "))
    editor.applies(rewrite.edit)
    assert await editor.rules(none) == []
    assert "x.data" not in editor.sheet.text


async def test_a_finding_is_suppressed_with_a_reason(opened: Callable[..., Editor]) -> None:
    editor = opened("gate.py", GATE.replace("x.mean() > 0:", "x.mean(\n        ) > 0:"))
    (found,) = await editor.shown(bool)
    comment = next(one for one in await editor.actions(found) if one.title.startswith("Suppress"))
    editor.applies(comment.edit)
    assert await editor.rules(none) == []
    assert "# exportlint: ignore[data-dependent-branch] say why" in editor.sheet.text


async def test_a_rule_is_explained_on_demand(client: Client, opened: Callable[..., Editor]) -> None:
    editor = opened("gate.py", GATE)
    (found,) = await editor.shown(bool)
    assert any(one.title == "Explain data-dependent-branch" for one in await editor.actions(found))
    asked = types.ExecuteCommandParams("exportlint.explain", [found.code])
    assert "All measured ways to fail" in await client.workspace_execute_command_async(asked)
    assert client.messages[-1].message.startswith("**data-dependent-branch**")


async def test_each_file_is_judged_by_the_pyproject_above_it(opened: Callable[..., Editor], tmp_path: Path) -> None:
    for root, ignored in (("one", "data-dependent-branch"), ("two", "tensor-data-access")):
        (tmp_path / root).mkdir()
        (tmp_path / root / "pyproject.toml").write_text(f'[tool.exportlint]\nignore = ["{ignored}"]\n', "utf-8")
    one, two = opened("one/gate.py", GATE), opened("two/gate.py", GATE)
    assert await two.rules() == [("data-dependent-branch", 7)]
    assert await one.rules() == []
    (tmp_path / "one/pyproject.toml").write_text("[tool.exportlint]\n", "utf-8")
    one.client.text_document_did_save(types.DidSaveTextDocumentParams(one.document))
    assert await one.rules(bool) == [("data-dependent-branch", 7)]


async def test_a_wrong_configuration_is_told_once(
    client: Client, opened: Callable[..., Editor], tmp_path: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.exportlint]\nmoed = "strict"\n', "utf-8")
    editor = opened("gate.py", GATE)
    assert await editor.rules() == []
    editor.types_over("x.mean()", "x.sum()")
    assert await editor.rules() == []
    said = [one.message for one in client.messages if "moed" in one.message]
    assert len(said) == 1
    assert "the nearest is `mode`" in said[0]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("textDocument/didChange", {"textDocument": 3, "contentChanges": "none"}),
        (
            "textDocument/didOpen",
            {"textDocument": {"uri": "nothing", "languageId": "python", "version": 1, "text": ""}},
        ),
        ("textDocument/didClose", {"textDocument": {"uri": "file:///never/opened.py"}}),
        ("workspace/didChangeConfiguration", {"settings": {"mode": 12, "torch": ["x"]}}),
        ("workspace/didChangeConfiguration", {"settings": None}),
    ],
)
async def test_garbage_does_not_end_it(
    client: Client, opened: Callable[..., Editor], method: str, params: dict[str, Any]
) -> None:
    client.protocol._send_data({"jsonrpc": "2.0", "method": method, "params": params})
    editor = opened("gate.py", GATE)
    assert await editor.rules(bool) == [("data-dependent-branch", 7)]


@pytest.mark.parametrize("given", [[], [3], [{"root": "/", "arguments": ["--save-repro"]}], [{"root": "/"}]])
async def test_no_trial_begins_of_what_no_lens_gave(client: Client, given: list[Any]) -> None:
    with pytest.raises(JsonRpcException, match=r"exportlint\.trial|names no model"):
        await client.workspace_execute_command_async(types.ExecuteCommandParams("exportlint.trial", given))


async def test_a_model_is_offered_to_be_tried_where_it_is_built(opened: Callable[..., Editor], tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.exportlint.targets.gate]\nmodel = "build.py:model"\nargs = "build.py:args"\n', "utf-8"
    )
    (tmp_path / "build.py").write_text("from gate import Gate\ndef model():\n    return Gate()\n", "utf-8")
    lenses = await opened("gate.py", GATE + TARGET).lenses()
    assert [(one.command.title, one.range.start.line + 1) for one in lenses] == [
        ("try this model", 12),
        ("try this model (gate)", 5),
    ]
    assert list(lenses[1].command.arguments) == [{"root": str(tmp_path), "arguments": ["--target", "gate"]}]


async def test_the_cells_of_a_notebook_are_one_program(client: Client, tmp_path: Path) -> None:
    uri = (tmp_path / "net.ipynb").as_uri()
    sources = ["%pip install torch\nimport torch\nfrom torch import nn", GATE.partition("nn\n")[2].strip()]
    names = [f"{uri}#{number}" for number, _ in enumerate(sources)]
    cells = [types.NotebookCell(types.NotebookCellKind.Code, name) for name in names]
    texts = [types.TextDocumentItem(name, "python", 1, text) for name, text in zip(names, sources, strict=True)]
    notebook = types.NotebookDocument(uri, "jupyter-notebook", 1, cells)
    client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, texts))
    await until(lambda: bool(client.diagnostics.get(names[1])))
    (found,) = client.diagnostics[names[1]]
    assert (found.code, found.range.start) == ("data-dependent-branch", types.Position(2, 11))
    assert list(client.diagnostics[names[0]]) == []
    mended = types.NotebookDocumentCellContentChanges(
        types.VersionedTextDocumentIdentifier(version=2, uri=names[1]),
        [types.TextDocumentContentChangeWholeDocument(sources[1].replace("x.mean()", "x.dim()"))],
    )
    client.notebook_document_did_change(
        types.DidChangeNotebookDocumentParams(
            types.VersionedNotebookDocumentIdentifier(2, uri),
            types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[mended])),
        )
    )
    await until(lambda: not client.diagnostics[names[1]])
    closed = types.DidCloseNotebookDocumentParams(
        types.NotebookDocumentIdentifier(uri), [types.TextDocumentIdentifier(name) for name in names]
    )
    client.notebook_document_did_close(closed)


@pytest.mark.slow
async def test_what_a_trial_shows_stays_until_its_line_changes(client: Client, opened: Callable[..., Editor]) -> None:
    editor = opened("gate.py", GATE + TARGET)
    await editor.shown(bool)
    (lens,) = await editor.lenses()
    await client.workspace_execute_command_async(
        types.ExecuteCommandParams(lens.command.command, lens.command.arguments)
    )
    (found,) = await editor.shown(lambda found: any(one.source == "exportlint trial" for one in found))
    assert (found.code, found.range.start.line) == ("data-dependent-branch", 6)
    ended = [reports for reports in client.progress_reports.values() if reports][-1]
    assert ended[0].title.startswith("exportlint trial ")
    editor.types_over("import torch\n", "import torch\n\n")
    moved = await editor.shown()
    assert [(one.source, one.range.start.line) for one in moved] == [("exportlint trial", 7)]
    editor.types_over("x.mean() > 0", "x.sum() > 0")
    assert [one.source for one in await editor.shown(lambda found: [one.source for one in found] == ["exportlint"])]


@pytest.mark.slow
async def test_a_trial_that_is_cancelled_leaves_no_process(
    client: Client, opened: Callable[..., Editor], tmp_path: Path
) -> None:
    def running() -> list[psutil.Process]:
        return [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(tmp_path)]

    (tmp_path / "pyproject.toml").write_text("[tool.exportlint]\n", "utf-8")
    editor = opened(
        "sleeper.py", (GATE + TARGET).replace("return x\n", "import time; time.sleep(300)\n        return x\n")
    )
    (lens,) = await editor.lenses()
    before = set(client.progress_reports)
    await client.workspace_execute_command_async(
        types.ExecuteCommandParams(lens.command.command, lens.command.arguments)
    )
    await until(lambda: bool(running()))
    (token,) = set(client.progress_reports) - before
    await asyncio.sleep(2)
    client.window_work_done_progress_cancel(types.WorkDoneProgressCancelParams(token))
    await until(lambda: not running())
    await until(lambda: client.progress_reports[token][-1].kind == "end")
    editor.types_over("x.mean()", "x.sum()")
    assert ("data-dependent-branch", 7) in await editor.rules(bool), "the server goes on"


async def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.05)
