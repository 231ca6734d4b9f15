#!/usr/bin/env python3
"""Thresholds for named operating points, by the device's own code: how many false events an hour of talk, and how many words are heard.

People say words (DATA/sound/report_* and asterisk, from people.py) and sentences (DATA/talk); nothing was trained on either. Sentences follow each other
with pauses of a quarter to half a second; an event is false there if the transcript does not have its word. For 10, 2 and 0.5 false
events an hour the lowest threshold is taken that keeps to it on one half of the sentences; what it gives is said of the other half, and of the
words. Half an hour of talk says little about 0.5 an hour: the numbers of events are printed too.

FOLDER is one of only.py, or this one. With --store the threshold of a point, the share of other words that pass and the share of the
words that are missed are written into its encoder.bin.
"""
import json
import pathlib
import re
import subprocess
import zlib

import numpy as np

from common import HERE, RATE, Words, load_sounds, load_talk, parser
from encoder_file import set_thresholds
from spot import write_wavs

POINTS = (10, 2, 0.5)
THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995)


def heard(zhat, folder, files, threshold):
    """For each sound of the files the words of its events."""
    model = ["--model", str(folder / "keywords.zhat"), "--encoder", str(folder / "encoder.bin")]
    report = json.loads(subprocess.run([zhat, "demo", "keywords", "--json", "--threshold", str(threshold), *model] + [str(path) for path, _ in files],
                                       check=True, capture_output=True).stdout)
    found = []
    for file, (_, spans) in zip(report["files"], files):
        mine, starts = [[] for _ in spans], np.array([begin for begin, _ in spans])
        for event in file["events"]:
            mine[max(0, int(np.searchsorted(starts, event["end"]) - 1))].append(event["word"])
        found += mine
    return found


def said(text, spellings):
    """The classes that a sentence has, by any of their spellings."""
    return {spellings[word] for word in re.findall(r"[a-z']+", text.lower()) if word in spellings}


def main():
    options = parser(__doc__)
    options.add_argument("--zhat", default=str(HERE.parent.parent / "target" / "release" / "zhat"), help="the command")
    options.add_argument("--folder", type=pathlib.Path, default=HERE)
    options.add_argument("--most", type=int, default=500, help="recordings of each source")
    options.add_argument("--store", type=float, choices=POINTS, help="the point whose threshold encoder.bin gets")
    options = options.parse_args()
    words = Words()
    names = options.folder / "names.txt"
    mine = {name for name in names.read_text().split() if name[0] != "<"} if names.exists() else set(words.classes)
    spellings = {word: words.classes[number] for word, number in words.spelling_to_class().items()}
    folder = options.data / "streams"
    folder.mkdir(parents=True, exist_ok=True)

    sources = {}
    for path in sorted((options.data / "sound").glob("*.npz")):
        if path.stem.startswith(("report", "asterisk")):
            sounds, numbers = load_sounds(path)
            chosen = np.random.default_rng(0).permutation(np.flatnonzero(numbers < words.count))[: options.most]
            sources[path.stem] = (write_wavs(folder, path.stem, [sounds[k] for k in chosen], 1), [words.classes[numbers[k]] for k in chosen])
    talk = {"dev": ([], []), "test": ([], [])}
    for path in sorted((options.data / "talk").glob("*.npz")):
        for sound, text, speaker in zip(*load_talk(path)):
            part = talk["dev" if zlib.crc32((speaker or text).encode()) % 2 else "test"]
            part[0].append(sound)
            part[1].append(said(text, spellings))
    streams = {part: (write_wavs(folder, f"talk_{part}", sounds, 2, gap=(0.25, 0.5)), texts) for part, (sounds, texts) in talk.items()}
    hours = {part: sum(path.stat().st_size for path, _ in files) / (2 * RATE * 3600) for part, (files, _) in streams.items()}

    def false_events(part, threshold):
        files, texts = streams[part]
        return sum(word not in text for found, text in zip(heard(options.zhat, options.folder, files, threshold), texts) for word in found)

    counted = {threshold: false_events("dev", threshold) for threshold in THRESHOLDS}
    print(f"{len(mine)} words; talk: {hours['dev']:.2f} hours to choose by, {hours['test']:.2f} to report")
    for point in POINTS:
        threshold = next((at for at in THRESHOLDS if counted[at] <= point * hours["dev"]), THRESHOLDS[-1])
        false = false_events("test", threshold)
        print(f"at most {point} an hour: threshold {threshold}, {counted[threshold]} events where it was chosen, {false} in the rest "
              f"({false / hours['test']:.1f} an hour)")
        total = np.zeros(5)  # words: all, right, wrong; others: all, passed
        for name, (files, labels) in sources.items():
            found = heard(options.zhat, options.folder, files, threshold)
            known = np.array([label in mine for label in labels])
            right = np.array([label in events for label, events in zip(labels, found)])
            wrong = np.array([any(event != label for event in events) for label, events in zip(labels, found)])
            row = np.array([known.sum(), right[known].sum(), wrong[known].sum(), (~known).sum(), wrong[~known].sum()])
            total += row
            print("  " + line(name, row), flush=True)
        print("  " + line("all", total))
        if point == options.store:
            passed = total[4] / total[3] if total[3] else false / max(1, sum(map(len, streams["test"][1])))
            set_thresholds(options.folder / "encoder.bin", threshold, float(passed), float(1 - total[1] / max(1, total[0])))


def line(name, row):
    text = f"{name}: {row[0]:.0f} words"
    if row[0]:
        text += f", {100 * row[1] / row[0]:.1f} % right, {100 * row[2] / row[0]:.1f} % wrong"
    return text + (f"; {row[3]:.0f} other words, {100 * row[4] / row[3]:.2f} % pass" if row[3] else "")


if __name__ == "__main__":
    main()
