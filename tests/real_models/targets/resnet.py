"""ResNet, classifying pictures.

Two stages of 2 bottleneck layers, width 16 and 32, pictures of 32 x 32, 10 classes. Exports as it comes.
"""

import torch
from transformers import ResNetConfig, ResNetForImageClassification

config = ResNetConfig(embedding_size=16, hidden_sizes=[16, 32], depths=[2, 2], layer_type="bottleneck", num_labels=10)
model = ResNetForImageClassification(config).eval()
example_args = (torch.randn(1, 3, 32, 32),)
