#!/usr/bin/env python3
"""Sounds that are no words: bursts of coloured noise, hums, clicks, chirps, and music-like tones, chords and melodies.

Three files in DATA/sound, from different seeds: for training of the class "other", for the choice of the threshold, for the test.
"""
import numpy as np

from common import RATE, Words, parser, save_sounds


def coloured(rng, count, slope=None):
    """Noise whose spectrum falls as 1/f^slope, power 1."""
    slope = rng.uniform(0, 1.2) if slope is None else slope
    spectrum = rng.standard_normal(count // 2 + 1) + 1j * rng.standard_normal(count // 2 + 1)
    noise = np.fft.irfft(spectrum / (np.arange(count // 2 + 1) + 20.0) ** slope, count)
    return noise / np.sqrt((noise**2).mean())


def envelope(rng, count):
    """Attack and decay, sometimes with a slow tremble."""
    t = np.arange(count) / RATE
    shape = np.minimum(1, t / rng.uniform(0.002, 0.1)) * np.exp(-t * rng.choice([0, rng.uniform(1, 12)]))
    shape *= np.minimum(1, (count / RATE - t) / rng.uniform(0.005, 0.1))
    if rng.random() < 0.3:
        shape *= 1 + 0.5 * np.sin(2 * np.pi * rng.uniform(2, 20) * t)
    return shape


def note(rng, count, pitch, timbre):
    """A tone with harmonics and a little vibrato."""
    t = np.arange(count) / RATE
    phase = 2 * np.pi * pitch * t + rng.choice([0, 0.5]) * np.sin(2 * np.pi * 5.5 * t)
    return sum(level * np.sin((k + 1) * phase) for k, level in enumerate(timbre) if pitch * (k + 1) < 7900)


def timbre(rng):
    """Levels of the harmonics."""
    fall = rng.uniform(0.1, 0.8)
    return [1.0] + [rng.uniform(0, 1) * np.exp(-k * fall) for k in range(rng.integers(0, 11))]


def tones(rng, count):
    """One tone, a chord, a melody or a chirp."""
    kind = rng.integers(4)
    base = 110 * 2 ** rng.uniform(0, 4)
    colour = timbre(rng)
    if kind == 0:
        return note(rng, count, base, colour)
    if kind == 1:
        return sum(note(rng, count, base * 2 ** (step / 12), colour) for step in rng.choice([0, 3, 4, 7, 10, 12], 3, replace=False))
    if kind == 2:
        parts = np.array_split(np.arange(count), rng.integers(2, 8))
        return np.concatenate([note(rng, len(part), base * 2 ** (rng.integers(-7, 8) / 12), colour) * envelope(rng, len(part))
                               for part in parts])
    t = np.arange(count) / RATE
    return np.sin(2 * np.pi * (base * t + rng.uniform(-1, 1) * 1500 * t**2))


def clicks(rng, count):
    """Knocks and clicks: short decaying resonances."""
    sound = np.zeros(count)
    for start in rng.integers(0, count - 200, rng.integers(1, 12)):
        length = min(count - start, 3000)
        t = np.arange(length) / RATE
        sound[start : start + length] += np.exp(-t * rng.uniform(30, 400)) * np.sin(2 * np.pi * rng.uniform(150, 5000) * t)
    return sound


def make(rng):
    count = int(RATE * rng.uniform(0.25, 1.6))
    kind = rng.random()
    if kind < 0.4:
        sound = coloured(rng, count) * envelope(rng, count)
    elif kind < 0.85:
        sound = tones(rng, count) * envelope(rng, count)
    else:
        sound = clicks(rng, count)
    if rng.random() < 0.3:
        sound = sound + coloured(rng, count) * np.abs(sound).max() * 10 ** rng.uniform(-2.5, -0.5)
    return (sound / np.abs(sound).max() * 0.5 * 32767).astype(np.int16)


def main():
    options = parser(__doc__).parse_args()
    folder = options.data / "sound"
    folder.mkdir(parents=True, exist_ok=True)
    number = len(Words().all)  # no word
    for seed, (part, count) in enumerate((("train", 4000), ("dev", 500), ("test", 500))):
        path = folder / f"noises_{part}.npz"
        if not path.exists():
            rng = np.random.default_rng(100 + seed)
            save_sounds(path, [make(rng) for _ in range(count)], [number] * count)
        print(f"{path.name}: {count} sounds")


if __name__ == "__main__":
    main()
