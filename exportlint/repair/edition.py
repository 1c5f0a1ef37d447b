"""Source files as rounds of rewrites leave them, and why: what is tried, shown as a diff, and written."""

from __future__ import annotations

import difflib
import hashlib
import io
import os
import re
import time
import tokenize
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from exportlint.edited_source import edited
from exportlint.errors import UserError
from exportlint.files import decode, shown, write_whole
from exportlint.repair.settings_read import lines_not_run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from exportlint.finding import Edit


BY_CONSTRUCTION, TRIED = "right by construction", "tried"
BOTH_SIDES, ONE_SIDE = "tried on both sides", "only one side was seen"
THIS_CONFIGURATION = "this configuration only"
RAN = "the script runs on"  # nothing was there to compare it with


@dataclass(frozen=True, slots=True)
class HunkReason:
    """Why something was rewritten: the rule's name, what was done, and where, by the lines before all edits.

    shown    what is known of it: one of the phrases above; "" where nothing ran
    caveat   what no run could show of it, or what it takes away
    """

    path: str
    line: int
    rule: str
    description: str
    shown: str = ""
    caveat: str = ""


@dataclass(frozen=True)
class Edition:
    """`read` are the bytes of files as they were found, `texts` what became of them, both by absolute path; a file
    that changed after it `began` is refused."""

    read: Mapping[str, bytes] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    reasons: tuple[HunkReason, ...] = ()
    began: float = field(default_factory=time.time, compare=False)

    def with_edits(self, edits: Sequence[Edit], why: Sequence[HunkReason]) -> Edition:
        """After further edits of these texts. `why`: of each rewrite, with the line of these texts.

        Raises OverlappingEditsError; SourceError where a file cannot be read.
        """
        read, texts = dict(self.read), dict(self.texts)
        reasons = [replace(one, line=self.line_before(one.path, one.line)) for one in why]
        for path in {edit.path for edit in edits}:
            key = str(Path(path).resolve())
            if key not in read:
                if Path(key).stat().st_mtime > self.began:
                    raise UserError(f"{shown(Path(key))} changed while it was tried: run the fix again")
                read[key] = Path(key).read_bytes()
                texts[key] = decode(read[key])
            texts[key] = edited(texts[key], [edit for edit in edits if edit.path == path])
        return replace(self, read=read, texts=texts, reasons=tuple(dict.fromkeys((*self.reasons, *reasons))))

    def with_caveats_since(
        self,
        before: Edition,
        caveats: Sequence[str],
        shown: str | None = None,
        alone: Mapping[str, Collection[HunkReason]] = MappingProxyType({}),
    ) -> Edition:
        """`caveats`, and what was `shown`, are told of every rewrite that `before` did not have. `alone`: of caveats
        that some of these have by themselves, these."""

        def told(one: HunkReason) -> HunkReason:
            own = [text for text in caveats if text not in alone or one in alone[text]]
            return replace(
                one, caveat="; ".join(filter(None, dict.fromkeys((one.caveat, *own)))), shown=shown or one.shown
            )

        return replace(self, reasons=tuple(one if one in before.reasons else told(one) for one in self.reasons))

    def with_sides(self, both: Collection[tuple[str, int]], one_sided: Mapping[tuple[str, int], str]) -> Edition:
        """Of each rewrite what inputs showed. `both`: real path and line, before all edits, of every `if` of which
        inputs took both sides; `one_sided`: of the others -> which side none took."""
        return replace(self, reasons=tuple(_with_sides(one, both, one_sided) for one in self.reasons))

    def with_lines_not_run(self, run: Mapping[str, Collection[int]]) -> Edition:
        """What was changed where no call came is told at the nearest rewrite. `run`: the lines of the texts before all
        edits that calls of the model ran, by real path."""
        reasons = list(self.reasons)
        for key, text in self.texts.items():
            places = {place: one.line for place, one in enumerate(reasons) if str(Path(one.path).resolve()) == key}
            for line in lines_not_run(self.found[key], text, run[key]) if places and key in run else ():
                nearest = min(places, key=lambda place: abs(places[place] - line))
                reasons[nearest] = _with_line_not_run(reasons[nearest], line)
        return replace(self, reasons=tuple(reasons))

    @property
    def found(self) -> dict[str, str]:
        """The texts before all edits."""
        return {key: decode(data) for key, data in self.read.items()}

    @property
    def digest(self) -> str:
        """The same for the same texts."""
        changed = sorted((key, text) for key, text in self.texts.items() if text != decode(self.read[key]))
        return hashlib.sha256(repr(changed).encode()).hexdigest()

    def line_before(self, path: str, line: int) -> int:
        """The line of the file as it was found that a line of its text comes from."""
        key = str(Path(path).resolve())
        if key not in self.read or self.texts[key] == decode(self.read[key]):
            return line
        old, new = decode(self.read[key]).split("\n"), self.texts[key].split("\n")
        for _, start, end, first, last in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
            if first <= line - 1 < last:
                return min(start + line - 1 - first, max(end - 1, start)) + 1
        return line

    def is_written_since(self, before: Edition, path: str, line: int) -> bool:
        """Is the line of its text one that the text `before` it did not have?"""
        key = str(Path(path).resolve())
        if key not in self.texts:
            return False
        text = before.texts.get(key, decode(self.read[key]))
        new = self.texts[key].split("\n")
        return line <= len(new) and new[line - 1].strip() not in {one.strip() for one in text.split("\n")}

    def diff(self) -> Iterator[str]:
        """One unified diff with the line ends of the files, each line without its last `\\n`; its paths are relative to
        `root`. The reasons stand above the file's, where git and patch skip them."""
        for key in sorted(self.texts):
            name = Path(key).relative_to(self.root).as_posix()
            old = _lines(_as_in_file(decode(self.read[key]), self.read[key]))
            new = _lines(_as_in_file(self.texts[key], self.read[key]))
            lines = list(difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"))
            yield from (f"# {_in_words(one, name)}" for one in self._reasons_of(key) if lines)
            for line in lines:
                yield line.removesuffix("\n")
                if not line.endswith("\n"):
                    yield "\\ No newline at end of file"

    @property
    def root(self) -> Path:
        """The folder that the paths of the diff are relative to, and where it can be applied: the working directory;
        where a file lies outside of it, the repository, and else the folder above all."""
        here = Path.cwd().resolve()
        above = [here, *(one for one in (here, *here.parents) if (one / ".git").exists())][:2]
        keys = [Path(key) for key in self.texts]
        fits = (one for one in above if all(key.is_relative_to(one) for key in keys))
        return next(fits, None) or Path(os.path.commonpath([key.parent for key in keys]))

    def _reasons_of(self, key: str) -> list[HunkReason]:
        return sorted((one for one in self.reasons if str(Path(one.path).resolve()) == key), key=lambda one: one.line)

    def write(self) -> list[str]:
        """Write every file that changed, each at once, with its encoding, line ends and permissions; their names.

        Raises UserError, with nothing written, where a file changed since it was read or cannot hold the text.
        """
        data = {key: _encoded(key, self.read[key], text) for key, text in self.texts.items()}
        for key in data:
            if Path(key).read_bytes() != self.read[key]:
                raise UserError(f"{shown(Path(key))} changed since it was read; nothing is written: run the fix again")
        changed = [key for key in sorted(data) if data[key] != self.read[key]]
        for key in changed:
            write_whole(Path(key), data[key])
        return [shown(Path(key)) for key in changed]


def _with_sides(
    reason: HunkReason, both: Collection[tuple[str, int]], one_sided: Mapping[tuple[str, int], str]
) -> HunkReason:
    place = (str(Path(reason.path).resolve()), reason.line)
    if reason.shown in (BY_CONSTRUCTION, THIS_CONFIGURATION, RAN):
        return reason
    if place in one_sided:
        caveat = "; ".join(filter(None, (one_sided[place], reason.caveat)))
        return replace(reason, shown=ONE_SIDE, caveat=caveat)
    return replace(reason, shown=BOTH_SIDES if place in both else TRIED)


def _with_line_not_run(reason: HunkReason, line: int) -> HunkReason:
    if reason.shown in (BY_CONSTRUCTION, ONE_SIDE, RAN):
        return reason
    begun = "no input that was tried runs line "
    told = f"{reason.caveat}, {line}" if begun in reason.caveat else f"{begun}{line}"
    caveat = told if begun in reason.caveat else "; ".join(filter(None, (reason.caveat, told)))
    return replace(reason, caveat=caveat)


def _in_words(reason: HunkReason, name: str) -> str:
    shown = f" ({reason.shown})" if reason.shown else ""
    caveat = f"; {reason.caveat}" if reason.caveat else ""
    return f"{name}:{reason.line} [{reason.rule}] {reason.description}{shown}{caveat}"


def _lines(text: str) -> list[str]:
    """With their ends, which only the last may lack."""
    lines = [line + "\n" for line in text.split("\n")]
    return [*lines[:-1], lines[-1][:-1]] if lines[-1] != "\n" else lines[:-1]


def _encoded(key: str, before: bytes, text: str) -> bytes:
    encoding, _ = tokenize.detect_encoding(io.BytesIO(before).readline)
    try:
        return _as_in_file(text, before).removeprefix(_MARK).encode(encoding)
    except UnicodeEncodeError as error:
        raise UserError(f"{shown(Path(key))} is {encoding}, which cannot hold the edited text: {error}") from error


_MARK = "\ufeff"
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")


def _as_in_file(text: str, before: bytes) -> str:
    """With the line ends, and the mark of the encoding, that the file has: each line its own, new ones most lines'."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(before).readline)
    found = before.decode(encoding)
    mark = _MARK if encoding == "utf-8-sig" else ""
    if "\r" not in found:
        return mark + text
    ends = [line[len(line.rstrip("\r\n")) :] for line in _LINE.findall(found)]
    usual = Counter(end for end in ends if end).most_common(1)[0][0]
    old, new = decode(before).split("\n"), text.split("\n")
    of_new = [usual] * (len(new) - 1) + [""]
    for _, first, last, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        for line, was in zip(range(start, min(end, len(new) - 1)), ends[first:last], strict=False):
            of_new[line] = was or usual
    return mark + "".join(line + end for line, end in zip(new, of_new, strict=True))
