#!/usr/bin/env python3
"""How well people are known, source by source: the encoder and the model file of a folder, every class scored exactly.

For each DATA/sound file of recordings that nothing was trained on (choose_*, report_*, asterisk; people.py makes the first two) it prints the share
whose word is first and among the first five of all classes, and what a threshold of p makes of one decision: right and wrong. The
decision is 100 to 190 ms after the word.
"""
import pathlib

import numpy as np
import torch

from common import HERE, Words, load_sounds, parser
from encoder_file import Quantised
from export import AFTER, in_background
from features import log_mel, normalised
from model import STRIDE
from shipped import output_layer


def queries(quantised, sounds, seed=5):
    """One embedding for each sound."""
    rng = np.random.default_rng(seed)
    features, last = [], []
    for sound in sounds:
        lead, late = int(rng.integers(6, 15)), int(rng.integers(0, 10))
        features.append(normalised(log_mel(in_background(rng, sound, lead, AFTER))))
        last.append((len(features[-1]) - AFTER // 2 - late) // STRIDE - 1)
    last = np.array(last)
    found = np.empty((len(sounds), 128), np.float32)
    order = np.argsort(last)
    for some in np.array_split(order, max(1, len(order) // 64)):
        frames = (int(last[some].max()) + 1) * STRIDE
        x = torch.zeros(len(some), frames, 40)
        for row, number in enumerate(some):
            piece = features[number][:frames]
            x[row, : len(piece)] = piece
        found[some] = quantised(x)[torch.arange(len(some)), torch.from_numpy(last[some])].numpy()
    return found


def main():
    options = parser(__doc__)
    options.add_argument("--folder", type=pathlib.Path, default=HERE, help="of encoder.bin and keywords.zhat (default: this one)")
    options.add_argument("--most", type=int, default=900, help="recordings of each source")
    options.add_argument("--threshold", type=float, default=0.85)
    options.add_argument("names", nargs="*", metavar="NAME", help="files of DATA/sound, without .npz (default: all of people)")
    options = options.parse_args()
    torch.set_num_threads(1)
    words, folder = Words(), options.data / "sound"
    names = options.names or sorted(path.stem for path in folder.glob("*.npz") if path.stem.startswith(("choose", "report", "asterisk")))
    quantised = Quantised(options.folder / "encoder.bin")
    weights, bias = output_layer(options.folder / "keywords.zhat")
    print(f"recordings: first, first five; of p from {options.threshold} on right, wrong (%)")
    for name in names:
        sounds, numbers = load_sounds(folder / f"{name}.npz")
        chosen = np.random.default_rng(0).permutation(np.flatnonzero(numbers < words.count))[: options.most]
        p = (torch.from_numpy(queries(quantised, [sounds[k] for k in chosen])) @ weights.T + bias).softmax(1)
        best, top = p.topk(5, 1)
        right = top.numpy() == numbers[chosen][:, None]
        sure = best[:, 0].numpy() >= options.threshold
        shares = right[:, 0].mean(), right.any(1).mean(), (sure & right[:, 0]).mean(), (sure & ~right[:, 0]).mean()
        print(f"{name}: {len(chosen)}: " + ", ".join(f"{100 * share:.1f}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
