"""A program is called with another size than it was exported with, and nothing declares that dim dynamic.

Why: the sizes of the sample are those of the program, unless `dynamic_shapes` says which of them may vary. Any other
size is refused when the program runs, where eager takes it; a file that is only exported shows nothing of that.

Instead: declare the dim, and export with a sample of two or more there, since torch makes constants of 0 and 1.

    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(model, (torch.randn(2, 8),), dynamic_shapes={"x": {0: batch}})
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Rule, Scope, Severity, calls_with_other_sizes

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Code

_DECLARE = "export with `dynamic_shapes={shapes}`{sample}"
_ONE = 1


class UndeclaredSize(Rule):
    scope = Scope.FILE
    mended_by = ("fitting-shapes",)
    words = r"\.module\(\)"
    shown_by = ("sizes",)
    checks = ("other-size",)
    docs = (("torch.export.Dim", "https://docs.pytorch.org/docs/stable/export.html"),)
    cases: ClassVar = {
        "BadOtherBatch": Case(
            "`{code}` gives dim {dim} of `{name}` the size {given}; the program was exported with {size},"
            " and nothing declares that dynamic",
            _DECLARE,
        )
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a program called beside its export?"""
        return any(True for _ in calls_with_other_sizes(code.module, code.exports))

    def visit_Call(self, node: cst.Call) -> None:
        place = self.code.place(node)
        for one in calls_with_other_sizes(self.code.module, self.code.exports):
            if (one.call.lineno, one.call.end_lineno) == (place.line, place.end_line) and self._is_at(one.call, node):
                dim = f'{{{one.dim}: torch.export.Dim("{"batch" if one.dim == 0 else f"dim_{one.dim}"}")}}'
                parts = (f'"{name}": {dim if name == one.name else None}' for name in one.names)
                two = ", and a sample of 2 or more there" if one.sample <= _ONE else ""
                words = {"dim": str(one.dim), "name": one.name, "given": str(one.given), "size": str(one.sample)}
                self.report(
                    node,
                    "BadOtherBatch",
                    at_most=Severity.ERROR,
                    because=None,
                    shapes=f"{{{', '.join(parts)}}}",
                    sample=two,
                    **words,
                )
                return

    def _is_at(self, call: object, node: cst.CSTNode) -> bool:
        place = self.code.place(node)
        line = self.code.module.parsed.lines[place.line - 1]
        start = len(line[: place.column - 1].encode())
        return (
            getattr(call, "col_offset", -1) == start and _ends(call, self.code.module.parsed.lines) == place.end_column
        )


def _ends(call: object, lines: list[str]) -> int:
    """The column behind its last character, from 1."""
    line = lines[getattr(call, "end_lineno", 1) - 1]
    return len(line.encode()[: getattr(call, "end_col_offset", 0)].decode()) + 1
