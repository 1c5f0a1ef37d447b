"""A causal language model in the style of Llama, one step of decoding with a static cache.

Width 32, 2 layers, 4 heads of which 2 have keys, 128 tokens, a cache for 16 positions that each call writes into.
Changed for export: the wrapper of transformers, which keeps the cache in buffers.
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

config = LlamaConfig(
    vocab_size=128,
    hidden_size=32,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=16,
)
causal = LlamaForCausalLM(config).eval()
causal.generation_config.use_cache = True
causal.generation_config.cache_implementation = "static"
causal.generation_config.cache_config = {"batch_size": 1, "max_cache_len": 16}
model = TorchExportableModuleWithStaticCache(causal, batch_size=1, max_cache_len=16)
example_args = (torch.tensor([[5]]),)
example_kwargs = {"cache_position": torch.tensor([0])}
