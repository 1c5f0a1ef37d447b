"""The encoder of Whisper (speech to text): a spectrogram in, one vector for every second frame out.

Width 32, 2 layers, 2 heads, 16 mel bins, 60 frames. Exports as it comes.
"""

import torch
from transformers import WhisperConfig
from transformers.models.whisper.modeling_whisper import WhisperEncoder

config = WhisperConfig(
    num_mel_bins=16,
    d_model=32,
    encoder_layers=2,
    encoder_attention_heads=2,
    encoder_ffn_dim=64,
    max_source_positions=30,
)
model = WhisperEncoder(config).eval()
example_args = (torch.randn(1, 16, 60),)
