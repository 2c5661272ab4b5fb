"""Arguments of padded_batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import plimsoll as pm

from .. import _nest
from .._dtypes import BY_PM
from .._shape import TensorShape
from .._tensor import Tensor
from . import _structure

if TYPE_CHECKING:
    from ._dataset import Dataset


def _like(structure: Any, given: Any) -> list[Any]:
    """The leaves of `given`, which follows `structure`; shapes, lists and numbers are leaves."""
    if isinstance(structure, dict):
        return [leaf for key in sorted(structure) for leaf in _like(structure[key], given[key])]
    if isinstance(structure, tuple):
        if not isinstance(given, (tuple, list)) or len(given) != len(structure):
            raise ValueError(
                f"The two structures don't have the same nested structure: {len(structure)} components, "
                f"and {given!r}"
            )
        return [leaf for part, each in zip(structure, given) for leaf in _like(part, each)]
    return [given]


def shapes_of(dataset: Dataset, padded_shapes: Any) -> list[list[int | None]] | None:
    specs = dataset._specs()
    if padded_shapes is None:
        for dtype, dims in specs:
            if dims is None:
                raise ValueError(
                    "You must provide `padded_shapes` argument because component "
                    f"of {BY_PM[dtype].name} has unknown rank."
                )
        return None
    made: list[list[int | None]] = []
    for each, (_, dims) in zip(_like(dataset._structure, padded_shapes), specs):
        if isinstance(each, Tensor):
            each = each.numpy().tolist()
        if isinstance(each, (list, tuple)):
            each = [None if e is None or e == -1 else int(e) for e in each]
        shape = TensorShape(each)
        if shape.dims is None:
            shape = TensorShape([None] * len(dims))
        if dims is not None and len(dims) != len(shape):
            raise ValueError(
                f"The padded shape {shape} is not compatible with the corresponding input component shape "
                f"{TensorShape(dims)}."
            )
        made.append(shape.as_list())
    return made


def values_of(dataset: Dataset, padding_values: Any) -> list[Any] | None:
    if padding_values is None:
        return None
    structure = dataset._structure
    leaves = _structure.leaves(structure)
    if _nest.is_nested(padding_values):
        given = _like(structure, padding_values)
    else:
        given = [padding_values] * len(leaves)
    made: list[Any] = []
    for each, leaf in zip(given, leaves):
        if isinstance(each, Tensor):
            if each.dtype != leaf.dtype:
                raise TypeError(
                    f"The padding value should be of dtype {leaf.dtype.name}, but is {each.dtype.name}."
                )
            each = each.numpy()
        if leaf.dtype.name == "string":
            made.append(b"" if each is None else each if isinstance(each, bytes) else str(each).encode())
        else:
            if isinstance(each, (str, bytes)):
                raise TypeError(f"Mismatched type in padding values: {each!r} for {leaf.dtype.name}")
            number = np.asarray(0 if each is None else each).astype(leaf.dtype.as_numpy_dtype)
            made.append(pm.tensor(number.reshape(())))
    return made
