"""SAM 2: a picture and a clicked point in, masks with their scores out.

Backbone of 5 blocks in 4 stages, width 16 to 128, pictures of 64 x 64, mask decoder of width 32. Exports as it comes.
"""

import torch
from transformers import Sam2Config, Sam2Model

SPREAD = 0.2  # with the default of 0.02 the masks are so near to zero that nothing would be compared

backbone = {
    "model_type": "sam2_hiera_det_model",
    "hidden_size": 16,
    "num_attention_heads": 1,
    "image_size": [64, 64],
    "blocks_per_stage": [1, 1, 2, 1],
    "embed_dim_per_stage": [16, 32, 64, 128],
    "num_attention_heads_per_stage": [1, 1, 2, 2],
    "window_size_per_stage": [8, 4, 4, 2],
    "window_positional_embedding_background_size": [4, 4],
    "global_attention_blocks": [3],
    "initializer_range": SPREAD,
}
vision = {
    "backbone_config": backbone,
    "backbone_channel_list": [128, 64, 32, 16],
    "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
    "fpn_hidden_size": 32,
    "initializer_range": SPREAD,
}
config = Sam2Config(
    initializer_range=SPREAD,
    vision_config=vision,
    prompt_encoder_config={"hidden_size": 32, "image_size": 64, "patch_size": 16, "mask_input_channels": 8},
    mask_decoder_config={"hidden_size": 32, "mlp_dim": 64, "num_attention_heads": 2, "iou_head_hidden_dim": 32},
)
model = Sam2Model(config).eval()
example_args = ()
example_kwargs = {
    "pixel_values": torch.randn(1, 3, 64, 64),
    "input_points": torch.tensor([[[[20.0, 30.0]]]]),
    "input_labels": torch.tensor([[[1]]]),
}
