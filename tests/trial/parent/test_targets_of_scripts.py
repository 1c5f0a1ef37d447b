"""What a script handed to torch, as its process and those of its targets say it."""

from __future__ import annotations

from dataclasses import replace

from exportlint.trial.parent.connection import Reply
from exportlint.trial.parent.scripts import _found
from exportlint.trial.protocol.target import Target, TargetKind

SCRIPT = Target("run.py", TargetKind.SEEN, "run.py")


def test_targets_stand_in_the_order_of_the_script_whichever_is_heard_first() -> None:
    given = [replace(SCRIPT, name=f"run.py:{10 + number}", number=number) for number in range(1, 13)]
    said = [{"target": one.to_dict(), "pid": 1, "folder": "of it"} for one in given]
    again = {"again": "run.py:11", "call": "torch.onnx.export", "mode": None}
    found = _found(Reply([again, *said[::-1]]))
    assert [one.name for one in found] == [one.name for one in given]
    assert [one.calls for one in found][:2] == [("torch.onnx.export",), ()]
