/* Causal depthwise convolution over time, layout (batch, time, channels), float32: three loops that a compiler vectorises over channels.
 * PyTorch's own takes a third of a training step for these shapes. `pad` zeros are thought to stand before the first input. */

#define SHAPE int batch, int inputs, int outputs, int channels, int taps, int stride, int dilation, int pad

void depthwise_forward(const float *restrict x, const float *restrict w, float *restrict y, SHAPE) {
    for (long b = 0; b < batch; b++)
        for (long t = 0; t < outputs; t++) {
            float *restrict out = y + (b * outputs + t) * channels;
            for (int c = 0; c < channels; c++) out[c] = 0;
            for (int k = 0; k < taps; k++) {
                long at = t * stride + (long)k * dilation - pad;
                if (at < 0) continue;
                const float *restrict in = x + (b * inputs + at) * channels, *restrict tap = w + k * channels;
                for (int c = 0; c < channels; c++) out[c] += tap[c] * in[c];
            }
        }
}

/* dx and dw are zero at the start. */
void depthwise_backward(const float *restrict x, const float *restrict w, const float *restrict dy, float *restrict dx,
                        float *restrict dw, SHAPE) {
    for (long b = 0; b < batch; b++)
        for (long t = 0; t < outputs; t++) {
            const float *restrict out = dy + (b * outputs + t) * channels;
            for (int k = 0; k < taps; k++) {
                long at = t * stride + (long)k * dilation - pad;
                if (at < 0) continue;
                const float *restrict in = x + (b * inputs + at) * channels, *restrict tap = w + k * channels;
                float *restrict din = dx + (b * inputs + at) * channels, *restrict dtap = dw + k * channels;
                for (int c = 0; c < channels; c++) {
                    din[c] += tap[c] * out[c];
                    dtap[c] += in[c] * out[c];
                }
            }
        }
}
