"""A model, and what it answers."""

from __future__ import annotations

import html
import json
import os
import warnings
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arrays, _progress, _zhat

Path = Union[str, "os.PathLike[str]"]


class ModelWarning(UserWarning):
    """What should be known before a model is used."""


@dataclass(frozen=True)
class Answers:
    """The answers to queries: a row, or a value, for each."""

    #: The classes, best first; -1 where fewer were found than asked for.
    classes: np.ndarray
    #: Their probabilities.
    p: np.ndarray
    #: The ends of the interval that holds the float layer's p for 95 % of queries like the calibration's; NaN without one.
    low: np.ndarray
    high: np.ndarray
    #: ln Z.
    log_z: np.ndarray
    #: Whether a query is like those of the calibration; None if the model cannot tell.
    familiar: Optional[np.ndarray]
    #: Whether a query is probably none of the classes; None if the model cannot tell.
    rejected: Optional[np.ndarray]
    #: Dot products that a query cost, with rows and with nodes.
    work: np.ndarray
    #: The share of Z that was not scored but predicted.
    far_share: np.ndarray

    def __len__(self) -> int:
        return len(self.log_z)


class Model:
    """A model file in memory. `zhat.build`, `zhat.load` and `zhat.from_bytes` make one."""

    def __init__(self, native: "_zhat.Model", known: Optional[Dict[str, Any]] = None) -> None:
        self._native = native
        self._known = known or {}
        self._description: Optional[Dict[str, Any]] = None
        self._names: Optional[List[str]] = None

    # Questions.

    def classify(
        self,
        queries: Any,
        k: int = 5,
        budget: Union[None, int, float] = None,
        *,
        scale: Optional[float] = None,
        zero_point: Optional[int] = None,
    ) -> Answers:
        """Returns the top `k` classes of each query within a budget, to the bit as the device does.

        `queries` has a row for each; one query may have one axis. Arrays of int8, uint8 and int16 are taken as they are, with
        `scale` and `zero_point`: a value is `(query - zero_point) * scale`. A model of a quantised network holds both itself.
        `budget` is the most dot products of a query: a number, or a share of all rows below 1. Without it the stored one
        holds, which the intervals were measured with. All cores take part, or RAYON_NUM_THREADS of them.
        """
        return self._answers(queries, k, self._cap(budget), False, scale, zero_point)

    def exact(
        self, queries: Any, k: int = 5, *, scale: Optional[float] = None, zero_point: Optional[int] = None
    ) -> Answers:
        """Returns the top `k` classes of each query with every row scored."""
        return self._answers(queries, k, None, True, scale, zero_point)

    def predict_proba(
        self,
        queries: Any,
        classes: Any = None,
        budget: Union[None, int, float] = None,
        *,
        exact: bool = False,
        scale: Optional[float] = None,
        zero_point: Optional[int] = None,
    ) -> np.ndarray:
        """Returns p of the given classes, of all by default: a row for each query.

        The classes are scored themselves and divided by the Z of `classify`, or with `exact` by the sum of all rows. So the p of
        all classes sum to one as far as that Z is right.
        """
        array, scale, zero = _arrays.queries(queries, scale, zero_point, self._native.input_scale)
        wanted = np.arange(self.classes) if classes is None else _arrays.integers("classes", classes)
        return self._native.probabilities(array, wanted, self._cap(budget), exact, scale, zero)

    def sample(
        self,
        queries: Any,
        draws: int = 1,
        seed: int = 1,
        budget: Union[None, int, float] = None,
        *,
        exact: bool = False,
        scale: Optional[float] = None,
        zero_point: Optional[int] = None,
    ) -> Tuple[np.ndarray, np.ndarray]:
        """Draws classes from the estimated distribution of each query: returns the classes and their p, a row for each query.

        `exact` draws from all rows. The same seed draws the same classes.
        """
        array, scale, zero = _arrays.queries(queries, scale, zero_point, self._native.input_scale)
        draws = _arrays.whole("draws", draws, 0, 2**40)
        seed = _arrays.whole("seed", seed, 0, 2**64 - 1)
        return self._native.sample(array, draws, seed, self._cap(budget), exact, scale, zero)

    # Evidence.

    def evaluate(
        self,
        weights: Any = None,
        bias: Any = None,
        queries: Any = None,
        labels: Any = None,
        *,
        calibration: Any = None,
        estimators: str = "exact,moments",
        top: int = 5,
        seeds: int = 3,
        progress: _progress.Progress = None,
    ) -> "Evaluation":
        """Compares answers with the exact ones, and with the float layer if its `weights` and `bias` are given.

        `queries` should be others than the model was built with; `labels` add log-loss and calibration error. `calibration` are
        the queries that it was built with. `estimators` are names, with commas between them, or "all".
        """
        if queries is None:
            raise ValueError("queries: none are given")
        if weights is None and bias is not None:
            raise ValueError("bias: given without weights")
        shown = _progress.shown(progress)
        try:
            report, text, found = self._native.evaluate(
                _arrays.matrix("queries", queries),
                None if weights is None else _arrays.matrix("weights", weights),
                None if bias is None else _arrays.vector("bias", bias),
                None if labels is None else _arrays.integers("labels", labels),
                None if calibration is None else _arrays.matrix("calibration", calibration),
                estimators,
                _arrays.whole("top", top, 1, 10),
                _arrays.whole("seeds", seeds, 1, 1000),
                shown,
            )
        finally:
            _progress.finish(shown)
        for warning in found:
            warnings.warn(warning, ModelWarning, stacklevel=2)
        return Evaluation(json.loads(report), text)

    def plot_reliability(self, queries: Any, labels: Any, estimators: str = "exact,moments,self-normalised") -> "Plot":
        """Draws whether a p of 70 % is right 70 % of the time."""
        array, wanted = _arrays.matrix("queries", queries), _arrays.integers("labels", labels)
        return Plot(self._native.plot_reliability(array, wanted, estimators))

    def plot_error_work(
        self, queries: Any, estimators: str = "moments,mimps,uniform", progress: _progress.Progress = None
    ) -> "Plot":
        """Draws the error of estimators against their work, over budgets."""
        shown = _progress.shown(progress)
        try:
            return Plot(self._native.plot_error_work(_arrays.matrix("queries", queries), estimators, shown))
        finally:
            _progress.finish(shown)

    def plot_cumulative(self, queries: Any, count: int = 8) -> "Plot":
        """Draws how much of the probability the best classes hold: a line for each of `count` queries."""
        return Plot(self._native.plot_cumulative(_arrays.matrix("queries", queries), _arrays.whole("count", count, 1, 16)))

    def report(self, queries: Any, labels: Any = None, name: str = "model.zhat") -> "Page":
        """Returns the page that `zhat report` writes: tables and plots in one HTML file."""
        array = _arrays.matrix("queries", queries)
        return Page(self._native.report(array, None if labels is None else _arrays.integers("labels", labels), name))

    # The file.

    def save(self, path: Path) -> None:
        """Writes the model file, whole or not at all. Raises OSError if that is not possible."""
        self._native.save(os.fspath(path))

    def to_bytes(self) -> bytes:
        """Returns the bytes of the model file."""
        return self._native.to_bytes()

    @property
    def description(self) -> Dict[str, Any]:
        """What `zhat inspect --json` prints: sections, shape of the tree, what was measured, what a device needs."""
        if self._description is None:
            self._description = json.loads(self._native.description())
        return self._description

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self._native.classes

    @property
    def dim(self) -> int:
        """The length of a query."""
        return self._native.dim

    @property
    def bits(self) -> int:
        """Bits of a weight: 8 or 4."""
        return int(self.description["model"]["bits"])

    @property
    def names(self) -> Optional[List[str]]:
        """A name for each class; None if the file has none."""
        if self._names is None:
            self._names = self._native.names()
        return self._names

    @property
    def flash(self) -> int:
        """Bytes of the file."""
        return int(self.description["needs"]["flash"])

    @property
    def ram(self) -> int:
        """Bytes of memory that a query needs on a device."""
        return int(self.description["needs"]["ram"])

    @property
    def scratch_words(self) -> int:
        """Words of memory for the search, as firmware reserves them."""
        return int(self.description["needs"]["scratch_words"])

    @property
    def instructions(self) -> Optional[int]:
        """Instructions of a mean query on a Cortex-M4, about; None for a model built without queries."""
        mean = self.description["needs"]["instructions_mean"]
        return None if mean is None else int(mean)

    @property
    def instructions_max(self) -> int:
        """Instructions of a query at the cap, about."""
        return int(self.description["needs"]["instructions_max"])

    @property
    def cap(self) -> int:
        """The most dot products that a query takes within the stored budget."""
        return int(self.description["model"]["cap"])

    @property
    def temperature(self) -> float:
        """What scores were divided by."""
        return float(self.description["model"]["temperature"])

    @property
    def input_scale(self) -> Optional[Tuple[float, int]]:
        """Scale and zero point of int8 activations, for the layer of a quantised network."""
        return self._native.input_scale

    @property
    def build_id(self) -> int:
        """The checksum of the file, which tells one build from another."""
        return self._native.build_id

    @property
    def is_exact(self) -> bool:
        """Whether every query scores all rows, because the model has no index."""
        return self._native.is_exact

    @property
    def warnings(self) -> List[str]:
        """What should be known before the model is used."""
        return list(self.description["warnings"])

    @property
    def built(self) -> Dict[str, Any]:
        """Of a model that `zhat.build` has just made: the plan, what tuning expects, and the report on queries held out."""
        return self._known

    def __repr__(self) -> str:
        return f"<zhat.Model of {self.classes} classes, {self.dim} dimensions, {self.bits} bits, {self.flash} bytes>"

    def _repr_html_(self) -> str:
        needs, measured = self.description["needs"], self.description["measured"]
        rows = [
            ("classes", f"{self.classes:,}"),
            ("dimensions", f"{self.dim}"),
            ("bits of a weight", f"{self.bits}"),
            ("flash", f"{needs['flash']:,} bytes"),
            ("RAM", f"{needs['ram']:,} bytes"),
            ("instructions at the cap, Cortex-M4", f"{needs['instructions_max']:,}"),
        ]
        if measured:
            rows += [
                ("error of Z, mean", _percent(measured["err_mean"])),
                ("recall of the best class", _percent(measured["recall_at_1"])),
                ("interval covers", _percent(measured["coverage95"])),
                ("work, mean", _percent(measured["work_mean"])),
            ]
        return _table(["", ""], rows)

    def __reduce__(self) -> Tuple[Any, Tuple[bytes]]:
        return from_bytes, (self.to_bytes(),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self.to_bytes() == other.to_bytes()

    def __hash__(self) -> int:
        return self.build_id

    def _cap(self, budget: Union[None, int, float]) -> Optional[int]:
        if budget is None:
            return None
        if isinstance(budget, (float, np.floating)) and 0 < budget < 1:
            return max(1, int(budget * self.classes))
        if not 0 < budget < 2**32 or budget != int(budget):
            raise ValueError(f"budget: {budget} is neither a number of dot products nor a share of all rows")
        return int(budget)

    def _answers(
        self, queries: Any, k: int, cap: Optional[int], exact: bool, scale: Optional[float], zero_point: Optional[int]
    ) -> Answers:
        array, scale, zero = _arrays.queries(queries, scale, zero_point, self._native.input_scale)
        k = _arrays.whole("k", k, 1, 1000)
        classes, p, low, high, log_z, familiar, rejected, work, far_share = self._native.classify(
            array, k, cap, exact, scale, zero
        )
        return Answers(classes, p, low, high, log_z, _known(familiar), _known(rejected), work, far_share)


class Evaluation:
    """Figures of estimators; in a notebook a table."""

    def __init__(self, report: Dict[str, Any], text: str) -> None:
        #: Everything, as `zhat eval --json` prints it.
        self.report = report
        self._text = text

    def __getitem__(self, estimator: str) -> Dict[str, Any]:
        """Returns the figures of an estimator; "moments" is that of `classify`."""
        found: Dict[str, Any]
        for found in self.report["estimators"]:
            if found["name"] == estimator:
                return found
        raise KeyError(estimator)

    def __str__(self) -> str:
        return self._text

    __repr__ = __str__

    def _repr_html_(self) -> str:
        headings = ["estimator", "work", "error of Z", "for 95 %", "|Δp|", "recall", "interval covers", "familiar", "log-loss", "ECE"]
        rows = [
            (
                found["name"],
                _percent(found["work_mean"]),
                _percent(found["err_mean"]),
                _percent(found["err_p95"]),
                _number(found["dp_mean"]),
                _percent(found["recall_at_1"]),
                _percent(found["coverage95"]),
                _percent(found["familiar"]),
                _number(found["log_loss"]),
                _percent(found["ece"]),
            )
            for found in self.report["estimators"]
        ]
        return _table(headings, rows)


class Plot(str):
    """A plot: the text of an SVG file."""

    def _repr_svg_(self) -> str:
        return str(self)

    def save(self, path: Path) -> None:
        """Writes the SVG file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)


class Page(str):
    """A page: the text of an HTML file."""

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self)}" style="width: 100%; height: 40rem; border: 0"></iframe>'

    def save(self, path: Path) -> None:
        """Writes the HTML file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self)


def load(path: Path) -> Model:
    """Reads a model file. Raises OSError if it cannot be read, and ValueError if it is no model or damaged."""
    return Model(_zhat.load(os.fspath(path)))


def from_bytes(file: bytes) -> Model:
    """Opens the bytes of a model file. Raises ValueError if they are no model or damaged."""
    return Model(_zhat.from_bytes(bytes(file)))


def _known(answers: np.ndarray) -> Optional[np.ndarray]:
    """Returns yes or no for each query; None if that is not known."""
    return None if len(answers) and (answers < 0).all() else answers > 0


def _percent(share: Optional[float]) -> str:
    return "–" if share is None else f"{100 * share:.2f} %"


def _number(value: Optional[float]) -> str:
    return "–" if value is None else f"{value:.4f}"


def _table(headings: List[str], rows: Sequence[Tuple[str, ...]]) -> str:
    def line(tag: str, cells: Any) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    head = line("th", headings) if any(headings) else ""
    return f"<table>{head}{''.join(line('td', row) for row in rows)}</table>"
