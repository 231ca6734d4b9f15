"""What the scripts share: where data lies, the word lists, and the files of sound."""
import argparse
import pathlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
RATE = 16000
OTHER = "<other>"  # the last class: none of the words


def parser(description):
    """Options that every script has."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--data", type=pathlib.Path, default=HERE.parent.parent / "target" / "keywords",
                      help="folder of sound, features and checkpoints (default: target/keywords in the repository)")
    return made


def read_list(name):
    """First column of a word list beside this file."""
    return [line.split("\t")[0] for line in (HERE / name).read_text().splitlines() if line and not line.startswith("#")]


class Words:
    """All words that are spoken, in one numbering: the classes, then the three lists of words outside of the vocabulary."""

    def __init__(self):
        self.classes = read_list("words.txt")
        self.outside = {part: read_list(f"outside_{part}.txt") for part in ("train", "dev", "test")}
        self.all = self.classes + [word for part in self.outside.values() for word in part]
        self.count = len(self.classes)  # also the number of the class OTHER
        self.first = {}
        at = self.count
        for part, words in self.outside.items():
            self.first[part] = range(at, at + len(words))
            at += len(words)

    def spelling_to_class(self):
        """Every spelling, those of merged homophones too."""
        found = {}
        for number, line in enumerate((HERE / "words.txt").read_text().splitlines()):
            for word in line.replace("\t", " ").split():
                found[word] = number
        return found


def save_sounds(path, sounds, numbers):
    """Utterances one after the other: int16 samples at 16 kHz, offsets, and the number of the word of each."""
    offsets = np.cumsum([0] + [len(sound) for sound in sounds])
    part = path.with_suffix(".part.npz")
    np.savez(part, samples=np.concatenate(sounds), offsets=offsets, words=np.array(numbers, np.int32))
    part.rename(path)


def load_sounds(path):
    """The list of utterances and their words' numbers."""
    stored = np.load(path)
    samples, offsets = stored["samples"], stored["offsets"]
    return [samples[a:b] for a, b in zip(offsets[:-1], offsets[1:])], stored["words"]


def save_talk(path, sounds, texts, speakers):
    """Sentences with what is said in each, and by whom."""
    offsets = np.cumsum([0] + [len(sound) for sound in sounds])
    part = path.with_suffix(".part.npz")
    np.savez(part, samples=np.concatenate(sounds), offsets=offsets, texts=np.array(texts), speakers=np.array(speakers))
    part.rename(path)


def load_talk(path):
    """The sentences, what is said in each, and by whom."""
    stored = np.load(path)
    samples, offsets = stored["samples"], stored["offsets"]
    return [samples[a:b] for a, b in zip(offsets[:-1], offsets[1:])], stored["texts"].tolist(), stored["speakers"].tolist()
