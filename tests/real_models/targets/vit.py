"""ViT, classifying pictures.

Width 32, 2 layers, 2 heads, pictures of 32 x 32 in patches of 8 x 8, 10 classes. Exports as it comes.
"""

import torch
from transformers import ViTConfig, ViTForImageClassification

config = ViTConfig(
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=2,
    intermediate_size=64,
    image_size=32,
    patch_size=8,
    num_labels=10,
)
model = ViTForImageClassification(config).eval()
example_args = (torch.randn(1, 3, 32, 32),)
