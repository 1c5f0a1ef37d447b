"""For a project's own tests: a model that stops exporting, or exports to something else, fails one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from exportlint.diagnosis import Diagnosis, diagnose


def assert_exports(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    **options: Any,
) -> Diagnosis:
    """The diagnosis of a model that exports and agrees with eager; else AssertionError with the findings as text.

    `options` are those of `exportlint.diagnose`.
    """
    __tracebackhide__ = True  # pytest shows the test's line instead of this one
    diagnosis = diagnose(model, args, kwargs, dynamic_shapes, **options)
    if not diagnosis.ok:
        raise AssertionError(f"the model does not export as it is\n\n{diagnosis}")
    return diagnosis
