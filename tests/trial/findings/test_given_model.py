"""Which name a marked call is given as its model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exportlint.finding import Finding, Severity
from exportlint.trial.findings.merge import given_model

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("«export(model, args)»", "model"),
        ("«export(mod=model, args=args)»", "model"),
        ("wrapped(model, «export(other, args)»)", "other"),
        ("«export(model, args)».module()(x)", "model"),
        ("say('è'); «export(model, args)»", "model"),
        ("«export(model.eval(), args)»", None),
        ("export(«model», args)", None),
    ],
)
def test_the_name_is_that_of_the_marked_call(line: str, name: str | None, tmp_path: Path) -> None:
    first, last = line.index("«") + 1, line.replace("«", "").index("»") + 1
    (tmp_path / "net.py").write_text("\n" + line.replace("«", "").replace("»", ""), "utf-8")
    marked = Finding("a-rule", "net.py", 2, first, 2, last, Severity.ERROR, "")
    assert given_model(str(tmp_path / "net.py"), marked) == name
