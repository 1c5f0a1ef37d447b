"""torch, the plug-ins and the lowerings: found, loaded, fit together."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, entry_points, requires, version
from typing import TYPE_CHECKING, Any

from exportlint.doctor.asking import ask
from exportlint.output.checkup import ABSENT, BROKEN, LOWER, MISSING, NOTE, OK, Check

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from importlib.metadata import EntryPoint

EXTRA = "pip install 'exportlint[torch]'"
WITHOUT_TORCH = "not looked at: it needs a torch that can be imported"
RULES, LOWERINGS, ZOOS = "exportlint.rules", "exportlint.lowerings", "exportlint.zoo"
_OURS = "exportlint"
# What a trial needs beside torch: the extra `torch` brings them.
_BESIDE = ("numpy", "psutil", "cloudpickle")


def torch() -> Check:
    """Asked for its build in its own process; whether its truth was measured is another check."""
    asked = ask(modules=("torch",), torch=True)
    if asked.absent == "torch":
        return Check("torch", MISSING, "not installed: trials cannot run", EXTRA, needed=True)
    if asked.wrong:
        there = _version("torch")
        again = f"pip install --force-reinstall torch{f'=={there}' if there else ''}"
        return Check("torch", BROKEN, _of(there, asked.wrong), again, needed=True)
    found = asked.found
    seconds = found["seconds"]["torch"]
    build = f"CUDA {found['cuda']}" if found["cuda"] else f"ROCm {found['hip']}" if found["hip"] else "CPU"
    device = f", {found['device']}" if found["device"] else ", no GPU that it can use" if build != "CPU" else ""
    told = f"{found['version']}, built for {build}{device}; its import takes {seconds:.1f} s"
    facts = {key: found[key] for key in ("version", "cuda", "hip", "device")}
    facts["import_seconds"] = seconds
    return Check("torch", OK, told, needed=True, facts=facts)


def beside_torch() -> Check:
    """The small packages that a trial needs."""
    name, versions = "trial packages", {one: _version(one) for one in _BESIDE}
    if absent := [one for one, found in versions.items() if found is None]:
        return Check(name, MISSING, f"{' and '.join(absent)} not installed", EXTRA, needed=True, facts=versions)
    asked = ask(modules=_BESIDE)
    if asked.wrong:
        return Check(name, BROKEN, asked.wrong, f"{EXTRA} --force-reinstall", needed=True, facts=versions)
    return Check(name, OK, _listed(versions), needed=True, facts=versions)


def plugins(group: str) -> list[Check]:
    """One check for each entry point of the group that is somebody else's or does not load; none is told where all is
    well with ours."""
    found = []
    for point in _points(group):
        asked = ask(point=point.value, seconds=30)
        home = _home(point)
        name = f"plug-in {point.name}"
        facts = {"group": group, "value": point.value, "distribution": home}
        if asked.absent and group == ZOOS and asked.absent == point.name:
            # A zoo is called as the library whose models it makes.
            told = f"{point.name} is not installed: `exportlint trial {point.name}:MODEL` cannot run"
            found.append(Check(f"zoo {point.name}", ABSENT, told, f"pip install {point.name}", facts=facts))
        elif asked.absent == "torch" and group == ZOOS:
            found.append(Check(f"zoo {point.name}", ABSENT, WITHOUT_TORCH, facts=facts))
        elif asked.wrong:
            told = f"{group} entry point of {home}: {asked.wrong}"
            # Every command reads the rules, so one package that fails takes all of them along.
            again = f"pip install --force-reinstall {home}" if home == _OURS else f"pip uninstall {home}"
            found.append(Check(name, BROKEN, told, again, needed=group == RULES, facts=facts))
        elif home != _OURS:
            found.append(Check(name, OK, f"{group} entry point of {home} {_version(home)}", facts=facts))
    return found


def lowering(point: EntryPoint, *, asked_for: bool, without_torch: bool, compiler: Check) -> Check:
    """Are its packages there, do they load, and fit what is installed beside them? Then what it says itself."""
    name, home = f"{LOWER}{point.name}", _home(point)
    if without_torch:
        state = MISSING if asked_for else ABSENT
        return Check(name, state, WITHOUT_TORCH, needed=asked_for, facts={"distribution": home})
    asked = ask(point=point.value)
    said = asked.found
    versions = {one: _version(one) for one in said.get("packages", ()) if one != "torch"}
    facts: dict[str, Any] = {"versions": versions, "distribution": home}
    install = said.get("install", "")
    skipped = f"`--lower {point.name}` is skipped"
    if not said:
        told = f"entry point {point.value} of {home}: {asked.wrong}"
        return Check(name, BROKEN, told, f"pip uninstall {home}", needed=asked_for, facts=facts)
    state = MISSING if asked_for else ABSENT
    if asked.absent and _is_part(asked.absent, said):
        told = f"{asked.absent} is not installed: {skipped}"
        return Check(name, state, told, _command(install), needed=asked_for, facts=facts)
    if asked.wrong:
        # One that is built for another torch fails so: the versions help who reads it.
        told = _of(_listed(versions), f"{asked.wrong}: {skipped}")
        return Check(name, BROKEN, told, _again(install), needed=asked_for, facts=facts)
    if missing := said["missing"]:
        # It ends with the command that helps.
        told, _, remedy = missing.partition(": ")
        return Check(name, state, f"{told}: {skipped}", _command(remedy), needed=asked_for, facts=facts)
    if said["compiler"] and compiler.state == BROKEN:
        told = f"the C++ compiler that it needs does not work: {skipped}, or fails"
        return Check(name, BROKEN, told, compiler.remedy, needed=asked_for, facts=facts)
    if misfits := _misfits(versions):
        told = f"{_listed(versions)}; {'; '.join(misfits)}"
        return Check(name, NOTE, told, _again(install), needed=asked_for, facts=facts)
    alone = "compiles by torch and a C++ compiler" if not versions else _listed(versions)
    runs = "" if said["runs"] else "; compiles here, and runs elsewhere"
    return Check(name, OK, f"{alone}{runs}", needed=asked_for, facts=facts)


def lowering_points() -> list[EntryPoint]:
    """In alphabetical order."""
    return _points(LOWERINGS)


def _points(group: str) -> list[EntryPoint]:
    return sorted(entry_points(group=group), key=lambda point: (point.name, point.value))


def _home(point: EntryPoint) -> str:
    return point.dist.name if point.dist else "an unknown package"


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _is_part(module: str, said: Mapping[str, Any]) -> bool:
    """Is what cannot be found one of the lowering's own packages, not something that these need?"""
    tops = {one.partition(".")[0] for key in ("modules", "probes", "runtime") for one in said.get(key, ())}
    return module.partition(".")[0] in tops and module.partition(".")[2] == ""


def _misfits(names: Iterable[str]) -> list[str]:
    """What installed packages ask of others, and do not get."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (only doctor reads versions)

    found = []
    for name in names:
        for text in requires(name) or ():
            try:
                wants = Requirement(text)
            except InvalidRequirement:  # of an old package
                continue
            if wants.marker and not wants.marker.evaluate({"extra": ""}):
                continue
            there = _version(wants.name)
            if there is not None and not wants.specifier.contains(there, prereleases=True):
                found.append(f"{name} needs {wants.name}{wants.specifier}, and {there} is installed")
    return found


def _listed(versions: Mapping[str, str | None]) -> str:
    return ", ".join(f"{name} {found}" for name, found in versions.items() if found)


def _of(what: str | None, wrong: str) -> str:
    return f"{what}: {wrong}" if what else wrong


def _command(install: str) -> str:
    """Without what a lowering adds in brackets, which a shell would not take."""
    return re.sub(r" \([^)]*\)$", "", install)


def _again(install: str) -> str:
    return f"{_command(install)} --upgrade --force-reinstall" if install.startswith("pip ") else install
