"""For tests: of a project, that its models export; of a rule, that it finds what it is about."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.workflow.python_api import diagnose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.rule.code import Code
    from exportlint.workflow.python_api import Diagnosis


def assert_exports(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    **options: Any,
) -> Diagnosis:
    """Try a live model, and give its diagnosis where it exports and agrees with eager.

    The arguments are those of `exportlint.diagnose`.

    Raises AssertionError, with the findings as text, where anything is an error or a warning; UserError where the model
    cannot be tried.

    >>> import torch
    >>> assert_exports(torch.nn.Linear(3, 2).eval(), (torch.ones(4, 3),)).ok
    True
    """
    __tracebackhide__ = True  # pytest shows the test's line instead of this one
    diagnosis = diagnose(model, args, kwargs, dynamic_shapes, **options)
    if not diagnosis.ok:
        raise AssertionError(f"the model does not export as it is\n\n{diagnosis}")
    return diagnosis


def code_of(source: str, function: str | None = None) -> Code:
    """A piece of source as a rule sees it, to try a rule on.

    source     the text of a file; it is neither imported nor run
    function   the name of a function or method in it that export runs; None: the whole file

    Raises LookupError where export runs no function of that name.

    >>> code = code_of("from torch import nn\\nclass Net(nn.Module):\\n    def forward(self, x): return x", "forward")
    >>> code.function.name, code.cls.name
    ('forward', 'Net')
    """
    from exportlint.engine.interpreter.engine import Engine  # noqa: PLC0415 (not for assert_exports)
    from exportlint.engine.source.parsed import Parsed  # noqa: PLC0415 (as above)
    from exportlint.engine.source.symbols import Project  # noqa: PLC0415 (as above)
    from exportlint.rule.code import CodePiece, SourceText  # noqa: PLC0415 (as above)

    path, parsed, engine = Path("/nowhere/source.py"), Parsed(ast.parse(source), source), Engine(Project())
    module = engine.project.add(path, parsed)
    engine.run(module)
    belief = engine.beliefs[path]
    if function is None:
        return CodePiece(SourceText(parsed), module, belief, path.name)
    found = next((one for one in belief.reached if one.name == function), None)
    if found is None:
        raise LookupError(f"export runs no function `{function}` of this source")
    return CodePiece(SourceText(parsed), module, belief, path.name, found)
