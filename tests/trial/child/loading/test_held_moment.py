"""The model's own code is told one moment, whenever it asks; all others are told the real one."""

from __future__ import annotations

import importlib.util
import time
from typing import TYPE_CHECKING, Any

import pytest

from exportlint.trial.child.loading.held_moment import HeldMoment, held_moment
from exportlint.trial.child.loading.seeding import seed

if TYPE_CHECKING:
    from pathlib import Path

MODEL = """\
import datetime
import os
import random
import time
import uuid
from datetime import datetime as moment
from time import perf_counter

import numpy as np


def asked():
    return (
        time.time(), time.time_ns(), perf_counter(), time.localtime(), time.strftime("%S"), datetime.datetime.now(),
        moment.utcnow(), os.getpid(), os.urandom(4), uuid.uuid4(), random.random(), np.random.rand(),
        np.random.default_rng().random(),
    )


def waited():
    end = time.monotonic() + 0.05
    while time.monotonic() < end:
        pass
    return isinstance(moment(2020, 1, 1), datetime.datetime)
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "asking.py").write_text(MODEL, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    spec = importlib.util.find_spec("asking")
    assert spec
    assert spec.loader
    found = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(__import__("sys").modules, "asking", found)
    spec.loader.exec_module(found)
    return found


def test_each_call_of_the_model_is_told_the_same(model: Any) -> None:
    with HeldMoment().held():
        seed(1)
        first = model.asked()
        time.sleep(0.01)
        seed(2)
        assert model.asked() == first
        assert model.waited()
    assert held_moment() is None
    seed(1)
    assert all(one != other for one, other in zip(first[:3], model.asked()[:3], strict=True))


def test_whoever_is_not_the_model_goes_by_the_real_clock() -> None:
    before = time.time_ns()
    with HeldMoment().held():
        asked = eval("time.time_ns()", {"time": time})  # noqa: S307 - code of no file
        assert asked >= before
        time.sleep(0.01)
        assert eval("time.time_ns()", {"time": time}) - asked >= 10_000_000  # noqa: S307
