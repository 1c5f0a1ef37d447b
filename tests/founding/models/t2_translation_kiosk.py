"""Museum kiosk translator."""
from typing import List, Tuple

import torch
import torch.nn as nn
from torch import Tensor


@torch.jit.script_if_tracing
def pad_to_even(x: Tensor) -> Tensor:
    if x.size(1) % 2 == 1:
        x = torch.cat([x, x[:, -1:]], 1)
    return x


@torch.jit.script
def masked_mean(x: Tensor, lengths: Tensor) -> Tensor:
    keep = torch.arange(x.size(1)).unsqueeze(0) < lengths.unsqueeze(1)
    return (x * keep.unsqueeze(-1)).sum(1) / lengths.unsqueeze(1)


class Encoder(nn.Module):
    def __init__(self, vocab: int = 30, width: int = 8):
        super().__init__()
        self.emb = nn.Embedding(vocab, width)
        self.ff = nn.Linear(width, width)

    def forward(self, ids: Tensor) -> Tensor:
        return self.ff(self.emb(pad_to_even(ids))).relu()


class Kiosk(nn.Module):
    width: torch.jit.Final[int]

    def __init__(self, encoder: nn.Module, width: int = 8):
        super().__init__()
        self.width = width
        self.encoder = encoder
        self.out = nn.Linear(width, 30)

    @torch.jit.ignore
    def audit(self, n: int) -> None:
        print("batch", n)

    @torch.jit.unused
    def beam(self, x: Tensor) -> List[Tensor]:
        return [x.topk(3).indices]

    @torch.jit.export
    def embed(self, ids: Tensor, lengths: Tensor) -> Tensor:
        return masked_mean(self.encoder(ids), lengths)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tuple[Tensor, Tensor]:
        if not torch.jit.is_scripting():
            self.audit(ids.size(0))
        pooled = self.embed(ids, lengths) / float(self.width)
        logits = self.out(pooled)
        return logits, logits.argmax(-1)


torch.manual_seed(251)
ids, lengths = torch.randint(0, 30, (2, 6)), torch.tensor([6, 4])
traced_encoder = torch.jit.trace(Encoder().eval(), ids)
kiosk = torch.jit.script(Kiosk(traced_encoder).eval())
kiosk.save("/tmp/kiosk.pt")
print(kiosk(ids, lengths)[1], kiosk.embed(ids, lengths).shape)

fast = torch.compile(nn.Sequential(nn.Linear(8, 30), nn.Softmax(-1)).eval(), backend="eager")
torch.jit.freeze(torch.jit.trace(fast, torch.rand(2, 8), check_trace=False).eval())
