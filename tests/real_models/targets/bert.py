"""BERT, filling masked words.

Width 32, 2 layers, 2 heads, 8 positions of which 2 are padding, 128 tokens. Exports as it comes.
"""

import torch
from transformers import BertConfig, BertForMaskedLM

config = BertConfig(
    vocab_size=128,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    max_position_embeddings=32,
)
model = BertForMaskedLM(config).eval()
example_args = ()
example_kwargs = {
    "input_ids": torch.tensor([[1, 5, 9, 4, 17, 3, 0, 0]]),
    "attention_mask": torch.tensor([[1, 1, 1, 1, 1, 1, 0, 0]]),
}
