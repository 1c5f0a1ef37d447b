"""timm and torchvision: what is large is made smaller by its own arguments, and the code makes the same model."""

import pytest
import torch

from exportlint.zoo.running import within

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def timm_zoo():
    pytest.importorskip(
        "timm", exc_type=ImportError, reason="timm pulls another torch than the one truth is stored for"
    )
    import timm  # noqa: F401, PLC0415 - what the expressions name

    from exportlint.zoo import timm as zoo  # noqa: PLC0415

    return zoo


@pytest.fixture(scope="module")
def torchvision_zoo():
    pytest.importorskip("torchvision", exc_type=Exception, reason="torchvision pulls another torch, as timm")
    from exportlint.zoo import torchvision as zoo  # noqa: PLC0415

    return zoo


def parameters(model):
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize(
    ("name", "change"),
    [("vit_7b_patch16_dinov3", "depth=2"), ("samvit_huge_patch16", "global_attn_indexes"), ("regnety_2560", "w0=")],
)
def test_a_large_model_is_made_smaller_by_the_arguments_of_its_class(timm_zoo, name, change):
    model, args, kwargs, (imported, expression) = timm_zoo.build(name, {})
    assert parameters(model) < 30_000_000
    assert change in expression
    scope = {}
    exec(imported, scope)  # noqa: S102
    again = eval(expression, scope)  # noqa: S307
    assert {name: one.shape for name, one in again.named_parameters()} == {
        name: one.shape for name, one in model.named_parameters()
    }
    with torch.no_grad():
        again(*args, **kwargs)


def test_a_small_model_stays_as_it_is(timm_zoo):
    *_, (_, expression) = timm_zoo.build("resnet18", {})
    assert expression == "timm.create_model('resnet18', pretrained=False).eval()"


def test_a_family_is_where_the_library_defines_it(timm_zoo, torchvision_zoo):
    assert [timm_zoo.family(name) for name in ("beit_base_patch16_224", "resnext50_32x4d")] == ["beit", "resnet"]
    found = [torchvision_zoo.family(name) for name in ("vgg11", "fcn_resnet50", "quantized_resnet18", "raft_small")]
    assert found == ["vgg", "segmentation", "quantization", "optical_flow"]


def test_a_model_is_stopped_while_it_is_made_as_soon_as_it_is_too_large():
    made = []

    def make():
        made.append(torch.nn.Linear(10, 10))
        made.append(torch.nn.Linear(100, 100))
        made.append(torch.nn.Linear(10, 10))

    with pytest.raises(RuntimeError, match="more than 5,000 parameters"):
        within(5_000, 10, make)
    assert len(made) == 1
    assert within(5_000, 10, lambda: torch.nn.Linear(10, 10)).out_features == 10
