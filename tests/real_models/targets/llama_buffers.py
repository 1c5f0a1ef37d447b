"""The step of llama.py with a cache that writes to the buffers of the module by their own names.

Changed for export: each layer of the cache is given the buffers at the start of forward; no weight needs gradients.
"""

import llama
from transformers.integrations.executorch import TorchExportableModuleWithStaticCache


class WithBuffers(TorchExportableModuleWithStaticCache):
    def forward(self, input_ids=None, inputs_embeds=None, cache_position=None):
        for number, layer in enumerate(self.static_cache.layers):
            layer.keys = getattr(self, f"key_cache_{number}")
            layer.values = getattr(self, f"value_cache_{number}")
            layer.cumulative_length = getattr(self, f"cumulative_length_{number}")
        return super().forward(input_ids, inputs_embeds, cache_position)


llama.causal.requires_grad_(False)
model = WithBuffers(llama.causal, batch_size=1, max_cache_len=16)
example_args, example_kwargs = llama.example_args, llama.example_kwargs
