"""A module that is imported late is loaded at its first use, whole, by whichever thread comes first."""

from __future__ import annotations

import subprocess
import sys

LOADED = "'libcst._nodes.base' in sys.modules"


def printed(code: str) -> list[str]:
    command = [sys.executable, "-c", f"import sys, exportlint.rule\n{code}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_it_is_loaded_at_its_first_use() -> None:
    code = f"import libcst as cst\nimport libcst\nprint({LOADED})\ncst.Name\nprint({LOADED})"
    assert printed(code) == ["False", "True"]


def test_everybody_gets_the_same() -> None:
    code = "import libcst as late\nlate.Name\nimport libcst\nprint(libcst.Name is late.Name, libcst.matchers.__name__)"
    assert printed(code.replace("late.Name\nimport", "late.Name\nimport libcst.matchers\nimport")) == [
        "True",
        "libcst.matchers",
    ]
    assert printed("from libcst.metadata import MetadataWrapper as m\nprint(m.__name__)") == ["MetadataWrapper"]


def test_what_it_has_not_is_an_attribute_error() -> None:
    assert printed("import libcst\nprint(hasattr(libcst, 'nothing'))") == ["False"]


def test_threads_wait_for_it() -> None:
    code = (
        "import libcst\nfrom concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    print(len(set(pool.map(lambda _: id(libcst.parse_module('x').body[0].__class__), range(8)))))"
    )
    assert printed(code) == ["1"]
