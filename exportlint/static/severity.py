"""Decide how severe a suspicion is, and word what happens, from the measured truth.

What torch does with each case of each rule was measured, for every version in both modes; nothing is decided here that
was not seen. `MeasuredCases` speaks of export, `CompiledCases` of torch.compile. `LoweredCases` speaks of targets of
deployment, and of constructs that torch exports: of those targets only that somebody ships to.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from exportlint.finding import Severity
from exportlint.registry import version_key
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, PASSED, REFUSED, TIMED_OUT, Compiled, Outcome
from exportlint.trial.protocol.shown_by import shown_by

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from exportlint.registry import RuleInfo
    from exportlint.rule.suspicion import Suspicion
    from exportlint.static.merging import CaseJudge


_DOES = {
    Outcome.EXPORTS: "exports it correctly",
    Outcome.DIFFERS: "exports it and the program computes something else, silently",
    Outcome.REFUSED: "refuses to export it",
    Outcome.CRASHED: "crashes on it",
    Outcome.TIMED_OUT: "does not finish on it",
}
# What differs, where it is not what the program computes.
_DOES_BESIDE = {
    "raises-in-eager-only": "exports it, and the program gives a result where eager raises",
    "raises": "exports it, and the program raises",
    "eager-after-export": "exports it and breaks the model itself, silently",
    "fake-tensor-left": "exports it and breaks the model itself, silently",
    **dict.fromkeys(("stdout", "log", "files", "observe"), "exports it and leaves it out of the program, silently"),
}


class MeasuredCases:
    """What one torch version does with the cases of a rule; a case that was not measured there is judged by the
    nearest older version that it was measured in. See `judge_between` for versions that were not measured at all."""

    def __init__(self, rule: RuleInfo, torch: str | None, modes: Sequence[str]) -> None:
        self._torch, self._modes = torch, tuple(modes)
        self._rule = rule
        truth = rule.truth()
        versions = [v for v in truth if torch is None or version_key(v)[:2] <= version_key(torch)[:2]]
        self._fitting = [(version, truth[version]) for version in reversed(versions)]

    def _measured(self, case: str) -> tuple[str, Mapping[str, Any]]:
        """The version, and mode -> record; empty where nothing was measured."""
        return next(((version, cases[case]) for version, cases in self._fitting if case in cases), ("", {}))

    def effect(self, case: str) -> dict[str, str]:
        """Mode -> outcome; empty where nothing was measured."""
        return {mode: record["outcome"] for mode, record in self._measured(case)[1].items()}

    def lowerings(self, case: str) -> dict[str, str]:  # noqa: ARG002 - what is refused by torch reaches no target
        """None: these rules are about export."""
        return {}

    def suggestion(self, suspicion: Suspicion) -> str:
        """The rule's own: the fixture's Good classes show all of them."""
        return suspicion.exported.suggestion

    def graph_breaks(self, case: str) -> tuple[str, ...] | None:
        """The ids of torch's registry under which a mode refused it; None where nothing was measured."""
        records = self._measured(case)[1]
        found = {str(record["graph_break"]) for record in records.values() if record.get("graph_break")}
        return tuple(sorted(found)) if records else None

    def shown_by(self, case: str) -> dict[str, tuple[str, ...]]:
        """Mode -> what a trial has to run to show the harm of the case: what showed it when the case was measured, and
        what the rule names besides. Empty where nothing was measured, or no harm in any mode."""
        found = {mode: shown_by(record) for mode, record in self._measured(case)[1].items()}
        if not any(found.values()):
            return {}
        return {mode: (*kinds, *self._rule.cls.shown_by) for mode, kinds in found.items()}

    def severity(self, case: str) -> Severity | None:
        """The severity of a case; None: torch does it right, there is nothing to report."""
        effect = self.effect(case)
        if not effect:
            return Severity.WARNING
        exports = Outcome.EXPORTS.value
        if any(effect.get(mode, exports) != exports for mode in self._modes):
            return Severity.ERROR
        if any(self._later(case, mode) for mode in self._modes):
            return Severity.WARNING
        if any(outcome != exports for outcome in effect.values()) or self._deprecated(case) or is_advice(case):
            return Severity.NOTE
        return None

    def message(self, suspicion: Suspicion) -> str:
        """The rule's of an export."""
        return suspicion.exported.message

    def sentence(self, case: str) -> str:
        """What torch does with it, in this version and mode."""
        effect = self.effect(case)
        if not effect:
            return f"what torch{release(self._torch)} does with it is not measured"
        chosen = [m for m in self._modes if m in effect] or list(effect)
        records = self._measured(case)[1]
        effects = {mode: torch_does(records[mode]) for mode in (*chosen, *(m for m in effect if m not in chosen))}
        torch = f"torch{release(self._measured(case)[0])}"
        if len(set(effects.values())) == 1:
            text = f"{torch} {next(iter(effects.values()))} in either mode"
        else:
            text = f"{torch} " + "; ".join(f"in {mode} mode {does}" for mode, does in effects.items())
        later = next((x for mode in chosen if (x := self._later(case, mode))), None)
        if not later and (warning := self._deprecated(case)):
            return f'{torch} still has it, and warns "{warning}"'
        return f"{text}, and {later}" if later else text

    def _deprecated(self, case: str) -> str | None:
        """What torch warned of, for a case that exports."""
        warned = (record.get("deprecated") for record in self._measured(case)[1].values())
        return next((words for words in warned if words), None)

    def _later(self, case: str, mode: str) -> str | None:
        """The step after export that fails, for a case that exports."""
        return later_step(self._measured(case)[1].get(mode, {}))


def is_advice(case: str) -> bool:
    """Is it a case that torch exports, and whose suggestion names what export has in its place?"""
    return case.startswith("Good")


def later_step(record: Mapping[str, Any]) -> str | None:
    """The first step after an export that fails, in words, for a case that exports in the mode of the record."""
    names = {
        "decompose": "run_decompositions(), so every lowering, refuses it",
        "save": "torch.export.save refuses it",
    }
    failed = [names[step] for step in record.get("then", {}) if step in names]
    return failed[0] if failed and record.get("outcome") == Outcome.EXPORTS.value else None


def torch_does(record: Mapping[str, Any]) -> str:
    """What torch did in the mode of the record, as the rest of a sentence."""
    does = _DOES_BESIDE.get(record.get("check", "")) if record["outcome"] == Outcome.DIFFERS.value else None
    return does or _DOES[Outcome(record["outcome"])]


def release(version: str | None) -> str:
    """ " 2.13" for 2.13.0, as it follows "torch"; nothing for None."""
    return " " + ".".join(version.split(".")[:2]) if version else ""


# Targets of deployment.


_TARGETS_DO = {
    DIFFERS: ("computes something else, silently", "compute something else, silently"),
    REFUSED: ("refuses it", "refuse it"),
    CRASHED: ("crashes on it", "crash on it"),
    TIMED_OUT: ("does not finish on it", "do not finish on it"),
}


class LoweredCases:
    """What targets of deployment do with the cases of a rule, which torch exports.

    `shipped_to` are those that somebody ships to, `settings` what is set for each; of others nothing is said. A torch
    version that was not measured is judged by the nearest older one.
    """

    def __init__(
        self,
        rule: RuleInfo,
        torch: str | None,
        shipped_to: Collection[str],
        settings: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> None:
        cured = {name for name, setting in rule.cls.cured_by.items() if settings.get(name, {}).get(setting)}
        self._rule, self._shipped_to = rule, set(shipped_to) - cured
        lowered = rule.lowered()
        versions = [v for v in lowered if torch is None or version_key(v)[:2] <= version_key(torch)[:2]]
        self._fitting = [lowered[version] for version in reversed(versions)]

    def _measured(self, case: str) -> Mapping[str, Mapping[str, Any]]:
        return next((cases[case] for cases in self._fitting if case in cases), {})

    def lowerings(self, case: str) -> dict[str, str]:
        """Target -> the status of its stage, of those that fail."""
        statuses = {name: record["status"] for name, record in self._measured(case).items()}
        return {name: said for name, said in statuses.items() if said != PASSED and name in self._shipped_to}

    def severity(self, case: str) -> Severity | None:
        """None: every target that was measured, and that somebody ships to, runs it."""
        return Severity.ERROR if self.lowerings(case) else None

    def message(self, suspicion: Suspicion) -> str:
        """The rule's of an export."""
        return suspicion.exported.message

    def sentence(self, case: str) -> str:
        """What the targets do with it, in this torch version."""
        statuses = self.lowerings(case)
        groups = {said: [name for name in statuses if statuses[name] == said] for said in statuses.values()}
        return "torch exports it, and " + "; ".join(
            f"{_listed(names)} {_TARGETS_DO[said][len(names) > 1]}" for said, names in groups.items()
        )

    def suggestion(self, suspicion: Suspicion) -> str:
        """For the targets that were seen to run the Good class that shows it; "" where there are none."""
        text = suspicion.exported.suggestion
        tried = self._measured(shown_in(self._rule, suspicion.case))
        failing = list(self.lowerings(suspicion.case))
        helped = [name for name in failing if tried.get(name, {}).get("status") == PASSED]
        if not helped or helped == failing:
            return text if helped else ""
        return f"for {_listed(helped)}: {text}"

    def effect(self, case: str) -> dict[str, str]:  # noqa: ARG002 - the same of every case
        """Torch exports it in either mode, which is nothing to tell."""
        return {}

    def graph_breaks(self, case: str) -> tuple[str, ...]:  # noqa: ARG002 - as above
        """None: torch exports it."""
        return ()

    def shown_by(self, case: str) -> dict[str, tuple[str, ...]]:  # noqa: ARG002 - as above
        """No mode shows it: the stages of the targets do."""
        return {}


def shown_in(rule: RuleInfo, case: str) -> str:
    """The Good class of the fixture that shows what the rule suggests for the case."""
    return rule.cls.cases[case].instead.shown_in or f"Good{case.removeprefix('Bad')}"


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


# torch.compile.


_COMPILE_DOES = {
    Compiled.RAISES.value: "raises on it",
    Compiled.DIFFERS.value: "compiles it and gives something else, silently",
    Compiled.BREAKS.value: "breaks the graph at it",
    Compiled.RECOMPILES.value: "compiles it again and again",
    Compiled.ONE_GRAPH.value: "makes one graph of it",
}
# What differs, where it is not what the model gives.
_COMPILE_DIFFERS = {
    "raises-in-eager-only": "compiles it, where eager raises",
    "stdout": "compiles it and prints something else",
    "log": "compiles it and logs something else",
    "files": "compiles it and leaves out what it does outside",
    "frozen": "compiles it and gives the same at every call, where eager does not",
}
_LEAVES_FUNCTION = "leaves the function around it to Python"
_COMPILE = "compile"  # where a finding's effect has modes of export


class CompiledCases:
    """What torch.compile does with the cases of a rule. A torch version that was not measured is judged by the nearest
    older one; of a case that was measured in none, nothing is said, nor of one whose model breaks the graph only where
    it reads a number, before it comes to what the rule is about, nor where torch.compile is `in_python` already."""

    def __init__(self, rule: RuleInfo, torch: str | None, *, in_python: bool = False) -> None:
        compiled = rule.compiled()
        versions = [v for v in compiled if torch is None or version_key(v)[:2] <= version_key(torch)[:2]]
        self._rule = rule
        self._fitting = [(version, compiled[version]) for version in reversed(versions) if not in_python]

    def _measured(self, case: str) -> tuple[str, Mapping[str, Any]]:
        found = ((version, cases[case]) for version, cases in self._fitting if case in cases)
        nothing: tuple[str, Mapping[str, Any]] = ("", {})
        version, record = next(found, nothing)
        return (version, record) if is_of_rule(self._rule, record) else nothing

    def severity(self, case: str) -> Severity | None:
        """What nobody is told is an error, what costs time a warning."""
        match self._measured(case)[1].get("outcome"):
            case Compiled.RAISES.value | Compiled.DIFFERS.value:
                return Severity.ERROR
            case Compiled.BREAKS.value | Compiled.RECOMPILES.value:
                return Severity.WARNING
        return None

    def message(self, suspicion: Suspicion) -> str:
        """The rule's of torch.compile."""
        return suspicion.compiled.message

    def sentence(self, case: str) -> str:
        """What torch.compile does with it, in this version."""
        version, record = self._measured(case)
        return f"torch.compile in torch{release(version)} {torch_compile_does(record)}"

    def suggestion(self, suspicion: Suspicion) -> str:
        """The rule's, where the Good class that shows it is one graph; where none is named, where all of them are."""
        records = {name: record for _, cases in reversed(self._fitting) for name, record in cases.items()}
        named = shown_in(self._rule, suspicion.case)
        showing = [named] if named in records else [name for name in records if is_advice(name)]
        outcomes = {records[name].get("outcome") for name in showing}
        return suspicion.compiled.suggestion if outcomes == {Compiled.ONE_GRAPH.value} else ""

    def effect(self, case: str) -> dict[str, str]:
        """The outcome, under "compile"."""
        outcome = self._measured(case)[1].get("outcome")
        return {_COMPILE: outcome} if outcome else {}

    def lowerings(self, case: str) -> dict[str, str]:  # noqa: ARG002 - what is compiled is not lowered
        """None."""
        return {}

    def graph_breaks(self, case: str) -> tuple[str, ...]:
        """The ids under which the graph breaks there."""
        return breaks_of(self._measured(case)[1])

    def shown_by(self, case: str) -> dict[str, tuple[str, ...]]:  # noqa: ARG002 - the stages of compile show it
        """Nothing that a trial of an export runs."""
        return {}


def is_of_rule(rule: RuleInfo, record: Mapping[str, Any]) -> bool:
    """Is what torch.compile did about the rule? Not where the graph breaks before it comes to that, nor where it is
    compiled again only in another environment: a process has one."""
    if record.get("breaks_before"):
        return False
    changed = {kind for _, kind in record.get("recompiles", ())}
    only_again = record.get("outcome") == Compiled.RECOMPILES.value and changed == {"other-inputs"}
    return not (only_again and "other-environment" in rule.cls.shown_by)


def torch_compile_does(record: Mapping[str, Any]) -> str:
    """What torch.compile did, as the rest of a sentence."""
    from exportlint.trial.protocol.torch_messages import SKIPPED_FRAME  # noqa: PLC0415 (with all of torch's wordings)

    does = _COMPILE_DIFFERS.get(record.get("check", "")) or _COMPILE_DOES[record["outcome"]]
    kinds = {kind for _, _, kind in record.get("graph_breaks", ())}
    if record["outcome"] == Compiled.BREAKS.value and kinds == {SKIPPED_FRAME}:
        does = _LEAVES_FUNCTION
    ids = breaks_of(record)
    return f"{does} ({', '.join(ids)})" if ids else does


def breaks_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The ids under which the graph breaks, each once."""
    return tuple(sorted({str(gb_id) for _, gb_id, _ in record.get("graph_breaks", ()) if gb_id}))


# A torch version between two that were measured.


def judge_between(make: Callable[[str | None], CaseJudge], torch: str | None, measured: Collection[str]) -> CaseJudge:
    """The judge that `make` makes for a version, or of two versions where `torch` lies between measured ones."""
    if torch is None or any(version_key(one)[:2] == version_key(torch)[:2] for one in measured):
        return make(torch)
    newer = sorted((one for one in measured if version_key(one) > version_key(torch)), key=version_key)
    has_older = len(newer) < len(measured)
    return _BetweenVersions(make(torch), make(newer[0]), torch) if newer and has_older else make(torch)


class _BetweenVersions:
    """What a version does that lies between two measured ones: what both do. Somewhere between them torch changed what
    only one of them does, so that is a doubt, and no error."""

    def __init__(self, older: CaseJudge, newer: CaseJudge, torch: str) -> None:
        self._older, self._newer, self._torch = older, newer, torch

    def _changed(self, case: str) -> bool:
        """Do the two, both of which were measured, not do the same?"""
        old, new = self._older.effect(case), self._newer.effect(case)
        return bool(old and new) and (old != new or self._older.severity(case) is not self._newer.severity(case))

    def severity(self, case: str) -> Severity | None:
        """A warning where one of them makes it an error."""
        if not self._changed(case):
            return self._older.severity(case)
        found = [one for one in (self._older.severity(case), self._newer.severity(case)) if one]
        graver = min(found, key=lambda one: one.rank, default=None)
        return Severity.WARNING if graver is Severity.ERROR else graver

    def message(self, suspicion: Suspicion) -> str:
        """The rule's."""
        return self._older.message(suspicion)

    def sentence(self, case: str) -> str:
        """What each of them does, where that is not the same."""
        said = self._older.sentence(case)
        if not self._changed(case):
            return said
        return f"{said}; {self._newer.sentence(case)};{release(self._torch)} was not measured"

    def suggestion(self, suspicion: Suspicion) -> str:
        """The older one's: where both do the same it is the newer one's, too."""
        return self._older.suggestion(suspicion)

    def effect(self, case: str) -> dict[str, str]:
        """Mode -> outcome, of the modes in which it is known."""
        old = self._older.effect(case)
        new = self._newer.effect(case) if self._changed(case) else old
        return {mode: outcome for mode, outcome in old.items() if new.get(mode) == outcome}

    def lowerings(self, case: str) -> dict[str, str]:
        return self._older.lowerings(case)

    def graph_breaks(self, case: str) -> tuple[str, ...] | None:
        return self._older.graph_breaks(case)

    def shown_by(self, case: str) -> dict[str, tuple[str, ...]]:
        return self._older.shown_by(case)


class ExportedAndCompiled:
    """What torch does with the cases of a rule where a model is judged for both."""

    def __init__(self, exported: CaseJudge, compiled: CaseJudge) -> None:
        self._exported, self._compiled = exported, compiled

    def severity(self, case: str) -> Severity | None:
        """The graver one."""
        found = [one for one in (self._exported.severity(case), self._compiled.severity(case)) if one]
        return min(found, key=lambda severity: severity.rank, default=None)

    def message(self, suspicion: Suspicion) -> str:
        """That of an export, unless only torch.compile has something against it."""
        judge = self._exported if self._exported.severity(suspicion.case) else self._compiled
        return judge.message(suspicion)

    def sentence(self, case: str) -> str:
        """What is wrong for either; what is right is left out."""
        judges = [one for one in (self._exported, self._compiled) if one.severity(case)]
        return "; ".join(one.sentence(case) for one in judges)

    def suggestion(self, suspicion: Suspicion) -> str:
        """The rule's own, which was tried for export."""
        judge = self._exported if self._exported.severity(suspicion.case) else self._compiled
        return judge.suggestion(suspicion)

    def effect(self, case: str) -> dict[str, str]:
        return {**self._exported.effect(case), **self._compiled.effect(case)}

    def lowerings(self, case: str) -> dict[str, str]:
        return self._exported.lowerings(case)

    def graph_breaks(self, case: str) -> tuple[str, ...] | None:
        exported = self._exported.graph_breaks(case)
        return None if exported is None else tuple(sorted({*exported, *(self._compiled.graph_breaks(case) or ())}))

    def shown_by(self, case: str) -> dict[str, tuple[str, ...]]:
        return self._exported.shown_by(case)
