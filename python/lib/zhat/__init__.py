"""Calibrated probabilities for classifiers with thousands of classes, without scoring every class.

>>> import numpy, zhat
>>> random = numpy.random.default_rng(1)
>>> weights = random.normal(size=(2000, 16)).astype("float32")
>>> queries = random.normal(size=(300, 16)).astype("float32")
>>> model = zhat.build(weights, queries=queries, progress=False)
>>> answers = model.classify(queries[:3], k=5)
>>> answers.p.shape
(3, 5)
>>> model.classes, model.dim
(2000, 16)
"""

from ._build import build, build_network
from ._model import Answers, Evaluation, Model, ModelWarning, Page, Plot, from_bytes, load
from ._zhat import __version__
from . import torch

__all__ = [
    "Answers",
    "Evaluation",
    "Model",
    "ModelWarning",
    "Page",
    "Plot",
    "__version__",
    "build",
    "build_network",
    "from_bytes",
    "load",
    "torch",
]
