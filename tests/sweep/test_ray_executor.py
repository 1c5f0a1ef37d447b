"""Jobs on a Ray cluster of two nodes, which Ray's own utility starts here."""

from __future__ import annotations

import builtins
import os
import signal
import sys
import textwrap
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from processes import exportlint

from exportlint.errors import UserError
from exportlint.sweep.executor import LocalExecutor
from exportlint.sweep.ray_executor import RayExecutor
from exportlint.sweep.store import opened

if TYPE_CHECKING:
    from collections.abc import Iterator

ray = pytest.importorskip("ray")
import stub_work  # noqa: E402 (as above)
from ray.cluster_utils import Cluster  # noqa: E402 (once it is known to be there)

pytestmark = pytest.mark.slow
HERE = str(Path(__file__).parent)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        # The processes of the nodes find the modules of the tests.
        patch.setenv("PYTHONPATH", os.pathsep.join([HERE, *filter(None, sys.path)]))
        # Ray puts its own in the place of `print` and of the handler of SIGTERM, and other tests look at these.
        patch.setattr(builtins, "print", print)
        handler = signal.getsignal(signal.SIGTERM)
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        made.add_node(num_cpus=1)
        made.wait_for_nodes()
        yield made
        ray.shutdown()
        made.shutdown()
        signal.signal(signal.SIGTERM, handler)
    assert "safe_print" not in repr(print)


def executor(cluster: Cluster, work, **versions: str) -> RayExecutor:
    return RayExecutor(work, cluster.address, 100, versions)


def test_a_node_that_dies_loses_nothing_and_repeats_no_result(cluster: Cluster, tmp_path: Path) -> None:
    dying = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    work = partial(stub_work.notes_node, folder=str(tmp_path))
    done = []
    for one in executor(cluster, work).results(range(30)):
        done.append(one)
        if len(done) == 5:
            cluster.remove_node(dying, allow_graceful=False)
    local = LocalExecutor(stub_work.double, workers=1).results(range(30))
    assert sorted((one.job, one.result) for one in done) == sorted((one.job, one.result) for one in local)
    # It was in use: what it had begun ran again elsewhere.
    nodes = {path.name.partition("-")[0] for path in tmp_path.iterdir()}
    assert len(nodes) == 3


def test_a_sweep_on_the_cluster_gives_the_store_that_this_machine_gives(cluster: Cluster, tmp_path: Path) -> None:
    for number, returned in enumerate(("x + 1", "x if x.sum() > 0 else -x", "x * 2")):
        text = f"""
            import torch

            class Net(torch.nn.Module):
                def forward(self, x):
                    return {returned}

            model, example_args = Net(), (torch.ones(3),)
        """
        (tmp_path / f"net{number}.py").write_text(textwrap.dedent(text), "utf-8")
    ways = {"ray": ["--executor", "ray", "--address", cluster.address, "--memory", "0.5"], "local": ["--memory", "0.5"]}
    found = {}
    for way, options in ways.items():
        done = exportlint(tmp_path, "sweep", ".", "--quick", "--store", f"{way}.sqlite", *options)
        assert done.stderr == "exportlint: trying 3 targets\n"
        assert done.returncode == 0
        with opened(tmp_path / f"{way}.sqlite") as store:
            rows = [(row.key, row.target, row.outcome, row.detail) for row in store.rows(1)]
            causes = [(one.rule, one.message, one.place) for one in store.causes(1)]
            found[way] = rows, causes, sorted((name, status, number) for name, status, number, _ in store.stages(1))
    assert found["ray"] == found["local"]
    assert len(found["ray"][0]) == 3
    assert len(found["ray"][1]) == 1


def test_a_node_with_another_version_is_refused_before_anything_starts(cluster: Cluster) -> None:
    results = executor(cluster, stub_work.double, torch="1.0.0").results(iter([1]))
    with pytest.raises(UserError, match=r"^node \S+ \(\w{8}\) has torch 2\.\S+, and this sweep is of torch 1\.0\.0: "):
        next(results)
    results = executor(cluster, stub_work.double, a_package_that_nobody_has="1").results(iter([1]))
    with pytest.raises(UserError, match=r"has no a_package_that_nobody_has, and this sweep"):
        next(results)


def test_where_no_cluster_is_that_is_said() -> None:
    began = time.monotonic()
    with pytest.raises(UserError, match=r"^--address 127\.0\.0\.1:1: no Ray cluster is to be reached there: "):
        next(RayExecutor(stub_work.double, "127.0.0.1:1", 100, {}).results(iter([1])))
    assert time.monotonic() - began < 60
