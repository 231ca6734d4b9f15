"""The encoder and the output layer: causal, so that a device encodes every frame once as it comes.

Layout is (batch, time, channels) throughout, which makes pointwise layers plain matrix products.
"""
import torch
import torch.nn.functional as F
from torch import nn

from depthwise import depthwise
from features import BANDS

NARROW, WIDE, HIDDEN, EMBEDDING = 80, 112, 96, 128
STEM_TAPS, TAPS = 5, 9
# Of each block: channels in, channels out, stride, dilation.
BLOCKS = ((NARROW, NARROW, 1, 1), (NARROW, NARROW, 1, 1), (NARROW, WIDE, 2, 1), (WIDE, WIDE, 1, 1), (WIDE, WIDE, 1, 2),
          (WIDE, WIDE, 1, 2))
STRIDE = 4  # frames per step of the encoder


def left_pad(taps, stride, dilation):
    """Zeros before the first input: output t has seen inputs up to t (stride 1) or 2 t + 1 (stride 2), no further."""
    return (taps - 1) * dilation - (stride - 1)


class Norm(nn.BatchNorm1d):
    """Batch normalisation over all but the last axis."""

    def forward(self, x):
        return super().forward(x.reshape(-1, x.shape[-1])).view(x.shape)


class Block(nn.Module):
    """Depthwise convolution over time, then a pointwise layer, and the input added where shapes allow."""

    def __init__(self, channels, out, stride, dilation):
        super().__init__()
        self.stride, self.dilation = stride, dilation
        self.depthwise = nn.Conv1d(channels, channels, TAPS, stride, dilation=dilation, groups=channels, bias=False)
        self.norm1 = Norm(channels)
        self.pointwise = nn.Linear(channels, out, bias=False)
        self.norm2 = Norm(out)
        self.residual = stride == 1 and channels == out

    def forward(self, x):
        y = depthwise(x, self.depthwise.weight[:, 0].T, self.stride, self.dilation, left_pad(TAPS, self.stride, self.dilation))
        y = self.norm2(self.pointwise(F.relu(self.norm1(y))))
        return F.relu(y + x if self.residual else y)


class Encoder(nn.Module):
    """Features (batch, time, 40), time a multiple of 4, to embeddings at the steps asked for."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(STEM_TAPS * BANDS, NARROW, bias=False)
        self.stem_norm = Norm(NARROW)
        self.blocks = nn.ModuleList(Block(*shape) for shape in BLOCKS)
        self.gru = nn.GRU(WIDE, HIDDEN, batch_first=True)
        self.embedding = nn.Linear(HIDDEN + WIDE, EMBEDDING)
        self.norm = Norm(EMBEDDING)

    def body(self, x):
        padded = F.pad(x, (0, 0, left_pad(STEM_TAPS, 2, 1), 0))
        taps = padded.unfold(1, STEM_TAPS, 2).transpose(2, 3).flatten(2)  # column = tap * 40 + band
        x = F.relu(self.stem_norm(self.stem(taps)))
        for block in self.blocks:
            x = block(x)
        return x

    def forward(self, x, last):
        """`last`: for each example, the step (of 40 ms) at which it is decided."""
        h = self.body(x)
        state, _ = self.gru(h)
        rows = torch.arange(len(x))
        inside = (torch.arange(h.shape[1])[None] <= last[:, None]).to(h.dtype)
        mean = torch.bmm(inside[:, None], h)[:, 0] / (last + 1)[:, None]
        return self.norm(self.embedding(torch.cat([state[rows, last], mean], 1)))


class Spotter(nn.Module):
    """Encoder and output layer."""

    def __init__(self, classes):
        super().__init__()
        self.encoder = Encoder()
        self.output = nn.Linear(EMBEDDING, classes)

    def forward(self, x, last):
        return self.output(self.encoder(x, last))
