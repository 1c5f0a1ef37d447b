"""exportlint: where torch.export refuses a model or silently changes it.

The public names are what a rule, a fixture test or a notebook needs. They load on first use, so that importing a
submodule in a trial's child process costs nothing and needs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exportlint.diagnosis import Diagnosis, diagnose, lint
    from exportlint.engine.source.parsed import last_name
    from exportlint.engine.source.symbols import FunctionInfo
    from exportlint.engine.values.abstract_value import Kind, Source, Value
    from exportlint.errors import UserError
    from exportlint.finding import Applicability, Edit, Finding, Fix, Link, Severity
    from exportlint.rule.base import Rule, Scope
    from exportlint.rule.code import Code
    from exportlint.rule.lifetimes import Use, use_of
    from exportlint.rule.patterns import (
        CONTAINER_METHODS,
        SHAPE_METHODS,
        called,
        dotted,
        flat_targets,
        is_part,
        root_name,
        text_argument,
        written_in_place,
    )
    from exportlint.rule.script_rule import ScriptRule, argument
    from exportlint.rule.sketch import Called, Sketch, asked_for_truth
    from exportlint.rule.suspicion import Case, Place
    from exportlint.rule.taint import ValuesUsed, made_from_inputs, path_on_self
    from exportlint.rule.truth_tests import Asked, TruthRule, of_a_size

__version__ = "0.1.0"

_HOMES = {
    "exportlint.diagnosis": (
        "Diagnosis",
        "diagnose",
        "lint",
    ),
    "exportlint.engine.source.parsed": ("last_name",),
    "exportlint.engine.source.symbols": ("FunctionInfo",),
    "exportlint.engine.values.abstract_value": (
        "Kind",
        "Source",
        "Value",
    ),
    "exportlint.errors": ("UserError",),
    "exportlint.finding": (
        "Applicability",
        "Edit",
        "Finding",
        "Fix",
        "Link",
        "Severity",
    ),
    "exportlint.rule.base": (
        "Rule",
        "Scope",
    ),
    "exportlint.rule.code": ("Code",),
    "exportlint.rule.lifetimes": (
        "Use",
        "use_of",
    ),
    "exportlint.rule.patterns": (
        "CONTAINER_METHODS",
        "SHAPE_METHODS",
        "called",
        "dotted",
        "flat_targets",
        "is_part",
        "root_name",
        "text_argument",
        "written_in_place",
    ),
    "exportlint.rule.script_rule": (
        "ScriptRule",
        "argument",
    ),
    "exportlint.rule.sketch": (
        "Called",
        "Sketch",
        "asked_for_truth",
    ),
    "exportlint.rule.suspicion": (
        "Case",
        "Place",
    ),
    "exportlint.rule.taint": (
        "ValuesUsed",
        "made_from_inputs",
        "path_on_self",
    ),
    "exportlint.rule.truth_tests": (
        "Asked",
        "TruthRule",
        "of_a_size",
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "CONTAINER_METHODS",
    "SHAPE_METHODS",
    "Applicability",
    "Asked",
    "Called",
    "Case",
    "Code",
    "Diagnosis",
    "Edit",
    "Finding",
    "Fix",
    "FunctionInfo",
    "Kind",
    "Link",
    "Place",
    "Rule",
    "Scope",
    "ScriptRule",
    "Severity",
    "Sketch",
    "Source",
    "TruthRule",
    "Use",
    "UserError",
    "Value",
    "ValuesUsed",
    "argument",
    "asked_for_truth",
    "called",
    "diagnose",
    "dotted",
    "flat_targets",
    "is_part",
    "last_name",
    "lint",
    "made_from_inputs",
    "of_a_size",
    "path_on_self",
    "root_name",
    "text_argument",
    "use_of",
    "written_in_place",
]


def __getattr__(name: str) -> Any:
    if name == "testing":
        return importlib.import_module("exportlint.testing")
    if name not in _HOME:
        raise AttributeError(f"module 'exportlint' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
