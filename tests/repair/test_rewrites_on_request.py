"""Rewrites are made for those who read them; what is found, and kept between runs, does not depend on it."""

from rewritten_text import HEAD

from exportlint.files import SourceFile
from exportlint.finding import Wanted
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, check

NET = f"""{HEAD}class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        return x if x.sum() > 0 else -x
"""


def test_nobody_pays_for_edits_that_no_format_shows(tmp_path):
    path = tmp_path / "net.py"
    path.write_text(NET, "utf-8")

    def found(wanted):
        options = StaticOptions("2.13", cache=tmp_path / "cache", rewrites=wanted)
        return check([SourceFile(path, "net.py")], tuple(all_rules().values()), options).findings

    (plain,), (edited,), (every,), (again,) = map(found, (Wanted.NONE, Wanted.FIRST, Wanted.ALL, Wanted.NONE))
    assert plain == again
    assert (plain.message, plain.fingerprint) == (edited.message, edited.fingerprint)
    assert (plain.fix.description, plain.fix.edits, again.rewrites) == (edited.fix.description, (), ())
    assert edited.fix.edits == edited.rewrites[0].edits != ()
    assert (edited.fix, edited.rewrites) == (every.fix, every.rewrites[:1])
