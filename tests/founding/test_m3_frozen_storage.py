"""A captioner writes the start token into ids that its tokenizer made: torch before 2.7 could not lower that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

OWN = """\
import torch
from torch import nn


class Batch:
    def __init__(self, input_ids):
        self.input_ids = input_ids

    def to(self, device):
        return Batch(self.input_ids.to(device))


class Tokenizer:
    start = 1

    def __call__(self, captions):
        return Batch(torch.tensor([[ord(letter) % 11 for letter in caption] for caption in captions]))


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokenizer = Tokenizer()
        self.words = nn.Embedding(11, 4)

    def forward(self, image):
        text = self.tokenizer(["a cat"]).to(image.device)
        text.input_ids[:, 0] = self.tokenizer.start
        return image + self.words(text.input_ids).mean(1)


model = Captioner()
example_args = (torch.randn(2, 4),)
"""
LIBRARY = """\
from torch import nn
from transformers import AutoTokenizer


class Captioner(nn.Module):
    def __init__(self, name):
        super().__init__()
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.words = nn.Embedding(30000, 4)

    def forward(self, image, caption):
        text = self.tokenizer(caption, padding="longest", return_tensors="pt").to(image.device)
        text.input_ids[:, 0] = self.tokenizer.bos_token_id
        return image + self.words(text.input_ids).mean(1)
"""


@pytest.mark.parametrize("source", [OWN, LIBRARY], ids=["own tokenizer", "tokenizer of a library"])
@pytest.mark.clause("static finding only when the target torch is older")
def test_the_write_is_found_for_an_older_torch_only(say: Callable[..., str], source: str) -> None:
    older = say("check", source, "--torch", "2.6")
    assert "warning[frozen-storage-write] `text.input_ids[:, 0]" in older
    assert "write into a clone: `.clone()` before the write" in older
    assert "Found nothing" in say("check", source, "--torch", "2.13")


@pytest.mark.clause("repair inserts the clone")
def test_the_clone_stands_above_the_write_for_an_older_torch(say: Callable[..., str]) -> None:
    of_library = say("fix", LIBRARY, "--unsafe", "--torch", "2.6")
    assert "+        text.input_ids = text.input_ids.clone()\n         text.input_ids[:, 0] = " in of_library
    assert "clone" not in say("fix", LIBRARY, "--unsafe", "--torch", "2.13")


@pytest.mark.slow
@pytest.mark.clause("on 2.13 the line is cleared")
def test_a_trial_on_this_torch_exports_it_and_finds_nothing(say: Callable[..., str]) -> None:
    tried = say("trial", OWN)
    assert "agrees with eager" in tried
    assert "frozen-storage-write" not in tried
    assert "plain-tensor-write" not in tried


EVENTS = """\
import torch
from torch import nn


class EventHead(nn.Module):
    def forward(self, codes):
        ids = codes.long()
        ids[:, 0] = 1
        return torch.nn.functional.one_hot(ids, 6).float().mean(1)


model = EventHead().eval()
example_args = (torch.randint(0, 5, (2, 4), dtype=torch.int32),)
"""
FORMS = """\
import torch
from torch import nn


class Codec(nn.Module):
    def forward(self, frames: torch.Tensor):
        mask = frames.float()
        nn.init.zeros_(mask)
        quiet = frames.half()
        loud = quiet.mul_(2)
        return frames.double().add_(1) + loud + mask
"""


@pytest.mark.slow
@pytest.mark.clause("repair inserts the clone, also where the torch that tries it shows no harm")
def test_the_clone_for_an_older_torch_is_offered_though_this_one_clears_the_line(say: Callable[..., str]) -> None:
    fixed = say("fix", EVENTS, "--unsafe", "--torch", "2.6")
    assert "+        ids = ids.clone()\n         ids[:, 0] = 1" in fixed
    assert "for torch 2.6, which did not run here; torch 2.13 computes the same with it" in fixed
    assert "clone" not in say("fix", EVENTS, "--unsafe")


@pytest.mark.clause("repair inserts the clone, whatever writes")
def test_the_clone_stands_before_each_form_of_a_write(say: Callable[..., str]) -> None:
    fixed = say("fix", FORMS, "--unsafe", "--torch", "2.6")
    for line in ("        mask = mask.clone()", "        quiet = quiet.clone()"):
        assert f"+{line}" in fixed
    assert "+        return frames.double().clone().add_(1) + loud + mask" in fixed
