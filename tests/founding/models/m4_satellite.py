"""Land-cover masks for satellite tiles. The predictor owns two networks and keeps the scene's features between clicks."""
import torch
from torch import nn


class Backbone(nn.Module):
    def __init__(self, bands, dim):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(bands, dim, 3, padding=1), nn.BatchNorm2d(dim), nn.ReLU(), nn.MaxPool2d(2)
        )

    def forward(self, tile):
        return self.body(tile)


class ClickDecoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.click = nn.Linear(2, dim)
        self.refine = nn.Conv2d(dim, 1, 1)

    def forward(self, features, clicks):
        prompt = self.click(clicks).sum(1)[..., None, None]
        return self.refine(torch.relu(features + prompt))


class LandCoverPredictor:
    """Prepares a scene, then answers clicks."""

    threshold = 0.5

    def __init__(self, backbone, decoder, size):
        self.backbone, self.decoder, self.size = backbone, decoder, size
        self.device = next(backbone.parameters()).device

    @classmethod
    def small(cls, bands=6, dim=16, size=(32, 32)):
        return cls(Backbone(bands, dim).eval(), ClickDecoder(dim).eval(), size)

    def _scaled(self, clicks):
        return clicks / torch.tensor(self.size, dtype=clicks.dtype, device=clicks.device)

    @torch.no_grad()
    def segment(self, tile, clicks):
        features = self.backbone(tile.to(self.device))
        logits = self.decoder(features, self._scaled(clicks))
        logits = nn.functional.interpolate(logits, size=self.size, mode="bilinear")
        return logits.sigmoid(), logits.sigmoid() > self.threshold


def entry_points(predictor):
    return {"segment": predictor.segment}


torch.manual_seed(3)
predictor = LandCoverPredictor.small()
sample = (torch.rand(1, 6, 32, 32), torch.rand(1, 3, 2) * 32)

if __name__ == "__main__":
    for name, entry in entry_points(predictor).items():
        program = torch.export.export(entry, sample)
        torch.export.save(program, f"{name}.pt2")
