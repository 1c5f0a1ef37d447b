"""Next-word keyboard from the TorchScript days: scripted pieces, a traced encoder, and helpers for both worlds."""
from typing import Dict, List

import torch
from torch import Tensor, nn


@torch.jit.script
def clip_history(tokens: Tensor, keep: int) -> Tensor:
    if tokens.size(1) > keep:
        tokens = tokens[:, tokens.size(1) - keep:]
    return tokens


@torch.jit.script_if_tracing
def rank(logits: Tensor, k: int) -> List[Tensor]:
    values, indices = torch.topk(logits, k)
    return [values, indices]


class WordCode(nn.Module):
    __constants__ = ["keep"]

    def __init__(self, words: int, dim: int, keep: int = 4):
        super().__init__()
        self.keep = keep
        self.table = nn.Embedding(words, dim)

    def forward(self, tokens: Tensor) -> Tensor:
        return self.table(clip_history(tokens, self.keep)).mean(1)


class Keyboard(nn.Module):
    shortcuts: Dict[str, int]

    def __init__(self, words: int = 40, dim: int = 8):
        super().__init__()
        self.shortcuts = torch.jit.annotate(Dict[str, int], {"omw": 3})
        self.words = torch.jit.trace(WordCode(words, dim).eval(), torch.zeros(1, 6, dtype=torch.long))
        self.out = nn.Linear(dim, words)

    @torch.jit.ignore
    def report(self, size: int) -> None:
        print("batch of", size)

    @torch.jit.unused
    def debug(self, logits: Tensor) -> Tensor:
        return logits - logits.logsumexp(-1, keepdim=True)

    @torch.jit.export
    def suggest(self, tokens: Tensor, k: int = 3) -> Tensor:
        return rank(self.forward(tokens), k)[1]

    def forward(self, tokens: Tensor) -> Tensor:
        logits = self.out(self.words(tokens))
        if torch.jit.is_scripting():
            return logits
        if not torch.jit.is_tracing():
            self.report(tokens.size(0))
        return self.debug(logits)


torch.manual_seed(25)
model = Keyboard().eval()
example_inputs = (torch.randint(0, 40, (2, 6)),)

if __name__ == "__main__":
    torch.jit.script(model).save("keyboard.pt")
    sample = (torch.zeros(1, 6, dtype=torch.long),)
    print(torch.jit.trace(torch.compile(WordCode(40, 8).eval(), backend="eager"), sample))
