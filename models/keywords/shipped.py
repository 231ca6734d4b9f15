"""The encoder and the output layer that this folder has, as weights for train.py to go on from.

Batch normalisation is folded into the encoder of the file. It is unfolded again by statistics of examples, so that the network computes
the same and its layers are normalised as in training.
"""
import struct

import numpy as np
import torch

from common import HERE
from encoder_file import Quantised
from model import BLOCKS, Norm

ROWS, SCALES, BIASES, CLASS_OF_ROW = 1, 2, 3, 4  # sections of a model file, see src/model/mod.rs
FRACTION_BITS = 18  # of a bias, in units of ln 2


def output_layer(path):
    """Weights and biases of a model file of int8 rows, in the order of the classes."""
    data = path.read_bytes()
    sections, = struct.unpack_from("<H", data, 10)
    classes, dim, stride, exponent, shift = struct.unpack_from("<3IhH", data, 20)
    place = {}
    for k in range(sections):
        kind, _flags, offset, length, _ = struct.unpack_from("<HHIII", data, 48 + 16 * k)
        place[kind] = offset, length

    def section(kind, number):
        offset, length = place[kind]
        return np.frombuffer(data, number, length // np.dtype(number).itemsize, offset)

    pairs = section(ROWS, "<i2").reshape(classes, stride // 2).astype(np.int32)
    even = (pairs + 128) % 256 - 128
    rows = np.stack([even, (pairs - even) // 256], 2).reshape(classes, stride)[:, :dim]
    rows = rows * (section(SCALES, "<u2").astype(np.float64) * 2.0**exponent)[:, None]
    bias = section(BIASES, "<i2").astype(np.float64) * 2.0 ** (shift - FRACTION_BITS) * np.log(2)
    order = section(CLASS_OF_ROW, "<u2") if CLASS_OF_ROW in place else np.arange(classes)
    weights, biases = np.empty_like(rows), np.empty_like(bias)
    weights[order], biases[order] = rows, bias
    return torch.from_numpy(weights).float(), torch.from_numpy(biases).float()


@torch.no_grad()
def load_into(net, examples, temperature, folder=HERE):
    """Sets the weights of the network to those of the files in `folder`; `examples` are batches of (features, last)."""
    layers = [(integers * scale[:, None], bias) for integers, scale, bias in Quantised(folder / "encoder.bin").layers]
    encoder = net.encoder
    places = iter(layers)
    norms = []

    def set_layer(weight, norm, own_bias=None):
        values, bias = next(places)
        weight.copy_(values.reshape(weight.shape))
        norm.running_mean.zero_()
        norm.running_var.fill_(1 - norm.eps)
        norm.weight.fill_(1)
        norm.bias.copy_(bias)
        if own_bias is not None:
            own_bias.zero_()
        norms.append(norm)

    set_layer(encoder.stem.weight, encoder.stem_norm)
    for block in encoder.blocks:
        set_layer(block.depthwise.weight, block.norm1)
        set_layer(block.pointwise.weight, block.norm2)
    for name in ("ih", "hh"):
        values, bias = next(places)
        getattr(encoder.gru, f"weight_{name}_l0").copy_(values)
        getattr(encoder.gru, f"bias_{name}_l0").copy_(bias)
    set_layer(encoder.embedding.weight, encoder.norm, encoder.embedding.bias)
    weights, bias = output_layer(folder / "keywords.zhat")
    net.output.weight.copy_(weights * temperature)
    net.output.bias.copy_(bias * temperature)

    sums = {norm: [0, 0.0, 0.0] for norm in norms}
    hooks = []
    for norm in norms:
        def note(module, inputs):
            x = inputs[0].reshape(-1, inputs[0].shape[-1]).double()
            have = sums[module]
            have[0] += len(x)
            have[1] = have[1] + x.sum(0)
            have[2] = have[2] + (x * x).sum(0)
        hooks.append(norm.register_forward_pre_hook(note))
    net.eval()
    for features, last in examples:
        net(features, last)
    for hook in hooks:
        hook.remove()
    for norm, (count, total, squares) in sums.items():
        mean = total / count
        variance = (squares / count - mean**2).clamp(min=1e-4)
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(variance)
        norm.weight.copy_((variance + norm.eps).sqrt())
        norm.bias.add_(mean)
