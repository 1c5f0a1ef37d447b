"""What is known of the dtype and the shape of a branch's result, and what is left open."""

from __future__ import annotations

import ast

import pytest

from exportlint import Branch, ResultDtype, Results, ResultShape

INT, LONG, FLOAT, BOOL = ResultDtype("int32"), ResultDtype("int64"), ResultDtype("float32"), ResultDtype("bool")
OF_T = ResultDtype(None, of=1)


def results_of(body: str) -> tuple[Results, ast.expr]:
    """A branch of `i`, which is an int64, and `t`, of which nothing is known."""
    source = body if body.startswith("def") else f"lambda i, t: {body}"
    branch = Branch.of(ast.parse(source).body[0])
    assert branch is not None
    (returned,) = branch.returns
    assert returned is not None
    return Results(branch, {0: "int64"}), returned


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("t * 2", OF_T),
        ("t / 2", None),
        ("i - 1", LONG),
        ("i / 2", FLOAT),
        ("i * 0.5", FLOAT),
        ("-t.long()", LONG),
        ("t.to(torch.int32)", INT),
        ("(t.half() * 2).to(t.dtype)", None),
        ("t > 0", BOOL),
        ("torch.relu(t)", OF_T),
        ("t.sum()", None),
        ("torch.zeros(3)", ResultDtype("float32", made=True)),
        ("torch.full((3,), 0)", ResultDtype("int64", made=True)),
        ("torch.tensor(t.shape[0])", None),
        ("torch.zeros_like(t)", OF_T),
    ],
)
def test_dtypes(expression: str, dtype: ResultDtype | None) -> None:
    results, returned = results_of(expression)
    assert results.dtype(returned) == dtype


@pytest.mark.parametrize(
    ("expression", "shape"),
    [
        ("t * 2", ResultShape(1)),
        ("t * i", None),
        ("t.sum(0)", ResultShape(1, -1)),
        ("t.sum(0, keepdim=True)", None),
        ("t[0]", ResultShape(1, -1)),
        ("t[1:]", ResultShape(1, resized=True)),
        ("t[:4]", None),
        ("torch.cat([t, t])", ResultShape(1, resized=True)),
        ("torch.cat([t, t])[1:]", None),
        ("torch.cat([t[1:], t[:1]])", None),
        ("torch.stack([t, t])", ResultShape(1, 1)),
        ("torch.stack([t, t]).sum(0)", ResultShape(1)),
        ("F.pad(t, (0, 1))", ResultShape(1, resized=True)),
        ("F.pad(t, (1, -1))", None),
        ("F.pad(t, sizes)", None),
    ],
)
def test_shapes(expression: str, shape: ResultShape | None) -> None:
    results, returned = results_of(expression)
    assert results.shape(returned) == shape


@pytest.mark.parametrize(
    ("body", "shape"),
    [
        ("t = torch.cat([t, t])\n    return t", ResultShape(1, resized=True)),
        ("y = torch.cat([t, t])\n    return y * 2", ResultShape(1, resized=True)),
        ("y = t * 2\n    t = t[0]\n    return y", None),
        ("if i > 0:\n        y = t\n    else:\n        y = t[0]\n    return y", None),
    ],
)
def test_names_stand_for_what_they_were_bound_to_once(body: str, shape: ResultShape | None) -> None:
    results, returned = results_of(f"def step(i, t):\n    {body}")
    assert results.shape(returned) == shape


def test_sums_over_all_dims_and_over_one_may_be_the_same() -> None:
    one, every = ResultShape(0, -1), ResultShape(0, -99)
    assert not every.differs(one)
    assert every.differs(ResultShape(0))
    assert not every.differs(None)
