"""Paths that are the same on every machine of a sweep."""

from __future__ import annotations

import os
from pathlib import Path

_INSTALLED = ("site-packages", "dist-packages")


def portable(path: str) -> str:
    """Below the folder of installed packages, wherever that is; else from the working directory.

    >>> portable("/opt/venv/lib/python3.11/site-packages/timm/models/vgg.py")
    'timm/models/vgg.py'
    """
    parts = Path(path).parts
    for folder in _INSTALLED:
        if folder in parts:
            last = len(parts) - 1 - parts[::-1].index(folder)
            return "/".join(parts[last + 1 :])
    return Path(os.path.relpath(path)).as_posix()
