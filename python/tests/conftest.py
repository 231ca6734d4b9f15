"""A generated layer, a model of it, and the command."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import zhat

ROOT = Path(__file__).parents[2]


class Layer:
    """Rows in clusters, and queries near some of them: what trained layers are like."""

    def __init__(self, classes: int, dim: int, seed: int) -> None:
        random = np.random.default_rng(seed)
        centres = random.normal(size=(classes // 40 + 1, dim))
        rows = centres[np.arange(classes) % len(centres)] + 0.6 * random.normal(size=(classes, dim))
        self.weights = (2.5 * rows / np.sqrt(dim)).astype(np.float32)
        self.bias = (0.3 * random.normal(size=classes)).astype(np.float32)
        self.labels = random.integers(0, classes, size=700)
        near = rows[self.labels] + 0.5 * random.normal(size=(700, dim))
        self.queries = near.astype(np.float32)

    def save(self, folder: Path) -> None:
        for name in ("weights", "bias", "queries", "labels"):
            np.save(folder / f"{name}.npy", getattr(self, name))


@pytest.fixture(scope="session")
def layer() -> Layer:
    return Layer(1500, 20, 1)


def build(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", zhat.ModelWarning)
        return zhat.build(*arguments, **{"progress": False, **options})


@pytest.fixture(scope="session")
def model(layer):
    return build(layer.weights, layer.bias, layer.queries[:500])


@pytest.fixture(scope="session")
def flat(layer):
    """A model without an index."""
    return build(layer.weights[:50], layer.bias[:50])


class Command:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "zhat", *arguments]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def json(self, *arguments: str):
        return json.loads(self.run(*arguments, "--json"))


@pytest.fixture
def command(tmp_path) -> Command:
    return Command(tmp_path)
