"""Started by path, under any interpreter: `python bootstrap.py SOCKET_FD FOLDER [MODULE…]` for one command, and
`python bootstrap.py SOCKET_FD` for many, which ask at that socket.

The interpreter of `--python` need not have exportlint installed: the package is taken from this folder, by its file. A
target that imports exportlint itself, as a project's tests do, gets the same one.
"""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any


def main() -> None:
    # Python puts a script's folder first on the path; a target's `import report` must not find ours.
    del sys.path[0]
    home = Path(__file__).resolve().parents[2]
    spec = spec_from_file_location("exportlint", home / "__init__.py", submodule_search_locations=[str(home)])
    assert spec, "the file is there"  # noqa: S101 - for mypy
    assert spec.loader  # noqa: S101
    sys.modules["exportlint"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["exportlint"])
    from exportlint.trial.child.lowering.torch_forks import start_torch_forks  # noqa: PLC0415 - only now
    from exportlint.trial.child.server.fork_server import serve, serve_many  # noqa: PLC0415 - as above

    match sys.argv[1:]:
        case [fd]:
            serve_many(int(fd), requests, start_torch_forks)
        case [fd, folder, *preload]:
            serve(int(fd), Path(folder), requests, start_torch_forks, preload)


def requests() -> Any:
    """What the processes do. It needs torch, so the server asks for it when torch is loaded."""
    from exportlint.trial.child.requests import Requests  # noqa: PLC0415 - see above

    return Requests()


main()
