"""Run a script for the targets that it gives: a ladder of one step; the ladders of its targets come next."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED, PASSED, RUNNING
from exportlint.trial.protocol.result import Event, StageResult, TargetReport
from exportlint.trial.protocol.stages import SCRIPT
from exportlint.trial.protocol.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exportlint.trial.parent.connection import Reply
    from exportlint.trial.parent.server import Server
    from exportlint.trial.protocol.options import TrialOptions


_CALLS = "torch.export.export, torch.onnx.export, torch.jit.trace, torch.compile (and the compiled model)"
_MOST = 150  # characters of what the script raised


def run_script(
    server: Server, target: Target, options: TrialOptions, on_event: Callable[[Event], None] = lambda _event: None
) -> tuple[TargetReport, list[Target]]:
    """The script's own outcome, and what it handed to torch. Its targets' processes wait in the server."""
    on_event(Event(target.name, SCRIPT.name, RUNNING))
    reply = server.script(target, options.limits, options.edited)
    found = _found(reply)
    ended = next((message["ended"] for message in reply.messages if "ended" in message), None)
    status, text, seen = _how_it_ended(reply, ended)
    data = {"output": reply.output, "exit_code": ended["code"] if ended else None}
    detail = " ".join(f"{text}{_what_it_gave(reply, found)}".split())
    stage = StageResult(SCRIPT.name, status, reply.seconds, detail, seen, data=data)
    on_event(Event(target.name, stage.name, stage.status, stage.seconds, detail))
    broken = None if found else f"{text}, and {_why_nothing(reply.messages)}"
    return TargetReport(target.name, target.path, 1, (stage,), {}, broken=broken, target=target), found


def _found(reply: Reply) -> list[Target]:
    """Each with every call that was given it, in the order of the script."""
    # Each is said by its own process, and who was handed over later may be heard first.
    given = sorted(reply.targets, key=lambda message: int(message["target"]["number"]))
    targets = {message["target"]["name"]: Target.from_dict(message["target"]) for message in given}
    for message in reply.messages:
        if target := targets.get(message.get("again", "")):
            calls = dict.fromkeys((*target.calls, message["call"]))
            modes = dict.fromkeys((*target.asked_modes, *filter(None, [message["mode"]])))
            targets[target.name] = replace(target, given_to=", ".join(calls), asked_modes=tuple(modes))
    return list(_numbered(targets.values()))


def _numbered(targets: Iterable[Target]) -> Iterator[Target]:
    """A call of torch.jit.script that an edit takes away moves no number of what is exported."""
    counts = Counter[bool]()
    for target in targets:
        counts[target.is_prepared] += 1
        yield replace(target, number=counts[target.is_prepared])


def _what_it_gave(reply: Reply, found: list[Target]) -> str:
    gave = f"; gave {len(found)} {'target' if len(found) == 1 else 'targets'}" if found else ""
    left_out = sum(message.get("left_out", 0) for message in reply.messages)
    return gave + (f", {left_out} more left out" if left_out else "")


def _how_it_ended(reply: Reply, ended: dict[str, Any] | None) -> tuple[str, str, tuple[Observation, ...]]:
    """Status, a sentence, and what the script failed of; nothing where it was ended from outside, which says nothing
    of what it hands to torch."""
    if reply.overrun:
        return reply.overrun.status, f"the script was {reply.overrun.text}", ()
    if ended is None:
        text = reply.end_in_words("the script")
        return CRASHED, text, (Observation("exception", text, details={"ended": CRASHED}),)
    if "raised" in ended:
        seen = Observation.from_dict(ended["raised"])
        at = f" at {Path(seen.user_path).name}:{seen.user_line}" if seen.user_path else ""
        words = shorten(seen.first_line, _MOST, placeholder=" …")
        return CRASHED, f"the script raised {seen.error_class}{at}: {words}", (seen,)
    text = f"the script ended with exit code {ended['code']}"
    if not ended["code"]:
        return PASSED, text, ()
    return CRASHED, text, (Observation("exception", text, details={"ended": CRASHED}),)


def _why_nothing(messages: list[dict[str, Any]]) -> str:
    """Why there is no target, and what to do."""
    never = [item for message in messages for item in message.get("never_called", ())]
    if never:
        where = ", ".join(f"{item['call']} in line {item['line']}" for item in never)
        return f"what it prepared was never called ({where}): call it once on example inputs"
    return (
        f"never called {_CALLS}: let it hand its model to one of these, declare `model` and `example_args` in it, "
        "or give --model and --args"
    )
