#!/usr/bin/env python3
"""Write the trained encoder as the device reads it, the output layer, and queries for building and judging the model file.

Everything goes to OUT (DATA/export by default) except for encoder.bin and reference/, which go beside this file. All queries are embeddings of the
quantised encoder, from sound as a device would hear it: a background far below the word, a segment that begins a little before it.

  weights.npy, bias.npy, names.txt           the output layer; "<other>" is the last class
  calibration.npy, calibration_labels.npy    strangers, as far as there are any: known voices, strongly augmented, at ends of words and at
                                             moments within, noises; and the unheard engine's words of pico_dev
  pico_dev*.npy, queries.npy + labels.npy    the unheard engine, half of the words each; asterisk*.npy; known*.npy (kept out)
  outside_dev.npy, outside_test.npy          words outside of the vocabulary, by the unheard engine
  noises_dev.npy, noises_test.npy            sounds that are no words
  NAME_decisions.npy                         of each of these: 3 x sounds x 128, the decisions that the device averages; NAME.npy is the second
  reference/K_samples.npy ...                three clips with log-mel energies and the last embedding, for tests
"""
import pathlib

import numpy as np
import torch

from common import HERE, OTHER, RATE, Words, load_sounds, parser
from encoder_file import Quantised, macs, write
from features import HOP, log_mel, normalised
from model import STRIDE, Spotter
from noises import coloured
from train import SECOND, UNHEARD, WORD, Augment, Bank, Draw, for_development, split

AFTER = 20  # quiet frames that end a segment
CALIBRATION = 40000  # queries of known voices
BACKGROUND = 0.001  # of full scale, root mean square: 60 dB below it


def in_background(rng, sound, lead, tail):
    """The sound within a low background, so many frames before and after."""
    padded = np.concatenate([np.zeros(lead * HOP), sound / 32768.0, np.zeros(tail * HOP + 240)])
    padded += coloured(rng, len(padded) // 2 * 2 + 2, 0.5)[: len(padded)] * BACKGROUND
    return np.clip(np.rint(padded * 32768), -32768, 32767).astype(np.int16)


def embeddings(quantised, encoder, features, last):
    """Embeddings of examples of different lengths at their steps `last` (decisions x examples), by the device's arithmetic; and those of
    the second decision by float."""
    order = np.argsort(last[-1])
    integer = np.empty((*last.shape, 128), np.float32)
    real = np.empty((last.shape[1], 128), np.float32)
    for a in range(0, len(order), 128):
        some = order[a : a + 128]
        frames = (int(last[:, some].max()) + 1) * STRIDE
        x = torch.zeros(len(some), frames, 40)
        for row, number in enumerate(some):
            piece = features[number][:frames]
            x[row, : len(piece)] = piece
        ends = torch.from_numpy(last[:, some])
        integer[:, some] = quantised(x)[torch.arange(len(some))[None], ends].numpy()
        with torch.no_grad():
            real[some] = encoder(x, ends[1]).numpy()
    return integer, real


def heard(quantised, encoder, sounds, seed):
    """Embeddings of sounds as segments: begun 60 to 140 ms before the sound, ended 200 ms after it, and decided three times, as the
    device does: up to 90 ms after the sound's end, 100 ms later, and at the end of the segment. First axis: decisions."""
    rng = np.random.default_rng(seed)
    features, last = [], []
    for sound in sounds:
        lead, late = int(rng.integers(6, 15)), int(rng.integers(0, 10))
        x = normalised(log_mel(in_background(rng, sound, lead, AFTER)))
        features.append(x)
        last.append([(len(x) - before) // STRIDE - 1 for before in (AFTER - late, AFTER - 10 - late, 0)])
    return embeddings(quantised, encoder, features, np.array(last).T)


def calibration(quantised, bank, members, augment, words, rng, count):
    """Queries as the classifier sees them: of segments at their end, and at any moment of a segment. Augmentation is as strong as in
    training or stronger: of voices that it knows, the encoder is surer than of strangers."""
    queries, labels = [], []
    for picked, lead, speed, frames, last, label in Draw(bank, members, words, rng, 120, batches=10):
        x = augment.batch(bank, picked, lead, speed, frames)
        early = rng.random(len(picked)) < 0.15
        moment = np.where(early, rng.integers(2, frames // STRIDE, len(picked)), last.numpy())
        queries.append(quantised(x)[torch.arange(len(picked)), torch.from_numpy(moment)].numpy())
        labels.append(np.where(moment < last.numpy(), words.count, label.numpy()))
        if sum(map(len, labels)) >= count:
            return np.concatenate(queries)[:count], np.concatenate(labels)[:count].astype(np.int32)


def references(folder, quantised, sounds):
    """Clips and what must come out, for tests of the device's code: the whole clip is one segment."""
    folder.mkdir(exist_ok=True)
    rng = np.random.default_rng(5)
    for number, sound in enumerate(sounds):
        samples = in_background(rng, sound, 12, 12)
        logs = log_mel(samples)
        x = normalised(logs)
        x = x[: len(x) // STRIDE * STRIDE]
        for name, values in (("samples", samples), ("log_mel", logs.numpy()), ("embedding", quantised(x[None])[0, -1].numpy())):
            np.save(folder / f"{number}_{name}.npy", values)


def main():
    options = parser(__doc__)
    options.add_argument("--out", type=pathlib.Path, help="folder for the arrays (default: DATA/export)")
    options.add_argument("--encoder", type=pathlib.Path, default=HERE / "encoder.bin")
    options.add_argument("--quick", action="store_true", help="encoder, output layer and reference clips only")
    options = options.parse_args()
    torch.set_num_threads(1)  # more of them wait for each other on a busy machine
    out = options.out or options.data / "export"
    out.mkdir(parents=True, exist_ok=True)
    words = Words()
    net = Spotter(words.count + 1)
    net.load_state_dict(torch.load(options.data / SECOND, weights_only=False)["net"])
    net.eval()
    np.save(out / "weights.npy", net.output.weight.detach().numpy())
    np.save(out / "bias.npy", net.output.bias.detach().numpy())
    (out / "names.txt").write_text("\n".join(words.classes + [OTHER]) + "\n")

    files = sorted(path for path in (options.data / "features").glob("*.npz") if ".part" not in path.name)
    training = [path for path in files if not path.stem.startswith(UNHEARD)]
    bank = Bank(training, words)
    usable, held_out = split(bank)
    rng = np.random.default_rng(7)
    augment = Augment(bank, rng)
    draw = iter(Draw(bank, usable, words, rng, 100, batches=10))
    examples = []
    for _ in range(12):
        picked, lead, speed, frames, _last, _label = next(draw)
        examples.append(augment.batch(bank, picked, lead, speed, frames))
    write(options.encoder, net.encoder, examples)
    quantised = Quantised(options.encoder)
    weights = sum(layer[0].numel() for layer in quantised.layers)
    print(f"{options.encoder.name}: {options.encoder.stat().st_size} bytes, {weights} weights, {macs() / 1e6:.2f} M products in 1.28 s")
    sound = options.data / "sound"
    references(options.encoder.parent / "reference", quantised, load_sounds(sound / "pico_en-US.npz")[0][:3])
    if options.quick:
        return

    strong = calibration(quantised, bank, np.concatenate([usable, held_out]), Augment(bank, rng, 1.3), words, rng, CALIBRATION)

    def exported(name, sounds, labels, seed):
        """Store queries and labels; say how often the first class is right, quantised and not."""
        integer, real = heard(quantised, net.encoder, sounds, seed)
        np.save(out / f"{name}.npy", integer[1])
        np.save(out / f"{name}_decisions.npy", integer)
        np.save(out / ("labels.npy" if name == "queries" else f"{name}_labels.npy"), labels.astype(np.int32))
        with torch.no_grad():
            right = [100 * float((net.output(torch.from_numpy(x)).argmax(1).numpy() == labels).mean()) for x in (*integer, real)]
        print(f"{name}: {len(labels)} sounds, first class right at each decision: {right[0]:.2f}, {right[1]:.2f}, {right[2]:.2f} %; "
              f"second without quantisation: {right[3]:.2f} %", flush=True)

    sounds, numbers = [], []
    for path in sorted(sound.glob("pico*.npz")):
        more, which = load_sounds(path)
        sounds += more
        numbers.append(which)
    numbers = np.concatenate(numbers)
    half = for_development(words)

    def part(name, chosen, seed):
        chosen = np.flatnonzero(chosen)
        exported(name, [sounds[k] for k in chosen], np.minimum(numbers[chosen], words.count), seed)

    is_word = numbers < words.count
    dev = np.zeros(len(numbers), bool)
    dev[is_word] = half[numbers[is_word]]
    part("pico_dev", is_word & dev, 11)
    decisions = np.load(out / "pico_dev_decisions.npy")
    mixed = rng.permutation(len(strong[1]) + decisions.shape[0] * decisions.shape[1])
    np.save(out / "calibration.npy", np.concatenate([strong[0], *decisions])[mixed])
    np.save(out / "calibration_labels.npy", np.concatenate([strong[1]] + len(decisions) * [np.load(out / "pico_dev_labels.npy")])[mixed])
    part("queries", is_word & ~dev, 12)
    part("outside_dev", np.isin(numbers, words.first["dev"]), 13)
    part("outside_test", np.isin(numbers, words.first["test"]), 14)
    for seed, name in enumerate(("noises_dev", "noises_test", "asterisk")):
        more, which = load_sounds(sound / f"{name}.npz")
        exported(name, more, np.minimum(which, words.count), 20 + seed)
    held_out = np.sort(rng.permutation(held_out)[:2000])
    chosen, before = [], 0
    for path in training:
        pieces, _ = load_sounds(sound / path.name)
        numbers = bank.utterance[held_out] - before
        chosen += [pieces[number] for number in numbers[(numbers >= 0) & (numbers < len(pieces))]]
        before += len(pieces)
    exported("known", chosen, bank.label[held_out], 30)


if __name__ == "__main__":
    main()
