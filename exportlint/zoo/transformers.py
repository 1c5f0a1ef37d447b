"""`transformers:bert`: an architecture of transformers, or one of its classes, made small."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto

from exportlint.zoo.running import Built, ModelInputs, call, first_that_runs
from exportlint.zoo.shrinking import shrunk

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
