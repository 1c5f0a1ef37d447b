"""Targets on the nodes of an existing Ray cluster. Where a job runs, and that it runs again when its node is gone, is
Ray's work: here is only how many are asked for at a time, and which nodes are fit for it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic

from exportlint.errors import UserError
from exportlint.sweep.executor import Done, Job, Result

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_MEGABYTE = 1_000_000
# Of each worker one job runs and one waits, so that none has to wait for this process.
_AHEAD = 2
_RETRIES = 3
_PATIENCE = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class RayExecutor(Generic[Job, Result]):
    """A cluster that somebody else has started.

    work       a function that can be pickled; its module is installed on every node
    address    of the cluster, as `ray.init` takes it: "auto", HOST:PORT, ray://HOST:PORT
    memory_mb  what Ray sets aside for each job
    versions   name of a package -> version that every node must have
    folder     Ray brings it to every node, and works there; None: jobs need no files
    """

    work: Callable[[Job], Result]
    address: str
    memory_mb: int
    versions: Mapping[str, str]
    folder: Path | None = None

    def results(self, jobs: Iterable[Job]) -> Iterator[Done[Job, Result]]:
        """As the protocol of executors says. Raises UserError where there is no cluster, and before the first job where
        a node has not the versions."""
        ray = connected(self.address, self.folder)
        try:
            self._refuse_unfit_nodes(ray)
            yield from self._results(ray, jobs)
        finally:
            # Its tasks end with it; the cluster stays.
            ray.shutdown()

    def _results(self, ray: Any, jobs: Iterable[Job]) -> Iterator[Done[Job, Result]]:
        work = self.work

        def tried(job: Job) -> Result:
            """A function of its own: Ray takes no partial ones."""
            return work(job)

        task = ray.remote(tried).options(num_cpus=1, memory=self.memory_mb * _MEGABYTE, max_retries=_RETRIES)
        running: dict[Any, Job] = {}
        for job in jobs:
            while len(running) >= _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1))):
                yield from self._ended(ray, running)
            running[task.remote(job)] = job
        while running:
            yield from self._ended(ray, running)

    def _ended(self, ray: Any, running: dict[Any, Job]) -> Iterator[Done[Job, Result]]:
        done, _ = ray.wait(list(running), num_returns=1, timeout=1.0)
        for reference in done:
            job = running.pop(reference)
            try:
                yield Done(job, ray.get(reference))
            except ray.exceptions.RayTaskError:
                raise  # of our own code
            except ray.exceptions.RayError as error:
                lines = str(error).strip().splitlines()
                yield Done(job, None, f"Ray gave it up after {_RETRIES} retries: {lines[0] if lines else error}")

    def _refuse_unfit_nodes(self, ray: Any) -> None:
        """Every node is asked before anything starts: results of two torches in one sweep would be compared as one."""
        probe = ray.remote(_installed)
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        for node in nodes:
            affinity = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            asked = probe.options(scheduling_strategy=affinity, num_cpus=0).remote(list(self.versions))
            try:
                found = ray.get(asked)
            except ray.exceptions.TaskUnschedulableError:
                continue  # it is gone, and is told as alive for some seconds more: nothing will run there
            except ray.exceptions.RayError as error:
                raise UserError(f"node {node['NodeManagerHostname']} cannot run exportlint: {error}") from error
            for name, wanted in self.versions.items():
                if found[name] != wanted:
                    has = f"has {name} {found[name]}" if found[name] else f"has no {name}"
                    raise UserError(
                        f"node {node['NodeManagerHostname']} ({node['NodeID'][:8]}) {has}, and this sweep is of {name} "
                        f"{wanted}: install that there, or take the node out of the cluster"
                    )


def connected(address: str, folder: Path | None = None) -> Any:
    """The module, connected to a cluster. Raises UserError where there is none, or no Ray."""
    try:
        import ray  # noqa: PLC0415 (comes with the extra)
        import ray.util.scheduling_strategies  # noqa: PLC0415 (as above)
    except ImportError as error:
        raise UserError(f"--executor ray needs Ray ({error}): pip install 'exportlint[ray]'") from error
    _refuse_silence(address)
    try:
        ray.init(
            address=address,
            runtime_env={"working_dir": str(folder)} if folder else {},
            log_to_driver=False,
            logging_level="ERROR",
            configure_logging=False,
        )
    except (ConnectionError, RuntimeError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise UserError(f"--address {address}: no Ray cluster is to be reached there: {first}") from error
    return ray


def _refuse_silence(address: str) -> None:
    """Ray asks minutes long for a cluster that is not there."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), _PATIENCE).close()
    except OSError as error:
        raise UserError(f"--address {address}: no Ray cluster is to be reached there: {error}") from error


def _installed(names: list[str]) -> dict[str, str]:
    """On a node: the version of each package, "" where it is missing."""
    import importlib  # noqa: PLC0415 (the function travels by itself)

    found = {}
    for name in names:
        try:
            # torch's own word says of which build it is; others have theirs in the same place, or none.
            module = importlib.import_module(f"{name}.version")
            found[name] = str(module.__version__)
        except (ImportError, AttributeError):
            found[name] = ""
    return found
