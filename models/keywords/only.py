#!/usr/bin/env python3
"""Make a model of a few words out of the one of 5 100: the same encoder, and of the output layer the rows that these words take.

WORDS is a text file, a word a line, of those in words.txt (other spellings of the same sound are understood). OUT gets keywords.zhat and a copy
of encoder.bin; `zhat demo keywords FILE --model OUT/keywords.zhat --encoder OUT/encoder.bin` hears with them, and in a firmware they
take the places of the files here.

Without rivals a word of the list would be heard in every other word. So the rows of the words that are most easily taken for one of
the list stay in the model, under names in angle brackets: such a class is never an event, and its share of p is not the word's. Which
rows these are follows from the output layer alone; nothing is trained.

The threshold stays that of the large vocabulary. `operate.py --model OUT` measures what it gives, and stores another one.
"""
import argparse
import os
import pathlib
import shutil
import subprocess

import numpy as np

from common import HERE, Words
from shipped import output_layer

LENGTH = 128**0.5  # of a query: each of its 128 numbers is normalised to a variance of one
ALL_ROWS = 2500  # up to so many rows are all scored for each decision


def typical(weights):
    """A query for each class as one that is sure of it would be: along its row, as far as that differs from the mean."""
    direction = weights - weights.mean(0)
    return LENGTH * direction / np.linalg.norm(direction, axis=1, keepdims=True)


def rivals(weights, bias, kept, count):
    """The classes, at most `count`, that keep words of the rest from being taken for the kept ones: again and again the word is
    added that would be taken for a kept one by the widest margin. Ends early where none would be."""
    rest = np.setdiff1d(np.arange(len(bias) - 1), kept)
    queries = typical(weights)[rest]
    scores = queries @ weights[kept].T + bias[kept]
    against = scores.max(1)
    refused = queries @ weights[-1] + bias[-1]  # the class "<other>" is in every model
    found = []
    for _ in range(min(count, len(rest))):
        margin = against - refused
        worst = int(margin.argmax())
        found.append(rest[worst])
        refused = np.maximum(refused, queries @ weights[rest[worst]] + bias[rest[worst]])
        refused[worst] = np.inf
    return np.array(found, int)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("words", type=pathlib.Path, metavar="WORDS")
    options.add_argument("out", type=pathlib.Path, metavar="OUT")
    options.add_argument("--rivals", type=int, help="words of the rest that are kept, to be refused (default: 400, or one for each word if that is more)")
    options.add_argument("--from", dest="source", type=pathlib.Path, default=HERE, metavar="FOLDER", help="of encoder.bin and keywords.zhat (default: this one)")
    options = options.parse_args()
    words = Words()
    known = words.spelling_to_class()
    asked = options.words.read_text().split()
    if missing := [word for word in asked if word not in known]:
        raise SystemExit(f"{options.words}: not among the words of words.txt: {', '.join(missing)}")
    kept = np.array(sorted({known[word] for word in asked}))
    if not len(kept):
        raise SystemExit(f"{options.words}: no word in it")
    weights, bias = (part.numpy() for part in output_layer(options.source / "keywords.zhat"))
    count = max(400, len(kept)) if options.rivals is None else options.rivals
    refused = rivals(weights, bias, kept, count)
    chosen = np.concatenate([kept, [words.count], refused])
    names = [words.classes[k] for k in kept] + ["<other>"] + [f"<{words.classes[k]}>" for k in refused]
    options.out.mkdir(parents=True, exist_ok=True)
    np.save(options.out / "weights.npy", weights[chosen].astype(np.float32))
    np.save(options.out / "bias.npy", bias[chosen].astype(np.float32))
    (options.out / "names.txt").write_text("\n".join(names) + "\n")
    shutil.copyfile(options.source / "encoder.bin", options.out / "encoder.bin")
    command = os.environ.get("ZHAT", str(HERE.parent.parent / "target" / "release" / "zhat"))
    subprocess.run([command, "build", "--weights", options.out / "weights.npy", "--bias", options.out / "bias.npy", "--names", options.out / "names.txt",
                    "--work", "100%" if len(chosen) <= ALL_ROWS else "5%", "-o", options.out / "keywords.zhat"], check=True)
    size = (options.out / "keywords.zhat").stat().st_size
    print(f"{len(kept)} words and {len(refused)} that are refused: keywords.zhat has {size} bytes")


if __name__ == "__main__":
    main()
