"""Paths that are the same on every machine of a sweep."""

from __future__ import annotations

from pathlib import Path

from exportlint.trial.protocol.frames import from_here

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
    return from_here(path)
