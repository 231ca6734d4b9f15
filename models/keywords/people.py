#!/usr/bin/env python3
"""Cut recordings of people, from sources with a free licence, into files of sound as synthesise.py makes them.

FOLDER has `index.tsv`, a line for each recording (source, begin, end in samples at 16 kHz, word, speaker, language, kind), and for each source one
sound file, SOURCE.opus, .flac or .wav. README.md says where the sources are to be had, and under which licences. What is made in DATA/sound:

  people_SOURCE      for training: words, and as words outside of the vocabulary all others and those of other languages
  noises_people      what the crowd's microphones hear before and after the words of Speech Commands
  choose_SOURCE      to choose the weights by: other speakers (one in seven of Speech Commands), and sources that are never trained on
  report_SOURCE      for figures only: yet other speakers and sources

and DATA/talk/SOURCE, sentences with their transcripts, to count false events in.
"""
import csv
import pathlib
import subprocess
import zlib

import numpy as np

from common import RATE, Words, parser, save_sounds, save_talk

TRAIN = ("speech_commands_other_speakers", "audiomnist", "fsdd", "ocean_words", "freeswitch_allison", "custom_commands", "precise", "scid",
         "lod_luxembourgish", "asterisk_es", "asterisk_fr", "asterisk_it", "asterisk_ru", "yesno_hebrew")
TALK = ("ocean_sentences", "fillets_en")  # whole sentences with what was said, for operate.py; nothing is trained on them
SPLIT = ("speech_commands_other_speakers", "ocean_words")  # many speakers: most for training, one in seven each to choose and to report
REPORT = ("eew1_words", "englishspeak_words")
BLOCK = 160
LONGEST = 1.5  # seconds: no segment of the device is longer


def stream(folder, source):
    """All of a source, int16 at 16 kHz."""
    path = next(path for ending in ("opus", "flac", "wav") if (path := folder / f"{source}.{ending}").exists())
    command = ["ffmpeg", "-v", "error", "-i", str(path), "-ar", str(RATE), "-ac", "1", "-f", "s16le", "-"]
    return np.frombuffer(subprocess.run(command, check=True, capture_output=True).stdout, np.int16)


def levels(sound):
    """Decibels of each 10 ms, a little smoothed."""
    blocks = len(sound) // BLOCK
    power = (sound[: blocks * BLOCK].astype(np.float32).reshape(blocks, BLOCK) ** 2).mean(1)
    return 10 * np.log10(np.convolve(power, [0.25, 0.5, 0.25], "same") + 1)


def loud(sound):
    """For each 10 ms whether it is part of a word: well above the noise of the recording, not far below its loudest."""
    level = levels(sound)
    floor, peak = np.percentile(level, 10), level.max()
    return level > min(max(floor + 6, peak - 32), peak - 6)


def word_of(sound):
    """The recording from 50 ms before its first loud moment to 50 ms after its last."""
    if len(sound) < 10 * BLOCK:
        return None
    at = np.flatnonzero(loud(sound))
    return scaled(sound[max(0, (at[0] - 5) * BLOCK) : (at[-1] + 6) * BLOCK])


def quiet_of(sound):
    """What is not near a loud moment, or None if that is little."""
    if len(sound) < 10 * BLOCK:
        return None
    near = np.convolve(loud(sound), np.ones(17), "same") > 0
    rest = sound[: len(near) * BLOCK].reshape(-1, BLOCK)[~near].ravel()
    return scaled(rest) if len(rest) >= 25 * BLOCK and np.abs(rest).max() > 8 else None


def pieces_of(sound):
    """What a device would cut continuous talk into: begun where it gets loud, ended by 200 ms of quiet or after 1.5 s."""
    if len(sound) < 10 * BLOCK:
        return
    at = np.flatnonzero(loud(sound))
    begin = 0
    for k in range(1, len(at) + 1):
        if k == len(at) or at[k] - at[k - 1] > 20 or at[k] - at[begin] > 100 * LONGEST - 12:
            if at[k - 1] - at[begin] > 60:
                yield scaled(sound[max(0, (at[begin] - 5) * BLOCK) : (at[k - 1] + 6) * BLOCK])
            begin = k


def scaled(sound, longest=int(LONGEST * RATE)):
    """Peak at a half, as all files of sound have it."""
    sound = sound.astype(np.float32)[:longest]
    return (sound / max(1.0, np.abs(sound).max()) * 0.5 * 32767).astype(np.int16)


def part_of(source, speaker):
    if source in REPORT:
        return "report"
    if source in SPLIT:
        return {0: "choose", 1: "report"}.get(zlib.crc32(speaker.encode()) % 7, "people")
    return "people"


def debian_words(options, known):
    """Words of educational programs of Debian, which come as arrays: x, off, word."""
    path, target = options.recordings / "debian_words.npz", options.data / "sound" / "choose_debian_words.npz"
    if not path.exists() or target.exists():
        return
    stored = np.load(path)
    sound, offsets, spoken = stored["x"], stored["off"], stored["word"]
    kept = [(word_of(sound[a:b]), known[word]) for a, b, word in zip(offsets[:-1], offsets[1:], map(str.lower, spoken)) if word in known]
    save_sounds(target, *zip(*[pair for pair in kept if pair[0] is not None]))
    print(f"{target.stem}: {len(kept)} sounds")


def main():
    options = parser(__doc__)
    options.add_argument("--recordings", type=pathlib.Path, required=True, metavar="FOLDER")
    options = options.parse_args()
    words = Words()
    known = words.spelling_to_class()
    unknown = words.first["train"][0]  # any number of a word outside
    debian_words(options, known)
    rows, noises = {}, []
    with open(options.recordings / "index.tsv", encoding="utf-8") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            rows.setdefault(row["source"], []).append(row)
    folder = options.data / "talk"
    folder.mkdir(exist_ok=True)
    for source in TALK:
        if source in rows and not (folder / f"{source}.npz").exists():
            sound = stream(options.recordings, source)
            save_talk(folder / f"{source}.npz", [scaled(sound[int(row["begin"]) : int(row["end"])], None) for row in rows[source]],
                      [row["word"] for row in rows[source]], [row["speaker"] for row in rows[source]])
    for source in TRAIN + REPORT:
        if source not in rows:
            print(f"{source}: not there")
            continue
        names = {part_of(source, row["speaker"]) for row in rows[source]}
        if all((options.data / "sound" / f"{name}_{source}.npz").exists() for name in names):
            print(f"{source}: there")
            continue
        sound, made = stream(options.recordings, source), {}
        for row in rows[source]:
            clip = sound[int(row["begin"]) : int(row["end"])]
            part = part_of(source, row["speaker"])
            number = known.get(row["word"].lower(), unknown) if row["language"] == "en" and row["kind"] != "sentence" else unknown
            if part != "people" and number == unknown:
                continue
            found = pieces_of(clip) if row["kind"] == "sentence" else [word_of(clip)]
            sounds, numbers = made.setdefault(part, ([], []))
            for piece in found:
                if piece is not None:
                    sounds.append(piece)
                    numbers.append(number)
            if part == "people" and source == SPLIT[0] and (rest := quiet_of(clip)) is not None:
                noises.append(rest)
        for part, (sounds, numbers) in made.items():
            save_sounds(options.data / "sound" / f"{part}_{source}.npz", sounds, numbers)
            print(f"{part}_{source}: {len(sounds)} sounds, {sum(number < words.count for number in numbers)} of words of the vocabulary, "
                  f"{np.mean([len(one) for one in sounds]) / RATE:.2f} s each", flush=True)
    if noises:
        save_sounds(options.data / "sound" / "noises_people.npz", noises, [len(words.all)] * len(noises))
        print(f"noises_people: {len(noises)} sounds")


if __name__ == "__main__":
    main()
