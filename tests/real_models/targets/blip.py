"""BLIP captioning: a picture and the caption so far in, scores for every next token out.

Vision and text tower of width 32, 2 layers and 2 heads each, pictures of 32 x 32, 128 tokens. Exports as it comes.
"""

import torch
from transformers import BlipConfig, BlipForConditionalGeneration

text = {
    "vocab_size": 128,
    "hidden_size": 32,
    "encoder_hidden_size": 32,
    "intermediate_size": 64,
    "projection_dim": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
    "bos_token_id": 1,
    "sep_token_id": 2,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
vision = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "projection_dim": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
    "initializer_range": 0.2,  # its own default, 1e-10, would leave nothing to compare
}
model = BlipForConditionalGeneration(BlipConfig(text_config=text, vision_config=vision, projection_dim=32)).eval()
example_args = ()
example_kwargs = {
    "pixel_values": torch.randn(1, 3, 32, 32),
    "input_ids": torch.tensor([[1, 7, 9, 11]]),
    "attention_mask": torch.ones(1, 4, dtype=torch.long),
}
