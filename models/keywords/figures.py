#!/usr/bin/env python3
"""Figures of the exported model, with every class scored exactly: accuracy, calibration, and the threshold for events.

The temperature is fitted on one half of the words of the unheard engine, and everything about it measured on the other half. The
device averages p over the last decisions of a segment; an event is a word (not "<other>") whose mean p reaches the threshold. The
threshold is chosen on the words, outside words and noises for development, and its rates are measured on those for the test.

Writes thresholds.json and the last three numbers of encoder.bin beside this file; OUT/weights_t.npy and OUT/bias_t.npy, the output
layer divided by the temperature, which is what the model file is built from.
"""
import json
import pathlib

import numpy as np

from common import HERE, parser
from encoder_file import set_thresholds

THRESHOLDS = [round(0.05 * k, 2) for k in range(1, 20)] + [0.97, 0.98, 0.99, 0.995]


class Layer:
    """The output layer."""

    def __init__(self, folder):
        self.weights, self.bias = np.load(folder / "weights.npy"), np.load(folder / "bias.npy")
        self.other = len(self.bias) - 1
        self.temperature = 1.0

    def scores(self, queries):
        return queries @ self.weights.T + self.bias

    def p(self, queries):
        scores = self.scores(queries) / self.temperature
        scores = np.exp(scores - scores.max(1, keepdims=True))
        return scores / scores.sum(1, keepdims=True)

    def fit(self, queries, labels):
        """The temperature at which the labels are most probable."""
        scores = self.scores(queries).astype(np.float64)
        truth = scores[np.arange(len(labels)), labels]
        top = scores.max(1)

        def loss(temperature):
            return (np.log(np.exp((scores - top[:, None]) / temperature).sum(1)) + (top - truth) / temperature).mean()

        low, high = 0.3, 4.0
        for _ in range(25):  # golden section
            a, b = high - 0.618 * (high - low), low + 0.618 * (high - low)
            low, high = (low, b) if loss(a) < loss(b) else (a, high)
        self.temperature = (low + high) / 2


def calibration_error(p, right, bins=15, equal_mass=True):
    """Mean distance between p and the share that is right, over bins of p."""
    if equal_mass:
        groups = np.array_split(np.argsort(p), bins)
    else:
        place = np.minimum((p * bins).astype(int), bins - 1)
        groups = [np.flatnonzero(place == k) for k in range(bins)]
    return sum(len(group) * abs(p[group].mean() - right[group].mean()) for group in groups if len(group)) / len(p)


def events(layer, decisions):
    """For each sound the best word of the mean p of its decisions, and that p; 0 if "<other>" is more probable."""
    best, at = [], []
    for a in range(0, decisions.shape[1], 500):
        p = np.mean([layer.p(queries) for queries in decisions[:, a : a + 500]], axis=0)
        word = p[:, : layer.other].argmax(1)
        value = p[np.arange(len(p)), word]
        best.append(word)
        at.append(np.where(p[:, layer.other] > value, 0, value))
    return np.concatenate(best), np.concatenate(at)


def main():
    options = parser(__doc__)
    options.add_argument("--out", type=pathlib.Path, help="folder of the arrays (default: DATA/export)")
    options.add_argument("--accept", type=float, default=0.10, help="false accepts allowed when the threshold is chosen")
    options.add_argument("--dry", action="store_true", help="print only")
    options = options.parse_args()
    folder = options.out or options.data / "export"

    def load(name):
        return np.load(folder / f"{name}.npy")

    layer = Layer(folder)
    layer.fit(load("pico_dev"), load("pico_dev_labels"))
    figures = {"classes": len(layer.bias), "temperature": layer.temperature}
    for name, queries, labels in (("known voices, kept out", "known", "known_labels"), ("pico (unheard engine), test half", "queries", "labels"),
                                  ("asterisk (a person)", "asterisk", "asterisk_labels")):
        p, truth = layer.p(load(queries)), load(labels)
        top = np.argsort(-p, 1)[:, :5]
        right = top[:, 0] == truth
        best = p.max(1)
        row = {"sounds": len(truth), "first": right.mean(), "first five": (top == truth[:, None]).any(1).mean(),
               "log-loss": -np.log(p[np.arange(len(p)), truth]).mean(), "calibration error, 15 bins of equal mass": calibration_error(best, right),
               "calibration error, 15 bins of equal width": calibration_error(best, right, equal_mass=False)}
        figures[name] = {key: float(value) for key, value in row.items()}
        print(name + ": " + ", ".join(f"{key} {value:.4f}" if key != "sounds" else f"{value} sounds" for key, value in row.items()))
        word, at = events(layer, load(queries + "_decisions"))
        figures[name]["first, mean of three decisions"] = float(((word == truth) & (at > 0)).mean())
        print(f"  first by the mean p of three decisions, as the device takes it: {figures[name]['first, mean of three decisions']:.4f}")
    print(f"temperature {layer.temperature:.4f}, fitted on the other half of pico's words")

    curves = {}
    for part, words in (("dev", "pico_dev"), ("test", "queries")):
        labels = load("labels" if words == "queries" else f"{words}_labels")
        word, p = events(layer, load(f"{words}_decisions"))
        unknown = events(layer, load(f"outside_{part}_decisions"))[1]
        noise = events(layer, load(f"noises_{part}_decisions"))[1]
        curves[part] = [{"threshold": at, "false_reject": float(1 - ((word == labels) & (p >= at)).mean()),
                         "false_accept": float((np.concatenate([unknown, noise]) >= at).mean()),
                         "outside_words": float((unknown >= at).mean()), "noises": float((noise >= at).mean()),
                         "wrong_word": float(((word != labels) & (p >= at)).mean())} for at in THRESHOLDS]
    print("threshold: false reject, false accept (outside words, noises), wrong word for a known one; on the test part")
    for row in curves["test"]:
        print(f"  {row['threshold']:.3f}: {row['false_reject']:.4f}, {row['false_accept']:.4f} ({row['outside_words']:.4f}, "
              f"{row['noises']:.4f}), {row['wrong_word']:.4f}")
    place = next((k for k, row in enumerate(curves["dev"]) if row["false_accept"] <= options.accept), len(THRESHOLDS) - 1)
    chosen = curves["test"][place]
    print(f"chosen for at most {options.accept:.0%} false accepts on the development part ({curves['dev'][place]['false_accept']:.4f} there): "
          f"threshold {chosen['threshold']}, on the test part false accepts {chosen['false_accept']:.4f}, false rejects {chosen['false_reject']:.4f}")
    if options.dry:
        return
    np.save(folder / "weights_t.npy", (layer.weights / layer.temperature).astype(np.float32))
    np.save(folder / "bias_t.npy", (layer.bias / layer.temperature).astype(np.float32))
    stored = {"threshold": chosen["threshold"], "false_accept": chosen["false_accept"], "false_reject": chosen["false_reject"],
              "chosen_on": curves["dev"][place], "curve": curves["test"], "figures": figures}
    (HERE / "thresholds.json").write_text(json.dumps(stored, indent=1) + "\n")
    set_thresholds(HERE / "encoder.bin", chosen["threshold"], chosen["false_accept"], chosen["false_reject"])


if __name__ == "__main__":
    main()
