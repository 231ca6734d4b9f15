#!/usr/bin/env python3
"""Log-mel features, the same arithmetic as on the device, and a bank of them for training.

Run as a script it makes DATA/features/VOICE.npz for each file of DATA/sound. A second version of each utterance for training has random
speed (resampled, so that pitch moves too) and vocal-tract length (mel bands warped), and sometimes a room, a telephone line or an
overdriven microphone. What train.py changes on top is cheap.
"""
import concurrent.futures
import multiprocessing
import zlib

import numpy as np
import torch

from common import RATE, load_sounds, parser

FRAME, HOP, FFT, BANDS = 400, 160, 512, 40
FLOOR = 1e-6  # added to the energy of a band before its logarithm
BANK_FLOOR = 1e-9  # in the bank, where noise and level are still to come
AS_IT_IS = ("pico", "asterisk", "noises", "choose", "report")  # no second version: for development and test, or as good as any other
WARPS = np.exp(np.linspace(-0.16, 0.16, 9))


def mel_matrix(warp=1.0, low=60.0, high=7600.0):
    """Triangular bands, corners equally spaced in mel; `warp` moves them as a longer or shorter vocal tract would."""
    corners = np.linspace(2595 * np.log10(1 + low / 700), 2595 * np.log10(1 + high / 700), BANDS + 2)
    corners = 700 * (10 ** (corners / 2595) - 1)
    knee = 4800.0 / max(1.0, warp)
    corners = np.where(corners < knee, corners * warp, knee * warp + (8000 - knee * warp) * (corners - knee) / (8000 - knee))
    frequency = np.arange(FFT // 2 + 1)[:, None] * RATE / FFT
    rising = (frequency - corners[:-2]) / (corners[1:-1] - corners[:-2])
    falling = (corners[2:] - frequency) / (corners[2:] - corners[1:-1])
    return torch.from_numpy(np.maximum(0, np.minimum(rising, falling)).astype(np.float32))


WINDOW = torch.from_numpy(np.hanning(FRAME).astype(np.float32))
PLAIN = mel_matrix()
WARPED = [mel_matrix(warp) for warp in WARPS]


def energies(sound, matrix=PLAIN):
    """Energy per frame and band of int16 or +-1 samples: frames x 40."""
    sound = torch.as_tensor(np.asarray(sound))
    if sound.dtype == torch.int16:
        sound = sound.float() / 32768
    sound = sound.float()
    if len(sound) < FRAME:
        sound = torch.nn.functional.pad(sound, (0, FRAME - len(sound)))
    spectrum = torch.fft.rfft(sound.unfold(0, FRAME, HOP) * WINDOW, FFT)
    return (spectrum.real**2 + spectrum.imag**2) @ matrix


def log_mel(sound):
    """What the device computes: l_t[b]."""
    return torch.log(energies(sound) + FLOOR)


def normalised(logs):
    """Cumulative mean of the segment so far taken away, scaled and clamped: f_t[b]. Last axes: time, bands."""
    count = torch.arange(1, logs.shape[-2] + 1, dtype=logs.dtype)[:, None]
    return ((logs - logs.cumsum(-2) / count) / 2.5).clamp(-4, 4)


def changed_speed(sound, ratio):
    count = int(len(sound) / ratio)
    return np.interp(np.arange(count) * ratio, np.arange(len(sound)), sound).astype(np.float32)


def in_a_room(rng, sound):
    """The sound with reflections: a few early ones, then noise that decays by 60 dB in 0.1 to 0.7 s."""
    decay = rng.uniform(0.1, 0.7)
    count = int(RATE * min(decay, 0.35))
    at = np.arange(count) / RATE
    response = rng.standard_normal(count) * 10 ** (-3 * at / decay)
    response[: int(RATE * rng.uniform(0.002, 0.012))] = 0
    for early in rng.integers(16, int(0.03 * RATE), 6):
        response[early] += rng.normal(0, 3) * 10 ** (-3 * early / RATE / decay)
    response *= 10 ** (rng.uniform(-14, 3) / 20) / np.sqrt((response**2).sum())
    response[0] += 1
    longer = len(sound) + int(RATE * rng.uniform(0, 0.12))
    size = 1 << (len(sound) + count).bit_length()
    return np.fft.irfft(np.fft.rfft(sound, size) * np.fft.rfft(response, size))[:longer].astype(np.float32)


def over_a_line(rng, sound):
    """The band of a telephone, and the eight bits a sample of its logarithmic code."""
    spectrum = np.fft.rfft(sound)
    frequency = np.fft.rfftfreq(len(sound), 1 / RATE)
    spectrum[(frequency < rng.uniform(60, 300)) | (frequency > rng.uniform(3300, 3900))] = 0
    sound = np.fft.irfft(spectrum, len(sound))
    sound *= 10 ** rng.uniform(-1.5, 0) / max(1e-4, np.abs(sound).max())
    coded = np.round(np.sign(sound) * np.log1p(255 * np.abs(sound)) / np.log(256) * 127) / 127
    return (np.sign(coded) * np.expm1(np.abs(coded) * np.log(256)) / 255).astype(np.float32)


def through(rng, sound):
    """What is between a mouth and a file, sometimes."""
    if rng.random() < 0.4:
        sound = in_a_room(rng, sound)
    if rng.random() < 0.1:
        sound = over_a_line(rng, sound)
    if rng.random() < 0.1:
        sound = np.clip(sound * rng.uniform(1.5, 8) / max(1e-4, np.abs(sound).max()), -1, 1)
    return 0.5 * sound / max(1e-4, np.abs(sound).max())


def make_bank(task):
    """Features of one file of sound."""
    source, target, changed = task
    if target.exists():
        return f"{target.stem}: there"
    torch.set_num_threads(1)
    rng = np.random.default_rng(zlib.crc32(source.stem.encode()))
    sounds, words = load_sounds(source)
    versions = {}
    for version in ("plain", "changed") if changed else ("plain",):
        pieces = []
        for sound in sounds:
            sound = sound.astype(np.float32) / 32768
            matrix = PLAIN
            if version == "changed":
                if rng.random() < 0.7:
                    sound = changed_speed(sound, np.exp(rng.uniform(-0.15, 0.15)))
                sound = through(rng, sound)
                matrix = WARPED[rng.integers(len(WARPED))]
            pieces.append(torch.log(energies(sound, matrix) + BANK_FLOOR).half())
        versions[version] = torch.cat(pieces).numpy()
        versions[version + "_offsets"] = np.cumsum([0] + [len(piece) for piece in pieces])
    part = target.with_suffix(".part.npz")
    np.savez(part, words=words, **versions)
    part.rename(target)
    return f"{target.stem}: {len(sounds)} utterances"


def main():
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=2)
    options = options.parse_args()
    folder = options.data / "features"
    folder.mkdir(parents=True, exist_ok=True)
    tasks = []
    for source in sorted((options.data / "sound").glob("*.npz")):
        if ".part" not in source.name:
            tasks.append((source, folder / source.name, not source.stem.startswith(AS_IT_IS)))
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        for number, line in enumerate(pool.map(make_bank, tasks)):
            print(f"[{number + 1}/{len(tasks)}] {line}", flush=True)


if __name__ == "__main__":
    main()
