"""Paths as a service that holds the repository reads them: from the root of the checkout, wherever the tool ran."""

from __future__ import annotations

import os
from pathlib import Path

# Where GitHub Actions and GitLab CI have checked the repository out.
_ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def from_checkout(path: str) -> str:
    """The path of a finding, from the root of the checkout; outside of a service, as it is."""
    root = next((os.environ[name] for name in _ROOTS if os.environ.get(name)), None)
    return Path(os.path.relpath(path, root)).as_posix() if root else path
