"""The Rust part: arrays are of one type and in C order. `zhat` is what to call."""

from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

__version__: str

_Progress = Optional[Callable[[str, int, int], Any]]

class Model:
    classes: int
    dim: int
    build_id: int
    least_cap: int
    is_exact: bool
    input_scale: Optional[Tuple[float, int]]
    def to_bytes(self) -> bytes: ...
    def save(self, path: str) -> None: ...
    def description(self) -> str: ...
    def names(self) -> Optional[List[str]]: ...
    def classify(
        self, queries: np.ndarray, k: int, cap: Optional[int], exact: bool, scale: Optional[float], zero_point: int
    ) -> Tuple[
        np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray
    ]: ...
    def probabilities(
        self,
        queries: np.ndarray,
        classes: np.ndarray,
        cap: Optional[int],
        exact: bool,
        scale: Optional[float],
        zero_point: int,
    ) -> np.ndarray: ...
    def sample(
        self,
        queries: np.ndarray,
        draws: int,
        seed: int,
        cap: Optional[int],
        exact: bool,
        scale: Optional[float],
        zero_point: int,
    ) -> Tuple[np.ndarray, np.ndarray]: ...
    def evaluate(
        self,
        queries: np.ndarray,
        weights: Optional[np.ndarray],
        bias: Optional[np.ndarray],
        labelled: Optional[np.ndarray],
        calibration: Optional[np.ndarray],
        estimators: str,
        top: int,
        seeds: int,
        progress: _Progress,
    ) -> Tuple[str, str, List[str]]: ...
    def plot_reliability(self, queries: np.ndarray, labelled: np.ndarray, estimators: str) -> str: ...
    def plot_error_work(self, queries: np.ndarray, estimators: str, progress: _Progress) -> str: ...
    def plot_cumulative(self, queries: np.ndarray, count: int) -> str: ...
    def report(self, queries: np.ndarray, labelled: Optional[np.ndarray], name: str) -> str: ...

def main(arguments: List[str]) -> int: ...
def load(path: str) -> Model: ...
def from_bytes(bytes: bytes) -> Model: ...
def build(
    weights: np.ndarray,
    bias: Optional[np.ndarray],
    queries: Optional[np.ndarray],
    labelled: Optional[np.ndarray],
    test_queries: Optional[np.ndarray],
    names: Optional[List[str]],
    options: Dict[str, Any],
    progress: _Progress,
) -> Tuple[Model, str]: ...
def read_layer(
    path: str, name: Optional[str]
) -> Tuple[np.ndarray, np.ndarray, str, Optional[str], Optional[Tuple[float, int]]]: ...
def run_network(
    path: str,
    name: Optional[str],
    inputs: List[Tuple[Optional[str], str]],
    skip_padding: bool,
    progress: _Progress,
) -> Tuple[np.ndarray, int]: ...
def difference(
    path: str, name: Optional[str], inputs: List[Tuple[Optional[str], str]], weights: np.ndarray, bias: np.ndarray
) -> Optional[float]: ...
