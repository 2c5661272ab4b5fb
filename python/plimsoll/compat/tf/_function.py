"""tf.function: Python code that is traced once per signature, planned, and run within the budget."""

from __future__ import annotations

import functools
import itertools
from typing import Any, Callable

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes, _nest, _state
from ._autograph import rewrite
from ._config import mind_others
from ._convert import convert_to_tensor
from ._dispatch import on_one_device
from ._errors import unsupported
from ._state import recording, state
from ._symbolic import Record
from ._tensor import Tensor, TensorSpec
from ._untraced import LOOKS, Body, call_planned, op_by_op
from ._variable import Variable


class _Static:
    """A Python object as a part of a signature: numbers and strings by value, others by identity."""

    __slots__ = ("value", "_key")

    def __init__(self, value: Any) -> None:
        self.value = value
        plain = isinstance(value, (int, float, str, bool, bytes, type(None)))
        self._key = (type(value), value) if plain else (id(value),)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


_HOLE = object()


def _split(value: Any, tensors: list[Any]) -> Any:
    """The structure of arguments, as something hashable; tensors go to the list."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _HOLE
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in "fiub":
        tensors.append(convert_to_tensor(value))
        return _HOLE
    if isinstance(value, (list, tuple)):
        return (type(value), tuple(_split(each, tensors) for each in value))
    if isinstance(value, dict):
        return (dict, tuple((key, _split(each, tensors)) for key, each in value.items()))
    return _Static(value)


def _join(structure: Any, tensors: list[Any]) -> Any:
    if structure is _HOLE:
        return tensors.pop(0)
    if isinstance(structure, _Static):
        return structure.value
    kind, parts = structure
    if kind is dict:
        return {key: _join(each, tensors) for key, each in parts}
    values = [_join(each, tensors) for each in parts]
    if kind is list:
        return values
    return kind(*values) if hasattr(kind, "_fields") else tuple(values)


class Function:
    """What tf.function makes of a Python function."""

    def __init__(
        self, python_function: Callable[..., Any], input_signature: Any = None, name: str | None = None
    ) -> None:
        functools.update_wrapper(self, python_function)
        self._f = python_function
        self.python_function = python_function
        self.input_signature = input_signature
        self._name = str(name or getattr(python_function, "__name__", "function"))
        self._planned: dict[Any, _core.PlannedFunction] = {}
        self._results: dict[Any, Any] = {}
        self._untraced: set[Any] = set()
        self._traces = 0

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        kept = instance.__dict__.setdefault("_tf_functions", {}) if hasattr(instance, "__dict__") else {}
        made = kept.get(self._name)
        if made is None or made._parent is not self:
            made = _Bound(self, instance)
            kept[self._name] = made
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(self._f, args, kwargs)

    def _call(self, f: Callable[..., Any], args: Any, kwargs: Any, skip: int = 0) -> Any:
        if self.input_signature is not None:
            args = (*args[:skip], *self._checked(args[skip:], kwargs))
            kwargs = {}
        if _state.functions_eagerly[0]:
            return f(*args, **kwargs)
        tensors: list[Any] = []
        structure = _split((args, kwargs), tensors)
        if self._inlined(tensors):
            return f(*args, **kwargs)
        if structure in self._untraced:
            return _tensors(f(*args, **kwargs))
        planned = self._planned.get(structure)
        if planned is None:
            mind_others()
            planned = _core.PlannedFunction(self._name, None, None, 8, None)
            self._planned[structure] = planned

        def body(traced: list[Any]) -> list[Any]:
            before = (state.inside, state.tapes)
            state.inside, state.tapes = False, 0
            self._traces += 1
            try:
                given, named = _join(structure, [Tensor(each) for each in traced])
                outputs: list[Any] = []
                found = _gathered(f(*given, **named), outputs)
                self._results[(structure, _types(traced))] = found
                return outputs
            finally:
                state.inside, state.tapes = before

        values = on_one_device([each._value for each in tensors])
        while True:
            watched = Body(body)
            try:
                results = call_planned(planned, values, watched)
                break
            except LOOKS:
                if watched.error is None:
                    raise
                if rewrite(watched.error):
                    planned = self._planned[structure] = _core.PlannedFunction(self._name, None, None, 8, None)
                    continue
                result = op_by_op(self._name, watched.error, lambda: f(*args, **kwargs))
                self._untraced.add(structure)
                return _tensors(result)
        found = self._results[(structure, _types(values))]
        return _nest.map_structure(lambda leaf: Tensor(results[leaf.at]) if isinstance(leaf, _Result) else leaf, found)

    def _inlined(self, tensors: list[Any]) -> bool:
        """Whether the Python code is run as it is: in a trace it becomes part of it; a tape that
        records follows every op."""
        if state.tapes or recording() is not None or state.replaying or _core._tracing():
            return True
        return any(not isinstance(each._value, pm.Tensor) for each in tensors)

    def _checked(self, args: Any, kwargs: Any) -> tuple[Any, ...]:
        specs = _nest.flatten(self.input_signature)
        given = [  # a list may be the values of one tensor
            convert_to_tensor(each, spec.dtype) if isinstance(spec, TensorSpec) and isinstance(each, (list, tuple)) else each
            for each, spec in itertools.zip_longest([*args, *kwargs.values()], self.input_signature)
        ][: len(args) + len(kwargs)]
        if len(_nest.flatten(given)) != len(specs):
            raise TypeError(
                f"{self._name}() was declared with input_signature {self.input_signature} and takes "
                f"{len(specs)} tensors, got {len(_nest.flatten(given))}"
            )

        def fit(value: Any, spec: Any) -> Any:
            if not isinstance(spec, TensorSpec):
                return value
            made = value if isinstance(value, (Tensor, Variable)) else convert_to_tensor(value, spec.dtype)
            if made.dtype is not spec.dtype or not spec.shape.is_compatible_with(made.shape):
                raise TypeError(
                    f"Can not cast {TensorSpec(made.shape, made.dtype)!r} to {spec!r}: an argument of "
                    f"{self._name}() does not fit its input_signature"
                )
            return made

        flat = [fit(value, spec) for value, spec in zip(_nest.flatten(given), specs)]
        return tuple(_nest.pack_sequence_as(given, flat))

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> Any:
        """The function, for these arguments or for TensorSpecs."""
        return ConcreteFunction(self, args, kwargs)

    def experimental_get_tracing_count(self) -> int:
        return self._traces

    def pretty_printed_concrete_signatures(self) -> str:
        return "\n".join(f"{self._name}: trace {i + 1}" for i in range(self._traces))

    def __repr__(self) -> str:
        return f"<tf.function {self._name}, {self._traces} traces>"


class _Bound(Function):
    """A tf.function as a method of an object."""

    def __init__(self, parent: Function, instance: Any) -> None:
        bound = functools.partial(parent._f, instance)
        functools.update_wrapper(bound, parent._f)
        super().__init__(bound, parent.input_signature, parent._name)
        self._parent = parent
        self.__self__ = instance


class ConcreteFunction:
    """A tf.function for one signature."""

    def __init__(self, function: Function, args: Any, kwargs: Any) -> None:
        self._function = function
        self.structured_input_signature = (args, kwargs)
        self._static = [each for each in args if not isinstance(each, (Tensor, TensorSpec, np.ndarray))]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def inputs(self) -> list[Any]:
        """tf.TensorSpecs of the tensors that it takes."""
        args, kwargs = self.structured_input_signature
        given = _nest.flatten((args or self._function.input_signature or (), kwargs))
        return [each if isinstance(each, TensorSpec) else TensorSpec.from_tensor(convert_to_tensor(each))
                for each in given if isinstance(each, (Tensor, TensorSpec, np.ndarray))]

    @property
    def graph(self) -> Any:
        unsupported("ConcreteFunction.graph", way="tf.compat.v1.Graph for graphs of your own")

    @property
    def name(self) -> str:
        return f"__inference_{self._function._name}"


class _Result:
    """Where in the list of a plan's results a leaf of the structure is."""

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        self.at = at


def _tensors(result: Any) -> Any:
    """What a function that was not traced gave: numbers and variables as tensors, as a traced one gives them."""
    def leaf(each: Any) -> Any:
        if isinstance(each, Variable):
            return each.read_value()
        return convert_to_tensor(each) if isinstance(each, (int, float, np.ndarray, np.generic)) else each

    return _nest.map_structure(leaf, result)


def _types(values: Any) -> Any:
    return tuple((each.dtype, tuple(each.shape)) for each in values)


def _gathered(value: Any, outputs: list[Any]) -> Any:
    """The structure of results; what is computed goes to the list, what is known stays."""
    def leaf(each: Any) -> Any:
        if isinstance(each, Variable):
            each = each.read_value()
        if isinstance(each, (int, float, np.ndarray, np.generic)) and not isinstance(each, bool):
            each = convert_to_tensor(each)
        if isinstance(each, Tensor):
            if isinstance(each._value, Record):
                raise TypeError("a symbolic tensor of a model or graph was returned from a tf.function")
            if each.is_concrete:
                return each
            outputs.append(each._value)
            return _Result(len(outputs) - 1)
        return each

    return _nest.map_structure(leaf, value)


def function(
    func: Callable[..., Any] | None = None, input_signature: Any = None, autograph: bool = True,
    jit_compile: Any = None, reduce_retracing: bool = False, experimental_implements: Any = None,
    experimental_autograph_options: Any = None, experimental_attributes: Any = None,
    experimental_relax_shapes: Any = None, experimental_compile: Any = None,
    experimental_follow_type_hints: Any = None,
) -> Any:
    """Any function of tensors, traced once for each signature and planned.

    >>> @tf.function
    ... def step(x, y): ...
    """
    if experimental_implements is not None or experimental_attributes is not None:
        unsupported("tf.function", "experimental_implements, experimental_attributes")

    def make(f: Callable[..., Any]) -> Function:
        return f if isinstance(f, Function) else Function(f, input_signature)

    return make if func is None else make(func)


def _host_call(func: Callable[..., Any], inp: Any, out: Any, numpy: bool) -> Any:
    given = [convert_to_tensor(each) for each in (inp if isinstance(inp, (list, tuple)) else [inp])]
    for each in given:
        if not each.is_concrete:
            unsupported(
                f"tf.{'numpy' if numpy else 'py'}_function in a function that is traced",
                way="call the Python code outside of tf.function; in Dataset.map it works",
            )
    result = func(*([each.numpy() for each in given] if numpy else given))
    several = isinstance(out, (list, tuple))
    kinds = [_dtypes.as_dtype(getattr(each, "dtype", each)) for each in (out if several else [out])]
    if not kinds:
        return None if not several else []
    results = list(result) if several and isinstance(result, (list, tuple)) else [result]
    made = [_as(each, kind) for each, kind in zip(results, kinds)]
    return made if several else made[0]


def _as(value: Any, dtype: Any) -> Any:
    found = convert_to_tensor(value) if not isinstance(value, (list, float, int)) else convert_to_tensor(value, dtype)
    if found.dtype is not dtype:
        from ._errors import InvalidArgumentError

        raise InvalidArgumentError(None, None, f"the {found.dtype.name} that a Python function gave is not the {dtype.name} of Tout")
    return found


def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:
    """Calls Python code with tensors; at once, or for each element of Dataset.map."""
    if func is None:
        return lambda f: functools.wraps(f)(lambda *inp: py_function(f, list(inp), Tout, name))
    traced = _in_map(func, inp, Tout, False)
    return traced if traced is not None else _host_call(func, inp, Tout, False)


def numpy_function(func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None) -> Any:
    """Calls Python code with NumPy arrays; at once, or for each element of Dataset.map."""
    if func is None:
        return lambda f: functools.wraps(f)(lambda *inp: numpy_function(f, list(inp), Tout, stateful, name))
    traced = _in_map(func, inp, Tout, True)
    return traced if traced is not None else _host_call(func, inp, Tout, True)


def _in_map(func: Any, inp: Any, out: Any, numpy: bool) -> Any:
    """In a function of Dataset.map: `data` has what it takes."""
    values = inp if isinstance(inp, (list, tuple)) else [inp]
    if not any(isinstance(each, Tensor) and isinstance(each._value, _core.Symbolic) for each in values):
        return None
    from . import data

    call = getattr(data, "_python_call", None)
    if call is None:
        unsupported("tf.py_function in Dataset.map")
    return call(func, values, out, numpy)


def no_gradient(op_type: str) -> None:
    unsupported("tf.no_gradient", way="tf.stop_gradient(x)")


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` itself: plans recompute what the budget asks for by themselves."""
    return f


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether tf.functions run as plain Python from now on."""
    _state.functions_eagerly[0] = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    return _state.functions_eagerly[0]
