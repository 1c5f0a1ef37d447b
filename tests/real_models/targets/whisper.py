"""Whisper (speech to text) without its cache: one step of decoding over the text so far, with fixed decoder ids.

Width 32, 2 encoder and 2 decoder layers, 2 heads, 16 mel bins, 60 frames, 128 tokens.
Changed for export: `use_cache=False`.
"""

import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration

config = WhisperConfig(
    vocab_size=128,
    num_mel_bins=16,
    d_model=32,
    encoder_layers=2,
    decoder_layers=2,
    encoder_attention_heads=2,
    decoder_attention_heads=2,
    encoder_ffn_dim=64,
    decoder_ffn_dim=64,
    max_source_positions=30,
    max_target_positions=16,
    pad_token_id=0,
    bos_token_id=1,
    eos_token_id=2,
    decoder_start_token_id=1,
    suppress_tokens=None,
    begin_suppress_tokens=None,
    use_cache=False,
)
model = WhisperForConditionalGeneration(config).eval()
example_args = ()
example_kwargs = {"input_features": torch.randn(1, 16, 60), "decoder_input_ids": torch.tensor([[1, 5, 9, 4]])}
