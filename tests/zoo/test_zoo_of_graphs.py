"""torch_geometric: what a class and its forward ask for is known by the names of their parameters."""

import importlib.util

import pytest
import torch
import torch_geometric.nn  # noqa: F401 - what the expressions name

from exportlint.zoo import torch_geometric as zoo

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "parts", "code"),
    [
        ("GCNConv", {"x", "edge_index"}, "torch_geometric.nn.GCNConv(in_channels=8, out_channels=8).eval()"),
        ("GINEConv", {"x", "edge_index", "edge_attr"}, "torch_geometric.nn.GINEConv(nn=torch.nn.Linear(8, 8)).eval()"),
        ("DenseGCNConv", {"x", "adj"}, "torch_geometric.nn.DenseGCNConv(in_channels=8, out_channels=8).eval()"),
        ("SumAggregation", {"x", "index"}, "torch_geometric.nn.SumAggregation().eval()"),
        (
            "TransE",
            {"head_index", "rel_type", "tail_index"},
            "torch_geometric.nn.TransE(num_nodes=8, num_relations=2, hidden_channels=8).eval()",
        ),
        (
            "GraphSAGE",
            {"x", "edge_index", "batch"},
            "torch_geometric.nn.GraphSAGE(in_channels=8, hidden_channels=8, num_layers=2).eval()",
        ),
    ],
)
def test_a_layer_runs_on_a_small_graph(name, parts, code):
    model, args, kwargs, (imported, expression) = zoo.build(name, {})
    assert (imported, expression) == ("import torch\nimport torch_geometric.nn", code)
    assert repr(eval(expression)) == repr(model)  # noqa: S307
    assert (args, set(kwargs)) == ((), parts)
    with torch.no_grad():
        model(**kwargs)


def test_options_are_arguments_of_the_class():
    model, *_ = zoo.build("GATConv", {"heads": 4, "out_channels": 5})
    assert (model.heads, model.out_channels) == (4, 5)


def test_names_are_grouped_by_kind_and_base_classes_are_no_models():
    assert [zoo.family(name) for name in ("GCNConv", "LayerNorm", "TransE", "MLP")] == ["conv", "norm", "kge", "models"]
    assert {"MessagePassing", "Aggregation", "KGEModel"}.isdisjoint(zoo.names())


@pytest.mark.skipif(importlib.util.find_spec("pyg_lib") is not None, reason="it is there")
@pytest.mark.parametrize("name", ["DynamicEdgeConv", "SchNet"])
def test_a_missing_package_is_named_when_it_is_asked_for_and_when_it_is_used(name):
    with pytest.raises(RuntimeError, match="needs pyg-lib, which is not installed: pip install pyg-lib"):
        zoo.build(name, {})


def test_what_nobody_knows_to_give_is_named():
    with pytest.raises(RuntimeError, match="nobody knows what to give TGNMemory for message_module, aggregator_module"):
        zoo.build("TGNMemory", {})
    with pytest.raises(LookupError):
        zoo.build("GCNConf", {})
