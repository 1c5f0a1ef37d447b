"""What can be done about a finding: its rewrites, a comment that silences it, and its rule's page."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from lsprotocol import types

from exportlint.finding import Applicability
from exportlint.language_server.projects import NOT_JUDGED
from exportlint.static.suppressions import silencing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exportlint.finding import Finding, Fix
    from exportlint.language_server.positions import Sheet

EXPLAIN = "exportlint.explain"
_REASON = "say why"  # stands where the reason goes, for the person to write it
_TITLE_CHARACTERS = 100


def actions(
    finding: Finding,
    diagnostic: types.Diagnostic,
    uri: str,
    sheet: Sheet,
    located: Callable[[str], tuple[str, Sheet] | None],
) -> Iterator[types.CodeAction]:
    """Of a finding in the text that the editor has. `located`: the uri and the text of another path."""
    if finding.rule == NOT_JUDGED:
        return
    offered = finding.rewrites or ((finding.fix,) if finding.fix and finding.fix.edits else ())
    for nth, fix in enumerate(offered):
        if changes := _changes(fix, located):
            yield types.CodeAction(
                textwrap.shorten(f"exportlint: {fix.description}", _TITLE_CHARACTERS, placeholder=" …"),
                types.CodeActionKind.QuickFix,
                [diagnostic],
                is_preferred=True if nth == 0 and fix.applicability is Applicability.SAFE else None,
                edit=types.WorkspaceEdit(changes),
            )
    if insertion := silencing(sheet.plain, finding.line, finding.rule, _REASON):
        at = sheet.position(insertion.line, insertion.column)
        edit = types.WorkspaceEdit({uri: [types.TextEdit(types.Range(at, at), insertion.text)]})
        title = f"Suppress {finding.rule} here, with a reason"
        yield types.CodeAction(title, types.CodeActionKind.QuickFix, [diagnostic], edit=edit)
    title = f"Explain {finding.rule}"
    command = types.Command(title, EXPLAIN, arguments=[finding.rule])
    yield types.CodeAction(title, types.CodeActionKind.QuickFix, [diagnostic], command=command)


def _changes(fix: Fix, located: Callable[[str], tuple[str, Sheet] | None]) -> dict[str, list[types.TextEdit]]:
    """The edits by the file that they are of; none where one of the files cannot be read."""
    found: dict[str, list[types.TextEdit]] = {}
    for edit in fix.edits:
        place = located(edit.path)
        if place is None:
            return {}
        uri, sheet = place
        text = edit.text.replace("\n", sheet.line_end)
        found.setdefault(uri, []).append(types.TextEdit(sheet.range(edit.start, edit.end), text))
    return found
