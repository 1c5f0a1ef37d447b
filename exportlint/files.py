"""Which files are checked: what the user named, minus what .gitignore and `exclude` leave out."""

from __future__ import annotations

import glob
import io
import os
import stat
import tokenize
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pathspec import GitIgnoreSpec


MAX_BYTES = 2_000_000
# What marks the folder of a project.
PROJECT_MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git")


def project_folder(folder: Path) -> Path:
    """The nearest folder from `folder` upwards that is marked as a project's; itself where none is."""
    marked = (up for up in (folder, *folder.parents) if any((up / name).exists() for name in PROJECT_MARKERS))
    return next(marked, folder)


_ENCODING = "save the file as UTF-8 or declare its encoding (PEP 263)"
# fmt: off
ALWAYS_EXCLUDED = frozenset((
    ".bzr", ".direnv", ".eggs", ".git", ".hg", ".ipynb_checkpoints", ".mypy_cache", ".nox",
    ".pytest_cache", ".ruff_cache", ".svn", ".tox", ".venv", "__pycache__", "__pypackages__",
    "build", "dist", "node_modules", "venv",
))
# fmt: on


class SourceError(Exception):
    """A file that cannot be read as Python source; `line` is where, if that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class SourceFile:
    """One file to check. `shown` is how reports name it; `text` is set when it does not come from the disk (stdin)."""

    path: Path
    shown: str
    text: str | None = None

    @cached_property
    def absolute(self) -> Path:
        """Links followed; asked for several times a file, in runs of thousands."""
        return self.path.resolve()

    def read(self) -> str:
        """The source with \\n line ends; SourceError when it is not text in the encoding it declares (PEP 263)."""
        if self.text is not None:
            return self.text
        try:
            return decode(self.path.read_bytes())
        except OSError as error:
            raise SourceError(f"cannot be read: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class Collected:
    """The files to check, in the order of their shown paths, and what was named but cannot be checked."""

    files: tuple[SourceFile, ...]
    problems: tuple[Problem, ...]


def collect(paths: Sequence[str], exclude: Sequence[str] = (), root: Path | None = None) -> Collected:
    """Turn files, folders and glob patterns into files. `exclude` holds .gitignore patterns relative to `root`."""
    excluded = [_ignore(root or Path.cwd(), exclude)] if exclude else []
    taken: dict[Path, SourceFile] = {}
    problems: dict[str, Problem] = {}
    folders: dict[str, str] = {}
    for path in (one for name in paths for one in _named(name, excluded)):
        if problem := _problem(path):
            problems[problem.path] = problem
        else:
            file = SourceFile(path, shown(path))
            vars(file)["absolute"] = _resolved(path, folders)  # where `cached_property` keeps it
            taken.setdefault(file.absolute, file)
    return Collected(
        tuple(sorted(taken.values(), key=lambda f: f.shown)), tuple(p for _, p in sorted(problems.items()))
    )


def _resolved(path: Path, folders: dict[str, str]) -> Path:
    """As `Path.resolve`, which asks for every folder on the way; `folders` holds what earlier files have shown."""
    folder, name = os.path.split(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    whole = os.path.join(folders[folder], name)  # noqa: PTH118 (called for every file; a Path costs more)
    return Path(os.path.realpath(whole) if os.path.islink(whole) else whole)  # noqa: PTH114 (as above)


def from_stdin(data: bytes, filename: str) -> Collected:
    """The one file that `-` names."""
    path = Path(filename)
    try:
        return Collected((SourceFile(path, shown(path), decode(data)),), ())
    except SourceError as error:
        return Collected((), (Problem(shown(path), error.line, str(error)),))


def shown(path: Path) -> str:
    """The path relative to the working directory, with forward slashes."""
    try:
        return os.path.relpath(path).replace(os.sep, "/")
    except ValueError:  # another drive of a Windows machine
        return path.as_posix()


def decode(data: bytes) -> str:
    """Source bytes as text with \\n line ends, by the encoding that the file declares; UTF-8 otherwise."""
    if len(data) > MAX_BYTES:
        raise SourceError(_huge(len(data)))
    try:
        text = data.decode(_encoding(data))
    except UnicodeDecodeError as error:
        what = f"is not {error.encoding.upper()} at byte 0x{data[error.start]:02x}"
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(f"{what}; {_ENCODING}", line) from error
    if "\0" in text:
        raise SourceError("holds null bytes, so it is not Python source", text.count("\n", 0, text.index("\0")) + 1)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def write_whole(path: Path, data: bytes) -> None:
    """All of it or nothing: a reader never sees half a file. It keeps its permissions; a link to it is to be followed
    before. Raises OSError where it cannot be written."""
    import tempfile  # noqa: PLC0415 (most runs write nothing)

    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(_permissions(path))
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _permissions(path: Path) -> int:
    """What the file has, or what a new one would get: temporary files are for their owner only."""
    if path.exists():
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _encoding(data: bytes) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError as error:
        if "invalid or missing" in str(error.msg):  # the first two lines are not UTF-8; decoding says where
            return "utf-8"
        raise SourceError(f"{error.msg}; {_ENCODING}") from error


def _huge(size: int) -> str:
    return f"is skipped: {size / 1e6:.1f} MB is more than the limit of {MAX_BYTES / 1e6:.0f} MB for one source file"


def _problem(path: Path) -> Problem | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        what = f"is a broken link to {path.readlink()}" if path.is_symlink() else "does not exist"
        return Problem(shown(path), None, what)
    except OSError as error:
        return Problem(shown(path), None, f"cannot be read: {error.strerror}")
    if not stat.S_ISREG(status.st_mode):
        return Problem(shown(path), None, "is not a regular file; pipe its content to `exportlint -` instead")
    return Problem(shown(path), None, _huge(status.st_size)) if status.st_size > MAX_BYTES else None


def _named(name: str, excluded: list[_Ignore]) -> Iterator[Path]:
    """The files that one argument names. A file named as such is always taken."""
    path = Path(name)
    if path.is_dir():
        yield from _walk(path, excluded)
    elif not os.path.lexists(path) and glob.has_magic(name):
        yield from _globbed(name, excluded) or [path]
    else:
        yield path


def _globbed(pattern: str, excluded: list[_Ignore]) -> list[Path]:
    """What matches and is not left out: a pattern names no file as such."""
    fixed = Path(*takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts))
    matches = {Path(match).resolve() for match in glob.iglob(pattern, recursive=True)}  # noqa: PTH207 (takes any pattern)
    return [p for p in _walk(fixed, excluded) if not matches.isdisjoint((p.resolve(), *p.resolve().parents))]


@dataclass(frozen=True, slots=True)
class _Ignore:
    """The patterns of one .gitignore (or of `exclude`), and the absolute folder they are relative to."""

    folder: str
    spec: GitIgnoreSpec

    def ignores(self, path: str, is_folder: bool) -> bool | None:
        relative = os.path.relpath(path, self.folder)
        return self.spec.check_file(relative.replace(os.sep, "/") + ("/" if is_folder else "")).include


def _ignore(folder: Path, patterns: Iterable[str]) -> _Ignore:
    from pathspec import GitIgnoreSpec  # noqa: PLC0415 (50 ms that a file named as such never needs)

    return _Ignore(os.path.abspath(folder), GitIgnoreSpec.from_lines(patterns))  # noqa: PTH100 (resolve follows links)


def matches(pattern: str, folder: Path, path: str) -> bool:
    """Does a .gitignore pattern, relative to `folder`, match `path`?"""
    return bool(_cached_ignore(folder, pattern).ignores(os.path.abspath(path), is_folder=False))  # noqa: PTH100 (as above)


@cache
def _cached_ignore(folder: Path, pattern: str) -> _Ignore:
    return _ignore(folder, [pattern])


def _is_ignored(path: Path, is_folder: bool, ignores: Sequence[_Ignore]) -> bool:
    """The deepest file that has an opinion decides, as in git."""
    full = os.path.abspath(path)  # noqa: PTH100 (resolve would follow the link that is being judged)
    opinions = (ignore.ignores(full, is_folder) for ignore in reversed(ignores))
    return next((opinion for opinion in opinions if opinion is not None), False)


def _walk(folder: Path, excluded: list[_Ignore]) -> Iterator[Path]:
    """Python files below `folder`, in order. A folder named by the user is read even where git ignores it."""
    above = _gitignores_above(folder)
    yield from _walk_below(folder, [] if _is_ignored(folder, True, above) else above, excluded)


def _walk_below(folder: Path, gitignores: list[_Ignore], excluded: list[_Ignore]) -> Iterator[Path]:
    gitignores = [*gitignores, *_gitignore_in(folder)]
    try:
        entries = sorted(os.scandir(folder), key=lambda e: e.name)
    except OSError:
        yield folder  # _problem says why
        return
    for entry in filter(_may_matter, entries):
        path, is_folder = folder / entry.name, entry.is_dir(follow_symlinks=False)
        if not _is_ignored(path, is_folder, gitignores) and not _is_ignored(path, is_folder, excluded):
            yield from _walk_below(path, gitignores, excluded) if is_folder else [path]


def _may_matter(entry: os.DirEntry[str]) -> bool:
    """Python files, broken links to them, and folders; linked folders would be read twice or for ever."""
    if entry.is_dir(follow_symlinks=False):
        return entry.name not in ALWAYS_EXCLUDED
    return entry.name.endswith(".py") and not entry.is_dir()


def _gitignore_in(folder: Path) -> list[_Ignore]:
    try:
        lines = (folder / ".gitignore").read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [_ignore(folder, lines)]


def _gitignores_above(folder: Path) -> list[_Ignore]:
    """From the root of the git repository down to the parent of `folder`; none outside of a repository."""
    inside = (folder.resolve(), *folder.resolve().parents)
    depth = next((i for i, parent in enumerate(inside) if (parent / ".git").exists()), 0)
    return [ignore for parent in reversed(inside[1 : depth + 1]) for ignore in _gitignore_in(parent)]
