"""Caption generator: greedy decoding of one caption, padded to the maximal length."""
import torch
from torch import nn

BOS, EOS, PAD = 1, 2, 0


class GreedyCaptioner(nn.Module):
    def __init__(self, d_img=6, vocab=12, d=10, max_len=9):
        super().__init__()
        self.init = nn.Linear(d_img, d)
        self.emb = nn.Embedding(vocab, d)
        self.cell = nn.GRUCell(d, d)
        self.head = nn.Linear(d, vocab)
        self.max_len = max_len
        with torch.no_grad():
            self.emb.weight.mul_(2)
            self.head.bias[EOS] += 0.3

    @torch.no_grad()
    def forward(self, img):
        h = torch.tanh(self.init(img)).unsqueeze(0)
        tokens = torch.full((self.max_len,), PAD)
        logp = torch.zeros(())
        tok = torch.tensor([BOS])
        for t in range(self.max_len):
            h = self.cell(self.emb(tok), h)
            lp = self.head(h).log_softmax(-1)
            score, tok = lp.max(-1)
            tokens[t] = tok[0]
            logp = logp + score[0]
            if tok.item() == EOS:  # EXPECT: break-at-eos
                break
        return tokens, logp / (t + 1)  # EXPECT: loop-variable-after-break


def get_model():
    return GreedyCaptioner().eval()


def get_inputs():
    return (torch.randn(6),)


def get_other_inputs():
    return (torch.randn(6) * 3 - 1,)
