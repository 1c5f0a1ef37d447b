"""The same image features behind a small module that calls the method."""

import sam2
from torch import Tensor, nn


class ImageFeatures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sam2 = sam2.model

    def forward(self, pixel_values: Tensor) -> list[Tensor]:
        return self.sam2.get_image_features(pixel_values).fpn_hidden_states


model = ImageFeatures().eval()
example_args = (sam2.example_kwargs["pixel_values"],)
