"""A U-Net, which marks regions of pictures: down twice, up twice, with the finer maps joined in again.

Width 8 to 32, pictures of 32 x 32, batch norm in evaluation mode. Exports as it comes.
"""

import torch
from torch import nn


class Twice(nn.Sequential):
    def __init__(self, before, after):
        super().__init__(
            nn.Conv2d(before, after, 3, padding=1),
            nn.BatchNorm2d(after),
            nn.ReLU(),
            nn.Conv2d(after, after, 3, padding=1),
            nn.GroupNorm(2, after),
            nn.SiLU(),
        )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.bottom = Twice(3, 8), Twice(8, 16), Twice(16, 32)
        self.up_second = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.join_second, self.join_first = Twice(32, 16), Twice(24, 8)
        self.mask = nn.Conv2d(8, 1, 1)

    def forward(self, picture):
        fine = self.first(picture)
        middle = self.second(nn.functional.max_pool2d(fine, 2))
        coarse = self.bottom(nn.functional.max_pool2d(middle, 2))
        middle = self.join_second(torch.cat([self.up_second(coarse), middle], 1))
        wide = nn.functional.interpolate(middle, scale_factor=2, mode="bilinear", align_corners=False)
        return torch.sigmoid(self.mask(self.join_first(torch.cat([wide, fine], 1))))


torch.manual_seed(0)
model = UNet().eval()
example_args = (torch.randn(1, 3, 32, 32),)
