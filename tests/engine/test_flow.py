"""Control flow, liveness and definitions of small functions."""

from __future__ import annotations

import ast
import textwrap

from exportlint.engine.flow.def_use import DefUse, free_names


def flow_of(text: str) -> tuple[DefUse, ast.FunctionDef]:
    (function,) = ast.parse(textwrap.dedent(text)).body
    assert isinstance(function, ast.FunctionDef)
    return DefUse.of(function), function


def test_what_a_loop_needs_again_is_live_behind_a_step() -> None:
    flow, function = flow_of("""
        def f(rows, start):
            total = start
            for row in rows:
                scale = row.max()
                total = total + scale
            return total
        """)
    loop = function.body[1]
    assert isinstance(loop, ast.For)
    assert flow.live_after(loop) == {"total"}
    assert "total" in flow.live_after(loop.body[0])
    assert "scale" not in flow.live_after(loop.body[1])


def test_a_name_that_is_set_anew_is_not_live() -> None:
    flow, function = flow_of("""
        def f(x):
            y = x + 1
            y = x * 2
            return y
        """)
    assert "y" not in flow.live_after(function.body[0])


def test_what_is_written_on_self_outlives_the_function() -> None:
    flow, function = flow_of("""
        def f(self, x):
            self.count = x
            x = x + 1
        """)
    assert "self.count" in flow.live_after(function.body[1])


def test_definitions_of_both_sides_reach_what_follows() -> None:
    flow, function = flow_of("""
        def f(x, flag):
            if flag:
                y = x
            else:
                y = -x
            return y
        """)
    assert [ast.unparse(one) for one in flow.definitions("y", function.body[1])] == ["y = x", "y = -x"]


def test_a_definition_in_a_try_reaches_the_handler() -> None:
    flow, function = flow_of("""
        def f(x):
            y = 0
            try:
                y = x.item()
            except RuntimeError:
                z = y
            return y
        """)
    tried = function.body[1]
    assert isinstance(tried, ast.Try)
    assert {ast.unparse(one) for one in flow.definitions("y", tried.handlers[0].body[0])} == {"y = 0", "y = x.item()"}


def test_what_leaves_a_loop_goes_on_behind_it() -> None:
    flow, function = flow_of("""
        def f(rows):
            found = None
            for row in rows:
                if row:
                    found = row
                    break
            else:
                found = 0
            return found
        """)
    assert {ast.unparse(one) for one in flow.definitions("found", function.body[2])} == {"found = row", "found = 0"}


def test_a_nested_function_reads_what_it_does_not_define() -> None:
    (inner,) = ast.parse("def g(t):\n    u = t * scale\n    return u + self.bias").body
    assert isinstance(inner, ast.FunctionDef)
    assert free_names(inner) == {"scale", "self", "self.bias"}
