"""From a layer to a model."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _arrays, _progress, _zhat
from ._model import Model, ModelWarning

#: 0.04, or "4%".
Share = Union[float, str]

#: Options of `build` that are whole numbers, from what to what.
_WHOLE = (
    ("seed", 0, 2**64 - 1),
    ("input_zero_point", -128, 127),
    ("branching", 2, 1024),
    ("leaf", 1, 65536),
    ("links", 0, 64),
)

#: Options of `build` that are no settings.
_ARRAYS = ("labels", "test_queries", "names", "progress")


def build(
    weights: Any,
    bias: Any = None,
    queries: Any = None,
    *,
    work: Optional[Share] = None,
    cap: Optional[Share] = None,
    max_error: Optional[Share] = None,
    instructions: Union[None, int, str] = None,
    deadline: Optional[str] = None,
    clock: Optional[str] = None,
    flash: Union[None, int, str] = None,
    bits: int = 8,
    labels: Any = None,
    fit_temperature: bool = False,
    test_queries: Any = None,
    names: Optional[Sequence[str]] = None,
    input_scale: Optional[float] = None,
    input_zero_point: int = 0,
    lookup: bool = False,
    reject: Share = "1%",
    seed: int = 1,
    blend: Optional[float] = None,
    branching: Optional[int] = None,
    leaf: Optional[int] = None,
    links: Optional[int] = None,
    linked: Optional[Share] = None,
    progress: _progress.Progress = None,
) -> Model:
    """Builds a model from the weights of an output layer, a row for each class, as `zhat build` does.

    `queries` are inputs of the layer as they occur, a row for each: what the index is tuned to, and, the last fifth of them,
    measured on. Without them there are no intervals, and the index finds less.

    Targets: `work` is the mean work of a query as a share of all rows (0.04 or "4%", the default), `cap` the most of any query
    (four times that), `max_error` the mean error of Z in the place of `work`, `instructions` those of a Cortex-M4 in the place
    of `work`, `deadline` with `clock` ("1ms" at "64MHz") in the place of `cap`, `flash` the most bytes of the file ("512K").
    `bits` is 8, or 4 for a file of half the size. All others are those of the command: `zhat build --help`.

    `progress` shows a line on a terminal and in a notebook; False shows none, and a function is called with each
    step: what is done, and how many of how many parts of it are finished (0 of 0 where that is not known). Ctrl-C ends the build.

    Raises ValueError for arrays that make no model. What should be known of the model comes as a `zhat.ModelWarning`.
    """
    return _build(
        weights,
        bias,
        queries,
        labels,
        test_queries,
        names,
        {
            "work": _text(work),
            "cap": _text(cap),
            "max_error": _text(max_error),
            "flash": _text(flash),
            "instructions": _text(instructions),
            "deadline": deadline,
            "clock": clock,
            "bits": str(bits),
            "reject": _text(reject),
            "seed": seed,
            "fit_temperature": fit_temperature,
            "lookup": lookup,
            "input_scale": input_scale,
            "input_zero_point": input_zero_point,
            "blend": blend,
            "branching": branching,
            "leaf": leaf,
            "links": links,
            "linked": _text(linked),
            "left_out": None,
            "is_oriented": bias is not None,
        },
        progress,
        stacklevel=3,
    )


def build_network(
    path: Union[str, "os.PathLike[str]"],
    inputs: Any = None,
    layer: Optional[str] = None,
    *,
    skip_padding: bool = False,
    progress: _progress.Progress = None,
    **options: Any,
) -> Model:
    """Builds a model from the output layer of a network: .onnx, or .tflite with `queries`.

    `inputs` are what the network takes, batch by batch × what an example is: an array, or for a network with several inputs a
    dictionary from their names to arrays. The network is run on them up to its output layer, and every step of a sequence is a
    query. `layer` is the name of a node where the output layer is not the one that is meant. `skip_padding` leaves out steps
    that are padding. All other options are those of `zhat.build`.

    Raises OSError if the file cannot be read, and ValueError if it is no network with an output layer.
    """
    path = os.fspath(path)
    weights, bias, _taken, left_out, scale = _zhat.read_layer(path, layer)
    if inputs is not None:
        if options.get("queries") is not None:
            raise ValueError("inputs take the place of queries: give one of them")
        with tempfile.TemporaryDirectory() as folder:
            files = _saved(inputs, folder)
            shown = _progress.shown(progress)
            try:
                options["queries"], _ = _zhat.run_network(path, layer, files, skip_padding, shown)
            finally:
                _progress.finish(shown)
            if left_out is None:
                _expect_answers_of_the_network(path, layer, files, weights, bias)
    if scale is not None:
        given = options.pop("input_scale", None), options.pop("input_zero_point", 0)
        if given[0] is not None and given != scale:
            raise ValueError(
                f"the network's activations have a scale of {scale[0]} and a zero point of {scale[1]}: leave out input_scale"
            )
        options["input_scale"], options["input_zero_point"] = scale
    queries, labels, test_queries, names = (
        options.pop(name, None) for name in ("queries", "labels", "test_queries", "names")
    )
    known = build.__kwdefaults__ or {}
    unknown = set(options) - set(known)
    if unknown:
        raise TypeError(f"build_network() got an unexpected keyword argument '{sorted(unknown)[0]}'")
    chosen: Dict[str, Any] = {
        **{name: options.get(name, default) for name, default in known.items() if name not in _ARRAYS},
        "left_out": left_out,
        "is_oriented": True,
    }
    for name in ("work", "cap", "max_error", "flash", "instructions", "bits", "reject", "linked"):
        chosen[name] = _text(chosen[name])
    return _build(weights, bias, queries, labels, test_queries, names, chosen, progress, stacklevel=3)


def _build(
    weights: Any,
    bias: Any,
    queries: Any,
    labels: Any,
    test_queries: Any,
    names: Optional[Sequence[str]],
    options: Dict[str, Any],
    progress: _progress.Progress,
    stacklevel: int,
) -> Model:
    for name, least, most in _WHOLE:
        if options[name] is not None:
            options[name] = _arrays.whole(name, options[name], least, most)
    shown = _progress.shown(progress)
    try:
        native, known = _zhat.build(
            _arrays.matrix("weights", weights),
            None if bias is None else _arrays.vector("bias", bias),
            None if queries is None else _arrays.matrix("queries", queries),
            None if labels is None else _arrays.integers("labels", labels),
            None if test_queries is None else _arrays.matrix("test_queries", test_queries),
            None if names is None else [str(name) for name in names],
            options,
            shown,
        )
    finally:
        _progress.finish(shown)
    known = json.loads(known)
    for warning in known.pop("warnings"):
        warnings.warn(warning, ModelWarning, stacklevel=stacklevel)
    return Model(native, known)


def _text(value: Union[None, int, float, str]) -> Optional[str]:
    """Returns a number as the command would be given it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(int(value))
    return repr(float(value))


def _saved(inputs: Any, folder: str) -> List[Tuple[Optional[str], str]]:
    """Writes inputs as files, with the names of those that have one."""
    named = inputs.items() if isinstance(inputs, Mapping) else [(None, inputs)]
    files: List[Tuple[Optional[str], str]] = []
    for number, (name, array) in enumerate(named):
        if isinstance(array, (str, os.PathLike)):
            files.append((name, os.fspath(array)))
            continue
        path = os.path.join(folder, f"{number}.npy")
        np.save(path, np.asarray(array), allow_pickle=False)
        files.append((name, path))
    return files


def _expect_answers_of_the_network(
    path: str, layer: Optional[str], files: List[Tuple[Optional[str], str]], weights: np.ndarray, bias: np.ndarray
) -> None:
    """Refuses a network whose output is not what its layer makes it, as the command does, and with its limits."""
    difference = _zhat.difference(path, layer, files, weights, bias)
    if difference is None or difference <= 0.01:
        return
    text = (
        f"{path}: what the network answers differs from the softmax of its layer's scores by {difference:.3f} in p of the "
        "best class, in the mean of the first inputs"
    )
    if not difference <= 0.05:
        raise ValueError(
            f"{text}: its output is not what this layer makes it (layer=... takes the layer all the same, and marks the model "
            "as partial)"
        )
    warnings.warn(text, ModelWarning, stacklevel=4)
