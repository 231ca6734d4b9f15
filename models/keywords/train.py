#!/usr/bin/env python3
"""Train encoder and output layer on the bank of features, for a given number of minutes.

Every example is a stretch of sound as the device would cut it: some background, a word (changed at random: speed, equaliser, level,
reverb, background noise, band limits of telephones, masks), a little more background, and the decision somewhere in it. Around 6 % are
of the class "other": words outside of the vocabulary, sounds that are no words, and words of which only the beginning was heard.

DATA/checkpoint.pt is written every few minutes and at the end; started again, training goes on from there. Its seed is fixed.
"""
import math
import re
import time
import zlib

import numpy as np
import torch
import torch.nn.functional as F

from common import Words, parser
from features import BANDS, FLOOR, energies, normalised
from model import STRIDE, Spotter
from noises import coloured

UNHEARD = ("pico", "asterisk", "noises_dev", "noises_test")
# How often a file of a voice is drawn; voices made from recordings of people count more than formant synthesis.
WEIGHTS = (("espeak", 0.6), ("mbrola", 0.7), ("flite_kal", 0.5), ("flite", 1.1), ("festival", 1.0), ("rhvoice", 1.8), ("", 1.0))
SHARE_OUTSIDE, SHARE_NOISES, SHARE_PARTIAL = 0.03, 0.015, 0.015
LEAD, TAIL = 20, 30  # most frames before the word and after it
NOISE_FRAMES = 800
WORD, OUTSIDE, NOISE = 0, 1, 2  # kinds of utterances


class Bank:
    """Features of many utterances, end to end in one matrix."""

    def __init__(self, files, words, versions=("plain",)):
        pieces, columns, at, utterances = [], [], 0, 0
        for path in files:
            stored = np.load(path)
            spoken = stored["words"]
            weight = next(value for name, value in WEIGHTS if path.stem.startswith(name))
            kind = np.where(spoken < words.count, WORD, np.where(spoken < len(words.all), OUTSIDE, NOISE))
            for version in versions:
                pieces.append(torch.from_numpy(stored[version]))
                offsets = stored[version + "_offsets"]
                columns.append((offsets[:-1] + at, np.diff(offsets), np.minimum(spoken, words.count), kind, np.full(len(spoken), weight),
                                np.arange(len(spoken)) + utterances, np.full(len(spoken), version == "plain"), spoken,
                                np.full(len(spoken), zlib.crc32(path.stem.encode()))))
                at += len(pieces[-1])
            utterances += len(spoken)
        pieces.append(torch.zeros(1, BANDS, dtype=torch.float16))  # may be read, with weight 0, after the last frame
        self.frames = torch.cat(pieces)
        (self.start, self.length, self.label, self.kind, self.weight, self.utterance, self.plain, self.word,
         self.file) = map(np.concatenate, zip(*columns))

    def __len__(self):
        return len(self.start)


def split(bank):
    """Which versions to train on, and which utterances of the same voices are kept out (both versions of them): one word in 40 of a
    voice, another one in the next, whatever other voices are there."""
    out = (bank.kind == WORD) & ((bank.word * 7919 + bank.file * 104729) % 40 == 0)
    return np.flatnonzero(~out), np.flatnonzero(out & bank.plain)


def band_warp(ratio):
    """A matrix that moves log energies along the bands as a vocal tract of another length would, between neighbours by lines."""
    centre = np.linspace(2595 * np.log10(1 + 60 / 700), 2595 * np.log10(1 + 7600 / 700), BANDS + 2)[1:-1]
    wanted = 2595 * np.log10(1 + 700 * (10 ** (centre / 2595) - 1) * ratio / 700)
    place = np.clip((wanted - centre[0]) / (centre[1] - centre[0]), 0, BANDS - 1)
    return torch.from_numpy(np.maximum(0, 1 - np.abs(np.arange(BANDS)[:, None] - place[None])).astype(np.float32))


class Augment:
    """Puts utterances into backgrounds and distorts them, a batch at a time, on energies per band."""

    def __init__(self, bank, rng, strength=1.0):
        self.rng, self.strength = rng, strength
        self.warps = torch.stack([band_warp(warp) for warp in np.exp(np.linspace(-0.12, 0.12, 9) * (strength - 1))])
        noises = [coloured(rng, 160 * NOISE_FRAMES + 400) for _ in range(40)]
        self.noise = torch.stack([energies(noise)[:NOISE_FRAMES] for noise in noises] + [self.babble(bank) for _ in range(24)])
        self.noise /= self.noise.mean((1, 2), keepdim=True)
        band = torch.arange(BANDS) / (BANDS - 1)
        self.waves = torch.stack([torch.cos(math.pi * k * band) for k in range(1, 4)])

    def babble(self, bank):
        """Energies of several talkers at once."""
        total = torch.zeros(NOISE_FRAMES, BANDS)
        for _ in range(int(self.rng.integers(3, 9))):
            at = int(self.rng.integers(0, len(bank.frames) - NOISE_FRAMES - 1))
            total += bank.frames[at : at + NOISE_FRAMES].float().exp()
        return total

    def uniform(self, low, high, *shape):
        return torch.from_numpy(self.rng.uniform(low, high, shape).astype(np.float32))

    def chosen(self, share, *shape):
        return torch.from_numpy((self.rng.random(shape) < share).astype(np.float32))

    def batch(self, bank, picked, lead, speed, frames, plain=False):
        """Normalised features of `frames` frames, the word starting at frame `lead`, `speed` times as fast."""
        count = len(picked)
        length = torch.from_numpy(bank.length[picked])[:, None]
        place = (torch.arange(frames)[None] - torch.from_numpy(lead)[:, None]) * torch.from_numpy(speed).float()[:, None]
        inside = (place >= 0) & (place <= length - 1)
        place = torch.minimum(place.clamp(min=0), length - 1.0)
        left = place.floor()
        row = (left.long() + torch.from_numpy(bank.start[picked])[:, None]).view(-1)
        a = bank.frames.index_select(0, row).float().view(count, frames, BANDS)
        b = bank.frames.index_select(0, row + 1).float().view(count, frames, BANDS)
        logs = torch.lerp(a, b, ((place - left) * (left < length - 1))[..., None])
        if not plain and self.strength > 1:
            logs = torch.bmm(logs, self.warps[torch.from_numpy(self.rng.integers(0, len(self.warps), count))])
        speech = logs.exp_() * inside[..., None]
        mean = speech.sum((1, 2)) / (inside.sum(1) * BANDS)
        which = torch.from_numpy(self.rng.integers(0, len(self.noise), count) * NOISE_FRAMES
                                 + self.rng.integers(0, NOISE_FRAMES - frames, count))
        noise = self.noise.view(-1, BANDS).index_select(0, (which[:, None] + torch.arange(frames)[None]).view(-1)).view(speech.shape)
        if plain:
            return normalised(torch.log(speech + noise * (mean * 10**-4.5)[:, None, None] + FLOOR))

        equaliser = (torch.randn(count, 3) * torch.tensor([0.7, 0.5, 0.35]) * self.strength) @ self.waves
        equaliser *= self.chosen(0.6 * self.strength, count, 1)
        gain = equaliser.exp()
        low_pass = torch.from_numpy(np.where(self.rng.random(count) < 0.1, self.rng.integers(27, BANDS, count), 99))[:, None]
        gain = gain * torch.where(torch.arange(BANDS)[None] >= low_pass, 1e-4, 1.0)
        telephone = torch.ones(BANDS)
        telephone[:4] = telephone[28:] = 1e-4
        gain = torch.where(self.chosen(0.08, count, 1) > 0, gain * telephone, gain)
        speech *= gain[:, None]
        wet = self.rng.random(count) < 0.25
        if wet.any():
            wet = torch.from_numpy(np.flatnonzero(wet))
            decay = self.uniform(0.6, 0.92, len(wet))[:, None, None]
            later = torch.arange(frames)[:, None] - torch.arange(frames)[None]
            tail = torch.where(later > 0, decay ** later.clamp(min=0), 0.0) * self.uniform(0.02, 0.25, len(wet))[:, None, None]
            speech[wet] += torch.bmm(tail, speech[wet])
        ratio = 10 ** (-self.uniform(3, 45, count) / 10) * self.chosen(0.7, count) + 10 ** (-self.uniform(45, 75, count) / 10)
        noise_gain = (torch.randn(count, 3) * torch.tensor([0.4, 0.3, 0.2])) @ self.waves
        speech += noise * (noise_gain.exp() * (mean * ratio)[:, None])[:, None]
        level = 10 ** (self.uniform(-2.6, 0.5, count))[:, None, None]
        features = normalised(torch.log(speech.mul_(level).add_(FLOOR)))
        band, time_ = torch.arange(BANDS)[None], torch.arange(frames)[None]
        at, wide = self.rng.integers(0, BANDS, (count, 1)), self.rng.integers(0, 6, (count, 1))
        features *= ~((band >= torch.from_numpy(at)) & (band < torch.from_numpy(at + wide)))[:, None]
        at, wide = self.rng.integers(0, frames, (count, 1)), self.rng.integers(0, 10, (count, 1))
        features *= ~((time_ >= torch.from_numpy(at)) & (time_ < torch.from_numpy(at + wide)))[..., None]
        return features


class Draw:
    """Endless batches: examples drawn by weight, those of similar length together."""

    def __init__(self, bank, usable, words, rng, size, batches=24):
        self.bank, self.words, self.rng, self.size, self.batches = bank, words, rng, size, batches
        shares = ((WORD, 1 - SHARE_OUTSIDE - SHARE_NOISES), (OUTSIDE, SHARE_OUTSIDE), (NOISE, SHARE_NOISES))
        self.groups = [(usable[bank.kind[usable] == kind], share) for kind, share in shares]
        self.summed = [np.cumsum(bank.weight[members]) for members, _ in self.groups]

    def __iter__(self):
        while True:
            count = self.size * self.batches
            group = self.rng.choice(len(self.groups), count, p=[share for _, share in self.groups])
            picked = np.empty(count, np.int64)
            for number, (members, _) in enumerate(self.groups):
                mine = np.flatnonzero(group == number)
                at = np.searchsorted(self.summed[number], self.rng.random(len(mine)) * self.summed[number][-1], side="right")
                picked[mine] = members[np.minimum(at, len(members) - 1)]
            speed = np.exp(self.rng.uniform(-0.16, 0.16, count))
            lead = self.rng.integers(0, LEAD + 1, count)
            word = self.bank.length[picked] / speed
            label = self.bank.label[picked]
            partial = self.rng.random(count) < SHARE_PARTIAL
            end = np.where(partial, lead + word * self.rng.uniform(0.2, 0.6, count), lead + word + self.rng.integers(0, TAIL + 1, count))
            label = np.where(partial, self.words.count, label)
            last = np.maximum(end.astype(np.int64) // STRIDE - 1, 0)
            order = np.argsort(last, kind="stable").reshape(self.batches, self.size)
            for row in order[self.rng.permutation(self.batches)]:
                frames = (int(last[row].max()) + 1) * STRIDE
                yield picked[row], lead[row], speed[row], frames, torch.from_numpy(last[row]), torch.from_numpy(label[row]).long()


@torch.no_grad()
def accuracy(net, augment, bank, picked):
    """Share of utterances whose word is first, and among the first five; decided 120 ms after the word, background 45 dB below."""
    net.eval()
    first = five = 0
    picked = picked[np.argsort(bank.length[picked])]
    for a in range(0, len(picked), 256):
        some = picked[a : a + 256]
        last = (12 + bank.length[some] + 12) // STRIDE - 1
        x = augment.batch(bank, some, np.full(len(some), 12), np.ones(len(some)), (int(last.max()) + 1) * STRIDE, plain=True)
        top = net(x, torch.from_numpy(last)).topk(5).indices == torch.from_numpy(bank.label[some]).long()[:, None]
        first += int(top[:, 0].sum())
        five += int(top.sum())
    net.train()
    return first / len(picked), five / len(picked)


def main():
    options = parser(__doc__)
    options.add_argument("--minutes", type=float, default=65)
    options.add_argument("--threads", type=int, default=1)
    options.add_argument("--batch", type=int, default=192)
    options.add_argument("--rate", type=float, default=3e-3)
    options.add_argument("--decay", type=float, default=0.02)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--every", type=float, default=3, help="minutes between two lines of progress")
    options.add_argument("--checkpoint", default="checkpoint.pt")
    options.add_argument("--start", help="a checkpoint whose weights to start from, if there is none of this training yet")
    options.add_argument("--strength", type=float, default=1, help="of the augmentation: above 1 also warps bands, per example")
    options.add_argument("--voices", default="", help="only files that match this expression, for trials")
    options = options.parse_args()
    torch.set_num_threads(options.threads)
    torch.set_float32_matmul_precision("medium")  # products of bfloat16 where the processor has them: half as long again
    torch.manual_seed(options.seed)
    rng = np.random.default_rng(options.seed)
    words = Words()
    files = sorted(path for path in (options.data / "features").glob("*.npz") if ".part" not in path.name)
    training = [path for path in files if not path.stem.startswith(UNHEARD) and re.search(options.voices, path.stem)]
    started = time.time()
    bank = Bank(training, words, ("plain", "changed"))
    usable, held_out = split(bank)
    watched = {"known voices": (bank, np.random.default_rng(0).permutation(held_out)[:2000])}
    for name in ("pico", "asterisk"):
        found = [path for path in files if path.stem.startswith(name)]
        if found:
            unheard = Bank(found, words)
            members = np.flatnonzero(unheard.kind == WORD)
            watched[name] = unheard, np.random.default_rng(options.seed).permutation(members)[:3000]
    augment = Augment(bank, rng, options.strength)
    print(f"{len(bank)} versions of utterances from {len(training)} files, {len(bank.frames) / 360000:.1f} hours, ready after "
          f"{time.time() - started:.0f} s", flush=True)

    net = Spotter(words.count + 1)
    print(f"encoder: {sum(p.numel() for p in net.encoder.parameters())} parameters; {words.count + 1} classes", flush=True)
    optimiser = torch.optim.AdamW(net.parameters(), options.rate, weight_decay=options.decay, fused=True)
    path = options.data / options.checkpoint
    spent, step, examples = 0.0, 0, 0
    if path.exists():
        state = torch.load(path, weights_only=False)
        net.load_state_dict(state["net"])
        optimiser.load_state_dict(state["optimiser"])
        spent, step, examples = state["spent"], state["step"], state["examples"]
        rng.bit_generator.state = state["rng"]
        print(f"goes on after {spent / 60:.1f} minutes", flush=True)

    elif options.start:
        net.load_state_dict(torch.load(options.data / options.start, weights_only=False)["net"])

    def save():
        torch.save(dict(net=net.state_dict(), optimiser=optimiser.state_dict(), spent=spent, step=step, examples=examples,
                        rng=rng.bit_generator.state), path.with_suffix(".part"))
        path.with_suffix(".part").rename(path)

    def report(loss, hit):
        figures = ", ".join(f"{name} {100 * first:.1f} / {100 * five:.1f}" for name, (first, five) in
                            ((name, accuracy(net, augment, *which)) for name, which in watched.items()))
        print(f"{spent / 60:5.1f} min, step {step}, {examples / 1e6:.2f} M examples, loss {loss:.3f}, in training {100 * hit:.1f}; "
              f"first / first five: {figures}", flush=True)

    budget = 60 * options.minutes
    last_report = last_save = spent
    loss_mean = hit_mean = 0.0
    net.train()
    for picked, lead, speed, frames, last, label in Draw(bank, usable, words, rng, options.batch):
        if spent >= budget:
            break
        began = time.time()
        for group in optimiser.param_groups:
            group["lr"] = options.rate * min(1, (step + 1) / 300) * (0.5 + 0.5 * math.cos(math.pi * min(1, spent / budget)))
        scores = net(augment.batch(bank, picked, lead, speed, frames), last)
        loss = F.cross_entropy(scores, label, label_smoothing=0.02)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        step += 1
        examples += len(picked)
        keep = min(0.98, 1 - 1 / (step + 1))
        loss_mean = keep * loss_mean + (1 - keep) * loss.item()
        hit_mean = keep * hit_mean + (1 - keep) * (scores.argmax(1) == label).float().mean().item()
        spent += time.time() - began
        if spent - last_save > 240:
            save()
            last_save = spent
        if spent - last_report > 60 * options.every:
            report(loss_mean, hit_mean)
            last_report = spent
    save()
    report(loss_mean, hit_mean)


if __name__ == "__main__":
    main()
