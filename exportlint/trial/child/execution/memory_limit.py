"""Let a block take so much more memory and no more: inputs that are drawn large may ask for a table as large."""

from __future__ import annotations

import contextlib
import resource
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def memory_limited(more: int) -> Iterator[None]:
    """What asks for more bytes than so many raises inside, as where the machine has no more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _address_space() + more
    with contextlib.suppress(OSError, ValueError):  # it may be less already
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    """Bytes that this process has mapped; without /proc, more than any limit, so that there is none."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text("utf-8").split()[0]) * resource.getpagesize()
    return 1 << 62
