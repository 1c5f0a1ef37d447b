"""`transformers:bert`: an architecture of transformers, made small by its configuration, and inputs that it accepts.

Each field of a configuration is known by its name alone: what looks like a depth, a width or a size of pictures becomes
small, and widths that have to fit each other become multiples of the same few numbers. What cannot be made after all is
changed less, step by step, down to not at all.

So is each parameter of `forward`: what it is called says whether it takes tokens, pictures, sound or a mask. Tokens
that stand for pictures or sound are as many as the model makes of them.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch
import transformers
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.models.auto import modeling_auto

from exportlint.zoo.running import Built, ModelInputs, call, first_that_runs

_MOST_PARAMETERS = 50_000_000


def names() -> list[str]:
    """Every architecture; a class such as BertForMaskedLM is a name too."""
    return sorted({name for table in _tables() for name in table})


def build(name: str, options: Mapping[str, Any]) -> Built:
    """`options` are fields of the configuration."""
    cls = _class_of(name)

    def make(changes: Mapping[str, Any]) -> Any:
        given = {**changes, **options}
        with torch.device("meta"):
            parameters = sum(parameter.numel() for parameter in cls(cls.config_class(**given)).parameters())
        if parameters > _MOST_PARAMETERS:
            raise RuntimeError(f"it has {parameters:,} parameters, and nobody knows how to make it smaller")
        return cls(cls.config_class(**given))

    if cls.forward is torch.nn.Module.forward:
        raise RuntimeError(f"{cls.__name__} has no forward, it only generates")
    if "inference_session" in inspect.signature(cls.forward).parameters:
        raise RuntimeError(f"{cls.__name__} takes a session of inference, which is no tensor")
    try:
        variants = list(_variants(cls))
    except Exception as exc:
        raise RuntimeError(f"its default configuration cannot be made ({type(exc).__name__}: {exc})") from exc
    changes, model, args, kwargs = first_that_runs(variants, make, _inputs)
    made = f"transformers.{cls.__name__}"
    config = call(f"{made}.config_class", {**changes, **options})
    return model, args, kwargs, ("import transformers", f"{made}({config}).eval()")


def _variants(cls: Any) -> Iterator[dict[str, Any]]:
    try:
        default = cls.config_class()
    except Exception:  # noqa: BLE001 - the defaults do not fit each other
        default = cls.config_class(**_SINGULAR.get(cls.config_class.model_type, {}))
    return shrunk(default)


# What a model is for, by the tasks that transformers lists it under; the first that fits.
_FAMILIES = (
    ("vision-language", "IMAGE_TEXT_TO_TEXT|VISUAL_QUESTION|MULTIMODAL_LM|ZERO_SHOT_IMAGE|RETRIEVAL"),
    ("speech", "SPEECH|CTC|RNNT|TDT|AUDIO|TEXT_TO_(?:SPECTROGRAM|WAVEFORM)"),
    (
        "detection",
        "SEGMENTATION|DETECTION|RECOGNITION|DEPTH|KEYPOINT|MASK_GENERATION|IMAGE_TO_IMAGE|MATTING|ESTIMATION",
    ),
    ("video", "VIDEO"),
    ("time-series", "TIME_SERIES"),
    ("encoder-decoder", "SEQ_TO_SEQ"),
    ("masked-language", "MASKED_LM"),
    ("causal-language", "CAUSAL_LM"),
    ("masked-language", "SEQUENCE_CLASSIFICATION|TEXT_ENCODING"),
    ("images", "IMAGE|BACKBONE"),
)
# Parts of other models stand under no task, and say in their names what they are.
_PARTS = (
    ("images", r".*_(?:vision|vit|hiera)(?:_.*)?"),
    ("speech", r".*_audio(?:_.*)?"),
    ("causal-language", r".*_text(?:_.*)?"),
)


def family(name: str) -> str:
    """What it is for."""
    tasks = " ".join(task for task, table in vars(modeling_auto).items() if task.endswith("_NAMES") and name in table)
    of_task = (family for family, pattern in _FAMILIES if re.search(pattern, tasks))
    of_name = (family for family, pattern in _PARTS if re.fullmatch(pattern, name))
    return next(of_task, None) or next(of_name, "other")


def _tables() -> list[Mapping[str, Any]]:
    """Architecture -> class, the bare model first."""
    tables = {key: table for key, table in vars(modeling_auto).items() if re.fullmatch("MODEL_.*MAPPING_NAMES", key)}
    return [modeling_auto.MODEL_MAPPING_NAMES, *tables.values()]


def _class_of(name: str) -> Any:
    found = [table[name] for table in _tables() if name in table] or [name]
    of_names = [getattr(transformers, one if isinstance(one, str) else one[0], None) for one in found]
    classes: list[Any] = [cls for cls in of_names if inspect.isclass(cls) and issubclass(cls, PreTrainedModel)]
    if not classes and found != [name]:
        raise RuntimeError(f"transformers lists {name}, and has no model of that name")
    if not classes:
        raise LookupError(name)
    return next((cls for cls in classes if cls.forward is not torch.nn.Module.forward), classes[0])


# Inputs, by what forward calls its parameters.


_BATCH, _LENGTH, _FRAMES, _SAMPLES = 2, 8, 64, 4800
_TEXT, _DECODER = "input_ids", "decoder_input_ids"
# What comes along with pictures or sound, where forward knows it.
_GRIDS = {
    "input_ids": r"bbox|visual_feats|visual_pos|lang_ids",
    "states": r"actions|rewards|returns_to_go|timesteps",
    "pixel_values": r"image_grid_(?:thw|hw)|grid_thw|spatial_shapes|(?:pixel|image)_position_ids|mm_token_type_ids"
    r"|image_embeds_position_mask",
    "pixel_values_videos": r"video_grid_thw|mm_token_type_ids",
}
_SIZES = {
    "pixel_values": r"image_sizes|target_sizes|aspect_ratio_(?:ids|mask)|(?:image_)?merge_sizes",
    "pixel_values_videos": r"image_sizes_videos|target_sizes_videos|video_merge_sizes",
    "image_pixel_values": r"image_sizes|image_attention_mask",
}
_SEEN_OR_HEARD = (
    "pixel_values",
    "input_features",
    "input_values",
    "pixel_values_videos",
    "flattened_patches",
    "image_pixel_values",
    "audio_input_features",
)
_MASKS = r"(?:.*_)?(?:mask|masks)|is_longer|.*lengths"
_MOST_LAYOUTS = 20


def _inputs(model: Any) -> Iterator[ModelInputs]:
    """The likeliest first: everything that is seen, heard and read; then less of it; then with masks."""
    known = {
        name: parameter.default is parameter.empty
        for name, parameter in inspect.signature(model.forward).parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    }
    for names in _sets(model, known):
        for values in itertools.islice(_Inputs(model, names).layouts(), _MOST_LAYOUTS):
            yield (), values


def _sets(model: Any, known: Mapping[str, bool]) -> list[tuple[str, ...]]:
    main = [model.main_input_name] if isinstance(model.main_input_name, str) else model.main_input_name
    crossed = ["encoder_hidden_states"] if getattr(model.config, "encoder_hidden_size", None) else []
    needed = [name for name, required in known.items() if required or name in crossed]
    sources = [name for name in _SEEN_OR_HEARD if name in known]
    shown = [name for name in sources if "video" not in name or "pixel_values" not in sources]
    text = [name for name in (_TEXT,) if name in known]
    decoder = [name for name in (_DECODER, "decoder_input_values") if name in known]
    wholes = [
        [*main, *text, *shown, *decoder],
        [*main, *text, *shown[:1], *decoder],
        [*main, *shown, *decoder],
        [*main, *decoder],
        [*main, *text],
        [*main],
        *([source] for source in sources),
    ]
    found = [
        tuple(
            name
            for name in dict.fromkeys([*needed, *whole, *(name for name in known if with_(whole, name))])
            if name in known
        )
        for whole in wholes
        for with_ in (_needed_with, _comes_with, _may_come_with)
    ]
    return list(dict.fromkeys(found))


def _needed_with(sources: list[str], name: str) -> bool:
    return any(source in sources and re.fullmatch(pattern, name) for source, pattern in _GRIDS.items())


def _comes_with(sources: list[str], name: str) -> bool:
    sizes = any(source in sources and re.fullmatch(pattern, name) for source, pattern in _SIZES.items())
    return sizes or _needed_with(sources, name)


def _may_come_with(sources: list[str], name: str) -> bool:
    return bool(re.fullmatch(_MASKS, name)) or _comes_with(sources, name)


class _Inputs:
    """The inputs of these names. Some architectures have time before frequency, or frames before channels: a layout."""

    def __init__(self, model: Any, names: tuple[str, ...]) -> None:
        self._model, self._config, self._names = model, model.config, names

    def layouts(self) -> Iterator[dict[str, Any]]:
        for values in itertools.product(*map(self._layouts_of, self._names)):
            yield self._with_placeholders(dict(zip(self._names, values, strict=True)))

    def _layouts_of(self, name: str) -> list[Any]:
        for pattern, layouts in _KINDS:
            if re.fullmatch(pattern, name):
                return layouts(self)
        return [torch.ones(_BATCH, _LENGTH, dtype=torch.long)]

    def _with_placeholders(self, values: dict[str, Any]) -> dict[str, Any]:
        """Tokens of pictures and sound after those of the text, as many as the model makes of them."""
        if _TEXT not in values:
            return values
        kinds = torch.zeros_like(values[_TEXT])
        placed = "image_embeds_position_mask" in values
        for number, (what, getter) in enumerate(_FEATURES, start=1):
            token = next((_found(self._config, f"{what}_{end}") for end in _TOKEN_ENDS), None)
            token = 0 if token is None and placed else token
            count = _features(self._model, getter, values) if token is not None else 0
            if count:
                more = torch.full((_BATCH, count), token)
                values[_TEXT] = torch.cat([values[_TEXT], more], dim=1)
                kinds = torch.cat([kinds, torch.full_like(more, number)], dim=1)
        for name, value in values.items():
            if name == "mm_token_type_ids":
                values[name] = kinds
            elif name == "image_embeds_position_mask":
                values[name] = kinds == 1
            elif name in {"attention_mask", "token_type_ids", "position_ids"}:
                values[name] = torch.full(kinds.shape, int(value[0, 0]))
        return values

    # Each returns the layouts that it may have, the likeliest first.

    def ids(self) -> list[Any]:
        vocabulary = _of(_text_part(self._config), "vocab_size", default=100)
        # The lower ids stand for something, such as a picture.
        codebooks = _of(self._config, "num_codebooks", default=0)
        shapes: list[tuple[int, ...]] = [(_BATCH, _LENGTH)]
        if codebooks:
            several = [(_BATCH, _LENGTH, codebooks), (_BATCH, _LENGTH, codebooks + 1), (_BATCH * codebooks, _LENGTH)]
            shapes = [*shapes, *several]
        return [torch.randint(vocabulary // 2, vocabulary, shape) for shape in shapes]

    def boxes(self) -> list[Any]:
        return [torch.zeros(_BATCH, _LENGTH, _of(self._config, "dim_bbox", default=4), dtype=torch.long)]

    def task(self) -> list[Any]:
        return [torch.ones(_BATCH, _of(self._config, "task_seq_len", default=_LENGTH))]

    def image_attention(self) -> list[Any]:
        return [torch.ones(_BATCH, _LENGTH, 1, dtype=torch.long)]

    def past_padding(self) -> list[Any]:
        return [torch.zeros_like(self.past()[0])]

    def frequency(self) -> list[Any]:
        return [torch.zeros(_BATCH, 1, dtype=torch.long)]

    def languages(self) -> list[Any]:
        return [torch.zeros(_BATCH, dtype=torch.long)]

    def regions(self) -> list[Any]:
        return [torch.randn(_BATCH, _LENGTH, _of(self._config, "visual_feat_dim", default=WIDTH))]

    def region_places(self) -> list[Any]:
        return [torch.rand(_BATCH, _LENGTH, 4)]

    def images(self) -> list[Any]:
        channels, (height, width) = self._channels(), self._size()
        patch = self._patch()
        grid = _BATCH * (height // patch) * (width // patch)
        area = channels * patch * patch
        if any("grid" in name for name in self._names):
            frames = _of(self._seen(), "temporal_patch_size", default=2)
            return [
                torch.randn(grid, frames * area),
                torch.randn(grid, area),
                torch.randn(grid, channels, patch, patch),
                torch.randn(_BATCH, grid // _BATCH, frames * area),
                torch.randn(1, grid, area),
            ]
        if any(name == "spatial_shapes" or name.endswith("_position_ids") for name in self._names):
            return [torch.randn(_BATCH, grid // _BATCH, area)]
        picture = (channels, height, width)
        if "target_sizes" in self._names:
            return [torch.randn(1, channels, patch, grid * patch)]
        return [
            torch.randn(_BATCH, *picture),
            torch.randn(_BATCH, 1, *picture),
            torch.randn(_BATCH, 2, *picture),
            torch.randn(_BATCH, self._frames(), *picture),
            torch.randn(_BATCH, 1, _of(self._config, "max_num_tiles", default=1), *picture),
            torch.randn(_BATCH, channels, 48, 320),  # a line of text
        ]

    def videos(self) -> list[Any]:
        picture = (self._channels(), *self._size())
        return [torch.randn(_BATCH, self._frames(), *picture)]

    def pixel_mask(self) -> list[Any]:
        height, width = self._size()
        patch = self._patch()
        if any(name == "spatial_shapes" for name in self._names):
            return [torch.ones(_BATCH, (height // patch) * (width // patch), dtype=torch.long)]
        return [
            torch.ones(_BATCH, height, width, dtype=torch.long),
            torch.ones(_BATCH, 1, height, width, dtype=torch.long),
            torch.ones(_BATCH, 1, dtype=torch.bool),
        ]

    def grid(self) -> list[Any]:
        return [torch.tensor([[1, *self._grid_sides()]] * _BATCH)]

    def shape(self) -> list[Any]:
        return [torch.tensor([self._grid_sides()] * _BATCH)]

    def places(self) -> list[Any]:
        height, width = self._grid_sides()
        places = torch.cartesian_prod(torch.arange(height), torch.arange(width))
        return [places.expand(_BATCH, -1, -1)]

    def image_sizes(self) -> list[Any]:
        return [torch.tensor([self._size()] * _BATCH)]

    def merge_sizes(self) -> list[Any]:
        return [torch.ones(_BATCH, dtype=torch.long)]

    def spectrum(self) -> list[Any]:
        part = _part(self._config, "audio|speech|sound|encoder")
        fields = (
            "input_size",
            "num_mel_bins",
            "input_feat_per_channel",
            "feature_size",
            "n_mels",
            "feature_projection_input_dim",
            "input_feat_size",
        )
        bins = _of(part, *fields, default=None) or _of(self._config, *fields, default=80)
        frames = _of(part, "max_source_positions", default=_FRAMES // 2) * 2
        return [
            torch.randn(_BATCH, bins, frames),
            torch.randn(_BATCH, frames, bins),
            torch.randn(_BATCH, 1, frames, bins),
            torch.randn(_BATCH, frames, WIDTH),
            torch.randn(_BATCH, frames, 4 * bins),  # frames are stacked before
        ]

    def spectrum_mask(self) -> list[Any]:
        return [torch.ones(_BATCH, self.spectrum()[0].shape[-1], dtype=torch.long)]

    def mel_mask(self) -> list[Any]:
        return [torch.zeros(_BATCH, _FRAMES, dtype=torch.bool)]

    def sound(self) -> list[Any]:
        bins = _of(self._config, "num_mel_bins", default=80)
        return [
            torch.randn(_BATCH, _SAMPLES),
            torch.randn(_BATCH, 1, _SAMPLES),
            torch.randn(_BATCH, _of(self._config, "max_length", default=1024), bins),
            torch.randn(_BATCH, _LENGTH, _of(self._config, "hidden_size", default=WIDTH)),
        ]

    def anything(self) -> list[Any]:
        return [*self.hidden(), *self.sound()]

    def placed_patches(self) -> list[Any]:
        """The row and the column come first."""
        patches = _of(self._config, "patch_embed_hidden_size", default=self._channels() * self._patch() ** 2)
        return [torch.cat([torch.ones(_BATCH, _LENGTH, 2), torch.randn(_BATCH, _LENGTH, patches)], dim=-1)]

    def sound_mask(self) -> list[Any]:
        return [torch.ones(_BATCH, _SAMPLES, dtype=torch.long)]

    def hidden(self) -> list[Any]:
        if any("grid" in name for name in self._names):
            return self.images()
        width = _of(self._config, "hidden_size", "d_model", default=WIDTH)
        return [
            torch.randn(_BATCH, _LENGTH, width),
            torch.randn(_BATCH, width, _LENGTH),
            torch.randn(_BATCH, 1, _SAMPLES),
        ]

    def encoded(self) -> list[Any]:
        return [torch.randn(_BATCH, _LENGTH, _of(self._config, "encoder_hidden_size", "hidden_size", default=WIDTH))]

    def episode(self) -> list[Any]:
        return [torch.randn(_BATCH, _LENGTH, 1)]

    def states(self) -> list[Any]:
        return [torch.randn(_BATCH, _LENGTH, _of(self._config, "state_dim", default=1))]

    def actions(self) -> list[Any]:
        return [torch.randn(_BATCH, _LENGTH, _of(self._config, "act_dim", default=1))]

    def past(self) -> list[Any]:
        length = _of(self._config, "context_length", default=_LENGTH)
        lags = max(_of(self._config, "lags_sequence", default=[0]))
        channels = _of(self._config, "num_input_channels", default=1)
        return [torch.randn(_BATCH, length + lags), torch.randn(_BATCH, length + lags, channels)]

    def past_time(self) -> list[Any]:
        values = self.past()[0]
        return [torch.randn(*values.shape, _found(self._config, "num_time_features") or 0)]

    def past_mask(self) -> list[Any]:
        return [torch.ones_like(values) for values in self.past()]

    # Measures of what is seen.

    def _seen(self) -> Any:
        return _part(self._config, "vision|image|visual|vit|backbone|encoder")

    def _channels(self) -> int:
        return int(_of(self._seen(), "num_channels", "in_channels", "in_chans", default=3))

    def _frames(self) -> int:
        return int(_of(self._config, "num_frames", "frames_per_clip", default=4))

    def _patch(self) -> int:
        patch = _of(self._seen(), "patch_size", default=PATCH)
        return int(patch if isinstance(patch, int) else patch[-1])

    def _size(self) -> tuple[int, int]:
        size = _of(self._seen(), "image_size", "img_size", "input_size", default=IMAGE)
        sides = list(size.values()) if isinstance(size, Mapping) else size
        return (sides, sides) if isinstance(sides, int) else (sides[0], sides[-1])

    def _grid_sides(self) -> tuple[int, int]:
        height, width = self._size()
        return height // self._patch(), width // self._patch()


_I = _Inputs
_KINDS = (
    (r"(?:.*_)?input_ids", _I.ids),
    (r"bbox|visual_bbox", _I.boxes),
    (r"visual_feats", _I.regions),
    (r"visual_pos", _I.region_places),
    (r"image_attention_mask", _I.image_attention),
    (r"past_values_padding", _I.past_padding),
    (r"freq", _I.frequency),
    (r"lang_ids", _I.languages),
    (r"pixel_values|.*_pixel_values|image|prompt_masks", _I.images),
    (r"task_inputs", _I.task),
    (r"pixel_values_videos", _I.videos),
    (r"pixel_mask|pixel_attention_mask", _I.pixel_mask),
    (r"(?:.*_)?grid_thw", _I.grid),
    (r"(?:pixel|image)_position_ids", _I.places),
    (r"image_grid_hw|spatial_shapes|target_sizes.*", _I.shape),
    (r"image_sizes", _I.image_sizes),
    (r".*merge_sizes", _I.merge_sizes),
    (r"(?:.*_)?input_features", _I.spectrum),
    (r"audio_mel", _I.spectrum),
    (r"audio_mel_mask", _I.mel_mask),
    (r"input_features_mask|feature_attention_mask|output_attention_mask", _I.spectrum_mask),
    (r"(?:.*_)?input_values", _I.sound),
    (r"inputs", _I.anything),
    (r"flattened_patches", _I.placed_patches),
    (r"padding_mask|input_values_mask", _I.sound_mask),
    (r"encoder_hidden_states", _I.encoded),
    (r"rewards|returns_to_go", _I.episode),
    (r"states", _I.states),
    (r"actions", _I.actions),
    (r"(?:.*_)?hidden_states|.*_embeds|latents", _I.hidden),
    (r"past_values", _I.past),
    (r"past_time_features", _I.past_time),
    (r"past_observed_mask|observed_mask", _I.past_mask),
)
_FEATURES = (("image", "get_image_features"), ("video", "get_video_features"), ("audio", "get_audio_features"))
_TOKEN_ENDS = ("token_id", "token_index", "patch_id")


def _features(model: Any, getter: str, values: Mapping[str, Any]) -> int:
    """How many vectors an example's pictures or sound become; 0 where the model itself will say what it misses."""
    owner = next((module for module in model.modules() if hasattr(module, getter)), None)
    if owner is None:
        return 0
    made = getattr(owner, getter)
    known = inspect.signature(made).parameters
    needed = [name for name, one in known.items() if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    if not set(needed).issubset(values):
        return 0
    try:
        with torch.no_grad():
            features = made(**{name: value for name, value in values.items() if name in known})
    except Exception:  # noqa: BLE001 - the call of the model has the same
        return 0
    features = getattr(features, "pooler_output", features)
    parts = [features] if isinstance(features, torch.Tensor) else list(features)
    return int(sum(part.numel() // part.shape[-1] for part in parts)) // _BATCH


def _found(config: Any, field: str) -> Any:
    return next((value for one in _parts(config) if (value := getattr(one, field, None)) is not None), None)


def _of(config: Any, *fields: str, default: Any) -> Any:
    """The field of the configuration, or of one of its parts."""
    found = (getattr(one, field, None) for one in _parts(config) for field in fields)
    return next((value for value in found if value), default)


def _parts(config: Any) -> list[Any]:
    """The configuration, its parts, and theirs."""
    inner = [value for value in vars(config).values() if isinstance(value, PreTrainedConfig)]
    return [config, *(part for one in inner for part in _parts(one))]


def _part(config: Any, names: str) -> Any:
    named = [
        value for name, value in vars(config).items() if isinstance(value, PreTrainedConfig) and re.search(names, name)
    ]
    return named[0] if named else config


def _text_part(config: Any) -> Any:
    return config.get_text_config()


# Smaller configurations.


WIDTH, HEADS, HEAD_WIDTH, INNER, VOCABULARY, POSITIONS, IMAGE, PATCH = 32, 4, 8, 64, 128, 64, 32, 8
_KEPT = 1 << 62

# The first pattern that matches the whole name decides the most that a field may be.
_DEPTHS = (
    # Which layers are of another kind.
    (r".*(?:period|interval|layer_group_size|every_n_layers|sliding_window_pattern|dense_replace)", 2),
    (r".*(?:layer|attn|expert)_offset", 1),
    (r".*vocab(?:_size)?(?:_.*)?", VOCABULARY),
    (r"index_.*top_?k", _KEPT),  # of positions, not of experts
    (r".*n_group|.*expert_groups?|.*topk_group", 1),
    (r".*experts_per_tok.*|.*top_?k.*", 2),
    (r"(?:num|n)_(?:.*_)?experts|.*expert_num", HEADS),
)
_PICTURES = (r".*(?:image|img|input|crop)_(?:size|resolution)", IMAGE)
_WIDTHS = (
    (r"mamba_(?:n|num)_heads|n_mamba_heads", 2 * WIDTH // HEAD_WIDTH),  # Mamba's inner width is twice the model's
    (r"mamba_d_ssm", 2 * WIDTH),
    (r"attention_window", 8),
    (r"upsample_groups|upsample_initial_channel", WIDTH),
    (r"n_window", 8),
    (r"num_windows|.*tokens_per_image", 4),
    (r".*num_pos_feats", WIDTH // 2),
    (r"mask_dim", WIDTH),
    (r".*round_up_to_multiple_of", 8),
    (r"num_groups|num_filters|.*num_queries|.*num_proposals", 8),
    (r".*(?:key_value|kv)_?heads?|num_kv.*|.*n_head_kv", 2),
    (
        r".*(?:head_?dim|head_size|head_width|dim_head|d_head|d_kv|kv_channels|lora_rank|rope_dim|rotary_dim)",
        HEAD_WIDTH,
    ),
    (r".*heads?", HEADS),
    (r".*(?:positions?|position_embeddings|seq_len(?:gth)?|source_length|n_ctx)", POSITIONS),
    _PICTURES,
    (r".*patch_size", PATCH),
    (r".*(?:intermediate|ffn|feedforward|ff|mlp|inner).*(?:size|dim)|n_inner|d_ff", INNER),
    # Sizes of other things than weights, by which the weights are made.
    (
        (
            r".*(?:kernel|window|chunk|stride|batch|num|block|hop|fft|type|pool|group|memory|bucket|mask|norm)"
            r".*(?:size|dim).*"
        ),
        _KEPT,
    ),
    (
        (
            r".*(?:size|width|sizes|channels|channel_list|dim|dims|(?:out|bottleneck)_features)"
            r"|hidden_size_global|d_model|n_embd|d_[a-z]+"
        ),
        WIDTH,
    ),
)
_SHARED_LAYERS = r".*shared_layers"  # that use what another layer keeps
_CHOSEN_LAYER = r".*feature_layers?"
_LAYERS = r"(?:.*_)?(?:layers?|depths?|blocks?|stages_repeats)(?:_num)?"
_EVERYTHING = (*_DEPTHS, *_WIDTHS)

_TOKENS = r".*(?:token_id|token_index|patch_id)"
_KV_HEADS, _HEADS = r"num_key_value_heads|num_kv_heads|n_head_kv", r"num_attention_heads|num_heads|n_heads?"
_LAYER_COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "depth")
_INDICES = r"(?:.*_)?(?:index(?:es)?|indices|idxs?|layer_ids|layers)"
# What a configuration leaves open, and the model cannot do without.
_OF_EXPERTS = r"(?:num|n)_(?:.*_)?experts|num_experts(?:_per_tok)?|top_k_experts|moe_intermediate_size"
_OPEN = {
    "prediction_length": 4,
    "head_dim": HEAD_WIDTH,
    "num_key_value_heads": HEADS,
    "attn_layer_indices": [1],
    "backbone": "test_resnet",
    "class_thresholds": [0.5, 0.5],
    "indexer_kv_heads": 1,
    "indexer_budget": 8,
    "indexer_compress_ratio": 4,
    "indexer_n_heads": HEADS,
    "indexer_head_dim": HEAD_WIDTH,
    "mlp_layer_types": ["dense", "sparse"],
    "vocab_size": VOCABULARY,
    "vocabulary_map": {"<image>": 4, "<|extra_200|>": 5, "IMGIMGBS6A": 6},  # what stands for pictures
}
# Block-sparse attention falls back to this on short texts, for good.
_WORDS = {
    "attention_type": {"block_sparse": "original_full"},
    "backbone": {"resnet50": "test_resnet"},  # of timm
    "architecture": {
        "resnet50": "test_resnet",
        "mobilenetv5_300m_enc": "test_efficientnet",
        "vit_pe_core_large_patch14_336": "test_vit",
    },
}

# Networks whose widths and depths are multiplied once more; the last width is written in the model.
_SCALES = {"width_coefficient": 1.0, "depth_coefficient": 1.0, "hidden_dim": 1280}

# Each of four stages halves the sides, and the last ones still have a window.
_WINDOWED = {"image_size": 2 * IMAGE, "patch_size": 4, "window_size": 2}

# Architectures whose fields hang together in a way that their names do not tell.
_SINGULAR: dict[str, dict[str, Any]] = {
    "bridgetower": {"hidden_size": 64},  # the heads are as many as the width has times 64
    "bridgetower_vision_model": {"hidden_size": 64},
    "bridgetower_text_model": {"hidden_size": 64},
    # Left empty, and read for each kind of layer.
    "cohere_compass_text": {
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [1, 1, 2]}
        }
    },
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "kv_n_heads": 2, "clip_qkv": 8}},  # left out by its own default
    "clvp_encoder": {"num_attention_heads": 1},  # a head is never narrower than 32
    "dots3_note_text": {"head_dim": 2 * HEAD_WIDTH, "per_layer_config": {}},
    "moonshine_streaming": {"num_key_value_heads": HEADS},  # read, and not declared
    "sam2_prompt_encoder": {"patch_size": 16},  # its pictures are what the last level of the backbone leaves
    # A network of timm; it is written with the width that the model has.
    "fast_vlm": {"vision_config": {"model_type": "timm_wrapper", "architecture": "test_convnext", "model_args": None}},
    "perception_lm": {"vision_config": {"architecture": "test_vit", "model_args": {"embed_dim": 64}}},
    "clap_audio_model": {"spec_size": 64, "hidden_size": 2 * WIDTH},  # of the second of its stages
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},  # repeated until there are as many as layers
    "lw_detr": {"projector_scale_factors": [1.0]},  # empty by default
    "fun_asr_nano": {"adaptor_config": {"intermediate_size": WIDTH // 4}},
    "shieldgemma2": {"yes_token_index": 4, "no_token_index": 5},
    "vitmatte": {"backbone_config": {"patch_size": 16}},  # it is upsampled so often
    "step3p7": {"text_config": {"sliding_window": 8}},
    "blt": {"use_cache": False},
    "seggpt": {"merge_index": 0},
    "xlstm": {"qk_dim_factor": 2.0, "v_dim_factor": 2.0},  # widths are rounded up to 64
    "esm": {"pad_token_id": 1, "mask_token_id": 2},
    "gemma4_assistant": {
        "text_config": {"model_type": "gemma4_text", "hidden_size_per_layer_input": 0, "vocab_size_per_layer_input": 0}
    },
    "granitemoehybrid": {"num_hidden_layers": 2, "layer_types": ["mamba", "attention"]},
    "lfm2_moe": {"num_hidden_layers": 2, "layer_types": ["conv", "full_attention"]},
}


def shrunk(config: Any) -> Iterator[dict[str, Any]]:
    """What to change in a configuration, the smallest first.

    Everything; with four layers, which mixed architectures repeat; for widths that hang together in a way of their own,
    the depth alone; nothing.
    """
    for depth, rules in ((2, _EVERYTHING), (4, _EVERYTHING), (2, (*_DEPTHS, _PICTURES))):
        of_layers = ((_SHARED_LAYERS, 0), (_CHOSEN_LAYER, depth - 1), (_LAYERS, depth))
        yield _Shrinking(depth, (*of_layers, *rules)).changes(config)
    yield {}


class _Shrinking:
    """One way to make configurations smaller."""

    def __init__(self, depth: int, rules: tuple[tuple[str, int], ...]) -> None:
        self._depth, self._rules = depth, rules

    def changes(self, config: Any) -> dict[str, Any]:
        plain = config.to_dict()
        parts = {name: part for name in plain if (part := _part_or_left_out(config, name)) is not None}
        changed: dict[str, Any] = {}
        for name, part in parts.items():
            # A part of the configuration fills in what is left out.
            usual = type(part)().to_dict()
            kept = {
                field: value
                for field, value in part.to_dict().items()
                if field == "model_type" or (value is not None and usual.get(field) != value)
            }
            changed[name] = {**kept, **self.changes(part)}
        own = {name: value for name, value in plain.items() if name not in parts and not _derived(config, name)}
        changed |= self._of_fields(own)
        if isinstance(rope := plain.get("rope_parameters"), Mapping):
            changed["rope_parameters"] = _rotation(rope, in_sections=_rotates_in_sections(config))
        for name, value in _SINGULAR.get(config.model_type, {}).items():
            inner = changed.get(name) if name in parts else None
            changed[name] = {**inner, **value} if inner else value
        return changed

    def _of_fields(self, fields: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        taken = {value for name, value in fields.items() if re.fullmatch(_TOKENS, name) and isinstance(value, int)}
        tokens = (token for token in range(3, VOCABULARY) if token not in taken)
        layers = next((fields[name] for name in _LAYER_COUNTS if isinstance(fields.get(name), int)), 0)
        for name, value in fields.items():
            unset = value is None and re.fullmatch("(?:image|video)_token_(?:id|index)", name)
            if unset or (re.fullmatch(_TOKENS, name) and isinstance(value, int) and value >= VOCABULARY):
                yield name, next(tokens)
            elif value is None and name in _OPEN:
                yield name, _OPEN[name]
            elif value is None and re.fullmatch(_OF_EXPERTS, name):
                yield name, next((most for pattern, most in self._rules if re.fullmatch(pattern, name)), HEADS)
            elif (small := self._smaller(name, value, layers, fields)) != value:
                yield name, small

    def _smaller(self, name: str, value: Any, layers: int, fields: Mapping[str, Any]) -> Any:
        listed = isinstance(value, (list, tuple)) and bool(value) and layers > self._depth
        if name == "per_layer_config" and isinstance(value, Mapping):
            kept = {layer: one for layer, one in value.items() if int(layer) < self._depth}
            return {layer: {**one, **dict(self._of_fields(one))} for layer, one in kept.items()}
        if name == "rope_parameters":
            return value
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value) and "id" not in name:
            return {**value, **dict(self._of_fields(value))}
        if listed and len(value) == layers and isinstance(value[0], (str, bool)):
            return type(value)(_each_kind(value, self._depth))
        if listed and len(value) == layers:
            return self._smaller(name, type(value)(list(value)[: self._depth]), 0, fields)
        if listed and name in {"out_features", "out_indices"}:
            return type(value)(self._stages(value))
        if listed and re.fullmatch(_INDICES, name) and all(isinstance(one, int) for one in value):
            return type(value)(sorted({min(layer, self._depth - 1) for layer in value}))
        if isinstance(value, str):
            return _WORDS.get(name, {}).get(value, value)
        if "expand" in fields and name == "num_heads":
            return fields["expand"] * WIDTH // HEAD_WIDTH  # Mamba's inner width is a multiple of the model's
        if "depths" in fields and "window_size" in fields and name in _WINDOWED:
            return _at_most(value, _WINDOWED[name])
        if "width_coefficient" in fields and name in _SCALES:
            return _SCALES[name]
        if name == "backbone_feature_sizes":
            return [[IMAGE // 4 >> level] * 2 for level in range(len(value))]  # each level has half the side
        of_one = name.removesuffix("_per_stage")
        most = next((most for pattern, most in self._rules if re.fullmatch(pattern, of_one)), _KEPT)
        if most == 2 and re.fullmatch(_KV_HEADS, name) and value in _values(fields, _HEADS):  # noqa: PLR2004
            most = HEADS  # attention without groups stays without
        return _at_most(value, most, powers_of_two=most == HEADS)

    def _stages(self, stages: Any) -> list[Any]:
        """Of a network whose layers are its stages, the last ones; `stem` comes before them."""
        last = range(max(1, self._depth - len(stages) + 1), self._depth + 1)
        return [f"stage{number}" if isinstance(stages[0], str) else number for number in last]


def _rotation(rope: Mapping[str, Any], *, in_sections: bool) -> Mapping[str, Any]:
    """Sections of time, height and width are together half of what is rotated of a head."""
    if any(isinstance(one, Mapping) for one in rope.values()):
        kinds = {kind: one for kind, one in rope.items() if isinstance(one, Mapping)}
        return {**rope, **{kind: _rotation(one, in_sections=in_sections) for kind, one in kinds.items()}}
    if not ("mrope_section" in rope or (in_sections and "rope_type" in rope)):
        return rope
    half = int(HEAD_WIDTH * rope.get("partial_rotary_factor", 1)) // 2
    section = max(half // 4, 1)
    return {**rope, "mrope_section": [section, section, half - 2 * section]}


def _rotates_in_sections(config: Any) -> bool:
    """The configuration may leave the sections out; the model's code has their usual sizes then."""
    name = type(config).__module__.replace(".configuration_", ".modeling_")
    try:
        return "mrope_section" in inspect.getsource(importlib.import_module(name))
    except ImportError:
        return False


def _part_or_left_out(config: Any, name: str) -> Any:
    """A part of the configuration; what sees or hears is there even where it may be left out."""
    value = vars(config).get(name)
    if isinstance(value, PreTrainedConfig):
        return value
    spec: Any = getattr(config, "sub_configs_defaults", {}).get(name)
    concrete = spec is not None and issubclass(spec.config_class, PreTrainedConfig)
    if value is None and concrete and re.fullmatch("(?:vision|audio)_config", name):
        return spec.config_class()
    return None


# Derived by the class, but not for few layers and narrow heads.
_GIVEN = (
    r"rope_parameters|out_features|out_indices|per_layer_config|.*layer_types|layers_block_type|block_types|.*_config"
)


def _derived(config: Any, name: str) -> bool:
    """The class makes the field of others where it is left out, and they are smaller now."""
    if not dataclasses.is_dataclass(config) or re.fullmatch(_GIVEN, name):
        return False
    declared = {field.name: field.default for field in dataclasses.fields(config)}
    # An attribute may be kept under another name than the one it is declared by.
    renamed: Mapping[str, str] = getattr(config, "attribute_map", {})
    declared |= {kept: declared[field] for field, kept in renamed.items() if field in declared}
    value = vars(config).get(name)
    return name not in declared or (declared[name] is None and isinstance(value, int) and name not in _OPEN)


def _values(fields: Mapping[str, Any], names: str) -> list[Any]:
    return [value for name, value in fields.items() if re.fullmatch(names, name)]


def _each_kind(kinds: Any, depth: int) -> list[Any]:
    """As many layers, of as many kinds as there are."""
    different = list(dict.fromkeys(kinds))
    return [different[layer % len(different)] for layer in range(depth)]


def _at_most(value: Any, most: int, *, powers_of_two: bool = False) -> Any:
    match value:
        case bool():
            return value
        case int():
            small = min(value, most)
            return 1 << (small.bit_length() - 1) if powers_of_two and small > 0 else small
        case list() | tuple():
            return type(value)(_at_most(item, most, powers_of_two=powers_of_two) for item in value)
    return value
