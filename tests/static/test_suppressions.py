"""Comments that silence findings, and the ones that silence nothing."""

from __future__ import annotations

import pytest

from exportlint.finding import Finding, Severity
from exportlint.static.suppressions import Applied, apply, silencing

KNOWN = ("data-dependent-branch", "data-attribute", "unused-suppression", "graph-break")
JUDGED = ("data-dependent-branch", "data-attribute", "unused-suppression")


def run(source: str, *found: tuple[str, int], judged: tuple[str, ...] = JUDGED) -> Applied:
    findings = [Finding(rule, "m.py", line, 1, line, 2, Severity.ERROR, "…") for rule, line in found]
    return apply(findings, {"m.py": source}, known=KNOWN, judged=judged, all_ran=judged == JUDGED)


def messages(applied: Applied) -> list[tuple[int, str]]:
    return [(c.line, c.message) for c in applied.complaints]


@pytest.mark.parametrize(
    "comment",
    [
        "# exportlint: ignore[data-dependent-branch] the flag never changes",
        "# exportlint: ignore[data-attribute, data-dependent-branch]",
        "#exportlint:ignore[data-dependent-branch]",
        "# exportlint: ignore",
        "# see below  # exportlint: ignore[data-dependent-branch]",
        "# noqa: data-dependent-branch",
        "# noqa: E501, data-dependent-branch",
        "# NOQA",
    ],
)
def test_a_comment_on_the_line_silences(comment: str) -> None:
    applied = run(f"if x:  {comment}\n    pass\n", ("data-dependent-branch", 1), judged=())
    assert applied.kept == ()
    assert [f.rule for f in applied.suppressed] == ["data-dependent-branch"]
    assert applied.complaints == ()


def test_only_the_named_rule_on_its_own_line_is_silenced() -> None:
    source = "a = x.data  # exportlint: ignore[data-attribute]\nb = x.data\n"
    applied = run(source, ("data-attribute", 1), ("data-dependent-branch", 1), ("data-attribute", 2))
    assert [(f.rule, f.line) for f in applied.kept] == [("data-dependent-branch", 1), ("data-attribute", 2)]


def test_a_comment_speaks_for_the_whole_statement_it_stands_in() -> None:
    source = "if (\n    x.sum()\n    > 0\n):  # exportlint: ignore[data-dependent-branch]\n    y = x.data\n"
    applied = run(source, ("data-dependent-branch", 2), ("data-attribute", 5))
    assert [f.line for f in applied.suppressed] == [2]
    assert [f.line for f in applied.kept] == [5]


def test_a_comment_after_a_long_string_speaks_for_its_statement() -> None:
    source = (
        'raise E(x.data, """\n# exportlint: ignore[data-dependent-branch]\n""")  # exportlint: ignore[data-attribute]\n'
    )
    applied = run(source, ("data-attribute", 1))
    assert (applied.kept, applied.complaints) == ((), ())


def test_text_in_a_string_is_no_comment() -> None:
    applied = run('s = "# exportlint: ignore[data-attribute]"\n', ("data-attribute", 1))
    assert len(applied.kept) == 1


def test_a_whole_file_can_be_silenced() -> None:
    source = "# exportlint: ignore-file[data-attribute] generated\n\na = x.data\nb = x.data\nif a: pass\n"
    applied = run(source, ("data-attribute", 3), ("data-attribute", 4), ("data-dependent-branch", 5))
    assert [f.rule for f in applied.kept] == ["data-dependent-branch"]


def test_unused_suppressions_are_warnings() -> None:
    applied = run("a = 1  # exportlint: ignore[data-attribute, data-dependent-branch]\n", ("data-attribute", 1))
    expected = "This suppression of `data-dependent-branch` is not needed: the rule finds nothing here. Remove it"
    assert messages(applied) == [(1, expected)]
    assert {(c.rule, c.severity) for c in applied.complaints} == {("unused-suppression", Severity.WARNING)}
    assert (applied.complaints[0].column, applied.complaints[0].end_column) == (8, 67)


def test_a_bare_noqa_is_never_called_unused_but_a_bare_ignore_is() -> None:
    assert messages(run("a = 1  # noqa\nb = 2  # noqa: E501\n")) == []
    assert [line for line, _ in messages(run("a = 1  # exportlint: ignore\n"))] == [1]


def test_rules_that_did_not_run_cannot_be_called_unused() -> None:
    assert messages(run("a = 1  # exportlint: ignore[graph-break, data-attribute]\n", judged=())) == []


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("exportlint: ignore[data-atribute]", "There is no rule `data-atribute`; the nearest is `data-attribute`"),
        ("exportlint: ignore[zzz]", "There is no rule `zzz`; `exportlint rules` lists them"),
        ("noqa: data-atribute", "There is no rule `data-atribute`; the nearest is `data-attribute`"),
        ("exportlint: ignroe[data-attribute]", "suppresses nothing: write `# exportlint: ignore[rule] reason`"),
        ("exportlint: ignore[]", "names no rule: write `# exportlint: ignore[rule] reason`"),
        ("exportlint: ignore[data-attribute", "names no rule"),
    ],
)
def test_mistakes_in_comments_are_reported(comment: str, message: str) -> None:
    ((line, reported),) = messages(run(f"\na = 1  # {comment}\n"))
    assert line == 2
    assert message in reported


def test_the_complaint_itself_can_be_silenced() -> None:
    source = "a = 1  # exportlint: ignore[data-attribute, unused-suppression] differs by torch version\n"
    assert messages(run(source)) == []


@pytest.mark.parametrize(
    ("source", "line", "after"),
    [
        ("if x:\n    pass\n", 1, "if x:  # exportlint: ignore[graph-break] why\n    pass\n"),
        ("y = f(\n    x,\n)", 1, "y = f(  # exportlint: ignore[graph-break] why\n    x,\n)"),
        ("y = x + \\\n    1\n", 1, "y = x + \\\n    1  # exportlint: ignore[graph-break] why\n"),
        ('y = f("""\n""")\n', 1, 'y = f("""\n""")  # exportlint: ignore[graph-break] why\n'),
        ("y = x  # noqa\n", 1, "y = x  # noqa  # exportlint: ignore[graph-break] why\n"),
        (
            "y = x  # exportlint: ignore[data-attribute] so\n",
            1,
            "y = x  # exportlint: ignore[data-attribute, graph-break] so\n",
        ),
    ],
)
def test_a_comment_is_put_where_it_silences(source: str, line: int, after: str) -> None:
    insertion = silencing(source, line, "graph-break", "why")
    assert insertion is not None
    lines = source.split("\n")
    own = lines[insertion.line - 1]
    lines[insertion.line - 1] = own[: insertion.column - 1] + insertion.text + own[insertion.column - 1 :]
    assert "\n".join(lines) == after
    assert run(after, ("graph-break", line), judged=()).kept == ()


def test_no_comment_fits_into_what_cannot_be_parsed() -> None:
    assert silencing("y = f(", 1, "graph-break", "why") is None
