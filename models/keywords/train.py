#!/usr/bin/env python3
"""Train encoder and output layer on the bank of features: so many examples, or so many minutes if they are over before.

Every example is a stretch of sound as the device would cut it: some background, a word (changed at random: speed, equaliser, level,
reverb, background noise, band limits of telephones, masks), a little more background, and the decision somewhere in it. Around 12 % are
of the class "other": words outside of the vocabulary, sounds that are no words, and words of which only the beginning was heard.

Threads work side by side, each on its own copy of the weights, and hand their gradients to one optimiser: none waits for another, so a
busy machine slows training down but does not stall it. The rate falls with the share that is done, of the examples or of the minutes,
whichever is larger. What is kept is a moving average of the weights and of the statistics of batch normalisation.

Voices that are known are known ever better, and strangers are not: what is kept in the end is the average that knew strangers best, by
the unheard engine's words for development and recordings of people who are not trained on. A second, shorter training (`--second`) starts from
what the first one kept; with `--go-on FOLDER` the first one starts from the files of a folder.

DATA/first.pt and DATA/second.pt are written every few minutes and at the end; started again, a training goes on from there. Seeds are fixed; the order
in which gradients of the threads arrive is not.
"""
import copy
import math
import os
import pathlib
import re
import threading
import time
import zlib

os.environ["OMP_NUM_THREADS"] = "1"  # of each thread

import numpy as np
import torch
import torch.nn.functional as F

from common import Words, parser
from features import BANDS, FLOOR, energies, normalised
from model import STRIDE, Spotter
from noises import coloured
from shipped import load_into

STRANGERS = ("pico", "asterisk", "choose_debian", "choose_speech")  # whom the weights are chosen by: the sum of what is right of each
FIRST, SECOND = "first.pt", "second.pt"  # what the two trainings leave
UNHEARD = ("pico", "asterisk", "noises_dev", "noises_test", "choose", "report")
# How often a file of a voice is drawn. Voices made from recordings of people count more than formant synthesis, and the fewer British
# voices more than the American ones, so that as much British English is heard as American.
WEIGHTS = (("people_speech", 3.0), ("people_audiomnist", 0.3), ("people_fsdd", 0.4), ("people_ocean_words", 1.5), ("people_freeswitch", 6.0),
           ("people", 1.5), ("kokoro", 6.0), ("piper", 2.5), ("hibari", 2.5),
           ("espeak_en-us", 0.3), ("espeak", 0.4), ("mbrola_mb-en1", 2.0), ("mbrola", 0.8), ("flite_kal", 0.5), ("flite_awb", 3.0),
           ("flite", 1.4), ("rhvoice_alan", 4.0), ("rhvoice_evgeniy", 1.0), ("rhvoice_lyubov", 1.0), ("rhvoice", 2.0),
           ("festival_rab", 2.5), ("festival_en1", 2.0), ("", 1.0))
RECORDED = ("people", "choose", "report")  # with the noise of a place, which goes on before and after the word
DROPPED = 0.1  # of the embedding, in training
SHARE_OUTSIDE, SHARE_NOISES, SHARE_PARTIAL = 0.08, 0.02, 0.02
LEAD, TAIL = 20, 30  # most frames before the word and after it
NOISE_FRAMES = 800
WORD, OUTSIDE, NOISE = 0, 1, 2  # kinds of utterances


def floor_of(frames, offsets):
    """The noise of each recording: of each band the energy that a tenth of its frames are below."""
    return np.exp(np.stack([np.percentile(frames[a:b].astype(np.float32), 10, axis=0) for a, b in zip(offsets[:-1], offsets[1:])])).astype(np.float32)


class Bank:
    """Features of many utterances, end to end in one matrix."""

    def __init__(self, files, words):
        pieces, columns, floors, at, utterances = [], [], [], 0, 0
        for path in files:
            stored = np.load(path)
            spoken = stored["words"]
            weight = next(weight for name, weight in WEIGHTS if path.stem.startswith(name))
            kind = np.where(spoken < words.count, WORD, np.where(spoken < len(words.all), OUTSIDE, NOISE))
            versions = [version for version in ("plain", "changed") if version in stored]
            for version in versions:
                pieces.append(torch.from_numpy(stored[version]))
                offsets = stored[version + "_offsets"]
                columns.append((offsets[:-1] + at, np.diff(offsets), np.minimum(spoken, words.count), kind,
                                np.full(len(spoken), weight / len(versions)), np.arange(len(spoken)) + utterances, np.full(len(spoken), version == "plain"), spoken,
                                np.full(len(spoken), zlib.crc32(path.stem.encode()))))
                floors.append(floor_of(stored[version], offsets) if path.stem.startswith(RECORDED) else np.zeros((len(spoken), BANDS), np.float32))
                at += len(pieces[-1])
            utterances += len(spoken)
        pieces.append(torch.zeros(1, BANDS, dtype=torch.float16))  # may be read, with weight 0, after the last frame
        self.frames, self.floor = torch.cat(pieces), torch.from_numpy(np.concatenate(floors))
        (self.start, self.length, self.label, self.kind, self.weight, self.utterance, self.plain, self.word,
         self.file) = map(np.concatenate, zip(*columns))

    def __len__(self):
        return len(self.start)


def for_development(words):
    """For each class whether the unheard engine's utterances are for development: half of the classes. The others are for test."""
    return np.random.default_rng(3).permutation(words.count) < words.count // 2


def split(bank):
    """Which versions to train on, and which utterances of the same voices are kept out (both versions of them): one word in 40 of a
    voice, another one in the next, whatever other voices are there."""
    out = (bank.kind == WORD) & ((bank.word * 7919 + bank.file * 104729) % 40 == 0)
    return np.flatnonzero(~out), np.flatnonzero(out & bank.plain)


def band_warp(ratio, bend):
    """A matrix that moves log energies along the bands as a vocal tract of another length would, and low and high bands by `bend` bands
    of their own; between neighbours by lines."""
    centre = np.linspace(2595 * np.log10(1 + 60 / 700), 2595 * np.log10(1 + 7600 / 700), BANDS + 2)[1:-1]
    wanted = 2595 * np.log10(1 + 700 * (10 ** (centre / 2595) - 1) * ratio / 700)
    bent = bend @ np.sin(np.pi * np.outer([1, 2], np.linspace(0, 1, BANDS)))
    place = np.clip((wanted - centre[0]) / (centre[1] - centre[0]) + bent, 0, BANDS - 1)
    return torch.from_numpy(np.maximum(0, 1 - np.abs(np.arange(BANDS)[:, None] - place[None])).astype(np.float32))


class Augment:
    """Puts utterances into backgrounds and distorts them, a batch at a time, on energies per band."""

    def __init__(self, bank, rng, strength=1.0):
        self.rng, self.strength = rng, strength
        ratios = np.exp(np.linspace(-0.12, 0.12, 61) * strength)
        self.warps = torch.stack([band_warp(ratio, rng.normal(0, 0.5, 2) * strength) for ratio in ratios])
        noises = [coloured(rng, 160 * NOISE_FRAMES + 400) for _ in range(40)]
        self.noise = torch.stack([energies(noise)[:NOISE_FRAMES] for noise in noises] + [self.babble(bank) for _ in range(24)]
                                 + self.of_places(bank, 40))
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

    def of_places(self, bank, count):
        """Energies of noises that microphones have recorded, each repeated."""
        found = np.flatnonzero(bank.file == zlib.crc32(b"noises_people"))
        if not len(found):
            return []
        pieces = [bank.frames[bank.start[k] : bank.start[k] + bank.length[k]].float().exp() for k in self.rng.choice(found, count)]
        return [piece.repeat(-(-NOISE_FRAMES // len(piece)), 1)[:NOISE_FRAMES] for piece in pieces]

    def uniform(self, low, high, *shape):
        return torch.from_numpy(self.rng.uniform(low, high, shape).astype(np.float32))

    def chosen(self, share, *shape):
        return torch.from_numpy((self.rng.random(shape) < share).astype(np.float32))

    def other_rhythm(self, place, end):
        """Some parts of the word faster and others slower; its two ends stay. The derivative is 1 + sum a_k cos(pi k u), and positive."""
        a = torch.randn(len(place), 3) * self.uniform(0, 0.3, len(place))[:, None]
        a *= (0.8 / a.abs().sum(1, keepdim=True)).clamp(max=1)
        turns = math.pi * torch.arange(1, 4)
        u = place / end.clamp(min=1)
        return (place + end * torch.einsum("bk,btk->bt", a / turns, torch.sin(u[..., None] * turns))).clamp(min=0).minimum(end)

    def batch(self, bank, picked, lead, speed, frames, plain=False):
        """Normalised features of `frames` frames, the word starting at frame `lead`, `speed` times as fast."""
        count = len(picked)
        length = torch.from_numpy(bank.length[picked])[:, None]
        place = (torch.arange(frames)[None] - torch.from_numpy(lead)[:, None]) * torch.from_numpy(speed).float()[:, None]
        inside = (place >= 0) & (place <= length - 1)
        place = torch.minimum(place.clamp(min=0), length - 1.0)
        if not plain:
            place = self.other_rhythm(place, length - 1.0)
        left = place.floor()
        row = (left.long() + torch.from_numpy(bank.start[picked])[:, None]).view(-1)
        a = bank.frames.index_select(0, row).float().view(count, frames, BANDS)
        b = bank.frames.index_select(0, row + 1).float().view(count, frames, BANDS)
        logs = torch.lerp(a, b, ((place - left) * (left < length - 1))[..., None])
        if not plain:
            logs = torch.bmm(logs, self.warps[torch.from_numpy(self.rng.integers(0, len(self.warps), count))])
        speech = torch.where(inside[..., None], logs.exp_(), bank.floor[picked][:, None] * (0.7 + 1.6 * torch.rand(count, frames, 1)))
        mean = (speech * inside[..., None]).sum((1, 2)) / (inside.sum(1) * BANDS)
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
        ratio = 10 ** (-self.uniform(0, 40, count) / 10) * self.chosen(0.8, count) + 10 ** (-self.uniform(45, 75, count) / 10)
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
    return first / len(picked), five / len(picked)


def log_prior(bank, usable, classes):
    """How much more often than the mean each class is drawn, as a logarithm; zero for "other".

    Some words have thousands of recordings. Added to the scores in training, and left out ever after, this makes all words as probable
    beforehand (Menon et al., "Long-tail learning via logit adjustment", 2021).
    """
    mine = usable[bank.kind[usable] == WORD]
    drawn = np.bincount(bank.label[mine], bank.weight[mine], classes)[:classes]
    return torch.from_numpy(np.append(np.log(np.maximum(drawn, 1e-9) / drawn.mean()).clip(-3, 4), 0)).float()


class Training:
    """The weights, their moving average and the optimiser, which the threads share."""

    def __init__(self, options, words, bank, usable):
        self.options, self.words, self.bank, self.usable = options, words, bank, usable
        self.net = Spotter(words.count + 1)
        self.average = copy.deepcopy(self.net)
        self.optimiser = torch.optim.AdamW(self.net.parameters(), options.rate, weight_decay=options.decay, fused=True)
        self.step, self.examples, self.before = 0, 0, 0.0
        self.loss = self.hit = 0.0
        self.best = 0.0, None  # how well strangers were known at best, and the weights of then
        self.prior = log_prior(bank, usable, words.count)
        self.lock = threading.Lock()
        self.started = time.time()
        self.path = options.data / (SECOND if options.second else FIRST)
        if self.path.exists():
            state = torch.load(self.path, weights_only=False)
            self.net.load_state_dict(state["running"])
            self.average.load_state_dict(state["net"])
            self.optimiser.load_state_dict(state["optimiser"])
            self.step, self.examples, self.before = state["step"], state["examples"], state["spent"]
            self.best = state["best"]
            print(f"goes on after {self.before / 60:.1f} minutes", flush=True)
        elif options.go_on:
            draw = iter(Draw(bank, usable, words, np.random.default_rng(5), 120, batches=8))
            augment = Augment(bank, np.random.default_rng(6), options.strength)
            examples = []
            for _ in range(24):
                picked, lead, speed, frames, last, _label = next(draw)
                examples.append((augment.batch(bank, picked, lead, speed, frames), last))
            load_into(self.net, examples, options.temperature, options.go_on)
            self.average.load_state_dict(self.net.state_dict())
        elif options.second:
            state = torch.load(options.data / FIRST, weights_only=False)
            self.net.load_state_dict(state["net"])
            self.average.load_state_dict(state["net"])
            self.best = state["best"]

    def spent(self):
        return self.before + time.time() - self.started

    def done(self):
        """The share of the training that is over."""
        return max(self.examples / self.options.examples, self.spent() / (60 * self.options.minutes))

    def save(self, final=False):
        with self.lock:
            kept = self.best[1] if final else self.average.state_dict()
            torch.save(dict(net=kept, best=self.best, final=final, running=self.net.state_dict(),
                            optimiser=self.optimiser.state_dict(), spent=self.spent(),
                            step=self.step, examples=self.examples), self.path.with_suffix(".part"))
        self.path.with_suffix(".part").rename(self.path)

    def take(self, net, gradients, loss, hit, count):
        """One step of the optimiser, by gradients of a thread's copy, which takes the new weights."""
        with self.lock, torch.no_grad():
            for parameter, gradient in zip(self.net.parameters(), gradients):
                parameter.grad = gradient
            rate = self.options.rate * min(1, (self.step + 1) / 300) * (0.5 + 0.5 * math.cos(math.pi * min(1, self.done())))
            for group in self.optimiser.param_groups:
                group["lr"] = rate
            self.optimiser.step()
            self.step += 1
            self.examples += count
            keep = min(self.options.average, self.step / (self.step + 9))
            for own, given in zip(self.average.parameters(), self.net.parameters()):
                own.lerp_(given, 1 - keep)
            for own, shared, given in zip(self.average.buffers(), self.net.buffers(), net.buffers()):
                shared.copy_(given)
                if own.is_floating_point():
                    own.lerp_(given, 1 - keep)
            for own, given in zip(net.parameters(), self.net.parameters()):
                own.copy_(given)
            keep = min(0.98, 1 - 1 / (self.step + 1))
            self.loss = keep * self.loss + (1 - keep) * loss
            self.hit = keep * self.hit + (1 - keep) * hit

    def work(self, number):
        """What a thread does until training is over."""
        torch.set_num_threads(1)
        rng = np.random.default_rng((self.options.seed, number, self.step))
        augment = Augment(self.bank, rng, self.options.strength)
        with self.lock:
            net = copy.deepcopy(self.net).train()
        parameters = list(net.parameters())
        for picked, lead, speed, frames, last, label in Draw(self.bank, self.usable, self.words, rng, self.options.batch):
            if self.done() >= 1:
                break
            queries = net.encoder(augment.batch(self.bank, picked, lead, speed, frames), last)
            scores = net.output(F.dropout(queries, DROPPED))
            loss = F.cross_entropy(scores + self.prior, label, label_smoothing=self.options.smoothing)
            gradients = torch.autograd.grad(loss, parameters)
            hit = (scores.detach().argmax(1) == label).float().mean().item()
            self.take(net, gradients, loss.item(), hit, len(picked))


def main():
    options = parser(__doc__)
    options.add_argument("--second", action="store_true", help="the second training, from what the first one made")
    options.add_argument("--go-on", type=pathlib.Path, metavar="FOLDER", help="begin with the encoder.bin and keywords.zhat of this folder, not with nothing")
    options.add_argument("--temperature", type=float, default=0.888, help="that the keywords.zhat of --go-on was divided by")
    options.add_argument("--minutes", type=float, help="longest duration (default: 45, of the second training 20)")
    options.add_argument("--examples", type=float, default=16e6, help="examples to train on")
    options.add_argument("--threads", type=int, default=2)
    options.add_argument("--batch", type=int, default=192)
    options.add_argument("--rate", type=float, help="of learning (default: 0.003, of the second training 0.0015)")
    options.add_argument("--decay", type=float, default=0.02)
    options.add_argument("--smoothing", type=float, default=0.02, help="of labels")
    options.add_argument("--average", type=float, default=0.999, help="of the weights: how much of it is kept at each step")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--every", type=float, default=4, help="minutes between two lines of progress")
    options.add_argument("--strength", type=float, default=1, help="of the augmentation")
    options.add_argument("--voices", default="", help="only files that match this expression, for trials")
    options = options.parse_args()
    options.minutes = options.minutes or (20 if options.second else 45)
    options.rate = options.rate or (1.5e-3 if options.second else 3e-3)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("medium")  # products of bfloat16 where the processor has them: half as long again
    torch.manual_seed(options.seed)
    words = Words()
    path = options.data / (SECOND if options.second else FIRST)
    if path.exists() and torch.load(path, weights_only=False).get("final"):
        return print(f"{path.name}: there")
    files = sorted(path for path in (options.data / "features").glob("*.npz") if ".part" not in path.name)
    training_files = [path for path in files if not path.stem.startswith(UNHEARD) and re.search(options.voices, path.stem)]
    started = time.time()
    bank = Bank(training_files, words)
    usable, held_out = split(bank)
    watched = {"known voices": (bank, np.random.default_rng(0).permutation(held_out)[:1500])}
    for name in STRANGERS:
        found = [path for path in files if path.stem.startswith(name)]
        if found:
            unheard = Bank(found, words)
            members = np.flatnonzero(unheard.kind == WORD)
            if name == "pico":  # the words of the other half are the test's
                members = members[for_development(words)[unheard.label[members]]]
            watched[name] = unheard, np.random.default_rng(options.seed).permutation(members)[:700]
    print(f"{len(bank)} versions of utterances from {len(training_files)} files, {len(bank.frames) / 360000:.1f} hours, ready after "
          f"{time.time() - started:.0f} s", flush=True)
    training = Training(options, words, bank, usable)
    print(f"encoder: {sum(p.numel() for p in training.net.encoder.parameters())} parameters; {words.count + 1} classes", flush=True)
    augment = Augment(bank, np.random.default_rng(options.seed))

    def report(net):
        found = {name: accuracy(net, augment, *which) for name, which in watched.items()}
        strangers = sum(first for name, (first, _) in found.items() if name in STRANGERS)
        if strangers > training.best[0] or training.best[1] is None:
            training.best = strangers, copy.deepcopy(net.state_dict())
        figures = ", ".join(f"{name} {100 * first:.1f} / {100 * five:.1f}" for name, (first, five) in found.items())
        print(f"{training.spent() / 60:5.1f} min, {100 * training.done():.0f} %, step {training.step}, {training.examples / 1e6:.2f} M examples, "
              f"loss {training.loss:.3f}, in training {100 * training.hit:.1f}; first / first five: {figures}", flush=True)

    threads = [threading.Thread(target=training.work, args=(number,), daemon=True) for number in range(options.threads)]
    for thread in threads:
        thread.start()
    last = time.time()
    while any(thread.is_alive() for thread in threads):
        time.sleep(2)
        if time.time() - last > 60 * options.every:
            with training.lock:
                net = copy.deepcopy(training.average)
            report(net)
            training.save()
            last = time.time()
    report(training.average)
    training.save(final=True)


if __name__ == "__main__":
    main()
