"""Source files and models in; the lines where torch.export refuses them, or silently changes them, out.

The public names are what a rule, a fixture test or a notebook needs. They load on first use, so that importing a
submodule in a trial's child process costs nothing and needs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from exportlint.version import __version__ as __version__

if TYPE_CHECKING:
    from exportlint.engine.source.parsed import Parsed, last_name, walked
    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import ExportCall, Kind, Source, Value
    from exportlint.engine.values.extents import Declaration
    from exportlint.engine.values.given_parts import given_parts
    from exportlint.engine.values.program_calls import calls_with_other_sizes
    from exportlint.engine.values.shape_specification import Misfit, Specification, size_written, specifications
    from exportlint.engine.values.shapes import Demand, Need, dims_of, extent_of, has_several_elements
    from exportlint.errors import UserError
    from exportlint.finding import Applicability, Edit, Finding, Fix, Link, Severity, TrailStep
    from exportlint.rule.base import Rule, Scope
    from exportlint.rule.branches.branch_function import Branch, Touch
    from exportlint.rule.branches.branch_results import ResultDtype, Results, ResultShape
    from exportlint.rule.branches.branch_rule import BranchRule
    from exportlint.rule.caught_refusal import CATCH_REFUSALS, names_caught, raises_again, suppressing
    from exportlint.rule.code import Code
    from exportlint.rule.conditions.truthiness import Asked, TruthRule, of_a_size
    from exportlint.rule.demands import demands_of
    from exportlint.rule.functions_below import functions_below
    from exportlint.rule.lifetimes.attribute_use import Use, has_modes, held_in, outlives_calls, use_of
    from exportlint.rule.lifetimes.idempotence import adds_nothing, fills_own_tensors, moves_only
    from exportlint.rule.lifetimes.kept_objects import is_read_first, methods_of
    from exportlint.rule.operator_rule import OperatorRule
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
    from exportlint.rule.suspicion import Case, Instead, Place
    from exportlint.rule.syntax.walk import Visitor
    from exportlint.rule.taint import ValuesUsed, made_from_inputs, path_on_self
    from exportlint.workflow.python_api import Diagnosis, Verification, diagnose, lint, verify


_NAMES_OF_MODULES = {
    "engine.source.parsed": "Parsed last_name walked",
    "engine.source.symbols": "ClassInfo FunctionInfo ModuleInfo",
    "engine.values.abstract_value": "ExportCall Kind Source Value",
    "engine.values.extents": "Declaration",
    "engine.values.given_parts": "given_parts",
    "engine.values.program_calls": "calls_with_other_sizes",
    "engine.values.shape_specification": "Misfit Specification size_written specifications",
    "engine.values.shapes": "Demand Need dims_of extent_of has_several_elements",
    "errors": "UserError",
    "finding": "Applicability Edit Finding Fix Link Severity TrailStep",
    "rule.base": "Rule Scope",
    "rule.branches.branch_function": "Branch Touch",
    "rule.branches.branch_results": "ResultDtype ResultShape Results",
    "rule.branches.branch_rule": "BranchRule",
    "rule.caught_refusal": "CATCH_REFUSALS names_caught raises_again suppressing",
    "rule.code": "Code",
    "rule.demands": "demands_of",
    "rule.functions_below": "functions_below",
    "rule.lifetimes.idempotence": "adds_nothing fills_own_tensors moves_only",
    "rule.lifetimes.kept_objects": "is_read_first methods_of",
    "rule.lifetimes.attribute_use": "Use has_modes held_in outlives_calls use_of",
    "rule.operator_rule": "OperatorRule",
    "rule.patterns": "CONTAINER_METHODS SHAPE_METHODS called dotted flat_targets is_part root_name text_argument"
    " written_in_place",
    "rule.script_rule": "ScriptRule argument",
    "rule.sketch": "Called Sketch asked_for_truth",
    "rule.suspicion": "Case Instead Place",
    "rule.taint": "ValuesUsed made_from_inputs path_on_self",
    "rule.conditions.truthiness": "Asked TruthRule of_a_size",
    "rule.syntax.walk": "Visitor",
    "workflow.python_api": "Diagnosis Verification diagnose lint verify",
}
_MODULE_OF = {name: f"exportlint.{module}" for module, names in _NAMES_OF_MODULES.items() for name in names.split()}

__all__ = [
    "CATCH_REFUSALS",
    "CONTAINER_METHODS",
    "SHAPE_METHODS",
    "Applicability",
    "Asked",
    "Branch",
    "BranchRule",
    "Called",
    "Case",
    "ClassInfo",
    "Code",
    "Declaration",
    "Demand",
    "Diagnosis",
    "Edit",
    "ExportCall",
    "Finding",
    "Fix",
    "FunctionInfo",
    "Instead",
    "Kind",
    "Link",
    "Misfit",
    "ModuleInfo",
    "Need",
    "OperatorRule",
    "Parsed",
    "Place",
    "ResultDtype",
    "ResultShape",
    "Results",
    "Rule",
    "Scope",
    "ScriptRule",
    "Severity",
    "Sketch",
    "Source",
    "Specification",
    "Touch",
    "TrailStep",
    "TruthRule",
    "Use",
    "UserError",
    "Value",
    "ValuesUsed",
    "Verification",
    "Visitor",
    "adds_nothing",
    "argument",
    "asked_for_truth",
    "called",
    "calls_with_other_sizes",
    "demands_of",
    "diagnose",
    "dims_of",
    "dotted",
    "extent_of",
    "fills_own_tensors",
    "flat_targets",
    "functions_below",
    "given_parts",
    "has_modes",
    "has_several_elements",
    "held_in",
    "is_part",
    "is_read_first",
    "last_name",
    "lint",
    "made_from_inputs",
    "methods_of",
    "moves_only",
    "names_caught",
    "of_a_size",
    "outlives_calls",
    "path_on_self",
    "raises_again",
    "root_name",
    "size_written",
    "specifications",
    "suppressing",
    "text_argument",
    "use_of",
    "verify",
    "walked",
    "written_in_place",
]


def __getattr__(name: str) -> Any:
    if name == "testing":
        return importlib.import_module("exportlint.testing")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'exportlint' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULE_OF[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted((*__all__, "__version__"))
