"""Names of keras.backend and keras.ops that are functions of tf, activations or losses."""

from __future__ import annotations

from typing import Any, Mapping

from .._names import Unsupported

LOSSES = ("binary_crossentropy", "categorical_crossentropy", "sparse_categorical_crossentropy")


def forward(module: str, name: str, activations: tuple[str, ...], functions: Mapping[str, str | None]) -> Any:
    """What `name` is: an activation, a loss, or the function of tf that `functions` names."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name in activations:
        from . import activations as found_there

        return getattr(found_there, name)
    if name in LOSSES:
        from . import losses

        return getattr(losses, name)
    where = functions.get(name)
    if where is None:
        raise Unsupported(f"{module}.{name} is not supported; use the tf function of that kind")
    import plimsoll.compat.tf as tf

    found: Any = tf
    for part in where.split("."):
        found = getattr(found, part)
    return found
