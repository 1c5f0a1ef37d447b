"""Whisper with the settings it comes with: its decoder returns a key-value cache, of a class that is no pytree."""

import whisper
from transformers import WhisperConfig, WhisperForConditionalGeneration

config = WhisperConfig.from_dict({**whisper.config.to_dict(), "use_cache": True})
model = WhisperForConditionalGeneration(config).eval()
example_args = whisper.example_args
example_kwargs = whisper.example_kwargs
