"""The encoder as the device has it: folded, quantised, in a file, and its integer arithmetic in NumPy's place of the device's.

Weights are int8 with a scale per row, activations int16 with a scale per layer, sums exact (int32 on the device).
"""
import struct

import numpy as np
import torch
import torch.nn.functional as F

from model import BANDS, BLOCKS, EMBEDDING, HIDDEN, NARROW, STEM_TAPS, TAPS, WIDE, left_pad

MAGIC, VERSION = b"ZKWE", 1
TENSORS = 4 + 2 * len(BLOCKS)
SCALES = 17  # features, stem, (depthwise, pointwise) x 6, state of the GRU, two spare
HEADROOM = 1.25
LIMIT = 32767


def fold(weight, bias, norm):
    """Weight and bias of a layer with the batch normalisation behind it."""
    factor = norm.weight / torch.sqrt(norm.running_var + norm.eps)
    bias = norm.bias - norm.running_mean * factor + (bias * factor if bias is not None else 0)
    return (weight * factor[:, None]).detach(), bias.detach()


def tensors(encoder):
    """Weights and biases in the order of the file."""
    found = [fold(encoder.stem.weight, None, encoder.stem_norm)]
    for block in encoder.blocks:
        found.append(fold(block.depthwise.weight[:, 0], None, block.norm1))
        found.append(fold(block.pointwise.weight, None, block.norm2))
    gru = encoder.gru
    found.append((gru.weight_ih_l0.detach(), gru.bias_ih_l0.detach()))
    found.append((gru.weight_hh_l0.detach(), gru.bias_hh_l0.detach()))
    found.append(fold(encoder.embedding.weight, encoder.embedding.bias, encoder.norm))
    return found


def run(layers, features, step=None, largest=None):
    """All embeddings (batch, steps, 128) of features (batch, time, 40).

    `layers`: weights (real or integer) and biases. With `step`, the activation steps, every activation is rounded to int16 as on the
    device and products are of integers; `layers` then are triples (integers, row scales, bias). Without it everything is real.
    `largest` collects the largest absolute value of each activation.
    """
    place = 0

    def kept(x):
        """An activation as the next layer sees it: in steps if quantised."""
        nonlocal place
        if largest is not None:
            largest[place] = max(largest[place], float(x.abs().max()))
        if step is not None:
            x = (x / step[place]).round().clamp(-LIMIT, LIMIT)
        place += 1
        return x

    def unit():
        """Real value of one step of the newest activation."""
        return 1.0 if step is None else step[place - 1]

    def real(sums, layer, scale):
        return sums * (layer[1] * scale) + layer[2] if step is not None else sums + layer[1]

    layers = iter(layers)
    x = kept(features)
    layer = next(layers)
    taps = F.pad(x, (0, 0, left_pad(STEM_TAPS, 2, 1), 0)).unfold(1, STEM_TAPS, 2).transpose(2, 3).flatten(2)
    x = kept(F.relu(real(taps @ layer[0].T, layer, unit())))
    for channels, out, stride, dilation in BLOCKS:
        layer, before, before_unit = next(layers), x, unit()
        padded = F.pad(x.transpose(1, 2), (left_pad(TAPS, stride, dilation), 0))
        y = F.conv1d(padded, layer[0][:, None], None, stride, dilation=dilation, groups=channels).transpose(1, 2)
        y = kept(F.relu(real(y, layer, before_unit)))
        layer = next(layers)
        y = real(y @ layer[0].T, layer, unit())
        if stride == 1 and channels == out:
            y = y + before * before_unit
        x = kept(F.relu(y))
    into, hidden, embed = layers
    x_unit = unit()
    given = real(x @ into[0].T, into, x_unit)
    state = torch.zeros(len(x), HIDDEN, dtype=x.dtype)
    state_unit = 1.0 if step is None else step[place]
    states = []
    for t in range(x.shape[1]):
        own = real(state @ hidden[0].T, hidden, state_unit)
        r, z = (given[:, t, : 2 * HIDDEN] + own[:, : 2 * HIDDEN]).sigmoid().chunk(2, 1)
        n = torch.tanh(given[:, t, 2 * HIDDEN :] + r * own[:, 2 * HIDDEN :])
        state = (1 - z) * n + z * state * state_unit
        if step is not None:
            state = (state / state_unit).round().clamp(-LIMIT, LIMIT)
        states.append(state)
    mean = x.cumsum(1) / torch.arange(1, x.shape[1] + 1, dtype=x.dtype)[:, None]
    if step is not None:
        mean = mean.round()
    weights = embed[0]
    sums = torch.stack(states, 1) @ weights[:, :HIDDEN].T * state_unit + mean @ weights[:, HIDDEN:].T * x_unit
    return real(sums, embed, 1.0)


def packed(integers):
    """Two neighbouring weights in one i16, so that the device multiplies straight from flash; depthwise ones stay single."""
    if integers.shape[1] == TAPS:
        return integers.tobytes()
    return (integers[:, 0::2].astype(np.int16) + 256 * integers[:, 1::2].astype(np.int16)).astype("<i2").tobytes()


def unpacked(data, at, rows, columns):
    """The weights of one record."""
    if columns == TAPS:
        return np.frombuffer(data, np.int8, rows * columns, at).reshape(rows, columns)
    pairs = np.frombuffer(data, "<i2", rows * columns // 2, at).reshape(rows, columns // 2).astype(np.int32)
    even = (pairs + 128) % 256 - 128
    return np.stack([even, (pairs - even) // 256], 2).reshape(rows, columns)


def write(path, encoder, examples):
    """Quantise and write the encoder; `examples`, batches of features, tell how large activations become."""
    layers = tensors(encoder)
    largest = np.zeros(SCALES)
    for features in examples:
        run(layers, features, largest=largest)
    step = largest * HEADROOM / LIMIT
    step[0] = 4 / LIMIT  # features are clamped to this
    step[14] = 1 / LIMIT  # a state is below 1
    step[15:] = 1.0
    out = bytearray(MAGIC + struct.pack("<6I", VERSION, NARROW, WIDE, HIDDEN, EMBEDDING, len(layers)))
    for weight, bias in layers:
        weight = weight.numpy()
        scale = (np.abs(weight).max(1) / 127).clip(1e-12).astype("<f4")
        integers = np.clip(np.rint(weight / scale[:, None]), -127, 127).astype(np.int8)
        out += struct.pack("<2I", *weight.shape) + scale.tobytes() + bias.numpy().astype("<f4").tobytes() + packed(integers)
        out += bytes(-len(out) % 4)
    out += step.astype("<f4").tobytes()
    out += struct.pack("<3f", 0.5, 1.0, 1.0)
    path.write_bytes(out)


def set_thresholds(path, threshold, false_accept, false_reject):
    """Store the threshold of p and the rates measured at it: the last three numbers of the file."""
    path.write_bytes(path.read_bytes()[:-12] + struct.pack("<3f", threshold, false_accept, false_reject))


class Quantised:
    """The encoder of a file, run as the device runs it."""

    def __init__(self, path):
        data = path.read_bytes()
        assert data[:4] == MAGIC
        version, *shape, count = struct.unpack_from("<6I", data, 4)
        assert (version, tuple(shape), count) == (VERSION, (NARROW, WIDE, HIDDEN, EMBEDDING), TENSORS)
        at, self.layers = 28, []
        for _ in range(count):
            rows, columns = struct.unpack_from("<2I", data, at)
            scale = np.frombuffer(data, "<f4", rows, at + 8)
            bias = np.frombuffer(data, "<f4", rows, at + 8 + 4 * rows)
            integers = unpacked(data, at + 8 + 8 * rows, rows, columns)
            at += 8 + 8 * rows + rows * columns
            at += -at % 4
            self.layers.append(tuple(torch.from_numpy(part.astype(np.float64)) for part in (integers, scale, bias)))
        self.step = np.frombuffer(data, "<f4", SCALES, at).astype(np.float64)
        self.thresholds = struct.unpack_from("<3f", data, at + 4 * SCALES)
        assert at + 4 * SCALES + 12 == len(data)

    @torch.no_grad()
    def __call__(self, features):
        """Embeddings at all steps; float64 holds the integer sums exactly."""
        return run(self.layers, features.double(), self.step).float()


def macs(seconds=1.28):
    """Multiplications of the encoder in so much sound."""
    steps = seconds * 100 / 2
    total = steps * STEM_TAPS * BANDS * NARROW
    for channels, out, stride, _ in BLOCKS:
        steps /= stride
        total += steps * (TAPS * channels + channels * out)
    return total + steps * 3 * HIDDEN * (WIDE + HIDDEN) + EMBEDDING * (HIDDEN + WIDE)
