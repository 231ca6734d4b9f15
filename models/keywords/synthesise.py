#!/usr/bin/env python3
"""Speak every word with every voice of the speech engines that Debian has.

One file of sound per voice goes to DATA/sound; a file that is there is not made again. Speed and pitch of each utterance are random,
from a seed of the voice's name. Engines with a library are called through it, because a process per word would take most of the
time. The voices of pico and the recordings of asterisk are for development and test only: train.py never takes their files.
"""
import concurrent.futures
import ctypes as c
import multiprocessing
import pathlib
import random
import subprocess
import tempfile
import time
from math import gcd

import numpy as np
import soundfile
from scipy.signal import resample_poly

from common import RATE, Words, parser, save_sounds, HERE
from neural import Hibari, Kokoro, Piper

ASTERISK = pathlib.Path("/usr/share/asterisk/sounds/en_US_f_Allison")
QUIET = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def at_16k(sound, rate):
    """Floating-point samples at 16 kHz."""
    sound = np.asarray(sound, np.float32)
    if sound.ndim > 1:
        sound = sound[:, 0]
    if rate != RATE:
        common = gcd(rate, RATE)
        sound = resample_poly(sound, RATE // common, rate // common)
    return sound


def trimmed(sound, below=35, pad=480):
    """Only the word: from the first to the last 10 ms within `below` dB of the loudest, and 30 ms around; peak at a half. Or None."""
    if sound is None or len(sound) < 400:
        return None
    blocks = len(sound) // 160
    level = 10 * np.log10((sound[: blocks * 160].reshape(blocks, 160) ** 2).mean(1) + 1e-10)
    if level.max() < -60:
        return None
    loud = np.flatnonzero(level > level.max() - below)
    sound = sound[max(0, loud[0] * 160 - pad) : (loud[-1] + 1) * 160 + pad]
    return (sound / np.abs(sound).max() * 0.5 * 32767).astype(np.int16)


class Espeak:
    """espeak-ng through its library; voices mb-... let it drive mbrola, whose rate is told by an event."""

    class Event(c.Structure):
        _fields_ = [("type", c.c_int), ("unused", c.c_int * 5), ("user", c.c_void_p), ("number", c.c_int), ("rest", c.c_int)]

    def __init__(self, voice):
        self.library = c.CDLL("libespeak-ng.so.1")
        self.rate = self.library.espeak_Initialize(2, 0, None, 0)  # 2: samples are handed to a callback
        self.pieces = []
        kind = c.CFUNCTYPE(c.c_int, c.POINTER(c.c_short), c.c_int, c.POINTER(self.Event))
        self.callback = kind(self.take)
        self.library.espeak_SetSynthCallback(self.callback)
        if self.library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise RuntimeError(f"espeak-ng has no voice {voice}")
        self.slow, self.fast = (110, 185) if voice.startswith("mb-") else (115, 200)

    def take(self, samples, count, events):
        k = 0
        while events[k].type:  # 8: another rate
            self.rate = events[k].number if events[k].type == 8 else self.rate
            k += 1
        if count > 0:
            self.pieces.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 0

    def say(self, word, rng):
        self.pieces.clear()
        for parameter, value in ((1, rng.randint(self.slow, self.fast)), (3, rng.randint(25, 75)), (4, rng.randint(20, 80))):
            self.library.espeak_SetParameter(parameter, value, 0)
        text = word.encode() + b"\0"
        self.library.espeak_Synth(text, len(text), 0, 1, 0, 1, None, None)
        self.library.espeak_Synchronize()
        return at_16k(np.concatenate(self.pieces) / 32768.0, self.rate) if self.pieces else None


class RhVoice:
    """RHVoice through its library."""

    def __init__(self, voice):
        self.voice = voice.encode()
        self.library = c.CDLL("libRHVoice.so.5")
        self.rate = 24000
        self.pieces = []
        set_rate = c.CFUNCTYPE(c.c_int, c.c_int, c.c_void_p)
        play = c.CFUNCTYPE(c.c_int, c.POINTER(c.c_short), c.c_uint, c.c_void_p)

        class Callbacks(c.Structure):
            _fields_ = [("set_rate", set_rate), ("play", play)] + [(f"unused{i}", c.c_void_p) for i in range(7)]

        class Engine(c.Structure):
            _fields_ = [("data", c.c_char_p), ("config", c.c_char_p), ("resources", c.c_void_p), ("callbacks", Callbacks),
                        ("options", c.c_uint)]

        class Parameters(c.Structure):
            _fields_ = [("voice", c.c_char_p)] + [(name, c.c_double) for name in
                        ("absolute_rate", "absolute_pitch", "absolute_volume", "rate", "pitch", "volume")] + [
                        ("punctuation", c.c_int), ("punctuation_list", c.c_char_p), ("capitals", c.c_int), ("flags", c.c_int)]

        self.parameters = Parameters
        self.kept = set_rate(self.take_rate), play(self.take)
        self.settings = Engine(b"/usr/share/RHVoice", b"/etc/RHVoice", None, Callbacks(*self.kept), 0)
        self.library.RHVoice_new_tts_engine.restype = c.c_void_p
        self.library.RHVoice_new_message.restype = c.c_void_p
        self.library.RHVoice_new_message.argtypes = [c.c_void_p, c.c_char_p, c.c_uint, c.c_int, c.POINTER(Parameters), c.c_void_p]
        self.library.RHVoice_speak.argtypes = [c.c_void_p]
        self.library.RHVoice_delete_message.argtypes = [c.c_void_p]
        self.engine = self.library.RHVoice_new_tts_engine(c.byref(self.settings))
        if not self.engine:
            raise RuntimeError("RHVoice does not start")

    def take_rate(self, rate, _user):
        self.rate = rate
        return 1

    def take(self, samples, count, _user):
        self.pieces.append(np.ctypeslib.as_array(samples, (count,)).copy())
        return 1

    def say(self, word, rng):
        self.pieces.clear()
        parameters = self.parameters(self.voice, 0, 0, 0, rng.uniform(0.8, 1.25), rng.uniform(0.85, 1.18), 1.0, 0, None, 0, 0)
        text = word.encode()
        message = self.library.RHVoice_new_message(self.engine, text, len(text), 0, c.byref(parameters), None)
        if not message:
            return None
        self.library.RHVoice_speak(message)
        self.library.RHVoice_delete_message(message)
        return at_16k(np.concatenate(self.pieces) / 32768.0, self.rate) if self.pieces else None


class Flite:
    """flite through its library."""

    class Wave(c.Structure):
        _fields_ = [("type", c.c_char_p), ("rate", c.c_int), ("samples", c.c_int), ("channels", c.c_int), ("data", c.POINTER(c.c_short))]

    class Voice(c.Structure):
        _fields_ = [("name", c.c_char_p), ("features", c.c_void_p)]

    def __init__(self, voice):
        for name in ("libflite", "libflite_usenglish", "libflite_cmulex"):
            self.library = c.CDLL(name + ".so.1", mode=c.RTLD_GLOBAL)
        self.library = c.CDLL("libflite.so.1", mode=c.RTLD_GLOBAL)
        self.library.flite_init()
        voices = c.CDLL(f"libflite_cmu_us_{voice}.so.1", mode=c.RTLD_GLOBAL)
        register = getattr(voices, f"register_cmu_us_{voice}")
        register.restype = c.POINTER(self.Voice)
        register.argtypes = [c.c_char_p]
        self.voice = register(None)
        self.library.flite_feat_set_float.argtypes = [c.c_void_p, c.c_char_p, c.c_float]
        self.library.flite_text_to_wave.argtypes = [c.c_char_p, c.POINTER(self.Voice)]
        self.library.flite_text_to_wave.restype = c.POINTER(self.Wave)
        self.library.delete_wave.argtypes = [c.POINTER(self.Wave)]
        self.diphones = voice == "kal16"

    def say(self, word, rng):
        features = self.voice.contents.features
        self.library.flite_feat_set_float(features, b"duration_stretch", rng.uniform(0.85, 1.3))
        if self.diphones:
            self.library.flite_feat_set_float(features, b"int_f0_target_mean", rng.randint(85, 150))
        wave = self.library.flite_text_to_wave(word.encode(), self.voice)
        if not wave:
            return None
        sound = at_16k(np.ctypeslib.as_array(wave.contents.data, (wave.contents.samples,)) / 32768.0, wave.contents.rate)
        self.library.delete_wave(wave)
        return sound


class Festival:
    """festival in batches: one script speaks many words to files."""

    def __init__(self, voice):
        self.voice = voice

    def say_all(self, words, rng):
        with tempfile.TemporaryDirectory() as folder:
            script = [f"(voice_{self.voice})"]
            for number, word in enumerate(words):
                script.append(f"(Parameter.set 'Duration_Stretch {rng.uniform(0.8, 1.2):.2f})")
                script.append(f'(utt.save.wave (SynthText "{word}") "{folder}/{number}.wav")')
            path = pathlib.Path(folder) / "say.scm"
            path.write_text("\n".join(script))
            subprocess.run(["festival", "-b", str(path)], **QUIET)
            for number in range(len(words)):
                try:
                    yield at_16k(*soundfile.read(f"{folder}/{number}.wav"))
                except soundfile.LibsndfileError:
                    yield None


class Pico:
    """pico2wave, a process per word: only for development and test."""

    def __init__(self, voice):
        self.voice = voice

    def say(self, word, rng):
        text = f'<speed level="{rng.randint(80, 115)}"><pitch level="{rng.randint(88, 115)}">{word}</pitch></speed>'
        with tempfile.NamedTemporaryFile(suffix=".wav") as file:
            subprocess.run(["pico2wave", "-l", self.voice, "-w", file.name, text], **QUIET, check=True)
            return at_16k(*soundfile.read(file.name))


ESPEAK = """en-us en-us+m2 en-us+m4 en-us+f2 en-us+f4 en-us+klatt4 en+f3 en+m2 en+m4 en+f2 en-gb-x-rp+m3 en-gb-x-rp+m7 en-gb-x-rp+f2
    en-gb-x-rp+f4 en-gb-scotland+f4 en-gb-x-gbclan+m3""".split()
KOKORO_PARTS = 8  # files that all words of a pass are dealt out to: 4 minutes of a core each
VOICES = (
    [(RhVoice, voice) for voice in ("alan", "bdl", "clb", "slt", "evgeniy-eng", "lyubov")]
    + [(Festival, voice) for voice in ("kal_diphone", "ked_diphone", "rab_diphone")]
    + [(Festival, voice) for voice in ("us1_mbrola", "us2_mbrola", "us3_mbrola", "en1_mbrola")]
    + [(Flite, voice) for voice in ("kal16", "awb", "rms", "slt")]
    + [(Espeak, voice) for voice in ("mb-us1", "mb-us2", "mb-us3", "mb-en1")]
    + [(Espeak, voice) for voice in ESPEAK]
    + [(Hibari, voice) for voice in ("heart", "heart2", "heart3")]
    + [(Piper, voice) for voice in ("joe", "joe2", "joe3")]
    + [(Kokoro, f"mix{part:02}") for part in range(2 * KOKORO_PARTS)]
    + [(Pico, voice) for voice in ("en-US", "en-GB")]
)


def file_name(engine, voice, round_):
    name = "mbrola" if voice.startswith("mb-") else engine.__name__.lower()
    return f"{name}_{voice.replace('+', '_')}" + (f".{round_}" if round_ else "")


def numbers_for(engine, voice, rng, words):
    """Which words this voice says: all classes; some of the outside words for training, or those for development and test."""
    numbers = list(range(words.count))
    if engine is Kokoro:
        return (numbers + list(words.first["train"]))[int(voice[3:]) % KOKORO_PARTS :: KOKORO_PARTS]
    if engine is Pico:
        return numbers + list(words.first["dev"]) + list(words.first["test"])
    return numbers + [number for number in words.first["train"] if rng.random() < 0.3]


def speak(task):
    """All utterances of one voice, to a file. Returns a line that says what was done."""
    index, round_, folder, limit = task
    engine, voice = VOICES[index]
    name = file_name(engine, voice, round_)
    path = folder / f"{name}.npz"
    if path.exists():
        return f"{name}: there"
    started = time.time()
    rng = random.Random(name)
    words = Words()
    numbers = numbers_for(engine, voice, rng, words)
    if limit:
        numbers = rng.sample(numbers, limit)
    speaker = engine(voice)
    if engine is Festival:
        spoken = (sound for a in range(0, len(numbers), 500)
                  for sound in speaker.say_all([words.all[n] for n in numbers[a : a + 500]], rng))
    else:
        spoken = (speaker.say(words.all[number], rng) for number in numbers)
    kept = [(sound, number) for sound, number in zip(map(trimmed, spoken), numbers) if sound is not None]
    if not limit:
        save_sounds(path, [sound for sound, _ in kept], [number for _, number in kept])
    spent = time.time() - started
    seconds = sum(len(sound) for sound, _ in kept) / RATE
    return f"{name}: {len(kept)} of {len(numbers)} words, {seconds / max(1, len(kept)):.2f} s each, {spent / len(numbers) * 1000:.1f} ms per word"


def asterisk(folder):
    """The recordings of single words by a person."""
    path = folder / "asterisk.npz"
    if path.exists():
        return "asterisk: there"
    known = Words().spelling_to_class()
    sounds, numbers = [], []
    for line in (HERE / "asterisk_words.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        file, word = line.split()
        decoded = subprocess.run(["ffmpeg", "-v", "error", "-f", "g722", "-i", str(ASTERISK / f"{file}.g722"), "-f", "s16le", "-ar",
                                  str(RATE), "-ac", "1", "-"], capture_output=True, check=True).stdout
        sounds.append(trimmed(np.frombuffer(decoded, np.int16) / np.float32(32768), below=30))
        numbers.append(known[word])
    save_sounds(path, sounds, numbers)
    return f"asterisk: {len(sounds)} recordings"


def main():
    options = parser(__doc__)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--twice", default="mbrola_mb-us,mbrola_mb-en1", help="voices that say every word twice, by beginning")
    options.add_argument("--only", default="", help="voices whose names begin with one of these, separated by commas")
    options.add_argument("--measure", type=int, default=0, metavar="WORDS", help="only time each voice on so many words")
    options = options.parse_args()
    folder = options.data / "sound"
    folder.mkdir(parents=True, exist_ok=True)
    if not options.measure:
        print(asterisk(folder), flush=True)
    tasks = []
    for round_ in (0, 1):
        for index, (engine, voice) in enumerate(VOICES):
            name = file_name(engine, voice, 0)
            if round_ and not name.startswith(tuple(options.twice.split(","))):
                continue
            if name.startswith(tuple(options.only.split(","))):
                tasks.append((index, round_, folder, options.measure))
    tasks.sort(key=lambda task: VOICES[task[0]][0] is Pico)  # last: training does not need them
    context = multiprocessing.get_context("spawn")  # the libraries do not outlive a fork, nor two voices in one process
    with concurrent.futures.ProcessPoolExecutor(options.jobs, mp_context=context, max_tasks_per_child=1) as pool:
        running = [pool.submit(speak, task) for task in tasks]
        for number, done in enumerate(concurrent.futures.as_completed(running)):
            try:
                print(f"[{number + 1}/{len(tasks)}] {done.result()}", flush=True)
            except Exception as problem:
                print(f"[{number + 1}/{len(tasks)}] failed: {problem!r}", flush=True)


if __name__ == "__main__":
    main()
