#!/usr/bin/env python3
"""Make clips.wav, what the examples listen to: words by the engine that training never heard, an unknown word, a noise, a tone, silence.

clips.txt has a line for each sound: start and end in seconds, and the word, or "-" for what must give no event. All background is low
noise (60 dB below full scale), because a microphone never gives digital zeros. --check says what the model answers to each sound.
"""
import wave

import numpy as np

from common import HERE, RATE, Words, load_sounds, parser
from encoder_file import Quantised
from features import log_mel, normalised
from figures import Layer, events
from model import STRIDE
from noises import coloured, envelope, note

WORDS = ("kitchen US", "lights GB", "seventeen US", "thermostat GB", "emergency US", "? US", "coffee GB", "noise", "saturday US", "tone",
         "basement GB", "playback US", "volume GB")
GAP = 0.55  # seconds between sounds


def sound_for(item, spoken, words, rng):
    """Samples and the word to expect."""
    if item == "noise":
        return (coloured(rng, RATE // 2, 0.4) * envelope(rng, RATE // 2) * 3000).astype(np.int16), "-"
    if item == "tone":
        return (note(rng, RATE * 6 // 10, 440.0, [1, 0.5, 0.3, 0.1]) * envelope(rng, RATE * 6 // 10) * 6000).astype(np.int16), "-"
    word, voice = item.split()
    if word == "?":
        return spoken[voice][words.first["test"][0]], "-"
    number = words.spelling_to_class()[word]
    return spoken[voice][number], words.classes[number]


def main():
    options = parser(__doc__)
    options.add_argument("--check", action="store_true")
    options = options.parse_args()
    words = Words()
    spoken = {}
    for voice in ("US", "GB"):
        sounds, numbers = load_sounds(options.data / "sound" / f"pico_en-{voice}.npz")
        spoken[voice] = dict(zip(numbers.tolist(), sounds))
    rng = np.random.default_rng(9)
    pieces, lines, at = [np.zeros(int(RATE * GAP), np.int16)], [], int(RATE * GAP)
    for item in WORDS:
        sound, word = sound_for(item, spoken, words, rng)
        lines.append((at, at + len(sound), word))
        pieces += [sound, np.zeros(int(RATE * GAP), np.int16)]
        at += len(sound) + int(RATE * GAP)
    samples = np.concatenate(pieces).astype(np.float64)
    samples += coloured(rng, len(samples) // 2 * 2 + 2, 0.5)[: len(samples)] * 32.768
    samples = np.clip(np.rint(samples), -32768, 32767).astype("<i2")
    with wave.open(str(HERE / "clips.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE)
        file.writeframes(samples.tobytes())
    (HERE / "clips.txt").write_text("".join(f"{a / RATE:.3f} {b / RATE:.3f} {word}\n" for a, b, word in lines))
    print(f"clips.wav: {len(samples) / RATE:.1f} s, {2 * len(samples) + 44} bytes")
    if options.check:
        layer, quantised = Layer(options.data / "export"), Quantised(HERE / "encoder.bin")
        layer.fit(np.load(options.data / "export" / "pico_dev.npy"), np.load(options.data / "export" / "pico_dev_labels.npy"))
        for a, b, word in lines:
            x = normalised(log_mel(samples[a - 12 * 160 : b + 20 * 160]))
            steps = quantised(x[None, : len(x) // STRIDE * STRIDE])[0].numpy()
            best, p = events(layer, steps[[-5, -3, -1], None])
            print(f"{a / RATE:7.3f} {word:12s} -> {words.classes[best[0]] if p[0] > 0 else '<other>'} {p[0]:.3f}")


if __name__ == "__main__":
    main()
