"""Hold one thing that a trial found as fields, which can be compared and joined, and make a `Finding` of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding, Fix, Link, Severity, TrailStep, fingerprint
from exportlint.trial.findings.wording.finding_messages import effect_in_words
from exportlint.trial.protocol.purposes import COMPILE
from exportlint.trial.protocol.stages import LADDER, LOAD, LOWERINGS, NEVER_RAN, SCRIPT, lowering

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.findings.wording.torch_messages import Words
    from exportlint.trial.protocol.stages import Stage


TRAINING_MODE = "training-mode"
# These are no failure of export, so they are not what the static pass suspected at a line.
BESIDE_EXPORT = ("graph-break", "warning", TRAINING_MODE, "draft")


@dataclass(frozen=True, slots=True)
class TrialFinding:
    """One thing that a trial found at one place.

    family     what makes two of them one: `refused`, `graph-break`, or which check of a comparison failed
    rule       the rule that knows it as its own; None: it is called by its stage
    line_text  the source of the line
    placed     torch named the line, or a comparison did; else the place is the target's
    measured   what the mode did that found it; `effect` also what the other mode did
    calls      the calls that led torch to the line, the outermost first
    remedy     what the trial changed so that the same export passed
    code       what to write, ready to paste; with a remedy, what the trial wrote
    switch     the flag of the model's own configuration that the remedy sets off, as a path from the model;
               loose_trace: `torch.jit.trace` takes the rest with `strict=False`
    within     names the submodule that is refused by itself; a refusal at the same line takes it over
    literals   the values that two traces gave, in words; another observation at the line does not show them
    torch_says torch's own words, which tell the cases of a rule apart
    literal_of the operator that holds a number of the moment, or `output`; `output`: which one, of how many
    about_declaration  it is the `dynamic_shapes` that does not fit the sample, whatever the model does
    about_dims  torch refuses what is declared of a dim
    read_at    where the number was read that torch does not know; inside: the line of the library that is called there
    """

    family: str
    rule: str | None
    path: str
    line: int
    line_text: str
    severity: Severity
    words: Words
    target: str
    stage: Stage
    placed: bool = True
    measured: Mapping[str, str] = field(default_factory=dict)
    effect: Mapping[str, str] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    calls: tuple[TrailStep, ...] = ()
    within: str = ""
    read_at: str = ""
    inside: str = ""
    about_a_size: bool = False
    remedy: str = ""
    literals: str = ""
    literal_of: str = ""
    torch_says: str = ""
    output: tuple[int, int] = (0, 0)
    about_declaration: bool = False
    about_dims: bool = False
    code: str = ""
    switch: str = ""
    loose_trace: bool = False

    @property
    def of_export(self) -> bool:
        """Is it a failure of export, which the static pass can have suspected?"""
        return self.family not in BESIDE_EXPORT and self.stage.of_export

    @property
    def of_compile(self) -> bool:
        """Is it about what torch.compile does, which says nothing of an export?"""
        return self.stage.purpose == COMPILE

    @property
    def name(self) -> str:
        """The name of its rule, or of its stage."""
        return self.rule or self.stage.rule

    @property
    def message(self) -> str:
        """The whole message, without a final stop."""
        effect = f" ({self._effect})" if self.effect else ""
        before = f"{self.within}: " if self.family == "submodule" else ""
        return f"{before}{self.words.message}{self.read_at}{self.inside}{effect}{self._after}"

    @property
    def beside_its_rule(self) -> str:
        """The message beside that of its rule, which has said what a refusal is about."""
        if self.family != "refused" or not self.effect:
            return self.message
        return f"{self._effect}{self.inside}{self._after}"

    @property
    def _effect(self) -> str:
        return effect_in_words(self.effect) + (
            ", in a trace that went on after the first refusal" if self.stage.went_on else ""
        )

    @property
    def _after(self) -> str:
        return f"; {self.within}" if self.within and self.family != "submodule" else ""

    def advice(self, usual: str | None) -> Fix | None:
        """What was seen to help, then the `usual` advice."""
        if self.code:
            how = self.remedy or "write a fake kernel that gives what the operator gave in this trial"
            return Fix(f"{how}:\n\n{self.code}", tried="verified" if self.remedy else "not tried", kernel=self.code)
        if self.remedy:
            other = None if self.about_declaration else usual
            way = "then" if self.switch else "or"  # what else is advised is refused without it
            text = f"{self.remedy}; {way} {other}" if other else self.remedy
            return Fix(text, tried="verified", switch=self.switch, loose_trace=self.loose_trace)
        return Fix(usual) if usual else None

    def finding(self) -> Finding:
        """As reports carry it; the whole line is marked."""
        indent = len(self.line_text) - len(self.line_text.lstrip())
        return Finding(
            self.name,
            self.path,
            self.line,
            indent + 1,
            self.line,
            len(self.line_text) + 1,
            self.severity,
            self.message,
            Evidence.DISCOVERED,
            dict(self.effect),
            self.target,
            self.stage.name,
            self.links,
            self.advice(self.words.suggestion),
            fingerprint(self.name, self.path, self.line_text),
            calls=self.calls,
        )


def united(first: TrialFinding, other: TrialFinding) -> TrialFinding:
    """One finding of two stages: the earlier words, unless only the later ones are known to a rule, or the earlier ones
    are those of a report, which tells a guard where the later ones tell what it does."""
    gives_way = first.rule is None or (first.stage.reports_on and not other.stage.reports_on)
    named, plain = (other, first) if gives_way and other.rule is not None else (first, other)
    words = replace(named.words, suggestion=named.words.suggestion or plain.words.suggestion)
    return replace(
        named,
        code=first.code or other.code,
        words=words,
        severity=min(first.severity, other.severity, key=lambda severity: severity.rank),
        target=first.target,
        stage=first.stage,
        measured={**other.measured, **first.measured},
        effect={**other.effect, **first.effect},
        links=tuple(dict.fromkeys((*named.links, *plain.links))),
    )


# Name the findings that no rule declares as its own: after the stage that found them, or for what they tell.


@cache
def trial_rule_names() -> tuple[str, ...]:
    """Each name that a trial can give, lowerings of installed packages included."""
    stages = [SCRIPT, *(stage for stage in LADDER if stage != LOAD)]
    lowerings = [lowering(point.name) for point in sorted(entry_points(group=LOWERINGS), key=lambda p: p.name)]
    return (*(stage.rule for stage in (*stages, *lowerings)), NEVER_RAN)
