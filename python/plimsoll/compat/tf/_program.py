"""Functions that Dataset.map traces. A tensor of the element is a _core.Symbolic; an op on it becomes
an instruction of the data program. What programs cannot do becomes a call of Python in the middle of
one: the same tf function, run eagerly on the element's values."""

from __future__ import annotations

import functools
import hashlib
import threading
from typing import Any, Callable, Iterator, Sequence, TypeVar, cast

import numpy as np

import plimsoll as pm
from plimsoll import _core
from plimsoll._cell import Cell

from . import _nest
from ._config import logical
from ._dtypes import DType, as_dtype
from ._state import state
from ._tensor import Tensor

Symbolic = _core.Symbolic
Dims = Sequence[int | None] | None
F = TypeVar("F", bound=Callable[..., Any])


class _Tracing(threading.local):
    """What the trace in force must keep alive: the Python functions of its program."""

    kept: list[Any] | None = None
    python: list[str] | None = None
    like: Any = None  # a component of the element: what is drawn at random is drawn for it


tracing = _Tracing()


class NotTraceable(TypeError):
    """A function that Dataset.map cannot trace, and calls for each element instead."""


def find(value: Any) -> Symbolic | None:
    """A symbolic value in a structure of tensors, or None."""
    if isinstance(value, Symbolic):
        return value
    if isinstance(value, Tensor):
        return value._value if isinstance(value._value, Symbolic) else None
    if isinstance(value, (list, tuple)):
        return next((x for x in map(find, value) if x is not None), None)
    if isinstance(value, dict):
        return find(list(value.values()))
    return None


def strings(array: Any) -> pm.Tensor:
    """Byte strings of an object array as a tensor of the library."""
    array = np.asarray(array, dtype=object)
    if array.size == 0:
        return pm.tensor(np.zeros((1,) * array.ndim).astype(str).tolist())[tuple(slice(0, n) for n in array.shape)]
    return pm.tensor(_encoded(array.tolist()))


def _encoded(value: Any) -> Any:
    return [_encoded(each) for each in value] if isinstance(value, list) else _bytes(value)


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def host(value: Any) -> Any:
    """A raw value as programs take it: arrays of strings as tensors, and tensors of a GPU as copies."""
    if isinstance(value, Tensor):
        value = value._value
    if isinstance(value, (bytes, str)):
        return strings(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        return strings(value)
    if isinstance(value, pm.Tensor) and not value.is_symbolic and value.device.kind != "cpu":
        return value.to(logical("CPU")[0])  # programs are the host's, as in TensorFlow
    return value


def record(op: str, inputs: Sequence[Any], like: Symbolic | None = None, **attributes: Any) -> list[Any]:
    """Adds an instruction to the program of a symbolic input (or of `like`)."""
    found = find(list(inputs)) if like is None else like
    assert found is not None
    return _core._record(found, op, [host(each) for each in inputs], attributes)


def run(op: str, inputs: Sequence[Any], **attributes: Any) -> Any:
    """An instruction on raw values: recorded where one is symbolic, else carried out now."""
    if find(list(inputs)) is not None:
        return record(op, inputs, **attributes)[0]
    return _core._run_op(op, [host(each) for each in inputs], attributes)[0]


def constant(like: Symbolic, value: Any) -> Symbolic:
    return _core._constant(like, host(value))


def ensure_shape(value: Symbolic, shape: Any) -> Symbolic:
    """The same value with a shape that someone knows; checked for each element."""
    dims = [-1 if each is None else each for each in shape]
    return record("ensure_shape", [value], dims=dims)[0]  # type: ignore[no-any-return]


def lower(
    called: str, program: Callable[..., Any] | None, function: Callable[..., Any],
    call: Callable[..., Any], args: Any, kwargs: Any, raw_args: Any, raw_kwargs: Any,
) -> Any:
    """What an op under @op gives for symbolic values of a program: raw."""
    from ._lowering import NATIVE

    native = NATIVE.get(called) or NATIVE.get(called.rpartition(".")[2])
    why = "it has no instruction"
    for each in (program,) if program is not None else (native, function):
        if each is None:
            continue
        try:
            found = each(*raw_args, **raw_kwargs)
            if not _is_lost(found):
                return found
        except (TypeError, AttributeError, NotImplementedError, ValueError) as error:
            why = str(error)
    before = state.inside
    state.inside = False
    try:
        made = in_python(call, args, kwargs, called, why)
    finally:
        state.inside = before
    return _nest.map_structure(lambda x: x._value if isinstance(x, Tensor) else x, made)


def _is_lost(value: Any) -> bool:
    """Whether a result does not depend on the element any more, although its inputs did."""
    return not any(isinstance(x, (Symbolic, pm.Tensor, int, float, np.ndarray)) for x in _nest.flatten(value))


def composed(function: F) -> F:
    """For functions written in tf ops: where Dataset.map traces and one of them cannot be, the whole
    function becomes a call of Python."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if find((args, kwargs)) is None:
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        except (TypeError, AttributeError, NotImplementedError, ValueError) as error:
            return in_python(function, args, kwargs, function.__name__, str(error))

    return cast(F, call)


# -- Python in programs ------------------------------------------------------------------------------


def drawn(called: str, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """What a random op without symbolic arguments gives in Dataset.map: drawn for each element."""
    from ._lowering import DRAWS

    native = DRAWS.get(called.rpartition(".")[2])
    if native is not None:
        try:
            return Tensor(native(tracing.like, *args, **kwargs))
        except (TypeError, ValueError):
            pass
    like = Tensor(tracing.like)

    def ignoring(_: Any, *given: Any, **named: Any) -> Any:
        return call(*given, **named)

    return in_python(ignoring, (like, *args), kwargs, called)


def drawn_by_host(called: str, args: Any, kwargs: Any) -> Any:
    """Random numbers in a pipeline's thread, where the library's own would begin anew in each; None
    for other random ops."""
    from ._lowering import HOST_DRAWS

    draw = HOST_DRAWS.get(called.rpartition(".")[2])
    return None if draw is None else draw(*args, **kwargs)


def in_python(call: Callable[..., Any], args: Any, kwargs: Any, called: str, why: str = "") -> Any:
    """`call` as an instruction that runs Python: what it gives is found by trying it on ones and twos."""
    leaves = [each for each in _leaves((args, kwargs)) if isinstance(each._value, Symbolic)]
    ids = {id(each): i for i, each in enumerate(leaves)}

    def with_values(values: Sequence[Any]) -> Any:
        opened, named = _swap((args, kwargs), lambda t: values[ids[id(t)]] if id(t) in ids else t)
        return call(*opened, **named)

    structure, specs = _probed(with_values, leaves, called, why)

    def each_element(*values: Any) -> list[Any]:
        given = [eager(value, leaf.dtype) for value, leaf in zip(values, leaves)]
        with quiet():
            return [host(each) for each in _nest.flatten(with_values(given))]

    made = call_function(each_element, leaves, specs, f"tf.{called}")
    return _nest.pack_sequence_as(structure, made)


def call_function(
    function: Callable[..., Sequence[Any]], inputs: Sequence[Tensor],
    specs: Sequence[tuple[DType, Dims]], name: str,
) -> list[Tensor]:
    """An instruction that calls Python with values of the library and takes such."""
    like = find(list(inputs))
    assert like is not None
    cell = Cell(function)
    spec = [(dtype.pm, None if dims is None else tuple(dims)) for dtype, dims in specs]
    foreign = _core._Foreign(cell, spec, name)
    if tracing.kept is None:
        raise NotTraceable(f"{name} outside of Dataset.map")
    tracing.kept.extend((cell, foreign))
    if tracing.python is not None:
        tracing.python.append(name)
    made = record("call_function", [each._value for each in inputs], like, function=foreign.key)
    return [Tensor(each) for each in made]


def fingerprint(function: Any) -> str:
    """A name for a Python function that tells its code apart, the same in every process."""
    code = getattr(function, "__code__", None)
    base = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', type(function).__name__)}"
    if code is None:
        return base
    text = repr((code.co_code, code.co_names, [c for c in code.co_consts if isinstance(c, (int, float, str, bytes))]))
    return f"{base}@{hashlib.sha256(text.encode()).hexdigest()[:8]}"


class quiet:
    """Ops in this block run now, whatever is being recorded or traced around it."""

    def __enter__(self) -> None:
        self.before = (state.inside, state.replaying, state.graph, tracing.like)
        state.inside, state.replaying, state.graph, tracing.like = False, state.replaying + 1, None, None

    def __exit__(self, *raised: object) -> None:
        state.inside, state.replaying, state.graph, tracing.like = self.before


def eager(value: Any, dtype: DType) -> Tensor:
    """A tf.Tensor of a component as the library hands it out: a number, bytes, or a tensor."""
    if isinstance(value, pm.Tensor):
        return Tensor(value)
    if isinstance(value, bytes):
        made = np.empty((), dtype=object)
        made[()] = value
        return Tensor(made)
    if isinstance(value, np.ndarray) and value.dtype.kind in "SO":  # rows of strings
        return Tensor(value.astype(object))
    return Tensor(pm.tensor(value, dtype=dtype.pm))


PROBES = ((3, 5), (4, 6), (16, 24), (1, 1))


def _probed(
    with_values: Callable[[Sequence[Any]], Any], leaves: Sequence[Tensor], called: str, why: str
) -> tuple[Any, list[tuple[DType, Dims]]]:
    """What a call gives, of two sizes for the extents that are not known."""
    failed: Exception | None = None
    for small, large in PROBES:
        try:
            with quiet():
                a = with_values([_filled(each, small, 1) for each in leaves])
                b = with_values([_filled(each, large, 2) for each in leaves])
            break
        except Exception as error:  # what the function does with ones says nothing about its errors
            failed = error
    else:
        hint = f" ({why})" if why else ""
        raise NotTraceable(f"tf.{called} cannot be traced{hint}: {failed}") from failed
    specs: list[tuple[DType, Dims]] = []
    for x, y in zip(_nest.flatten(a), _nest.flatten(b)):
        first, second = tuple(x.shape), tuple(y.shape)
        same = len(first) == len(second)
        dims = [p if p == q else None for p, q in zip(first, second)] if same else None
        specs.append((as_dtype(x.dtype), dims))
    return a, specs


def _filled(like: Tensor, extent: int, number: int) -> Tensor:
    """A value of that kind: what depends on extents or values differs between two of them."""
    shape = like._value.shape
    if shape is None:
        raise NotTraceable("the rank of a value is not known")
    dims = tuple(extent if each is None else each for each in shape)
    if like.dtype.pm == pm.bytes_:
        made = np.empty(dims, dtype=object)
        made[...] = b"12"[:number]
        return Tensor(made)
    return Tensor(pm.full(dims, number == 1 if like.dtype.is_bool else number, dtype=like._value.dtype))


def _leaves(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _leaves(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, slice):
        yield from _leaves((value.start, value.stop, value.step))


def _swap(value: Any, leaf: Callable[[Tensor], Any]) -> Any:
    if isinstance(value, Tensor):
        return leaf(value)
    if isinstance(value, slice):
        return slice(*(_swap(each, leaf) for each in (value.start, value.stop, value.step)))
    if isinstance(value, (list, tuple)):
        parts = [_swap(each, leaf) for each in value]
        if hasattr(value, "_fields"):
            return type(value)(*parts)
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, dict):
        return {key: _swap(each, leaf) for key, each in value.items()}
    return value


