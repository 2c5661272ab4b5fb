"""Elements of datasets: tuples and dicts of tensors, which the library has as flat lists."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

import plimsoll as pm

from .. import _nest
from .._convert import convert_to_tensor
from .._dtypes import BY_PM, DType, as_dtype
from .._program import eager, host
from .._ragged import RaggedTensor, SparseTensor
from .._shape import TensorShape
from .._tensor import Tensor, TensorSpec


class Leaf:
    """A place for a tensor in a structure."""

    __slots__ = ("dtype",)

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype


def normalized(value: Any) -> Any:
    """Tensors in a structure of tuples and dicts; lists become tensors, as in tf.data."""
    if isinstance(value, dict):
        return type(value)((key, normalized(each)) for key, each in value.items())
    if isinstance(value, tuple):
        parts = [normalized(each) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, (Tensor, RaggedTensor, SparseTensor)):
        return value
    if value is None:
        raise TypeError("an element of a dataset cannot have None in it; leave it out")
    if hasattr(value, "_pm_dataset"):
        raise NotImplementedError(
            "datasets in the elements of a dataset are supported by window() only; use flat_map"
        )
    return convert_to_tensor(value)


def flatten(value: Any) -> list[Any]:
    return _nest.flatten(value)


def structure_of(value: Any) -> Any:
    """The same structure with Leafs."""
    return _nest.map_structure(lambda x: Leaf(as_dtype(x.dtype)), value)


def leaves(structure: Any) -> list[Leaf]:
    return _nest.flatten(structure)


def pack(structure: Any, flat: Sequence[Any]) -> Any:
    return _nest.pack_sequence_as(structure, flat)


def rebuilt(structure: Any, element: Any) -> Any:
    """tf.Tensors of an element as a pipeline hands it out."""
    places = leaves(structure)
    values = (element,) if len(places) == 1 else element
    return pack(structure, [eager(value, place.dtype) for value, place in zip(values, places)])


def structure_from_specs(specs: Any) -> Any:
    """The structure that TensorSpecs describe."""
    return _nest.map_structure(lambda spec: Leaf(as_dtype(spec.dtype)), specs)


def pm_specs(specs: Any) -> list[tuple[Any, tuple[int | None, ...] | None]]:
    """(dtype, shape) of each component as the library has them."""
    made = []
    for each in flatten(specs):
        dtype = as_dtype(each.dtype)
        if dtype.pm is None:
            raise NotImplementedError(
                f"components of {dtype.name} are not supported by plimsoll.compat.tf's datasets; "
                "cast to int64 or float32 first"
            )
        dims = TensorShape(each.shape).dims
        made.append((dtype.pm, None if dims is None else tuple(dims)))
    return made


def tensor_specs(structure: Any, specs: Sequence[tuple[Any, Any]]) -> Any:
    """TensorSpecs of what the library says."""
    made = [TensorSpec(dims, BY_PM[dtype]) for dtype, dims in specs]
    return pack(structure, made)


def component(value: Any, spec: tuple[Any, Any] | None = None) -> Any:
    """A tensor as the library takes it: of a tf.Tensor, an array, a number, a string."""
    if not isinstance(value, Tensor):
        wanted = None if spec is None else BY_PM[spec[0]]
        value = convert_to_tensor(value, None if wanted is None else wanted)
    raw = host(value)
    if not isinstance(raw, pm.Tensor):
        raw = pm.tensor(np.asarray(raw))
    if spec is not None and raw.dtype != spec[0]:
        raise TypeError(
            f"an element of {BY_PM[raw.dtype].name} came where {BY_PM[spec[0]].name} was declared"
        )
    return raw
