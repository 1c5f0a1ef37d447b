"""The server: what a client tells and asks, and what it is answered.

The protocol runs in the main thread and is never kept waiting: judging is the work of one other thread (`judging`), and
trials are processes. What is published is of the text that the editor has now, also where an older one was judged.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from exportlint.config.settings import MODE_CHOICES
from exportlint.engine.values.in_words import in_words
from exportlint.errors import UserError
from exportlint.files import SourceError, SourceFile, shown
from exportlint.language_server.actions import EXPLAIN, actions
from exportlint.language_server.diagnostics import STATIC, TRIAL, diagnostic
from exportlint.language_server.judging import NewestOnly, Worker
from exportlint.language_server.lenses import tries
from exportlint.language_server.moves import moved
from exportlint.language_server.notebooks import SYNCED, Cell, in_cells, joined
from exportlint.language_server.positions import Sheet
from exportlint.language_server.projects import Judged, Projects, of_paths
from exportlint.language_server.trials import Trials, Wish
from exportlint.pages.explanation import brief, explain
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.engine.values.abstract_value import Span, Value
    from exportlint.finding import Finding

TRY = "exportlint.trial"
_WATCHED = ("**/*.py", "**/pyproject.toml")
# The command line looks for no cycles, since it ends soon; a process that lives has to, though not at every turn.
_GARBAGE = (100_000, 20, 20)


@dataclass(frozen=True, slots=True)
class _Document:
    """A Python file that is open."""

    uri: str
    path: Path
    sheet: Sheet
    version: int | None


@dataclass(frozen=True, slots=True)
class _Shown:
    """A diagnostic that the client has. `fresh`: the text was judged as it is, so that edits fit it."""

    diagnostic: types.Diagnostic
    finding: Finding
    fresh: bool


class Server(LanguageServer):
    """What is open, what is known of it, and what the client was told."""

    def __init__(self) -> None:
        super().__init__("exportlint", __version__, notebook_document_sync=SYNCED)
        self.worker = Worker()
        self.projects = Projects()  # used in the worker's thread only
        self.trials = Trials(self, self._tried)
        self.documents: dict[str, _Document] = {}
        self.cells: dict[str, tuple[Cell, ...]] = {}  # of the documents that are notebooks
        self.shown: dict[str, tuple[_Shown, ...]] = {}
        self.pages_are_shown = True
        self.told_to_end = False
        self.mode: str | None = None
        self._newest = NewestOnly(self._round)
        self._judged: Mapping[Path, Judged] = {}
        # Of each trial that ended, its findings by file, with the text that was tried.
        self._of_trials: dict[Wish, dict[Path, tuple[str, list[Finding]]]] = {}
        self._on_trial: dict[Wish, dict[Path, str | None]] = {}
        self._published: dict[str, tuple[int | None, list[types.Diagnostic]]] = {}
        self._complained: set[str] = set()
        self._beliefs: tuple[Path, str, Mapping[Span, Value]] | None = None

    def ask(self) -> None:
        """Something changed: judge."""
        self._newest.ask()

    def shutdown(self) -> None:
        """The protocol is over, and no trial runs any more. A thread of pygls may still wait for input."""
        self.worker.close()
        if self.told_to_end:
            os._exit(128 + signal.SIGTERM)
        super().shutdown()  # type: ignore[no-untyped-call] # of pygls

    def report_server_error(self, error: Exception, source: Any) -> None:
        """To the log: a message in front of the code, at every key, would help nobody."""
        del source
        self.log(f"{type(error).__name__}: {error}", types.MessageType.Error)

    def log(self, text: str, kind: types.MessageType = types.MessageType.Info) -> None:
        self.window_log_message(types.LogMessageParams(kind, text))

    def settings(self, given: object) -> None:
        """Of `initializationOptions` or `didChangeConfiguration`; what is not understood is told and left out."""
        known = given if isinstance(given, dict) else {}
        known = known["exportlint"] if isinstance(known.get("exportlint"), dict) else known
        mode, torch = known.get("mode"), known.get("torch")
        if mode is not None and mode not in MODE_CHOICES:
            self.log(f"there is no mode {mode!r}; the modes are {', '.join(MODE_CHOICES)}", types.MessageType.Warning)
            mode = None
        if torch is not None and not isinstance(torch, str):
            self.log(f"torch {torch!r} is no version: write it as text, such as 2.13", types.MessageType.Warning)
            torch = None
        self.mode = mode
        if "pages" in known:  # settings that change later need not repeat it
            self.pages_are_shown = known["pages"] != "returned"
        asyncio.ensure_future(  # noqa: RUF006 - the worker holds what it has to do
            self.worker.run(partial(self.projects.configure, mode=mode, torch=torch or None))
        )

    def sheet_of(self, path: Path) -> tuple[str, Sheet] | None:
        """The uri and the text of a file, as it is in the editor or else on the disk; None where it cannot be read."""
        for document in self.documents.values():
            if document.path == path:
                return document.uri, document.sheet
        text = _on_disk(path)
        uri = from_fs_path(str(path))
        return None if text is None or uri is None else (uri, Sheet(text, self.workspace.position_codec))

    async def beliefs(self, document: _Document) -> Mapping[Span, Value]:
        """What the engine knows of places of the text; remembered for the text that was asked about last."""
        path, text = document.path, document.sheet.plain
        if self._beliefs is None or self._beliefs[:2] != (path, text):
            self._beliefs = (path, text, await self.worker.run(self.projects.beliefs, path, text))
        return self._beliefs[2]

    async def _round(self) -> None:
        texts = {document.path: document.sheet.plain for document in self.documents.values()}
        try:
            verdicts = await self.worker.run(self.projects.judge, texts)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next text may be judged
            self.report_server_error(error, None)
            return
        self._judged = verdicts.files
        for complaint in verdicts.complaints:
            if complaint not in self._complained:
                self.window_show_message(types.ShowMessageParams(types.MessageType.Error, complaint))
        self._complained = set(verdicts.complaints)
        self.publish()

    def try_model(self, wish: Wish) -> None:
        """Begin a trial of what lies on the disk now; what is typed and saved while it runs is newer."""
        self._on_trial[wish] = {document.path: _on_disk(document.path) for document in self.documents.values()}
        self.trials.start(wish)

    def _tried(self, wish: Wish, findings: tuple[Finding, ...]) -> None:
        texts = self._on_trial.pop(wish, {})
        by_path = {Path(name).resolve(): found for name, found in of_paths(findings).items()}
        self._of_trials[wish] = {
            path: (texts.get(path) or _on_disk(path) or "", found) for path, found in by_path.items()
        }
        self.publish()

    def publish(self) -> None:
        """Tell the client what is new of each file that is open, or that a trial found something in."""
        places: dict[str, tuple[Path, Sheet, int | None]] = {}
        for path in {path for tried in self._of_trials.values() for path in tried}:
            if place := self.sheet_of(path):
                places[place[0]] = (path, place[1], None)
        for document in self.documents.values():
            places[document.uri] = (document.path, document.sheet, document.version)
        # Of what was opened a moment ago nothing is known yet.
        waiting = {one.uri for one in self.documents.values() if one.path not in self._judged}
        self.shown = {uri: tuple(self._found(*places[uri][:2])) for uri in places.keys() - waiting}
        wanted: dict[str, tuple[int | None, list[types.Diagnostic]]] = {}
        for uri, found in self.shown.items():
            diagnostics = [one.diagnostic for one in found]
            if cells := self.cells.get(uri):
                wanted |= {cell: (None, own) for cell, own in in_cells(cells, diagnostics)}
            else:
                wanted[uri] = (places[uri][2], diagnostics)
        gone = self._published.keys() - wanted.keys() - waiting
        for uri, (version, diagnostics) in (*wanted.items(), *((uri, (None, [])) for uri in gone)):
            if self._published.get(uri) != (version, diagnostics):
                self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))
        self._published = wanted | {uri: one for uri, one in self._published.items() if uri in waiting}

    def _found(self, path: Path, sheet: Sheet) -> Iterator[_Shown]:
        """What a trial shows counts for more than what was read, and has the rewrites of it."""
        judged = self._judged.get(path, Judged(sheet.plain))
        fresh = judged.text == sheet.plain
        static = {(one.rule, one.line, one.column): one for one in moved(judged.findings, judged.text, sheet.plain)}
        tried = [found[path] for found in self._of_trials.values() if path in found]
        for text, findings in tried:
            for one in moved(findings, text, sheet.plain):
                twin = static.pop((one.rule, one.line, one.column), None)
                finding = replace(one, rewrites=twin.rewrites, fix=twin.fix or one.fix) if twin else one
                yield _Shown(diagnostic(finding, sheet, TRIAL, fresh=text == sheet.plain), finding, fresh)
        for one in (*static.values(), *judged.wrong):
            yield _Shown(diagnostic(one, sheet, STATIC, fresh=fresh), one, fresh)


# What the client tells.


def _initialized(ls: Server, params: types.InitializedParams) -> None:
    del params
    watching = ls.client_capabilities.workspace and ls.client_capabilities.workspace.did_change_watched_files
    if watching and watching.dynamic_registration:
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher(one) for one in _WATCHED])
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        ls.client_register_capability(types.RegistrationParams([types.Registration("files", method, options)]))


def _initialize(ls: Server, params: types.InitializeParams) -> None:
    ls.settings(params.initialization_options)


def _configured(ls: Server, params: types.DidChangeConfigurationParams) -> None:
    ls.settings(params.settings)
    ls.ask()


def _opened(ls: Server, params: types.DidOpenTextDocumentParams) -> None:
    given = params.text_document
    path = to_fs_path(given.uri) if given.uri.startswith("file:") else None
    if path is not None and (given.language_id == "python" or path.endswith(".py")):
        sheet = Sheet(given.text, ls.workspace.position_codec)
        ls.documents[given.uri] = _Document(given.uri, Path(path).resolve(), sheet, given.version)
        ls.ask()


def _edited(ls: Server, params: types.DidChangeTextDocumentParams) -> None:
    document = ls.documents.get(params.text_document.uri)
    if document is not None:
        sheet = document.sheet.after(params.content_changes)
        ls.documents[document.uri] = replace(document, sheet=sheet, version=params.text_document.version)
        ls.ask()


def _closed(ls: Server, params: types.DidCloseTextDocumentParams) -> None:
    if ls.documents.pop(params.text_document.uri, None) is not None:
        ls.publish()
        ls.ask()


def _notebook(ls: Server, params: types.DidOpenNotebookDocumentParams | types.DidChangeNotebookDocumentParams) -> None:
    """Its Python cells are one document, under the notebook's own uri."""
    uri = params.notebook_document.uri
    notebook = ls.workspace.get_notebook_document(notebook_uri=uri)
    path = to_fs_path(uri)
    if notebook is None or path is None:
        return
    known = {cell.document: ls.workspace.get_text_document(cell.document) for cell in notebook.cells}
    text, cells = joined((name, one.source) for name, one in known.items() if one.language_id == "python")
    sheet = Sheet(text, ls.workspace.position_codec)
    ls.cells[uri] = cells
    ls.documents[uri] = _Document(uri, Path(path).resolve(), sheet, None)
    ls.ask()


def _notebook_closed(ls: Server, params: types.DidCloseNotebookDocumentParams) -> None:
    if ls.documents.pop(params.notebook_document.uri, None) is not None:
        ls.cells.pop(params.notebook_document.uri, None)
        ls.publish()
        ls.ask()


async def _saved(ls: Server, params: types.DidSaveTextDocumentParams) -> None:
    await _written(ls, [params.text_document.uri])


async def _written_outside(ls: Server, params: types.DidChangeWatchedFilesParams) -> None:
    await _written(ls, [one.uri for one in params.changes])


async def _written(ls: Server, uris: Sequence[str]) -> None:
    for path in filter(None, map(to_fs_path, uris)):
        await ls.worker.run(ls.projects.changed, path)
    ls.ask()


def _folders_changed(ls: Server, params: types.DidChangeWorkspaceFoldersParams) -> None:
    """Each file is judged by the pyproject.toml above it, whatever folders are open."""
    del ls, params


async def _shut_down(ls: Server, params: None) -> None:
    del params
    await ls.trials.stop()
    ls.worker.close()


# What the client asks.


async def _hover(ls: Server, params: types.HoverParams) -> types.Hover | None:
    document = ls.documents.get(params.text_document.uri)
    if document is None:
        return None
    line, column = document.sheet.place(params.position)
    rules = dict.fromkeys(
        one.finding.rule for one in ls.shown.get(document.uri, ()) if _holds(one.diagnostic.range, params.position)
    )
    belief = await _belief(ls, document, line, column)
    config = await ls.worker.run(ls.projects.config, document.path)
    pages = [await ls.worker.run(brief, rule, config.torch, config.modes) for rule in rules] if config else []
    text = "\n\n---\n\n".join(filter(None, [belief, *pages]))
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text)) if text else None


async def _belief(ls: Server, document: _Document, line: int, column: int) -> str:
    """What the smallest expression around the place is believed to be; empty where nothing is known."""
    beliefs = await ls.beliefs(document)
    lines = document.sheet.lines
    at = (line, len(lines[line - 1][: column - 1].encode()))
    around = [span for span in beliefs if span[:2] <= at <= span[2:]]
    if not around:
        return ""
    span = min(around, key=lambda one: (one[2] - one[0], one[3] - one[1]))
    text = in_words(beliefs[span], document.path)
    code = lines[span[0] - 1].encode()[span[1] : span[3] if span[2] == span[0] else None].decode()
    return f"`{code}`: {text}" if text else ""


def _holds(where: types.Range, position: types.Position) -> bool:
    return (
        (where.start.line, where.start.character)
        <= (position.line, position.character)
        <= (where.end.line, where.end.character)
    )


def _code_actions(ls: Server, params: types.CodeActionParams) -> list[types.CodeAction]:
    document = ls.documents.get(params.text_document.uri)
    only = params.context.only
    if document is None or (only and types.CodeActionKind.QuickFix.value not in only and "" not in only):
        return []
    return [
        action
        for one in ls.shown.get(document.uri, ())
        if one.fresh and _overlap(one.diagnostic.range, params.range)
        for action in actions(
            one.finding,
            one.diagnostic,
            document.uri,
            document.sheet,
            lambda name: ls.sheet_of(Path(name).resolve()),
        )
    ]


def _overlap(a: types.Range, b: types.Range) -> bool:
    return _holds(a, b.start) or _holds(b, a.start)


async def _code_lenses(ls: Server, params: types.CodeLensParams) -> list[types.CodeLens]:
    document = ls.documents.get(params.text_document.uri)
    config = await ls.worker.run(ls.projects.config, document.path) if document else None
    if document is None or config is None:
        return []
    sheet = document.sheet
    return [
        types.CodeLens(
            sheet.range((one.line, 1), (one.line, 1)),
            types.Command(one.title, TRY, arguments=[{"root": one.root, "arguments": list(one.arguments)}]),
        )
        for one in tries(document.path, sheet.plain, config)
    ]


def _try(ls: Server, *given: Any) -> None:
    """Begin a trial, which tells its progress and its end by itself."""
    match given:
        case [{"root": str(root), "arguments": [*words]}] if words and all(isinstance(one, str) for one in words):
            options = words[:-1] if words[:-1] == ["--target"] else []
            if words[-1].startswith("-") or words != [*options, words[-1]]:
                raise UserError(f"{words} names no model to try")
            ls.try_model(Wish(root, tuple(words), ls.mode))
        case _:
            raise UserError(f"{TRY} takes what a code lens gives it: a root and arguments")


async def _explain(ls: Server, *given: Any) -> str:
    """The page of a rule, with the models that were measured; also shown, unless the client shows what is returned."""
    words = " ".join(map(str, given))
    text = await ls.worker.run(explain, words)
    if ls.pages_are_shown:
        page = await ls.worker.run(brief, words, None, ()) or text
        ls.window_show_message(types.ShowMessageParams(types.MessageType.Info, page))
    return text


def made() -> Server:
    """The server with all that it answers, not yet running."""
    server = Server()
    for method, handler in (
        (types.INITIALIZE, _initialize),
        (types.INITIALIZED, _initialized),
        (types.SHUTDOWN, _shut_down),
        (types.TEXT_DOCUMENT_DID_OPEN, _opened),
        (types.TEXT_DOCUMENT_DID_CHANGE, _edited),
        (types.TEXT_DOCUMENT_DID_SAVE, _saved),
        (types.TEXT_DOCUMENT_DID_CLOSE, _closed),
        (types.NOTEBOOK_DOCUMENT_DID_OPEN, _notebook),
        (types.NOTEBOOK_DOCUMENT_DID_CHANGE, _notebook),
        (types.NOTEBOOK_DOCUMENT_DID_CLOSE, _notebook_closed),
        (types.WORKSPACE_DID_CHANGE_WATCHED_FILES, _written_outside),
        (types.WORKSPACE_DID_CHANGE_CONFIGURATION, _configured),
        (types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, _folders_changed),
        (types.TEXT_DOCUMENT_HOVER, _hover),
        (types.TEXT_DOCUMENT_CODE_LENS, _code_lenses),
    ):
        server.feature(method)(handler)
    server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )(_code_actions)
    server.command(TRY)(_try)
    server.command(EXPLAIN)(_explain)
    return server


def serve() -> None:
    """Run until the client ends it. stdout is the protocol's: what anything prints goes to stderr."""
    gc.set_threshold(*_GARBAGE)
    out, sys.stdout = sys.stdout, sys.stderr
    server = made()

    def end(_number: int, _frame: object) -> NoReturn:
        """As when the client goes: what runs is cancelled, so that trials end first."""
        server.told_to_end = True
        raise SystemExit

    signal.signal(signal.SIGTERM, end)
    server.start_io(stdout=out.buffer)


def _on_disk(path: Path) -> str | None:
    try:
        return SourceFile(path, shown(path)).read()
    except SourceError:
        return None
