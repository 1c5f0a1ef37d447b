"""The cache used inside and not returned: does the tracer follow the cache object itself, in both modes?"""

from torch import Tensor, nn
from whisper_default import example_args as whisper_args
from whisper_default import example_kwargs as whisper_kwargs
from whisper_default import model as whisper


class Logits(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.whisper = whisper

    def forward(self, input_features: Tensor, decoder_input_ids: Tensor) -> Tensor:
        return self.whisper(input_features=input_features, decoder_input_ids=decoder_input_ids, use_cache=True).logits


model = Logits().eval()
example_args = whisper_args
example_kwargs = whisper_kwargs
