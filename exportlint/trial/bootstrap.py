"""Started by path, under any interpreter: `python bootstrap.py SOCKET_FD`. Standard library only.

The interpreter of `--python` need not have exportlint installed. A bare `exportlint` package (a path, no code run) is
enough to import what a child needs from this folder, and leaves everything else unreachable.
"""

import sys
import types
from pathlib import Path


def main() -> None:
    # Python puts a script's folder first on the path; a target's `import report` must not find ours.
    del sys.path[0]
    package = types.ModuleType("exportlint")
    package.__path__ = [str(Path(__file__).resolve().parents[1])]
    sys.modules["exportlint"] = package
    from exportlint.trial.worker import serve  # noqa: PLC0415 - only importable now

    serve(int(sys.argv[1]))


main()
