"""`transformers:bert`: an architecture of transformers, made small by its configuration.

Each field of a configuration is known by its name alone: what looks like a depth, a width or a size of pictures becomes
small, and widths that have to fit each other become multiples of the same few numbers. What cannot be made after all is
changed less, step by step, down to not at all.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto

from exportlint.zoo.running import Built, ModelInputs, call, first_that_runs

_BATCH, _LENGTH = 2, 8
_MOST_PARAMETERS = 100_000_000


def names() -> list[str]:
    """Every architecture; a class such as BertForMaskedLM is a name too."""
    return sorted({name for table in _tables() for name in table})


def build(name: str, options: Mapping[str, Any]) -> Built:
    """`options` are fields of the configuration."""
    cls = _class_of(name)

    def make(changes: Mapping[str, Any]) -> Any:
        config = cls.config_class(**{**changes, **options})
        with torch.device("meta"):
            parameters = sum(parameter.numel() for parameter in cls(config).parameters())
        if parameters > _MOST_PARAMETERS:
            raise RuntimeError(f"it has {parameters:,} parameters, and nobody knows how to make it smaller")
        return cls(config)

    changes, model, args, kwargs = first_that_runs(shrunk(cls.config_class().to_dict()), make, _inputs)
    made = f"transformers.{cls.__name__}"
    config = call(f"{made}.config_class", {**changes, **options})
    return model, args, kwargs, ("import transformers", f"{made}({config}).eval()")


def _tables() -> list[Mapping[str, Any]]:
    """Architecture -> class, the bare model first."""
    tables = {key: table for key, table in vars(modeling_auto).items() if re.fullmatch("MODEL_.*MAPPING_NAMES", key)}
    return [modeling_auto.MODEL_MAPPING_NAMES, *tables.values()]


def _class_of(name: str) -> Any:
    found = next((table[name] for table in _tables() if name in table), name)
    cls = getattr(transformers, found if isinstance(found, str) else found[0], None)
    if not (inspect.isclass(cls) and issubclass(cls, transformers.PreTrainedModel)):
        raise LookupError(name)
    return cls


# Sets of inputs to try after the model's main one, by what forward calls its parameters; the first that runs is taken.
_GROUPS = (
    ("input_ids",),
    ("input_ids", "pixel_values"),
    ("input_ids", "bbox"),
    ("input_ids", "bbox", "pixel_values"),
    ("input_ids", "input_features"),
    ("input_ids", "input_values"),
    ("pixel_values", "decoder_input_ids"),
    ("pixel_values", "pixel_mask"),
    ("pixel_values_videos",),
)


def _inputs(model: Any) -> Iterator[ModelInputs]:
    known = set(inspect.signature(model.forward).parameters)
    main = model.main_input_name if isinstance(model.main_input_name, str) else "input_ids"
    for group in dict.fromkeys(((main,), (main, "decoder_input_ids"), *_GROUPS)):
        if known.issuperset(group):
            for other_layout in (False, True):
                yield (), {name: _input(name, model.config, other_layout=other_layout) for name in group}


def _input(name: str, config: Any, *, other_layout: bool) -> torch.Tensor:
    """Some architectures have time before frequency, or frames before channels: that is the other layout."""
    match name:
        case "input_ids" | "decoder_input_ids":
            return torch.randint(3, _of(config, "vocab_size", default=100), (_BATCH, _LENGTH))
        case "bbox":
            return torch.zeros(_BATCH, _LENGTH, 4, dtype=torch.long)
        case "pixel_mask":
            return torch.ones(_BATCH, *_size(config), dtype=torch.long)
        case "pixel_values" | "pixel_values_videos":
            frames = [_of(config, "num_frames", default=4)] if other_layout or "videos" in name else []
            channels = _of(config, "num_channels", "in_channels", "in_chans", default=3)
            return torch.randn(_BATCH, *frames, channels, *_size(config))
    bins = _of(config, "num_mel_bins", "input_feat_per_channel", "feature_size", "n_mels", default=80)
    if name == "input_features":
        frames = _of(config, "max_source_positions", default=32) * 2
        return torch.randn(_BATCH, *((frames, bins) if other_layout else (bins, frames)))
    return torch.randn(_BATCH, *((_of(config, "max_length", default=1024), bins) if other_layout else (2000,)))


def _of(config: Any, *fields: str, default: int) -> Any:
    """The field of the configuration, or of one of its parts."""
    parts = [getattr(config, part, None) for part in getattr(config, "sub_configs", {})]
    found = (getattr(one, field, None) for one in (config, *parts) for field in fields)
    return next((value for value in found if value), default)


def _size(config: Any) -> tuple[int, int]:
    size = _of(config, "image_size", "img_size", "input_size", default=64)
    sides = list(size.values()) if isinstance(size, Mapping) else size
    return (sides, sides) if isinstance(sides, int) else (sides[0], sides[-1])


# Smaller configurations.


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
