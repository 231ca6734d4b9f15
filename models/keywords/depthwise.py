"""A causal depthwise convolution for (batch, time, channels), in C, because it is most of what training waits for otherwise."""
import ctypes
import pathlib
import subprocess
import tempfile

import torch

SOURCE = pathlib.Path(__file__).with_suffix(".c")


def compiled():
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/depthwise.so"
        subprocess.run(["cc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", "-o", library, str(SOURCE)], check=True)
        return ctypes.CDLL(library)


LIBRARY = compiled()


def pointer(tensor):
    return ctypes.c_void_p(tensor.data_ptr())


class Depthwise(torch.autograd.Function):
    """Arguments: x (batch, time, channels), w (taps, channels), stride, dilation, zeros before the first input."""

    @staticmethod
    def forward(context, x, w, stride, dilation, pad):
        x, w = x.contiguous(), w.contiguous()
        batch, inputs, channels = x.shape
        taps = len(w)
        outputs = (inputs + pad - (taps - 1) * dilation - 1) // stride + 1
        y = torch.empty(batch, outputs, channels)
        context.shape = [ctypes.c_int(n) for n in (batch, inputs, outputs, channels, taps, stride, dilation, pad)]
        context.save_for_backward(x, w)
        LIBRARY.depthwise_forward(pointer(x), pointer(w), pointer(y), *context.shape)
        return y

    @staticmethod
    def backward(context, dy):
        x, w = context.saved_tensors
        dy = dy.contiguous()
        dx, dw = torch.zeros_like(x), torch.zeros_like(w)
        LIBRARY.depthwise_backward(pointer(x), pointer(w), pointer(dy), pointer(dx), pointer(dw), *context.shape)
        return dx, dw, None, None, None


depthwise = Depthwise.apply
