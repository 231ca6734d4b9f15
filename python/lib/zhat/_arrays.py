"""Whatever NumPy takes for an array, as the arrays that the Rust part takes: one type, C order."""

from __future__ import annotations

from typing import Any, Optional, Tuple

import numpy as np

#: Types of queries that are whole numbers with a scale.
WHOLE = (np.int8, np.uint8, np.int16)


def whole(name: str, value: Any, least: int, most: int) -> int:
    """Returns a whole number between two others."""
    if isinstance(value, str) or not least <= value <= most or value != int(value):
        raise ValueError(f"{name}: {value} is not a whole number from {least} to {most}")
    return int(value)


def _array(name: str, values: Any) -> np.ndarray:
    if hasattr(values, "detach"):  # a tensor of PyTorch
        values = values.detach().cpu().numpy()
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: not an array of numbers: {error}") from None
    if array.dtype.kind not in "fiub":
        raise ValueError(f"{name}: an array of {array.dtype}, expected numbers")
    return array


def _floats(array: np.ndarray) -> np.ndarray:
    # A float64 beyond float32 becomes an infinity, which is refused by name later on.
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(array, dtype=np.float32)


def matrix(name: str, values: Any) -> np.ndarray:
    """Returns float32 with two axes."""
    array = _array(name, values)
    if array.ndim != 2:
        raise ValueError(f"{name}: an array of shape {array.shape}, expected two axes")
    return _floats(array)


def vector(name: str, values: Any) -> np.ndarray:
    """Returns float32 with one axis."""
    array = _array(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name}: an array of shape {array.shape}, expected one axis")
    return _floats(array)


def integers(name: str, values: Any) -> np.ndarray:
    """Returns int64 with one axis: labels, or classes."""
    array = _array(name, values)
    if array.ndim != 1:
        raise ValueError(f"{name}: an array of shape {array.shape}, expected one axis")
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.max() > np.iinfo(np.int64).max):
        raise ValueError(f"{name}: an array of {array.dtype}, expected whole numbers")
    return np.ascontiguousarray(array, dtype=np.int64)


def queries(
    values: Any, scale: Optional[float], zero_point: Optional[int], stored: Optional[Tuple[float, int]]
) -> Tuple[np.ndarray, Optional[float], int]:
    """Returns queries with their scale and zero point; a single query has two axes as well."""
    array = _array("queries", values)
    if array.ndim == 1 and array.size:
        array = array[np.newaxis, :]
    if array.ndim != 2:
        raise ValueError(f"queries: an array of shape {array.shape}, expected a query in each row")
    if array.dtype.type not in WHOLE:
        if scale is not None or zero_point is not None:
            raise ValueError(f"queries of {array.dtype} have no scale: int8, uint8 and int16 have one")
        return _floats(array), None, 0
    if scale is None and stored is not None and array.dtype != np.int16:
        # The file holds the zero point of int8 activations; those of uint8 are 128 higher.
        scale = stored[0]
        if zero_point is None:
            zero_point = stored[1] + (128 if array.dtype == np.uint8 else 0)
    return np.ascontiguousarray(array), scale, 0 if zero_point is None else int(zero_point)
