"""Functions of elements: traced into a program, else called for each element."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Callable

import plimsoll as pm
from plimsoll import _core
from plimsoll._cell import Cell

from .._autograph import retraced
from .._convert import convert_to_tensor
from .._dtypes import as_dtype
from .._errors import InvalidArgumentError
from .._program import (
    NotTraceable, Symbolic, call_function, constant, eager, find, fingerprint, host, quiet, tracing,
)
from .._ragged import RaggedTensor, SparseTensor
from .._shape import TensorShape
from .._state import recording, state
from .._tensor import Tensor
from .._untraced import LOOKS, line_of
from . import _structure
from ._structure import Leaf

if TYPE_CHECKING:
    from ._dataset import Dataset

_LOOKS = (*LOOKS, pm.Error)


def arguments(structure: Any, element: Any) -> tuple[Any, ...]:
    """How tf.data calls a function: with the parts of a tuple, or one argument."""
    return tuple(element) if isinstance(structure, tuple) and not hasattr(structure, "_fields") else (element,)


class Traced:
    """A function as a program, with what it must keep alive and the structure of what it gives."""

    def __init__(self, program: pm.data.Program, structure: Any, kept: tuple[Any, ...], python: list[str]) -> None:
        self.program, self.structure, self.kept, self.python = program, structure, kept, python


def trace(dataset: Dataset, function: Callable[..., Any], keep_inputs: bool = False) -> Traced:
    """The program of `function`; with `keep_inputs` it gives the element and then the result."""
    structure = dataset._structure
    made: dict[str, Any] = {}

    def flat(*components: Symbolic) -> Any:
        tracing.like = components[0]
        element = _structure.pack(structure, [Tensor(each) for each in components])
        result = normalized(function(*arguments(structure, element)), components[0])
        made["structure"] = _structure.structure_of(result)
        outputs = [_symbolic(each, components[0]) for each in _structure.flatten(result)]
        return tuple([*components, *outputs] if keep_inputs else outputs)

    before = (tracing.kept, tracing.python, tracing.like)
    tracing.kept, tracing.python = [], []
    # The function is no part of a v1 graph, if one is being built.
    outside = (state.graph, state.replaying)
    if recording() is not None:
        state.graph, state.replaying = None, state.replaying + 1
    try:
        program = _core._trace(dataset._pm._dataset, flat)
        return Traced(program, made["structure"], tuple(tracing.kept), list(tracing.python))
    finally:
        tracing.kept, tracing.python, tracing.like = before
        state.graph, state.replaying = outside


def normalized(value: Any, like: Symbolic) -> Any:
    """What a function returned, with tensors as leaves; lists of tensors are stacked."""
    if isinstance(value, dict):
        return type(value)((key, normalized(each, like)) for key, each in value.items())
    if isinstance(value, tuple):
        parts = [normalized(each, like) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, Symbolic):
        return Tensor(value)
    if isinstance(value, (Tensor, RaggedTensor, SparseTensor)):
        return value
    if isinstance(value, list) and find(value) is not None:
        from .._arrays import stack

        return stack(value)
    if value is None:
        raise TypeError("the function of map() gave None; is there a `return`?")
    return convert_to_tensor(value)


def _symbolic(value: Any, like: Symbolic) -> Any:
    if isinstance(value, (RaggedTensor, SparseTensor)):
        raise NotImplementedError(
            f"{type(value).__name__} as a component of a dataset is not supported by "
            "plimsoll.compat.tf; use to_tensor() or tf.sparse.to_dense() in the function"
        )
    raw = value._value
    return raw if isinstance(raw, Symbolic) else constant(like, raw)


def map_elements(
    dataset: Dataset, function: Callable[..., Any], parallel: int | None, ordered: bool
) -> tuple[pm.data.Dataset, Any]:
    """The mapped set and its structure."""
    try:
        traced = retraced(lambda: trace(dataset, function))
    except _LOOKS as error:
        reason = error
    else:
        mapped = _core._map_program(dataset._pm._dataset, traced.program, parallel, ordered)
        return dataset._pm._with(mapped, *traced.kept), traced.structure
    return _map_python(dataset, function, parallel, ordered, reason)


def _map_python(
    dataset: Dataset, function: Callable[..., Any], parallel: int | None, ordered: bool,
    reason: Exception,
) -> tuple[pm.data.Dataset, Any]:
    """Python for each element. What it gives is found by calling it with the first one."""
    structure = dataset._structure

    def call(*components: Any) -> Any:
        element = _structure.rebuilt(structure, components if len(components) > 1 else components[0])
        with quiet():
            made = function(*arguments(structure, element))
            return _structure.normalized(made)

    first = next(iter(dataset.take(1)), None)
    if first is None:
        raise reason
    with quiet():
        made = function(*arguments(structure, first))
        if made is None:
            raise TypeError(f"[map] {_name(function)} gave None; is there a `return`?")
        sample = _structure.normalized(made)
    result = _structure.structure_of(sample)
    vary = any(dims is None or None in dims for _, dims in dataset._specs()) or any(
        leaf.dtype.name == "string" for leaf in _structure.leaves(structure)
    )
    spec = [_declared(each, vary) for each in _structure.flatten(sample)]
    where = line_of(reason)
    warnings.warn(
        f"[map] {_name(function)} cannot be traced{where}: {reason}. It runs as Python for each element, "
        "one at a time",
        stacklevel=4,
    )

    def run(*components: Any) -> tuple[Any, ...]:
        return tuple(host(each) for each in _structure.flatten(call(*components)))

    cell = Cell(run)
    mapped = _core._map_python(
        dataset._pm._dataset, cell, spec, 1 if parallel is None else parallel, ordered, fingerprint(function)
    )
    return dataset._pm._with(mapped, cell), result


def _declared(value: Tensor, vary: bool) -> tuple[Any, Any]:
    dims: list[Any] = TensorShape(value.shape).as_list()
    if vary and len(dims) == 1:
        dims = [None]
    elif vary and len(dims) > 1:
        dims = [None] * (len(dims) - 1) + dims[-1:]
    return as_dtype(value.dtype).pm, tuple(dims)


def _name(function: Any) -> str:
    return str(getattr(function, "__qualname__", type(function).__name__))


def predicate(dataset: Dataset, function: Callable[..., Any]) -> pm.data.Dataset:
    """The elements for which a function is true: natively where it can be traced."""
    try:
        traced = trace(dataset, function, keep_inputs=True)
        if not isinstance(traced.structure, Leaf) or traced.structure.dtype.name != "bool":
            raise NotTraceable("the predicate does not give a bool")
    except _LOOKS:
        structure = dataset._structure

        def call(*components: Any) -> bool:
            element = _structure.rebuilt(structure, components if len(components) > 1 else components[0])
            with quiet():
                return bool(function(*arguments(structure, element)))

        return dataset._pm.filter(named(call, function))
    count = len(_structure.leaves(dataset._structure))
    with_flag = _core._map_program(dataset._pm._dataset, traced.program, None, True)
    kept = _core._filter_last(with_flag)
    drop = _core._trace(kept, lambda *components: tuple(components[:count]))
    return dataset._pm._with(_core._map_program(kept, drop, 1, True), *traced.kept)


def named(call: Callable[..., Any], function: Any) -> Callable[..., Any]:
    """`call` under the name of the user's function, by which pipelines tell it apart."""
    call.__module__, call.__qualname__ = "", fingerprint(function)
    return call


def python_call(function: Callable[..., Any], inputs: Any, out: Any, numpy: bool) -> Any:
    """tf.numpy_function and tf.py_function while a function is traced: Python for each element."""
    import numpy as np

    tensors = [convert_to_tensor(each) for each in inputs]
    several = isinstance(out, (list, tuple))
    dtypes = [as_dtype(each) for each in (out if several else [out])]
    which = [i for i, each in enumerate(tensors) if isinstance(each._value, Symbolic)]

    def run(*values: Any) -> list[Any]:
        given = list(tensors)
        for i, value in zip(which, values):
            given[i] = eager(value, tensors[i].dtype)
        with quiet():
            found = function(*(each.numpy() for each in given)) if numpy else function(*given)
            results = list(found) if several and isinstance(found, (list, tuple)) else [found]
            if len(results) != len(dtypes):
                raise ValueError(f"the function gave {len(results)} results, and Tout has {len(dtypes)}")
            made = []
            for each, dtype in zip(results, dtypes):
                if numpy:
                    array = np.asarray(each)
                    if as_dtype(array.dtype) != dtype:
                        raise InvalidArgumentError(
                            None, None, f"pyfunc returns {as_dtype(array.dtype).name} and expects {dtype.name}"
                        )
                    made.append(host(convert_to_tensor(array, dtype)))
                else:
                    made.append(host(convert_to_tensor(each, dtype if not isinstance(each, Tensor) else None)))
            return made

    specs: list[Any] = [(dtype, None) for dtype in dtypes]
    made = call_function(run, [tensors[i] for i in which], specs, fingerprint(function))
    return made if several else made[0]
