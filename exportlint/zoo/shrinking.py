"""Make a configuration small by what its fields are called, whatever the architecture."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

WIDTH, HEADS, HEAD_WIDTH, INNER, VOCABULARY, POSITIONS, IMAGE, PATCH = 32, 4, 8, 64, 128, 64, 32, 8

_LAYERS = r"(?:.*_)?(?:layers?|depths?|blocks?|stages_repeats)(?:_num)?"
_DEPTHS = (
    (r".*vocab(?:_size)?(?:_.*)?", VOCABULARY),
    (r"(?:num|n)_.*experts|.*expert_num", HEADS),
)
_WIDTHS = (
    (r".*(?:key_value|kv)_?heads?|num_kv.*|.*n_head_kv", 2),
    (r".*(?:head_dim|head_size|head_width|dim_head|d_kv|kv_channels|lora_rank|rope_dim)", HEAD_WIDTH),
    (r".*experts_per_tok.*|.*top_?k.*|.*n_group|.*topk_group", 1),
    (r".*heads?", HEADS),
    (r".*(?:positions?|position_embeddings|seq_len(?:gth)?|source_length|n_ctx)", POSITIONS),
    (r".*(?:image|img|input|crop)_(?:size|resolution)", IMAGE),
    (r".*patch_size", PATCH),
    (r".*(?:intermediate|ffn|feedforward|ff|mlp|inner).*(?:size|dim)|n_inner|d_ff", INNER),
    (r".*(?:size|width|sizes|channels|dim|dims)|d_model|n_embd|d_[a-z]+", WIDTH),
)
# Sizes of other things than weights, by which the weights are made.
_OTHER = (
    r".*(?:kernel|window|chunk|stride|batch|num|block|hop|fft|type|pool|group|memory|bucket|mask|norm).*(?:size|dim).*"
)


def _rules(*rules: tuple[str, int]) -> tuple[tuple[re.Pattern[str], int], ...]:
    return tuple((re.compile(pattern), most) for pattern, most in rules)


Rules = tuple[tuple[re.Pattern[str], int], ...]
_KEPT = 1 << 62
# The first pattern that matches the whole name decides the most that a field may be.
_EVERYTHING = (_DEPTHS[0], *_WIDTHS[:3], _DEPTHS[1], *_WIDTHS[3:7], (_OTHER, _KEPT), *_WIDTHS[7:])


def shrunk(default: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What to change in a configuration given as plain data, the smallest first.

    Everything; with four layers, which mixed architectures repeat; for widths that hang together in a way of their own,
    the depth alone; nothing.
    """
    for depth, rules in ((2, _EVERYTHING), (4, _EVERYTHING), (2, _DEPTHS)):
        yield dict(_changes(default, _rules((_LAYERS, depth), *rules)))
    yield {}


def _changes(default: Mapping[str, Any], rules: Rules) -> Iterator[tuple[str, Any]]:
    tokens = iter(range(3, VOCABULARY))
    for name, value in default.items():
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) and "id" not in name:
            inner = dict(_changes(value, rules))
            # A part of the configuration fills in what is left out; plain data does not.
            kept = {"model_type": value["model_type"]} if "model_type" in value else value
            yield name, {**kept, **inner}
        elif name.endswith("token_id") and isinstance(value, int) and value >= VOCABULARY:
            yield name, next(tokens)
        elif name == "mrope_section":
            yield name, [2, 1, 1]  # together half of HEAD_WIDTH
        else:
            most = next((most for pattern, most in rules if pattern.fullmatch(name)), _KEPT)
            if (small := _at_most(value, most)) != value:
                yield name, small


def _at_most(value: Any, most: int) -> Any:
    match value:
        case bool():
            return value
        case int():
            return min(value, most)
        case list() | tuple():
            return type(value)(_at_most(item, most) for item in value)
    return value
