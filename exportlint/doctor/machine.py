"""What the machine has: a C++ compiler that compiles, memory, cores, a cache folder that can be written, git."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from exportlint.cores import cores
from exportlint.errors import UserError
from exportlint.output.checkup import ABSENT, BROKEN, NOTE, OK, Check
from exportlint.workflow.linting import cache_bytes, cache_folder

_SECONDS = 30.0
_SOURCE = '#include <cmath>\nextern "C" double one() { return std::sqrt(1.0); }\n'
_WITH_PYTHON = f"#include <Python.h>\n{_SOURCE}"


def compiler() -> Check:
    """The one that inductor takes, too: CXX, else g++, else clang++; asked by a file of one line."""
    named = os.environ.get("CXX")
    candidates = [named] if named else ["g++", "clang++"]
    command = next((words for one in candidates if (words := shlex.split(one)) and shutil.which(words[0])), None)
    install = "apt install g++ (or clang++ of your system; xcode-select --install on macOS)"
    if command is None:
        what = f"CXX is `{named}`, which is not there" if named else "neither g++ nor clang++"
        told = f"{what}: AOTInductor, TVM and torch.compile's inductor cannot compile"
        return Check("compiler", BROKEN if named else ABSENT, told, "unset CXX, or: " + install if named else install)
    version = _first_line([*command, "--version"])
    facts: dict[str, Any] = {"command": command, "version": version}
    if wrong := _refused(command, _SOURCE):
        told = f"{shlex.join(command)} does not compile a file of one line: {wrong}"
        return Check("compiler", BROKEN, told, install, facts=facts)
    include = sysconfig.get_paths()["include"]
    headers = _refused([*command, f"-I{include}"], _WITH_PYTHON) is None
    facts["python_headers"] = headers
    if not headers:
        told = f"{version}; without Python.h, which torch.compile's inductor includes"
        return Check("compiler", NOTE, told, "apt install python3-dev", facts=facts)
    return Check("compiler", OK, f"{version}; compiles, and finds Python.h", facts=facts)


def _refused(command: list[str], source: str) -> str | None:
    """What it says when it is to make a shared library of the source; None where it does."""
    with tempfile.TemporaryDirectory(prefix="exportlint-doctor-") as folder:
        file = Path(folder, "one.cpp")
        file.write_text(source, "utf-8")
        line = [*command, "-std=c++17", "-shared", "-fPIC", str(file), "-o", str(file.with_suffix(".so"))]
        try:
            done = subprocess.run(line, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
    said = [one for one in done.stderr.splitlines() if "error" in one] or done.stderr.splitlines()
    return None if done.returncode == 0 else (said or [f"exit code {done.returncode}"])[0].strip()


def _first_line(command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return next(iter(done.stdout.splitlines()), "").strip()


def machine() -> Check:
    """Memory as the system tells it; a container may have less."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total, free = page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return Check("machine", OK, f"cores: {cores()}", facts={"cores": cores()})
    free = max(free, _available())
    facts = {"cores": cores(), "memory_bytes": total, "free_bytes": free}
    told = f"cores: {cores()}; memory: {total / 1e9:.1f} GB, {free / 1e9:.1f} GB of it free"
    if free < _LITTLE:
        little = f"{told}; a trial of a large model may be ended by the system"
        return Check("machine", NOTE, little, "give each stage less: --memory 2 --jobs 1", facts=facts)
    return Check("machine", OK, told, facts=facts)


_LITTLE = 3e9


def _available() -> int:
    """With what Linux would give back of its caches."""
    try:
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)


def cache() -> Check:
    """Nothing is made there to find out, but a file that is gone at once."""
    folder = cache_folder()
    remedy = "EXPORTLINT_CACHE_DIR=/another/folder, or --no-cache"
    try:
        limit = cache_bytes()
    except UserError as error:
        return Check("cache", BROKEN, str(error), "unset EXPORTLINT_CACHE_MB", needed=True)
    size = sum(_size(Path(home, name)) for home, _, names in os.walk(folder) for name in names)
    there = next(one for one in (folder, *folder.parents) if os.path.lexists(one))
    facts = {"folder": str(folder), "bytes": size, "limit_bytes": limit}
    try:
        with tempfile.TemporaryFile(dir=folder if folder.exists() else None):
            pass
        writable = there.is_dir() and os.access(there, os.W_OK | os.X_OK)
    except OSError:
        writable = False
    if not writable:
        return Check("cache", NOTE, f"{folder} cannot be written, so nothing is remembered", remedy, facts=facts)
    return Check("cache", OK, f"{folder}, {size / 1e6:.1f} MB (judgements: at most {limit / 1e6:.0f})", facts=facts)


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def git() -> Check:
    """`exportlint verify` compares revisions by it."""
    if shutil.which("git") is None:
        told = "not found: `exportlint verify` reads patches and commits by it"
        return Check("git", ABSENT, told, "apt install git")
    version = _first_line(["git", "--version"])
    if not version:
        return Check("git", BROKEN, "`git --version` says nothing: `exportlint verify` reads patches and commits by it")
    return Check("git", OK, version.removeprefix("git version "), facts={"version": version})
