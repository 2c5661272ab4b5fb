"""Control flow, scopes and small things of tf itself."""

from __future__ import annotations

import builtins
import contextlib
import functools
import re
import sys
from typing import Any, Callable, Iterator

import numpy as np

import plimsoll as pm
from plimsoll import _core

from . import _dtypes, _nest
from ._arrays import stack, unstack, where
from ._closures import record_with
from ._config import device as device
from ._convert import convert_to_tensor, numpy_of, tensor
from ._dispatch import op
from ._errors import InvalidArgumentError, unsupported
from ._state import recording, state
from ._symbolic import Record, records_in
from ._tensor import Tensor
from ._variable import Variable, scopes


def identity(input: Any, name: str | None = None) -> Any:
    """A tensor of its own with the same values."""
    if isinstance(input, Variable) and recording() is not None:
        return input.read_value()
    return _identity(input, name=name)


@op(name="identity", host=lambda input: input)
def _identity(input: Any) -> Any:
    from ._variable import _copied

    return _copied(input)


def identity_n(input: Any, name: str | None = None) -> list[Any]:
    return [identity(each) for each in input]


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor or a variable."""
    return isinstance(x, (Tensor, Variable))


def is_symbolic_tensor(x: Any) -> bool:
    return isinstance(x, Tensor) and not x.is_concrete


def executing_eagerly() -> bool:
    """Whether ops run at once here."""
    return recording() is None and not _core._tracing()


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """The value as an array where it is known, else None."""
    if isinstance(tensor, Tensor):
        if isinstance(tensor._value, Record):
            a, b = tensor._value.probes
            same = a is b and isinstance(a, (pm.Tensor, np.ndarray))
            return Tensor(a).numpy() if same else None
        return tensor.numpy() if tensor.is_concrete else None
    return np.asarray(tensor)


@op(name="ensure_shape")
def ensure_shape(x: Any, shape: Any) -> Any:
    from ._shape import TensorShape

    value = tensor(x)
    if not TensorShape(shape).is_compatible_with(value.shape):
        raise InvalidArgumentError(None, None, f"Shape of tensor input {list(value.shape)} is not compatible with expected shape {shape}")
    return value


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """One of two functions. Where the condition is not known yet both are computed, and tf.where
    takes elements of one of them."""
    if isinstance(pred, bool) or not isinstance(pred, (Tensor, Variable)):
        return true_fn() if pred else false_fn()
    value = pred._as_tensor() if isinstance(pred, Variable) else pred
    if value.is_concrete:
        return true_fn() if builtins.bool(value) else false_fn()
    before, state.pure = state.pure, state.pure + 1
    try:
        a, b = true_fn(), false_fn()
    finally:
        state.pure = before
    _nest.assert_same_structure(a, b, check_types=False)
    return _nest.map_structure(lambda x, y: _chosen(value, x, y), a, b)


def _chosen(condition: Any, a: Any, b: Any) -> Any:
    if a is None and b is None:
        return None
    x, y = convert_to_tensor(a), convert_to_tensor(b)
    if x.shape.rank is not None and y.shape.rank is not None and not x.shape.is_compatible_with(y.shape):
        unsupported("tf.cond with branches of different shapes", way="compute both, and use tf.where")
    return where(condition, x, y)


def case(pred_fn_pairs: Any, default: Any = None, exclusive: bool = False, strict: bool = False, name: str = "case") -> Any:
    """The first function whose condition holds."""
    pairs = list(pred_fn_pairs.items() if isinstance(pred_fn_pairs, dict) else pred_fn_pairs)
    if not pairs:
        return default()
    (pred, f), rest = pairs[0], pairs[1:]
    if not rest and default is None:
        return f()
    return cond(pred, f, lambda: case(rest, default))


def switch_case(branch_index: Any, branch_fns: Any, default: Any = None, name: str = "switch_case") -> Any:
    """The function with a number."""
    found = branch_fns if isinstance(branch_fns, dict) else dict(
        branch_fns if branch_fns and isinstance(branch_fns[0], tuple) else enumerate(branch_fns)
    )
    last = default or found[max(found)]
    at = convert_to_tensor(branch_index)
    if at.is_concrete:
        return found.get(int(at), last)()
    from ._operators import equal

    return case([(equal(at, key), f) for key, f in found.items()], last)


def while_loop(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, shape_invariants: Any = None,
    parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
    maximum_iterations: Any = None, name: str | None = None, return_same_structure: bool = True,
) -> Any:
    """A loop whose condition is known: unrolled where something is traced."""
    given = list(loop_vars) if isinstance(loop_vars, (list, tuple)) else [loop_vars]
    if recording() is not None or records_in(given):
        return record_with(lambda *v: _loop(cond, body, list(v), maximum_iterations), (cond, body), tuple(given), name or "while")
    return _loop(cond, body, [_value(each) for each in given], maximum_iterations)


def _value(each: Any) -> Any:
    return each if isinstance(each, (TensorArray, dict, list, tuple)) else convert_to_tensor(each)


def _loop(cond: Any, body: Any, values: list[Any], most: Any) -> Any:
    left = None if most is None else int(most)
    while left is None or left > 0:
        goes_on = cond(*values)
        if isinstance(goes_on, Tensor) and not goes_on.is_concrete:
            unsupported(
                "tf.while_loop with a condition that is computed from values, in a function that is traced",
                way="loop a known number of times (for i in range(n)), or in Python outside of tf.function",
            )
        if not goes_on:
            break
        found = body(*values)
        values = list(found) if isinstance(found, (list, tuple)) else [found]
        left = None if left is None else left - 1
    return values


def _rows(elems: Any) -> tuple[int, Callable[[int], Any]]:
    flat = [convert_to_tensor(each) for each in _nest.flatten(elems)]
    count = flat[0].shape[0]
    if count is None:
        unsupported("tf.map_fn over an extent that is not known", way="write it for the whole batch")
    apart = [unstack(each) for each in flat]
    return int(count), lambda i: _nest.pack_sequence_as(elems, [each[i] for each in apart])


def map_fn(
    fn: Callable[..., Any], elems: Any, dtype: Any = None, parallel_iterations: Any = None,
    back_prop: bool = True, swap_memory: bool = False, infer_shape: bool = True, name: str | None = None,
    fn_output_signature: Any = None,
) -> Any:
    """`fn` of each slice of the first dimension, stacked: unrolled."""
    if recording() is not None or records_in(elems):
        return record_with(lambda e: map_fn(fn, e), (fn,), (elems,), name or "map")
    if hasattr(elems, "ragged_rank"):
        from ._ragged import RaggedTensor, from_rows

        rows = [fn(each) for each in elems]
        return from_rows(rows, rows[0].dtype) if rows and (isinstance(rows[0], RaggedTensor) or len(rows[0].shape)) else stack(rows)
    count, row = _rows(elems)
    results = [fn(row(i)) for i in builtins.range(count)]
    if not results:
        unsupported("tf.map_fn over nothing")
    return _nest.map_structure(lambda *parts: stack([convert_to_tensor(each) for each in parts]), *results)


def vectorized_map(fn: Callable[..., Any], elems: Any, fallback_to_while_loop: bool = True, warn: bool = True) -> Any:
    return map_fn(fn, elems)


def foldl(fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None, **_: Any) -> Any:
    """The result of fn(so far, slice) over all slices."""
    if recording() is not None or records_in((elems, initializer)):
        return record_with(lambda e, first: foldl(fn, e, first), (fn,), (elems, initializer), name or "foldl")
    count, row = _rows(elems)
    total, first = (row(0), 1) if initializer is None else (initializer, 0)
    for i in builtins.range(first, count):
        total = fn(total, row(i))
    return total


def foldr(fn: Callable[..., Any], elems: Any, initializer: Any = None, name: str | None = None, **_: Any) -> Any:
    if recording() is not None or records_in((elems, initializer)):
        return record_with(lambda e, first: foldr(fn, e, first), (fn,), (elems, initializer), name or "foldr")
    count, row = _rows(elems)
    total, last = (row(count - 1), count - 1) if initializer is None else (initializer, count)
    for i in reversed(builtins.range(last)):
        total = fn(total, row(i))
    return total


def scan(
    fn: Callable[..., Any], elems: Any, initializer: Any = None, reverse: bool = False,
    name: str | None = None, **_: Any,
) -> Any:
    """All results of fn(so far, slice), stacked."""
    if recording() is not None or records_in((elems, initializer)):
        return record_with(lambda e, first: scan(fn, e, first, reverse), (fn,), (elems, initializer), name or "scan")
    count, row = _rows(elems)
    order = list(builtins.range(count))[:: -1 if reverse else 1]
    results = []
    if initializer is None:
        total, order = row(order[0]), order[1:]
        results.append(total)
    else:
        total = initializer
    for i in order:
        total = fn(total, row(i))
        results.append(total)
    if reverse:
        results.reverse()
    return _nest.map_structure(lambda *parts: stack([convert_to_tensor(each) for each in parts]), *results)


class TensorArray:
    """A list of tensors that is written once each; its methods give the array itself."""

    def __init__(
        self, dtype: Any, size: Any = None, dynamic_size: bool = False, clear_after_read: bool = True,
        tensor_array_name: Any = None, handle: Any = None, flow: Any = None, infer_shape: bool = True,
        element_shape: Any = None, colocate_with_first_write_call: bool = True, name: str | None = None,
    ) -> None:
        self.dtype = _dtypes.as_dtype(dtype)
        self._parts: list[Any] = [None] * (0 if size is None else int(size))
        self._grows = bool(dynamic_size)

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        at = int(index)
        if at >= len(self._parts):
            if not self._grows:
                raise InvalidArgumentError(None, None, f"Tried to write to index {at} but array is not resizeable and size is: {len(self._parts)}")
            self._parts.extend([None] * (at + 1 - len(self._parts)))
        self._parts[at] = convert_to_tensor(value, self.dtype)
        return self

    def read(self, index: Any, name: str | None = None) -> Any:
        found = self._parts[int(index)]
        if found is None:
            raise InvalidArgumentError(None, None, f"Could not read index {int(index)} twice or before it was written")
        return found

    def size(self, name: str | None = None) -> Any:
        return convert_to_tensor(len(self._parts))

    def stack(self, name: str | None = None) -> Any:
        first = next((each for each in self._parts if each is not None), None)
        if first is None:
            return convert_to_tensor([], self.dtype)
        from ._create import zeros_like

        return stack([zeros_like(first) if each is None else each for each in self._parts])

    def concat(self, name: str | None = None) -> Any:
        from ._arrays import concat

        return concat(self._parts, 0)

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        self._parts = list(unstack(value))
        return self

    def gather(self, indices: Any, name: str | None = None) -> Any:
        return stack([self.read(i) for i in numpy_of(convert_to_tensor(indices)._value)])

    def close(self, name: str | None = None) -> None:
        self._parts = []


def group(*inputs: Any, name: str | None = None) -> Any:
    """In a graph, an op that runs all of them; otherwise they have run."""
    if recording() is None:
        return None
    from ._graph import group as grouped

    return grouped(_nest.flatten(list(inputs)), name)


def no_op(name: str | None = None) -> Any:
    return group(name=name or "NoOp")


@contextlib.contextmanager
def control_dependencies(control_inputs: Any) -> Iterator[None]:
    """Ops of the block run after these."""
    graph = recording()
    if graph is None:
        yield
        return
    with graph.control_dependencies(control_inputs):
        yield


class name_scope:
    """A name before the names of the block's ops and variables."""

    def __init__(self, name: str | None, default_name: Any = None, values: Any = None) -> None:
        self.name = name or default_name or ""
        self._graph: Any = None

    def __enter__(self) -> str:
        self._graph = recording()
        if self._graph is not None:
            return str(self._graph.enter_scope(self.name))
        scopes.append(self.name)
        return "".join(f"{each}/" for each in scopes)

    def __exit__(self, *raised: Any) -> None:
        if self._graph is not None:
            self._graph.exit_scope()
        else:
            scopes.pop()


@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Ops of the block run at once, also where something is traced."""
    before = (state.inside, state.graph, state.replaying)
    state.inside, state.graph = False, None
    try:
        with _core._Eager():
            yield
    finally:
        state.inside, state.graph, state.replaying = before


def print(*inputs: Any, **kwargs: Any) -> None:  # noqa: A001
    """Prints tensors, to stderr unless output_stream says otherwise."""
    end, sep = kwargs.pop("end", "\n"), kwargs.pop("sep", " ")
    stream, summarize = kwargs.pop("output_stream", sys.stderr), kwargs.pop("summarize", 3)
    kwargs.pop("name", None)
    if kwargs:
        unsupported("tf.print", ", ".join(kwargs))
    for each in _nest.flatten(list(inputs)):
        if isinstance(each, Tensor) and not each.is_concrete:
            unsupported(
                "tf.print of a tensor in a function that is traced",
                way="return the tensor and print it outside, or tf.config.run_functions_eagerly(True)",
            )
    if isinstance(stream, str):
        with open(stream.removeprefix("file://"), "a") as file:
            builtins.print(*(_shown(each, summarize) for each in inputs), sep=sep, end=end, file=file)
        return
    builtins.print(*(_shown(each, summarize) for each in inputs), sep=sep, end=end, file=stream)


def _shown(value: Any, summarize: int) -> str:
    if isinstance(value, Variable):
        value = value._as_tensor()
    if isinstance(value, Tensor):
        found = value.numpy()
        if isinstance(found, bytes):
            return found.decode(errors="replace")
        edge = None if summarize == -1 else summarize
        array = np.asarray(found)
        if array.ndim == 0:
            return str(array.item())
        with np.printoptions(edgeitems=edge or 10**9, threshold=2 * edge if edge else sys.maxsize):
            return str(array)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_shown(each, summarize) for each in value) + "]"
    return str(value)


def Assert(condition: Any, data: Any, summarize: Any = None, name: str | None = None) -> Any:
    """Raises InvalidArgumentError with the data unless the condition holds."""
    made = convert_to_tensor(condition)
    if not made.is_concrete:
        unsupported("tf.Assert in a function that is traced", way="check values outside of the function")
    if not np.all(made.numpy()):
        raise InvalidArgumentError(None, None, f"Expected '{condition}' to be true. Summarized data: {data}")
    return None


def _snake(name: str) -> str:
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", name).lower()


class Module:
    """A collection of variables, and of modules that have some: what is assigned to attributes."""

    def __init__(self, name: str | None = None) -> None:
        self._module_name = name or _snake(type(self).__name__)

    @property
    def name(self) -> str:
        return getattr(self, "_module_name", _snake(type(self).__name__))

    @property
    def name_scope(self) -> name_scope:
        return name_scope(self.name)

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method whose variables have the module's name before theirs."""
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return call

    def _walk(self, seen: dict[int, Any]) -> Iterator[Any]:
        for key in sorted(vars(self)):
            if not key.startswith("_tf_"):
                yield from _found_in(vars(self)[key], seen)

    def _checkpoint_variables(self) -> dict[str, Any]:
        """What tf.train.Checkpoint keeps, by the attributes that hold it."""
        kinds = (Variable, Module, list, tuple, dict)
        return {key: each for key, each in sorted(vars(self).items())
                if isinstance(each, kinds) or hasattr(each, "trainable_variables") and not isinstance(each, type)}

    @property
    def variables(self) -> tuple[Any, ...]:
        return tuple(each for each in self._walk({id(self): self}) if isinstance(each, Variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        return tuple(each for each in self.variables if each.trainable)

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        return tuple(each for each in self.variables if not each.trainable)

    @property
    def submodules(self) -> tuple[Any, ...]:
        return tuple(each for each in self._walk({id(self): self}) if isinstance(each, Module))


def _found_in(value: Any, seen: dict[int, Any]) -> Iterator[Any]:
    if id(value) in seen:
        return
    if isinstance(value, Variable):
        seen[id(value)] = value
        yield value
    elif isinstance(value, Module):
        seen[id(value)] = value
        yield value
        yield from value._walk(seen)
    elif hasattr(value, "trainable_variables") and not isinstance(value, type):
        seen[id(value)] = value
        for each in value.variables:
            yield from _found_in(each, seen)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _found_in(each, seen)
    elif isinstance(value, dict):
        for key in sorted(value, key=str):
            yield from _found_in(value[key], seen)

