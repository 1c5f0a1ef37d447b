"""exportlint: where torch.export refuses a model or silently changes it.

The public names are what a rule, a fixture test or a notebook needs. They load on first use, so that importing a
submodule in a trial's child process costs nothing and needs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from exportlint.diagnosis import Diagnosis, diagnose, lint
    from exportlint.errors import UserError
    from exportlint.finding import Applicability, Edit, Finding, Fix, Link, Severity
    from exportlint.rule import Case, Code, Place, Rule, Scope
    from exportlint.static.kinds import Kind, Source, Value
    from exportlint.static.lifetimes import Use, use_of
    from exportlint.static.parsed import last_name
    from exportlint.static.patterns import (
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
    from exportlint.static.project import FunctionInfo
    from exportlint.static.script_flow import ScriptRule, argument
    from exportlint.static.sketch import Called, Sketch, asked_for_truth
    from exportlint.static.taint import ValuesUsed, made_from_inputs, path_on_self
    from exportlint.static.truthiness import Asked, TruthRule, of_a_size

__version__ = "0.1.0"

_HOME = {
    "Diagnosis": "exportlint.diagnosis",
    "UserError": "exportlint.errors",
    "diagnose": "exportlint.diagnosis",
    "lint": "exportlint.diagnosis",
    "Applicability": "exportlint.finding",
    "Edit": "exportlint.finding",
    "Finding": "exportlint.finding",
    "Fix": "exportlint.finding",
    "Link": "exportlint.finding",
    "Severity": "exportlint.finding",
    "Case": "exportlint.rule",
    "Code": "exportlint.rule",
    "Place": "exportlint.rule",
    "Rule": "exportlint.rule",
    "Scope": "exportlint.rule",
    "Kind": "exportlint.static.kinds",
    "Source": "exportlint.static.kinds",
    "Value": "exportlint.static.kinds",
    "Use": "exportlint.static.lifetimes",
    "use_of": "exportlint.static.lifetimes",
    "ValuesUsed": "exportlint.static.taint",
    "made_from_inputs": "exportlint.static.taint",
    "path_on_self": "exportlint.static.taint",
    "CONTAINER_METHODS": "exportlint.static.patterns",
    "SHAPE_METHODS": "exportlint.static.patterns",
    "called": "exportlint.static.patterns",
    "dotted": "exportlint.static.patterns",
    "flat_targets": "exportlint.static.patterns",
    "is_part": "exportlint.static.patterns",
    "root_name": "exportlint.static.patterns",
    "text_argument": "exportlint.static.patterns",
    "written_in_place": "exportlint.static.patterns",
    "last_name": "exportlint.static.parsed",
    "FunctionInfo": "exportlint.static.project",
    "ScriptRule": "exportlint.static.script_flow",
    "argument": "exportlint.static.script_flow",
    "Called": "exportlint.static.sketch",
    "Sketch": "exportlint.static.sketch",
    "asked_for_truth": "exportlint.static.sketch",
    "Asked": "exportlint.static.truthiness",
    "TruthRule": "exportlint.static.truthiness",
    "of_a_size": "exportlint.static.truthiness",
}

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
