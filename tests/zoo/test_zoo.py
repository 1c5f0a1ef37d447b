"""Models by name. The libraries' own are small here, whatever their architecture; other packages add theirs."""

import pytest
import torch
import transformers  # noqa: F401 - what the expressions name

from exportlint.trial.discovery import from_zoo
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials
from exportlint.zoo import transformers as zoo

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("bert", {"input_ids"}),
        ("BertForMaskedLM", {"input_ids"}),
        ("llama", {"input_ids"}),
        ("whisper", {"input_features", "decoder_input_ids"}),
        ("vit", {"pixel_values"}),
        ("resnet", {"pixel_values"}),
        ("blip", {"input_ids", "pixel_values"}),
        ("encoder-decoder", {"input_ids", "decoder_input_ids"}),
        ("siglip2", {"input_ids", "pixel_values", "spatial_shapes"}),  # patches, not pictures
        ("layoutlm", {"input_ids", "bbox"}),
        ("decision_transformer", {"states", "actions", "rewards", "returns_to_go", "timesteps"}),
    ],
)
def test_an_architecture_is_small_and_runs_on_its_inputs(name, parts):
    model, args, kwargs, (imported, expression) = zoo.build(name, {})
    assert (imported, repr(eval(expression))) == ("import transformers", repr(model))  # noqa: S307
    assert (args, set(kwargs)) == ((), parts)
    assert sum(parameter.numel() for parameter in model.parameters()) < 200_000
    with torch.no_grad():
        model(**kwargs)


@pytest.mark.parametrize(
    ("name", "token", "count"), [("qwen2_vl", "image_token_id", 4), ("idefics3", "image_token_id", 4)]
)
def test_a_vision_language_model_gets_as_many_tokens_as_its_pictures_become(name, token, count):
    model, _, kwargs, _ = zoo.build(name, {})
    per_text = (kwargs["input_ids"] == getattr(model.config, token)).sum(dim=1)
    assert per_text.tolist() == [count, count]
    assert "pixel_values" in kwargs


def test_what_hears_gets_the_mask_that_it_cannot_do_without():
    _, _, kwargs, _ = zoo.build("audioflamingo3_encoder", {})
    assert kwargs["input_features_mask"].shape == (2, kwargs["input_features"].shape[-1])


def test_few_layers_are_of_every_kind():
    model, *_ = zoo.build("qwen3_next", {})
    assert set(model.config.layer_types) == {"linear_attention", "full_attention"}


def test_attention_without_groups_stays_without():
    config = zoo.build("deepseek_v3", {})[0].config
    assert config.num_key_value_heads == config.num_attention_heads


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dinat", "needs natten, which is not installed: pip install natten"),
        ("layoutlmv2", "needs detectron2, which is not installed: pip install detectron2"),
        ("bark", "BarkModel has no forward, it only generates"),
        ("sam2_video", "Sam2VideoModel takes a session of inference, which is no tensor"),
        ("voxtral_realtime_text", "transformers lists voxtral_realtime_text, and has no model of that name"),
    ],
)
def test_an_architecture_that_cannot_be_made_says_why(name, sentence):
    with pytest.raises(RuntimeError, match=sentence):
        zoo.build(name, {})


def test_a_name_that_nobody_has_is_no_model():
    with pytest.raises(LookupError):
        zoo.build("bertt", {})


def test_a_sweep_groups_by_what_models_are_for():
    names = ("llama", "llava", "bert", "t5", "whisper", "detr", "vit", "qwen2_vl_text", "siglip2_vision_model")
    assert [zoo.family(name) for name in names] == [
        "causal-language",
        "vision-language",
        "masked-language",
        "encoder-decoder",
        "speech",
        "detection",
        "images",
        "causal-language",
        "images",
    ]


def test_options_are_fields_of_the_configuration():
    model, *_ = zoo.build("llama", {"use_cache": False, "num_hidden_layers": 1})
    assert (model.config.use_cache, len(model.layers)) == (False, 1)


ZOO = """
import torch

def names():
    return ["square", "cube"]

def build(name, options):
    if name not in names():
        raise LookupError(name)
    class Power(torch.nn.Module):
        def forward(self, x, *, factor):
            return x ** (2 if name == "square" else 3) * factor
    return Power(), (torch.rand(2, options.get("width", 3)),), {"factor": torch.ones(1)}
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    home = tmp_path_factory.mktemp("zoo")
    (home / "powers_zoo.py").write_text(ZOO)
    (home / "missing_zoo.py").write_text("import a_package_that_nobody_has.models")
    (home / "misfit_zoo.py").write_text("raise RuntimeError('operator torchvision::nms does not exist')")
    zoos = {"powers": "powers_zoo", "missing": "missing_zoo", "misfit": "misfit_zoo"}
    specs = ("powers:square,width=5", "powers:sqare", "powers:square,wide", "missing:model", "misfit:model")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        options = TrialOptions(modes=("non-strict",), timeout=60)
        return {report.name: report for report in run_trials([from_zoo(spec, zoos) for spec in specs], options)}


def test_a_model_of_a_zoo_runs_the_ladder(reports):
    report = reports["powers:square,width=5"]
    assert report.stage("load").full_detail == "Power(float32[2, 5], factor=float32[1])"
    assert {report.stage(name).status for name in ("eager", "export-non-strict", "soundness")} == {"passed"}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("powers:sqare", "powers:sqare: there is no model 'sqare'; the nearest are square"),
        ("powers:square,wide", "write options as NAME=VALUE, not 'wide'"),
        (
            "misfit:model",
            "does not exist; the installed torchvision was built for another torch: install both together",
        ),
        ("missing:model", "needs a_package_that_nobody_has, which is not installed: pip install a_package_that_nobody"),
    ],
)
def test_what_cannot_be_built_says_why(reports, spec, sentence):
    assert sentence in reports[spec].broken


def test_only_a_known_library_is_a_zoo():
    assert from_zoo("powers:square", {}) is None
    assert from_zoo("powers", {"powers": "powers_zoo"}) is None
