"""The image features alone, handed to export the way a predictor is used: a bound method, which is no module."""

import sam2

model = sam2.model.get_image_features
example_args = (sam2.example_kwargs["pixel_values"],)
