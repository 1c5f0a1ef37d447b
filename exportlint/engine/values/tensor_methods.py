"""What methods of tensors give. Facts of torch's documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import (
    ROWS,
    SCALAR,
    SIZE,
    TENSOR,
    UNBACKED,
    Array,
    Container,
    Shape,
    Tensor,
    Value,
    exactly,
    sized,
)
from exportlint.engine.values.dims import data_sized_dim, needs, shapes
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORDS = str.split
_SCALAR_METHODS = frozenset(
    _WORDS(
        "dim ndimension is_contiguous is_floating_point is_complex is_signed is_inference element_size "
        "get_device type storage untyped_storage data_ptr storage_offset has_names is_shared is_pinned "
        "dense_dim sparse_dim is_same_size is_set_to __hash__ is_coalesced is_neg is_conj retain_grad "
        "backward register_hook share_memory_"
    )
)
_UNBACKED_METHODS = frozenset(_WORDS("item equal allclose is_nonzero __bool__ __int__ __float__ __index__"))
TUPLE_METHODS = frozenset(
    _WORDS(
        "split chunk unbind topk sort tensor_split split_with_sizes hsplit vsplit dsplit mode kthvalue "
        "aminmax qr svd eig eigh lu slogdet unsafe_chunk unsafe_split frexp histogram"
    )
)
_TUPLE_WITH_DIM = frozenset(_WORDS("max min median cummax cummin nanmedian"))
_DATA_SIZED = frozenset(_WORDS("nonzero argwhere masked_select unique unique_consecutive repeat_interleave bincount"))
_MAY_GIVE_ITSELF = frozenset(_WORDS("to cpu cuda float double half long int bool bfloat16 type type_as contiguous"))
_SPLITS = frozenset(_WORDS("split split_with_sizes tensor_split unsafe_split"))
BOOLEAN_METHODS = frozenset(
    _WORDS(
        "bool eq ne lt le gt ge isnan isinf isfinite logical_and logical_or logical_not logical_xor any all "
        "isclose signbit isin less greater less_equal greater_equal not_equal isposinf isneginf isreal"
    )
)
# Views keep where a tensor lives.
VIEWS = frozenset(
    _WORDS(
        "view t transpose permute detach squeeze unsqueeze expand expand_as narrow select diagonal view_as T "
        "mT data swapaxes movedim real imag unfold as_strided"
    )
)
TENSORS = exactly(Container("tuple", TENSOR))

METHOD_LIKE = TUPLE_METHODS | _TUPLE_WITH_DIM | _DATA_SIZED | data_sized_dim.FOLLOWED | VIEWS


def each_tensor(tensors: Value, name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    """A function of torch, on what is a tensor on one path at least; what is none there raises."""
    tensor = next(option for option in tensors.options if isinstance(option, Tensor))
    found = method(tensor, name, args, keywords)
    return found if tensors.certain else found.doubted()


def method(tensor: Tensor, name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    """What a method of a tensor gives. Unknown methods of a tensor give tensors."""
    if name == "size":
        return _size(tensor, args[0] if args else None) if args else shape_of(tensor)
    if name in {"numel", "nelement", "__len__"}:
        return _counted(tensor, name)
    if name in _UNBACKED_METHODS:
        return UNBACKED
    if name == "tolist":
        return exactly(Container("list", UNBACKED))
    if name == "numpy":
        return exactly(Array("torch.Tensor.numpy"))
    if name in _SCALAR_METHODS or name == "stride":
        return SCALAR
    if name in _SPLITS and args and _holds_numbers_from_data(args[0]):
        return exactly(Container("tuple", ROWS))
    if name in TUPLE_METHODS or (name in _TUPLE_WITH_DIM and (args or "dim" in keywords)):
        return TENSORS
    if name in _DATA_SIZED:
        return _data_sized(name, args, keywords)
    return _computed(tensor, name, _data_dim(tensor, name, args, keywords))


def _counted(tensor: Tensor, name: str) -> Value:
    if tensor.data_dim is not None and (name != "__len__" or tensor.unbacked):
        return UNBACKED
    counted = tensor.dims[:1] if name == "__len__" and tensor.dims else tensor.dims
    return SIZE if counted is None else sized(shapes.product(counted))


def _data_dim(tensor: Tensor, name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> int | None:
    if name in {"view", "reshape"}:
        sizes = args or tuple(value for key, value in keywords.items() if key == "shape")
        return data_sized_dim.of_view(sizes) if tensor.data_dim is not None else None
    if name == "narrow" and len(args) > 2 and args[2].is_unbacked:  # noqa: PLR2004 - dim, start and length
        place = needs.extent_of(args[0])
        return place.number if place else None
    return data_sized_dim.after_method(tensor.data_dim, name, args, keywords) if tensor.data_dim is not None else None


def _holds_numbers_from_data(sizes: Value) -> bool:
    return sizes.is_unbacked or (sizes.element is not None and sizes.element.is_unbacked)


def _computed(tensor: Tensor, name: str, data_dim: int | None) -> Value:
    """A tensor that a method makes of another: its storage, its rows, whether it holds booleans."""
    boolean = name in BOOLEAN_METHODS or (
        tensor.boolean and name not in {"float", "long", "int", "to", "sum", "cumsum", "type"}
    )
    source = tensor.source if name in VIEWS or name.endswith("_") else Source.COMPUTED
    if name in _MAY_GIVE_ITSELF and tensor.source is Source.ATTRIBUTE:
        source = tensor.source
    if tensor.source is Source.CONSTANT:
        source = Source.CONSTANT
    return exactly(Tensor(source, boolean, data_dim))


def _data_sized(name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    if name == "repeat_interleave":
        by_data = bool(args) and args[0].kind is Kind.TENSOR and "output_size" not in keywords
        return ROWS if by_data else TENSOR
    if not keywords.keys().isdisjoint({"as_tuple", "return_counts", "return_inverse"}):
        return exactly(Container("tuple", ROWS))
    return ROWS


def shape_of(tensor: Tensor) -> Value:
    return exactly(Shape(tensor.data_dim, tensor.dims))


def _size(tensor: Tensor, dim: Value | None) -> Value:
    place = needs.extent_of(dim) if dim is not None else None
    if place is not None and place.number is not None and place.number == tensor.data_dim:
        return UNBACKED
    if tensor.dims is None or place is None or place.number is None:
        return SIZE
    return sized(tensor.dims[place.number]) if -len(tensor.dims) <= place.number < len(tensor.dims) else SIZE
