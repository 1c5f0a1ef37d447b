"""The text of a call with other arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence


def without_words(call: cst.Call, words: Collection[str]) -> str:
    """Without the keyword arguments of these names."""
    return _with(call, [arg for arg in call.args if not (arg.keyword and arg.keyword.value in words)])


def with_replaced_word(call: cst.Call, word: str, new: str, text: str) -> str:
    """With another keyword argument in the place of one."""
    other = {"keyword": cst.Name(new), "value": cst.parse_expression(text)}
    return _with(
        call, [arg.with_changes(**other) if arg.keyword and arg.keyword.value == word else arg for arg in call.args]
    )


def with_words(call: cst.Call, words: Sequence[str | None]) -> str:
    """With names for arguments that are given by place, one for each place; None: it stays without."""
    named = [_named(arg, word) for arg, word in zip(call.args, words, strict=False)]
    return _with(call, [*named, *call.args[len(named) :]])


def with_argument(call: cst.Call, value: cst.BaseExpression, change: Callable[[str], str]) -> str:
    """With another text in the place of one argument."""
    text = cst.Module([]).code_for_node(value)
    args = [
        arg.with_changes(value=cst.parse_expression(change(text))) if arg.value is value else arg for arg in call.args
    ]
    return _with(call, args)


def with_inserted(call: cst.Call, place: int, text: str) -> str:
    """With one argument more, before the one at this place."""
    new = cst.Arg(cst.parse_expression(text), comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" ")))
    return _with(call, [*call.args[:place], new, *call.args[place:]])


def _named(arg: cst.Arg, word: str | None) -> cst.Arg:
    if word is None or arg.keyword or arg.star:
        return arg
    plain = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
    return arg.with_changes(keyword=cst.Name(word), equal=plain)


def _with(call: cst.Call, args: Sequence[cst.Arg]) -> str:
    """The last argument has the comma that the last one had."""
    if args and call.args:
        last = call.args[-1]
        args = [*args[:-1], args[-1].with_changes(comma=last.comma, whitespace_after_arg=last.whitespace_after_arg)]
    return cst.Module([]).code_for_node(call.with_changes(args=args))
