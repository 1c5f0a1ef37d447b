"""What the server loads is left to its forks so that they need not copy it, and it is the same for them."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.fork_server import _kept_for_forks
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.server.process_control import use_large_pages
from exportlint.trial.child.stages.remedies import lay_over
from exportlint.trial.child.torch_private.dynamo import leave_guards_untimed

if TYPE_CHECKING:
    from pathlib import Path


def test_no_collection_looks_at_what_was_loaded_and_later_ones_happen(tmp_path: Path) -> None:
    def load() -> tuple[int, bool]:
        before = gc.get_freeze_count()
        with _kept_for_forks():
            loaded = [[] for _ in range(5000)]
        return gc.get_freeze_count() - before - len(loaded), gc.isenabled()

    more, collects = in_fork(load, tmp_path).value
    assert more >= 0
    assert collects


def test_a_function_that_was_loaded_so_is_found_where_statements_are_laid_over_it(tmp_path: Path) -> None:
    file = tmp_path / "early.py"
    file.write_text("def grown(x):\n    y = x * 2\n    return y\n", "utf-8")

    def load() -> tuple[bool, int]:
        namespace: dict[str, Any] = {}
        with _kept_for_forks():
            exec(compile(file.read_text("utf-8"), str(file), "exec"), namespace)  # noqa: S102 - the lines above
        return lay_over(str(file), {2: ["y = y + 1"]}), namespace["grown"](1)

    assert in_fork(load, tmp_path).value == (True, 3)


def test_statements_are_laid_over_a_file_where_a_weak_proxy_outlived_its_object(tmp_path: Path) -> None:
    file = tmp_path / "late.py"
    file.write_text("def grown(x):\n    y = x * 2\n    return y\n", "utf-8")

    def load() -> tuple[bool, int]:
        proxy = weakref.proxy(torch.nn.Linear(1, 1))
        namespace: dict[str, Any] = {}
        exec(compile(file.read_text("utf-8"), str(file), "exec"), namespace)  # noqa: S102 - the lines above
        held = [proxy]
        return lay_over(str(file), {2: ["y = y + 1"]}), namespace["grown"](len(held))

    assert in_fork(load, tmp_path).value == (True, 3)


def test_what_lies_in_large_pages_is_unchanged_and_a_fork_writes_to_its_own(tmp_path: Path) -> None:
    def load() -> tuple[bool, bool]:
        memory = bytearray(range(256)) * (32 << 10)
        before = bytes(memory)
        use_large_pages()

        def overwrite() -> None:
            memory[:] = bytes(len(memory))

        done = in_fork(overwrite, tmp_path)
        return done.ok, memory == before

    assert in_fork(load, tmp_path).value == (True, True)


def test_a_seed_is_that_of_torch() -> None:
    seed(3)
    drawn = torch.rand(4), np.random.rand(4)  # noqa: NPY002 - the generator that models use
    torch.manual_seed(3)
    np.random.seed(3)  # noqa: NPY002
    assert torch.equal(drawn[0], torch.rand(4))
    assert (drawn[1] == np.random.rand(4)).all()  # noqa: NPY002


def test_dynamo_times_no_guards(tmp_path: Path) -> None:
    def compile_it() -> float:
        leave_guards_untimed()
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))
        return float(torch._dynamo.guards.profile_guard_manager(None, None, 1))  # what torch itself would refuse

    assert in_fork(compile_it, tmp_path).value == 0.0
