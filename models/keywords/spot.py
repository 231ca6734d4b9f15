#!/usr/bin/env python3
"""The threshold for events, by the device's own code: detector, encoder, output layer and smoothing, over hours of sound.

Writes words of the unheard engine, outside words and noises into WAV files, 200 sounds each, half a second and more of low background between
them, and lets `zhat demo keywords` hear them at several thresholds. The lowest threshold with at most ACCEPT of outside words taken for a word on the
development part is kept; its rates, on the test part, are stored in encoder.bin and thresholds.json beside this file, with the
whole curve. Build keywords.zhat and the command before (build.sh does).
"""
import json
import subprocess
import wave

import numpy as np

from common import HERE, RATE, Words, load_sounds, parser
from encoder_file import set_thresholds
from noises import coloured

THRESHOLDS = (0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98)
SOUNDS = 200  # of a file
BACKGROUND = 32.768  # 60 dB below full scale


def parts(data, most):
    """Sounds and classes of each part: words (dev and test by the halves of export.py), outside words, noises."""
    words = Words()
    half = np.random.default_rng(3).permutation(words.count) < words.count // 2
    sounds, numbers = [], []
    for path in sorted((data / "sound").glob("pico*.npz")):
        more, which = load_sounds(path)
        sounds += more
        numbers.append(which)
    numbers = np.concatenate(numbers)
    is_word = numbers < words.count
    dev = np.zeros(len(numbers), bool)
    dev[is_word] = half[numbers[is_word]]
    rng = np.random.default_rng(8)
    for part, mine in (("dev", dev), ("test", ~dev)):
        chosen = rng.permutation(np.flatnonzero(is_word & mine))[:most]
        yield part, "words", [sounds[k] for k in chosen], numbers[chosen]
        chosen = rng.permutation(np.flatnonzero(np.isin(numbers, words.first[part])))[:most]
        yield part, "outside_words", [sounds[k] for k in chosen], np.full(len(chosen), -1)
        more, _ = load_sounds(data / "sound" / f"noises_{part}.npz")
        yield part, "noises", more[:most], np.full(len(more[:most]), -1)


def write_wavs(folder, name, sounds, seed, gap=(0.5, 0.8)):
    """WAV files of SOUNDS sounds with pauses between them; for each file its path and when each sound begins and ends."""
    rng = np.random.default_rng(seed)
    files = []
    for a in range(0, len(sounds), SOUNDS):
        pieces, spans, at = [np.zeros(RATE)], [], RATE
        for sound in sounds[a : a + SOUNDS]:
            pause = int(RATE * rng.uniform(*gap))
            spans.append((at / RATE, (at + len(sound)) / RATE))
            pieces += [sound, np.zeros(pause)]
            at += len(sound) + pause
        samples = np.concatenate(pieces)
        samples += coloured(rng, len(samples) // 2 * 2 + 2, 0.5)[: len(samples)] * BACKGROUND
        path = folder / f"{name}_{a // SOUNDS:03}.wav"
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(np.clip(np.rint(samples), -32768, 32767).astype("<i2").tobytes())
        files.append((path, spans))
    return files


def heard(zhat, files, threshold):
    """For each sound the classes of its events, by time."""
    report = json.loads(subprocess.run([zhat, "demo", "keywords", "--json", "--threshold", str(threshold)] + [str(path) for path, _ in files],
                                       check=True, capture_output=True).stdout)
    found = []
    for file, (_, spans) in zip(report["files"], files):
        mine = [[] for _ in spans]
        starts = np.array([begin for begin, _ in spans])
        for event in file["events"]:
            place = max(0, int(np.searchsorted(starts, event["end"]) - 1))
            mine[place].append(event["class"])
        found += mine
    return found


def draw(path, rows, chosen):
    """The rejection curve: what is missed and what passes, over thresholds."""
    left, top, width, height = 60, 40, 420, 240
    lines = (("words missed or taken for another", "false_reject", "#1f5fa8"), ("outside words that pass", "outside_words", "#c8501e"),
             ("noises and tones that pass", "noises", "#6b6b6b"))

    def at(threshold, share):
        return f"{left + width * threshold:.1f},{top + height * (1 - share):.1f}"

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 20}" height="{top + height + 110}" font-family="sans-serif" font-size="13">',
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{left}" y="24" font-size="15">Rejection by the threshold, test part, as the device hears it</text>']
    for k in range(0, 11, 2):
        x, y = at(k / 10, 0).split(",")
        out.append(f'<text x="{x}" y="{float(y) + 18}" text-anchor="middle">{k / 10:.1f}</text>')
        x, y = at(0, k / 10).split(",")
        out.append(f'<path d="M{x},{y}h{width}" stroke="#dddddd"/><text x="{left - 6}" y="{float(y) + 4}" text-anchor="end">{10 * k} %</text>')
    out.append(f'<path d="M{at(chosen, 0)}v-{height}" stroke="#999999" stroke-dasharray="4 3"/>')
    out.append(f'<text x="{left + width / 2}" y="{top + height + 38}" text-anchor="middle">threshold of p (dashed: the stored one)</text>')
    for k, (name, key, colour) in enumerate(lines):
        points = [at(row["threshold"], row[key]) for row in rows]
        out.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="3" fill="{colour}"/>' for x, y in (point.split(",") for point in points)]
        y = top + height + 58 + 17 * k
        out.append(f'<path d="M{left},{y - 4}h24" stroke="{colour}" stroke-width="2"/><text x="{left + 32}" y="{y}">{name}</text>')
    path.write_text("\n".join(out + ["</svg>"]) + "\n")


def rates(zhat, made, threshold):
    row = {"threshold": threshold}
    words, labels = made["words"]
    events = heard(zhat, words, threshold)
    right = np.array([label in mine for mine, label in zip(events, labels)])
    wrong = np.array([any(one != label for one in mine) for mine, label in zip(events, labels)])
    row["false_reject"], row["wrong_word"] = float(1 - right.mean()), float(wrong.mean())
    for kind in ("outside_words", "noises"):
        row[kind] = float(np.mean([len(mine) > 0 for mine in heard(zhat, made[kind][0], threshold)]))
    return row


def main():
    options = parser(__doc__)
    options.add_argument("--zhat", default=str(HERE.parent.parent / "target" / "release" / "zhat"), help="the command")
    options.add_argument("--accept", type=float, default=0.10, help="outside words taken for a word, at most, when the threshold is chosen")
    options.add_argument("--most", type=int, default=1000, help="sounds of each kind")
    options.add_argument("--dry", action="store_true", help="print only")
    options = options.parse_args()
    folder = options.data / "streams"
    folder.mkdir(parents=True, exist_ok=True)
    made = {"dev": {}, "test": {}}
    for seed, (part, kind, sounds, labels) in enumerate(parts(options.data, options.most)):
        made[part][kind] = write_wavs(folder, f"{part}_{kind}", sounds, seed), labels
    curves = {}
    print("threshold: words missed or taken for another, wrong word for a known one; false events of outside words, of noises")
    for part in ("dev", "test"):
        curves[part] = [rates(options.zhat, made[part], threshold) for threshold in THRESHOLDS]
        for row in curves[part]:
            print(f"  {part} {row['threshold']:.2f}: {row['false_reject']:.4f}, {row['wrong_word']:.4f}; {row['outside_words']:.4f}, "
                  f"{row['noises']:.4f}", flush=True)
    place = next((k for k, row in enumerate(curves["dev"]) if row["outside_words"] <= options.accept), len(THRESHOLDS) - 1)
    chosen = curves["test"][place]
    print(f"threshold {chosen['threshold']}: of the test part {chosen['outside_words']:.4f} of outside words, {chosen['noises']:.4f} of noises are "
          f"events, {chosen['false_reject']:.4f} of words are missed")
    if options.dry:
        return
    draw(HERE / "rejection.svg", curves["test"], chosen["threshold"])
    path = HERE / "thresholds.json"
    stored = json.loads(path.read_text())
    stored |= {"threshold": chosen["threshold"], "false_accept": chosen["outside_words"], "false_reject": chosen["false_reject"],
               "device": {"dev": curves["dev"], "test": curves["test"]}}
    path.write_text(json.dumps(stored, indent=1) + "\n")
    set_thresholds(HERE / "encoder.bin", chosen["threshold"], chosen["outside_words"], chosen["false_reject"])


if __name__ == "__main__":
    main()
