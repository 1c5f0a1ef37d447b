"""What calls into torch, numpy and Python give back. Facts of the libraries' documentation.

Two tables: methods of tensors, by their last name, and functions and classes, by their dotted name. A name that is in
neither is not known, with one exception: what torch has in small letters, and what else a tensor can be asked, gives a
tensor, since nearly all of torch does. What gives something else therefore has to be listed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.engine.values import extents, shapes
from exportlint.engine.values.abstract_value import (
    ROWS,
    SCALAR,
    SIZE,
    TENSOR,
    UNBACKED,
    UNKNOWN,
    Array,
    Container,
    Instance,
    Kind,
    Module,
    Scalar,
    Shape,
    Source,
    Tensor,
    Unknown,
    Value,
    exactly,
    join,
    sized,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.engine.values.extents import Dims


# Methods of tensors.


_WORDS = str.split
# Attributes and methods of a tensor that are not tensors.
SCALAR_ATTRIBUTES = frozenset(
    _WORDS(
        "dtype device ndim is_cuda is_cpu is_mps is_meta is_quantized is_sparse is_leaf is_nested "
        "requires_grad layout names itemsize is_mkldnn output_nr grad_fn"
    )
)
# … and of a NumPy array.
ARRAY_SCALARS = frozenset(_WORDS("shape ndim size dtype itemsize nbytes"))
# Methods that only tensors have, as evidence that a parameter is one. (`size`, `split`, `copy` … others have as well.)
TENSOR_ONLY = frozenset(
    _WORDS(
        "view reshape permute transpose unsqueeze squeeze flatten mean sum softmax log_softmax contiguous "
        "expand expand_as chunk norm new_zeros new_ones new_full new_empty new_tensor float long half bool "
        "int double bfloat16 masked_fill masked_fill_ clamp clamp_ sigmoid tanh relu matmul bmm detach item "
        "numel argmax argmin cumsum type_as view_as repeat_interleave nonzero amax amin std var prod abs exp "
        "log sqrt pow topk unbind gather cpu unsqueeze_ squeeze_ transpose_ resize_ set_ detach_ data scatter "
        "scatter_ index_select index_copy_ masked_select requires_grad_ t t_ mul_ add_ div_ sub_ copy_ zero_ "
        "fill_ any all ndim shape tolist dim data_ptr to_sparse to_mkldnn is_floating_point roll tril triu "
        "narrow"
    )
)
# … and methods whose names are also those of attributes of other things.
TENSOR_CALLED = frozenset(
    _WORDS(
        "size max min repeat type new eq ne lt le gt ge isnan isfinite isinf logical_not logical_and logical_or "
        "index_add index_fill masked_scatter dot outer mm mv addmm cross sign erf rsqrt square neg floor ceil trunc"
    )
)
# Methods that neither numpy nor Python has: what they are called on is a tensor.
TORCH_ONLY = frozenset(
    _WORDS(
        "unsqueeze softmax log_softmax detach masked_fill permute contiguous expand bmm sigmoid relu type_as "
        "float long half bfloat16 masked_select index_select unbind new_zeros new_ones new_full new_tensor "
        "expand_as"
    )
)
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

METHOD_LIKE = TUPLE_METHODS | _TUPLE_WITH_DIM | _DATA_SIZED | shapes.KEEP_TRACK_OF_DATA_DIM | VIEWS


def _method_as_function(tensors: Value, name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    """A function of torch, on what is a tensor on one path at least; what is none there raises."""
    tensor = next(option for option in tensors.options if isinstance(option, Tensor))
    found = tensor_method(tensor, name, args, keywords)
    return found if tensors.certain else found.doubted()


def tensor_method(tensor: Tensor, name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    """What a method of a tensor gives. Unknown methods of a tensor give tensors."""
    if name == "size":
        return _size_of(tensor, args[0] if args else None) if args else shape_of(tensor)
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
    if (
        name in _SPLITS
        and args
        and (args[0].is_unbacked or (args[0].element is not None and args[0].element.is_unbacked))
    ):
        return exactly(Container("tuple", ROWS))
    if name in TUPLE_METHODS or (name in _TUPLE_WITH_DIM and (args or "dim" in keywords)):
        return TENSORS
    if name in _DATA_SIZED:
        return _sized_by_data(name, args, keywords)
    return _made_by_method(tensor, name, _data_dim_after_method(tensor, name, args, keywords))


def _counted(tensor: Tensor, name: str) -> Value:
    if tensor.data_dim is not None and (name != "__len__" or tensor.unbacked):
        return UNBACKED
    counted = tensor.dims[:1] if name == "__len__" and tensor.dims else tensor.dims
    return SIZE if counted is None else sized(shapes.product(counted))


def _data_dim_after_method(
    tensor: Tensor, name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]
) -> int | None:
    if name in {"view", "reshape"}:
        sizes = args or tuple(value for key, value in keywords.items() if key == "shape")
        return shapes.data_dim_of_view(sizes) if tensor.data_dim is not None else None
    if name == "narrow" and len(args) > 2 and args[2].is_unbacked:  # noqa: PLR2004 - dim, start and length
        place = shapes.extent_of(args[0])
        return place.number if place else None
    return shapes.data_dim_after(tensor.data_dim, name, args, keywords) if tensor.data_dim is not None else None


def _made_by_method(tensor: Tensor, name: str, data_dim: int | None) -> Value:
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


def _sized_by_data(name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    if name == "repeat_interleave":
        by_data = bool(args) and args[0].kind is Kind.TENSOR and "output_size" not in keywords
        return ROWS if by_data else TENSOR
    if not keywords.keys().isdisjoint({"as_tuple", "return_counts", "return_inverse"}):
        return exactly(Container("tuple", ROWS))
    return ROWS


def shape_of(tensor: Tensor) -> Value:
    return exactly(Shape(tensor.data_dim, tensor.dims))


def _size_of(tensor: Tensor, dim: Value | None) -> Value:
    place = shapes.extent_of(dim) if dim is not None else None
    if place is not None and place.number is not None and place.number == tensor.data_dim:
        return UNBACKED
    if tensor.dims is None or place is None or place.number is None:
        return SIZE
    return sized(tensor.dims[place.number]) if -len(tensor.dims) <= place.number < len(tensor.dims) else SIZE


# Functions and classes.


MODULE_CONTAINERS = frozenset({"torch.nn.ModuleList", "torch.nn.Sequential", "torch.nn.ModuleDict"})
RETURN_THE_MODULE = frozenset(_WORDS("eval train to cuda cpu half float double bfloat16 requires_grad_ to_empty"))
# Functions of torch that give the module that they are given.
_WRAPPERS_OF_MODULES = (
    "torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm", "torch.nn.utils.parametrizations.",
    "torch.nn.utils.remove_weight_norm", "torch.nn.utils.remove_spectral_norm", "torch.nn.utils.parametrize.",
)  # fmt: skip
# Functions of torch whose first argument may be a number, a list, text, a function …
_TAKES_OTHERS = frozenset(
    _WORDS(
        "tensor as_tensor zeros ones empty full arange range rand randn randint randperm eye linspace logspace "
        "scalar_tensor from_numpy complex polar normal hann_window hamming_window device dtype Size finfo iinfo "
        "manual_seed compile cond while_loop vmap jit load save stack cat concat concatenate hstack vstack dstack "
        "column_stack row_stack block_diag meshgrid broadcast_tensors cartesian_prod einsum Generator no_grad "
        "autocast typename sym_int sym_float sym_max sym_min sym_not sym_sum promote_types can_cast tril_indices "
        "triu_indices broadcast_shapes chain_matmul frombuffer asarray enable_grad inference_mode"
    )
)
# Methods of a module that go through its tensors.
REGISTERED = {
    "parameters": Source.PARAMETER,
    "named_parameters": Source.PARAMETER,
    "buffers": Source.BUFFER,
    "named_buffers": Source.BUFFER,
}
_SCALAR_FUNCTIONS = frozenset(
    f"torch.{w}"
    for w in _WORDS(
        "is_tensor is_grad_enabled is_inference_mode_enabled finfo iinfo device Size is_floating_point "
        "is_complex is_storage is_autocast_enabled get_autocast_gpu_dtype get_autocast_dtype "
        "get_default_dtype promote_types can_cast result_type broadcast_shapes get_num_threads "
        "is_autocast_cpu_enabled get_rng_state get_float32_matmul_precision "
        "are_deterministic_algorithms_enabled is_vulkan_available "
        "seed initial_seed random.seed random.initial_seed get_num_interop_threads"
    )
)
_SCALAR_PACKAGES = (
    "torch.cuda.", "torch.backends.", "torch.jit.is_", "torch.compiler.", "torch._dynamo.", "torch.distributed.",
    "torch.version.", "torch.mps.", "torch.xpu.", "torch.hub.", "torch.overrides.", "torch.onnx.is_in",
)  # fmt: skip
_DTYPES = frozenset(
    f"torch.{w}"
    for w in _WORDS(
        "float16 float32 float64 bfloat16 half float double int8 int16 int32 int64 uint8 bool long int short "
        "complex64 complex128 cfloat strided channels_last contiguous_format preserve_format float8_e4m3fn "
        "float8_e5m2"
    )
)
_FROM_DATA = frozenset({"torch.equal", "torch.allclose", "torch.is_nonzero"})

# Calls that export a model as a program of torch, with `dynamic_shapes` of its own.
EXPORTERS = frozenset({
    "torch.export.export",
    "torch.export.draft_export",
    "torch.export.export_for_training",
    "torch._export.aot_compile",
})  # fmt: skip

_CONSTANT_MAKERS = frozenset(
    f"torch.{w}"
    for w in _WORDS("tensor as_tensor zeros ones full empty arange eye linspace logspace scalar_tensor from_numpy")
)
_TUPLE_FUNCTIONS = frozenset(
    f"torch.{w}" for w in (*TUPLE_METHODS, "meshgrid", "broadcast_tensors", "var_mean", "std_mean")
)
PACKED_CLASS = "torch.nn.utils.rnn.PackedSequence"
_GIVE_PACKED = frozenset({PACKED_CLASS, "torch.nn.utils.rnn.pack_padded_sequence", "torch.nn.utils.rnn.pack_sequence"})
SQUARE_MASK = "generate_square_subsequent_mask"  # of torch.nn.Transformer, on the class and on its objects
_TENSOR_PACKAGES = (
    "torch.nn.functional.", "torch.linalg.", "torch.fft.", "torch.special.", "torch.ops.", "torch.nn.init.",
    "torch.sparse.", "torch.nested.", "torch.signal.",
)  # fmt: skip
_TRUTHS = {
    "torch.compiler.is_exporting": True,
    "torch.compiler.is_compiling": True,
    "torch.compiler.is_dynamo_compiling": None,  # True in strict mode only
    "torch._dynamo.is_compiling": True,
    "torch.jit.is_scripting": False,
    "torch.jit.is_tracing": False,
    "torch._jit_internal.is_scripting": False,
    "torch._C._get_tracing_state": False,
    "torch._C._is_tracing": False,
    "torch.onnx.is_in_onnx_export": False,
    "torch.overrides.has_torch_function": False,
}
_MATH_CONSTANTS = frozenset(f"math.{w}" for w in _WORDS("pi e tau inf nan"))
# Layers that give a row for each row.
_ROW_BY_ROW = frozenset(
    _WORDS(
        "Linear LayerNorm RMSNorm Embedding Dropout ReLU ReLU6 GELU SiLU Mish Tanh Sigmoid Softmax LogSoftmax Softplus "
        "LeakyReLU ELU PReLU Hardtanh Hardsigmoid Hardswish Identity BatchNorm1d"
    )
)
_FEATURES = {
    "Linear": ("takes", "gives"),
    "Embedding": ("rows", "gives"),
    "LayerNorm": ("takes",),
    "BatchNorm1d": ("takes",),
    "BatchNorm2d": ("takes",),
}
_OF_RECURRENT = ("takes", "gives", "layers", "batch_first", "bidirectional", "proj_size")
_OF_CONVOLUTION = ("takes", "gives", "kernel_size", "stride", "padding", "dilation")
_OF_KEYWORD = {
    "in_channels": "takes", "out_channels": "gives", "in_features": "takes", "out_features": "gives",
    "embedding_dim": "gives", "num_features": "takes", "normalized_shape": "takes",
    "input_size": "takes", "hidden_size": "gives", "num_layers": "layers",
}  # fmt: skip
_RECURRENT = frozenset(
    f"torch.nn.{w}" for w in _WORDS("LSTM GRU RNN MultiheadAttention AdaptiveLogSoftmaxWithLoss LSTMCell")
)


def constant(name: str) -> Value | None:
    """A dotted name that is not called: `torch.float32`, `math.pi`, `typing.TYPE_CHECKING`."""
    if name in _DTYPES or name in _MATH_CONSTANTS or name.startswith(("sys.", "torch.finfo")):
        return SCALAR
    if name == "typing.TYPE_CHECKING":
        return exactly(Scalar(truth=False))
    return None


def takes_tensor(name: str) -> bool:
    """Is the first argument of that function a tensor, whatever else it may be given?"""
    package, _, last = name.rpartition(".")
    if package == "torch":
        plain = last[:1].islower() and not last.startswith(("get_", "set_", "is_", "use_", "sym_", "_"))
        return plain and last not in _TAKES_OTHERS
    return package in {"torch.nn.functional", "torch.linalg", "torch.fft", "torch.special"}


def is_question(name: str | None) -> bool:
    """A function that asks who runs the code: the tracer, TorchScript, Python."""
    return name in _TRUTHS


_ONE_DIM = frozenset({"torch.arange", "torch.linspace", "torch.logspace", "torch.randperm", "torch.range"})


def call(name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    """What `name(*args, **keywords)` gives, for functions and classes outside of the project."""
    if name in _TRUTHS:
        return exactly(Scalar("bool", _TRUTHS[name]))
    if name.startswith(_WRAPPERS_OF_MODULES):
        return args[0] if args else UNKNOWN
    if name.startswith("torch."):
        return _of_torch(name, args, keywords)
    if name.startswith("numpy."):
        return exactly(Array(name))
    if name.startswith(("math.", "operator.index", "copy.")):
        return _number_or_copy(name, args)
    if name.startswith("einops.") and name.rpartition(".")[2] in {"rearrange", "repeat", "reduce", "einsum", "pack"}:
        return TENSOR if any(a.kind is Kind.TENSOR for a in args) else UNKNOWN
    if name.startswith("collections."):
        return exactly(Container(name, args[0].element if args else None, name=name))
    if name in {"types.SimpleNamespace", "argparse.Namespace"}:
        return exactly(Instance(name=name))
    return exactly(Unknown(name))


def _number_or_copy(name: str, args: tuple[Value, ...]) -> Value:
    if any(a.is_data for a in args):
        return UNBACKED
    if name.startswith("copy."):
        return args[0] if args else UNKNOWN
    return SIZE if any(a.kind is Kind.SIZE for a in args) else SCALAR


def _of_torch(name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    last = name.rpartition(".")[2]
    if name in _FROM_DATA:
        return UNBACKED if any(a.kind is Kind.TENSOR for a in args) else SCALAR
    if last == "disable":  # torch.compiler.disable(f), torch._dynamo.disable(f): f behind a graph break
        return exactly(Unknown(name))
    asks_or_sets = name.count(".") == 1 and last.startswith(("get_", "set_", "is_", "use_"))
    if asks_or_sets or name in _SCALAR_FUNCTIONS or name in _DTYPES or name.startswith(_SCALAR_PACKAGES):
        return SCALAR
    if name == "torch.numel":
        return SIZE
    if name.startswith("torch.nn.") and last in {"Parameter", "Buffer"}:
        source = Source.PARAMETER if last == "Parameter" else Source.BUFFER
        return exactly(Tensor(source, dims=shapes.dims_of(args[0]) if args else None))
    if name in _GIVE_PACKED:
        return exactly(Instance(name=PACKED_CLASS))
    if name.startswith("torch.nn.") and last[:1].isupper():
        return _layer(name, args, keywords)
    if name.startswith("torch.nn.") and last == SQUARE_MASK:
        return TENSOR
    if name.startswith(("torch.optim.", "torch.distributions.", "torch.utils.", "torch.autograd.", "torch.Generator")):
        return exactly(Instance(name=name))
    if name in _CONSTANT_MAKERS or (name.count(".") == 1 and last.endswith("Tensor")):  # torch.LongTensor(…)
        return _constant_or_computed(name, args)
    if name.startswith(_TENSOR_PACKAGES) or (name.count(".") == 1 and last[:1].islower()):
        return _tensor_function(name, last, args, keywords)
    return exactly(Unknown(name))


def _layer(name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    canonical = f"torch.nn.{name.rpartition('.')[2]}"
    if canonical not in MODULE_CONTAINERS:
        return exactly(Module(name=canonical, fields=_settings_of_layer(canonical, args, keywords)))
    items = args if canonical.endswith("Sequential") else args[0].items if args else ()
    element = args[0].element if args else None
    for item in items or ():
        element = join(element, item) if element else item
    fields = args[0].fields if args else ()
    return exactly(Module(name=canonical, items=items or None, element=element, fields=fields))


def _settings_of_layer(
    name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]
) -> tuple[tuple[str, Value], ...]:
    """How many features a layer takes and gives, where they are plain numbers, and how a convolution goes."""
    last = name.rpartition(".")[2]
    named = {_OF_KEYWORD.get(key, key): value for key, value in keywords.items()}
    if last in {"Conv1d", "Conv2d", "Conv3d"}:
        given = dict(zip(_OF_CONVOLUTION, args, strict=False))
        return tuple((part, value.plain) for part, value in (given | named).items() if part in _OF_CONVOLUTION)
    if last.startswith(("MaxPool", "AvgPool")) and "ceil_mode" not in named:
        given = dict(zip(("kernel_size", "stride", "padding"), args, strict=False))
        return tuple((part, value.plain) for part, value in (given | named).items() if part in _OF_CONVOLUTION)
    if last in {"LSTM", "GRU", "RNN", "LSTMCell", "GRUCell", "RNNCell"}:
        given = dict(zip(_OF_RECURRENT[:3], args, strict=False))
        return tuple((part, value.plain) for part, value in (given | named).items() if part in _OF_RECURRENT)
    parts = _FEATURES.get(last, ())
    pairs = (dict(zip(parts, args, strict=False)) | named).items()
    return tuple((part, value.plain) for part, value in pairs if part in parts and shapes.extent_of(value) is not None)


def _constant_or_computed(name: str, args: tuple[Value, ...]) -> Value:
    """A tensor made from Python values is a constant; made from tensors or sizes it is computed."""
    flat = (*args, *(i for a in args for i in a.items or ()), *(a.element for a in args if a.element))
    if name in {"torch.tensor", "torch.as_tensor"} and args and args[0].kind is Kind.TENSOR:
        return args[0].but(source=Source.COMPUTED)
    computed = any(a.kind in {Kind.TENSOR, Kind.UNBACKED} for a in flat)
    boolean = name == "torch.tensor" and bool(args) and args[0].container == "bool"
    source = Source.COMPUTED if computed else Source.CONSTANT
    # `torch.Tensor(3)` is a tensor of three numbers, and `torch.Tensor([3])` of the one number 3.
    listed = name.endswith("Tensor") and bool(args) and args[0].container == "list"
    dims = _dims_of_numbers(args[0]) if args and (listed or name in {"torch.tensor", "torch.as_tensor"}) else None
    return exactly(Tensor(source, boolean, _data_dim_of_maker(name, args), dims=dims))


def _dims_of_numbers(given: Value) -> Dims | None:
    """Of `[[0, 1, 2], [1, 2, 0]]`: lists in lists, down to numbers."""
    if given.items is None:
        return () if given.kind in {Kind.SCALAR, Kind.SIZE} and given.certain else None
    inner = {_dims_of_numbers(item) for item in given.items} or {()}
    (first,) = inner if len(inner) == 1 else (None,)
    return (extents.number(len(given.items)), *first) if first is not None else None


def _data_dim_of_maker(name: str, args: tuple[Value, ...]) -> int | None:
    """The place of a size that was read: `torch.zeros(3, n)`, `torch.arange(1, n)`."""
    sizes = args[0].items or args if args else ()
    at = next((i for i, size in enumerate(sizes) if size.kind is Kind.UNBACKED), None)
    if at is None or name in {"torch.tensor", "torch.as_tensor"}:
        return None
    return 0 if name in _ONE_DIM else at


def _tensor_function(name: str, last: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Value:
    if last == "where" and len(args) == 1 and not keywords:
        return exactly(Container("tuple", ROWS))
    tensor = next((a for a in args if a.kind is Kind.TENSOR), None)
    if (
        name.startswith("torch.nn.functional.")
        and last in shapes.KEEP_TRACK_OF_DATA_DIM
        and args
        and args[0].kind is Kind.TENSOR
    ):
        return _method_as_function(args[0], last, args[1:], keywords)
    if tensor is not None and name.count(".") == 1 and args[0].kind is Kind.TENSOR:
        return (
            _method_as_function(args[0], last, args[1:], keywords)
            if last in METHOD_LIKE
            else exactly(Tensor(boolean=last in BOOLEAN_METHODS))
        )
    if name in _TUPLE_FUNCTIONS:
        return TENSORS
    if last in {"cat", "stack", "concat", "concatenate"} and args and args[0].element:
        element = args[0].element
        at = element.data_dim
        return exactly(Tensor(boolean=element.boolean, data_dim=at if at is None or last != "stack" else at + 1))
    return exactly(Tensor(boolean=last in BOOLEAN_METHODS, data_dim=0 if last in {"nms", "batched_nms"} else None))


_FIELDS_OF_PACKED = frozenset({"data", "batch_sizes", "sorted_indices", "unsorted_indices"})


def field_of_packed(name: str) -> Value | None:
    """Of packed rows: their entries, and how many rows there are at each step, are as many as data says."""
    return (
        exactly(Tensor(data_dim=0 if name in {"data", "batch_sizes"} else None)) if name in _FIELDS_OF_PACKED else None
    )


def array_method(array: Array, name: str) -> Value:
    """What a method of a NumPy array, or of one of its numbers, gives."""
    if name == "tolist":
        return exactly(Container("list"))
    return SCALAR if name == "item" else exactly(Array(on_self=array.on_self))


def module_call(name: str, args: tuple[Value, ...]) -> Value:
    """What calling a layer of torch gives."""
    if name in _RECURRENT:
        return TENSORS
    rows = name.rpartition(".")[2] in _ROW_BY_ROW and bool(args) and args[0].is_tensor
    return exactly(Tensor(data_dim=args[0].data_dim)) if rows else TENSOR


def registered(name: str) -> Value:
    """What `module.parameters()` and its kin give."""
    tensor = exactly(Tensor(REGISTERED[name], on_self=True))
    pair = exactly(Container("tuple", items=(SCALAR, tensor)))
    return exactly(Container("generator", pair if name.startswith("named_") else tensor))
