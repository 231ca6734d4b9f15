"""PyTorch: what goes into a layer, and a model in the layer's place. PyTorch itself is imported when something is called."""

from __future__ import annotations

from typing import Any, Iterable, List, Optional, Tuple, Union

import numpy as np

from ._model import Answers, Model


def capture(
    module: Any, layer: Union[str, Any], batches: Iterable[Any], limit: Optional[int] = None
) -> Tuple[np.ndarray, Optional[np.ndarray], np.ndarray]:
    """Runs a network and collects what goes into one of its layers: weights, bias (None without) and queries.

    `layer` is an `nn.Linear` or its name in the network, `batches` what the network is called with: a tensor, a tuple of
    arguments or a dictionary of named ones for each. Every step of a sequence is a query. `limit` ends after so many queries.

    >>> weights, bias, queries = zhat.torch.capture(network, "head", loader)  # doctest: +SKIP
    >>> model = zhat.build(weights, bias, queries)  # doctest: +SKIP
    """
    import torch

    linear = dict(module.named_modules()).get(layer) if isinstance(layer, str) else layer
    if linear is None:
        names = [name for name, child in module.named_modules() if isinstance(child, torch.nn.Linear)]
        raise ValueError(f"layer: there is no {layer!r}; linear layers are {', '.join(names) or 'not there'}")
    if not isinstance(linear, torch.nn.Linear):
        raise ValueError(f"layer: a {type(linear).__name__}, expected a Linear")
    queries: List[np.ndarray] = []
    count = 0

    def keep(_: Any, inputs: Tuple[Any, ...]) -> None:
        nonlocal count
        rows = inputs[0].detach().reshape(-1, linear.in_features).float().cpu().numpy().copy()
        queries.append(rows)
        count += len(rows)

    was_training = module.training
    hook = linear.register_forward_pre_hook(keep)
    module.eval()
    try:
        with torch.no_grad():
            for batch in batches:
                if isinstance(batch, dict):
                    module(**batch)
                elif isinstance(batch, (tuple, list)):
                    module(*batch)
                else:
                    module(batch)
                if limit is not None and count >= limit:
                    break
    finally:
        hook.remove()
        module.train(was_training)
    if not queries:
        raise ValueError("batches: none of them reached the layer")
    weights = linear.weight.detach().float().cpu().numpy().copy()
    bias = None if linear.bias is None else linear.bias.detach().float().cpu().numpy().copy()
    return weights, bias, np.concatenate(queries)[:limit]


def ZhatHead(model: Model, k: int = 5, budget: Union[None, int, float] = None) -> Any:
    """Returns a module that stands in for the `nn.Linear` at inference: what the whole network is with zhat.

    It gives ln p for the `k` classes that zhat finds and -inf for all others, in the shape of the layer's scores: argmax, top-k
    and cross-entropy work as before. The answers of the last call are in its `answers`.

    >>> network.head = zhat.torch.ZhatHead(model)  # doctest: +SKIP
    """
    import torch

    class Head(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.answers: Optional[Answers] = None

        def forward(self, queries: "torch.Tensor") -> "torch.Tensor":
            rows = queries.detach().reshape(-1, model.dim).float().cpu().numpy()
            self.answers = found = model.classify(rows, k, budget)
            scores = np.full((len(rows), model.classes), -np.inf, dtype=np.float32)
            known = found.classes >= 0
            row = np.broadcast_to(np.arange(len(rows))[:, np.newaxis], known.shape)
            with np.errstate(divide="ignore"):
                scores[row[known], found.classes[known]] = np.log(found.p[known])
            return torch.from_numpy(scores).to(queries.device).reshape(*queries.shape[:-1], model.classes)

    return Head()
