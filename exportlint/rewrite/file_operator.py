"""An operator of the file: a `torch.library.custom_op` that stands above the class whose forward needs it.

The program keeps a call of it, and Python runs its body with real tensors: in the program as in eager, also after
decomposition, and after it was saved and loaded (measured with 2.13, both modes), as long as the file was imported.
"""

from __future__ import annotations

import ast
import hashlib
import re
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import defined
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import snake_case, statements
from exportlint.rewrite.transformation import CannotError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.view import View

# What a user has to know who ships the program.
OF_FILE = "an operator of this file, which the program calls: it needs Python and this file where it runs"
NOTHING = "None"
# Names of methods that say nothing without their class.
_PLAIN = frozenset({"forward", "__call__", "read", "load", "draw", "sample", "log", "tell"})


def put_operator(
    draft: Draft,
    view: View,
    verb: str,
    arguments: Mapping[str, str],
    body: Sequence[ast.stmt],
    fake: str,
    *,
    varies: bool = False,
) -> str:
    """Puts the operator into the draft, and gives the name that it is called by.

    verb        what it does: the first word of its name
    arguments   their types, by name
    fake        the expression that its fake kernel returns; NOTHING for one that tells something and returns nothing,
                whose calls torch must neither leave out nor put in another order
    varies      may two calls with the same arguments differ, so that no compiler may make one of them?

    Raises CannotError where the function stands in no file.
    """
    owner = view.cls.node if view.cls is not None else view.node
    top = next((one for one in draft.tree.body if one.lineno <= owner.lineno <= (one.end_lineno or 0)), None)
    if top is None:
        raise CannotError("the function stands in no file")
    of = view.cls.name if view.cls is not None and view.function.name in _PLAIN else view.function.name
    name = draft.free_name(f"{verb}_{snake_case(of).removeprefix(f'{verb}_')}")
    # The file's own name and no package's: the same file gives the same operator wherever it is installed.
    namespace = re.sub(r"\W|^(?=\d)", "_", view.module.name.rpartition(".")[2]) or "model"
    operator = f"{namespace}::{name}_{_digest(draft.tree, body)}"
    typed = ", ".join(f"{one}: {type_}" for one, type_ in arguments.items())
    if "typing." in typed:
        draft.add_import("typing")
    tags = ", tags=(torch.Tag.nondeterministic_seeded,)" if varies else ""
    made = statements(
        f'@torch.library.custom_op("{operator}", mutates_args=(){tags})\n'
        f"def {name}({typed}) -> {NOTHING if fake == NOTHING else 'torch.Tensor'}:\n    pass\n"
        f"@{name}.register_fake\ndef _({', '.join(arguments)}):\n    return {fake}\n"
    )
    function = made[0]
    assert isinstance(function, ast.FunctionDef)  # noqa: S101 - see the text
    function.body = list(body)
    if fake == NOTHING:
        made += statements(
            f'torch.library._register_effectful_op("{operator}", torch._library.effects.EffectType.ORDERED)'
        )
    draft.above(top, made)
    return name


def _digest(tree: ast.Module, body: Sequence[ast.stmt]) -> str:
    """A few letters that differ where the operator does something else: torch puts one in the place of another of the
    same name, and many a file is called `model.py`."""
    texts = [*(ast.unparse(ast.fix_missing_locations(one)) for one in body), *_definitions(tree, body)]
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:6]


def _definitions(tree: ast.Module, body: Sequence[ast.stmt]) -> Iterator[str]:
    """What the file defines of what the lines read, and of what that reads."""
    read, todo, given = set[str](), list[ast.AST](body), set[int]()
    while todo:
        read |= {one.id for one in walked(todo.pop()) if isinstance(one, ast.Name)}
        for one in tree.body:
            if id(one) not in given and not read.isdisjoint(defined(one)):
                given.add(id(one))
                todo.append(one)
                yield ast.unparse(one)
