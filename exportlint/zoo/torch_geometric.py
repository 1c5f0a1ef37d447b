"""`torch_geometric:GCNConv`: a layer or a model of PyTorch Geometric, on a small graph.

What a class and its `forward` ask for is known by the names of their parameters: widths, a graph of eight nodes, and
what belongs to its edges.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
import torch_geometric.nn

from exportlint.zoo.running import Built, ModelInputs, first_that_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_KINDS = ("conv", "aggr", "norm", "dense", "pool", "models", "kge")
_NODES, _EDGES, _GRAPHS, _WIDTH = 8, 20, 2, 8
# The base classes of the others, and layers for graphs with several types of nodes, which want a dict of each.
_NO_MODELS = {
    "Aggregation", "MessagePassing", "KGEModel", "HeteroConv", "HGTConv", "HANConv", "HeteroBatchNorm",
    "HeteroLayerNorm", "HeteroLinear", "HeteroDictLinear", "HeteroJumpingKnowledge", "MetaPath2Vec",
}  # fmt: skip
# The arguments of classes, as code: what is written is what is built.
_ARGUMENTS = {
    **dict.fromkeys(
        ("in_channels", "out_channels", "hidden_channels", "channels", "embedding_dim", "edge_dim", "space_dimensions",
         "propagate_dimensions", "edge_type_emb_dim", "edge_attr_emb_dim", "patch_size", "dim", "max_num_elements",
         "int_emb_size", "basis_emb_size", "out_emb_channels", "hidden_node_channels", "hidden_edge_channels",
         "raw_msg_dim", "memory_dim", "time_dim", "num_classes", "num_nodes"),
        str(_WIDTH),
    ),
    **dict.fromkeys(
        ("num_layers", "k", "K", "heads", "groups", "num_clusters", "num_relations", "num_rels", "num_types",
         "num_node_types", "num_edge_types", "processing_steps", "kernel_size", "depth", "num_blocks", "num_bilinear",
         "num_spherical", "num_radial", "num_timesteps", "filter_size", "num_correction_layers",
         "num_smoothing_layers", "seq_len", "q"),
        "2",
    ),
    **dict.fromkeys(("alpha", "correction_alpha", "smoothing_alpha"), "0.5"),
    "nn": f"torch.nn.Linear({_WIDTH}, {_WIDTH})",
    "gate_nn": f"torch.nn.Linear({_WIDTH}, 1)",
    "encoder": f"torch_geometric.nn.GCNConv({_WIDTH}, {_WIDTH})",
    "conv": f"torch_geometric.nn.GCNConv({_WIDTH}, {_WIDTH})",
    "convs": f"[torch_geometric.nn.GCNConv({_WIDTH}, {_WIDTH})]",
    "mlp_h": f"torch.nn.Linear({_WIDTH}, 3)",
    "mlp_f": f"torch.nn.Linear({_WIDTH + 3}, {_WIDTH})",
    "mlp_g": f"torch.nn.Linear({_WIDTH}, {_WIDTH})",
    "aggregators": "['mean', 'max']",
    "aggrs": "['mean', 'max']",
    "aggr": "'mean'",
    "first_aggr": "True",
    "scalers": "['identity']",
    "scaler": "['identity']",
    "deg": "torch.tensor([0, 2, 4, 2])",
    "mode": "'cat'",
    "edge_index": f"torch.arange(2 * {_NODES}).reshape(2, -1) % {_NODES}",
    "walk_length": "4",
    "context_size": "2",
    "discriminator": f"torch.nn.Linear({_WIDTH}, 1)",
    "summary": "lambda z, *args, **kwargs: z.mean(dim=0)",
    "corruption": "lambda x, edge_index: (x.flip(0), edge_index)",
}  # fmt: skip
# What the names do not tell: a network over pairs of nodes or over edges, and what is given as **kwargs.
_SINGULAR = {
    "DeepGCNLayer": {"norm": f"torch.nn.LayerNorm({_WIDTH})", "act": "torch.nn.ReLU()"},
    "DegreeScalerAggregation": {"aggr": "['mean']", "scaler": "['identity']"},
    "EdgeConv": {"nn": f"torch.nn.Linear({2 * _WIDTH}, {_WIDTH})"},
    "EquilibriumAggregation": {"num_layers": f"[{_WIDTH}]"},
    "GroupAddRev": {"conv": f"torch_geometric.nn.GCNConv({_WIDTH // 2}, {_WIDTH // 2})", "num_groups": "2"},
    "MLP": {"channel_list": f"[{_WIDTH}, {_WIDTH}]"},
    "MLPAggregation": {"num_layers": "2", "hidden_channels": str(_WIDTH)},
    "NNConv": {"nn": f"torch.nn.Linear({_WIDTH}, {_WIDTH * _WIDTH})"},
    "PNA": {"aggregators": "['mean', 'max']", "scalers": "['identity']", "deg": _ARGUMENTS["deg"]},
    "QuantileAggregation": {"q": "0.5"},
}


def names() -> list[str]:
    return sorted(name for name in _classes() if name not in _NO_MODELS)


def family(name: str) -> str:
    """conv, aggr, norm, dense, pool, models or kge."""
    return _classes()[name][0]


@cache
def _classes() -> dict[str, tuple[str, Any]]:
    """Name -> kind and class."""
    found: dict[str, tuple[str, Any]] = {}
    for kind in _KINDS:
        module = importlib.import_module(f"torch_geometric.nn.{kind}")
        for name in module.__all__:
            cls = getattr(module, name)
            if inspect.isclass(cls) and issubclass(cls, torch.nn.Module):
                found.setdefault(name, (kind, cls))
    return found


def build(name: str, options: Mapping[str, Any]) -> Built:
    """`options` are arguments of the class."""
    if name not in names():
        raise LookupError(name)
    cls = _classes()[name][1]
    if name.startswith("CuGraph"):
        raise RuntimeError(f"{name} needs a GPU and pylibcugraphops")
    expression = f"{_code(cls, name, options)}.eval()"

    def make(code: str) -> Any:
        return eval(code, {"torch": torch, "torch_geometric": torch_geometric})  # noqa: S307 - our own code

    _, model, args, kwargs = first_that_runs([expression], make, _inputs)
    return model, args, kwargs, ("import torch\nimport torch_geometric.nn", expression)


def _code(cls: Any, name: str, options: Mapping[str, Any]) -> str:
    # Of a class that hands its arguments on, those of the class that takes them.
    takes = next(base for base in cls.__mro__ if not _hands_on(base))
    needed = [
        one.name
        for one in inspect.signature(takes).parameters.values()
        if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD
    ]
    if unknown := [one for one in needed if one not in _ARGUMENTS and one not in options]:
        raise RuntimeError(f"nobody knows what to give {name} for {', '.join(unknown)}")
    given = {one: _ARGUMENTS[one] for one in needed} | _SINGULAR.get(name, {})
    given |= {one: repr(value) for one, value in options.items()}
    return f"torch_geometric.nn.{name}({', '.join(f'{one}={code}' for one, code in given.items())})"


def _hands_on(cls: Any) -> bool:
    return any(one.kind is one.VAR_POSITIONAL for one in inspect.signature(cls).parameters.values())


def _inputs(model: Any) -> Iterator[ModelInputs]:
    """What forward cannot do without, with what tells graphs apart; then with what belongs to edges, as some ask for it
    while they run."""
    known = inspect.signature(model.forward).parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in known):
        yield (_nodes(), _edges()), {}  # an encoder has them
    parameters = [one for one in known if one.kind is one.POSITIONAL_OR_KEYWORD]
    needed = [one.name for one in parameters if one.default is one.empty]
    if unknown := [name for name in needed if name not in _LAYOUTS]:
        raise RuntimeError(f"nobody knows what its forward wants for {', '.join(unknown)}")
    others = [one.name for one in parameters if one.default is not one.empty and one.name in _LAYOUTS]
    graphs = [name for name in others if name in _OF_GRAPHS]
    for more in (graphs, [], *([other] for other in others), others):
        wanted = [*needed, *more]
        for values in itertools.product(*(_LAYOUTS[name] for name in wanted)):
            yield (), {name: value() for name, value in zip(wanted, values, strict=True)}


def _edges() -> torch.Tensor:
    return torch.stack([torch.arange(_EDGES) % _NODES, torch.arange(_EDGES) // 3 % _NODES])


def _adjacency() -> torch.Tensor:
    return torch.randint(2, (_GRAPHS, _NODES, _NODES)).float()


def _nodes() -> torch.Tensor:
    return torch.randn(_NODES, _WIDTH)


def _graph_of_nodes() -> torch.Tensor:
    return torch.arange(_NODES) * _GRAPHS // _NODES


def _few(number: int, most: int) -> torch.Tensor:
    return torch.arange(number) % most


_OF_GRAPHS = ("index", "batch")

# What forward calls a parameter -> what it may be, the likeliest first.
_LAYOUTS: dict[str, tuple[Any, ...]] = {
    "x": (_nodes, lambda: torch.randn(_NODES, 2, _WIDTH), lambda: torch.randn(_GRAPHS, _NODES, _WIDTH),
          lambda: _few(_NODES, 2)),
    "msg": (_nodes,),
    "xs": (lambda: [_nodes(), _nodes()],),
    "x_0": (_nodes,),
    "edge_index": (_edges,),
    "pos_edge_index": (_edges,),
    "neg_edge_index": (_edges,),
    "hyperedge_index": (_edges,),
    "adj": (_adjacency, _edges),
    "pos": (lambda: torch.randn(_NODES, 3),),
    "normal": (lambda: torch.randn(_NODES, 3),),
    "batch": (_graph_of_nodes,),
    "index": (_graph_of_nodes,),
    "z": (lambda: _few(_NODES, 5), _nodes),
    "y": (lambda: _few(_NODES, 2),),
    "mask": (lambda: _few(_NODES, 2).bool(),),
    "edge_attr": (lambda: torch.randn(_EDGES, _WIDTH), lambda: torch.rand(_EDGES, 2)),
    "edge_weight": (lambda: torch.rand(_EDGES),),
    "edge_type": (lambda: _few(_EDGES, 2),),
    "node_type": (lambda: _few(_NODES, 2),),
    "type_vec": (lambda: _few(_NODES, 2),),
    "head_index": (lambda: _few(5, _NODES),),
    "tail_index": (lambda: _few(5, 3),),
    "rel_type": (lambda: _few(5, 2),),
}  # fmt: skip
