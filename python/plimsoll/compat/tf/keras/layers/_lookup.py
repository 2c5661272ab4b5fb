"""Preprocessing of values: normalisation, vocabularies, categories. What has strings runs on the host."""

from __future__ import annotations

import hashlib
from typing import Any, Iterable

import numpy as np

import plimsoll as pm

from plimsoll import _core

from ..._convert import convert_to_tensor
from ..._dtypes import as_dtype
from ..._symbolic import PROBES, Record, Typed
from ..._program import ensure_shape
from ..._ragged import RaggedTensor
from ..._tensor import Tensor
from .._base import is_symbolic, raw, wrap
from ._layer import Layer, LayerNode


def _batches(data: Any) -> Iterable[Any]:
    """Arrays of a dataset, an array or a list."""
    if isinstance(data, (np.ndarray, Tensor)) or isinstance(data, (list, tuple)):
        yield data.numpy() if isinstance(data, Tensor) else np.asarray(data)
        return
    for each in data:
        each = each[0] if isinstance(each, (tuple, list)) else each
        yield each.numpy() if hasattr(each, "numpy") else np.asarray(each)


class Normalization(Layer):
    """(x - mean) / deviation, of numbers that adapt() finds or that are given."""

    def __init__(
        self, axis: Any = -1, mean: Any = None, variance: Any = None, invert: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.axis = tuple(axis) if isinstance(axis, (list, tuple)) else () if axis is None else (axis,)
        self.invert = invert
        self._given = None if mean is None else (np.asarray(mean, np.float32), np.asarray(variance, np.float32))
        if (mean is None) != (variance is None):
            raise ValueError("When setting values directly, both `mean` and `variance` must be set.")

    def build(self, input_shape: Any) -> None:
        rank = len(input_shape)
        kept = sorted(a % rank for a in self.axis)
        self._kept = kept
        shape = tuple(input_shape[a] for a in kept)
        if self._given is None:
            self.adapt_mean = self.add_weight(shape, "zeros", trainable=False, name="mean")
            self.adapt_variance = self.add_weight(shape, "ones", trainable=False, name="variance")
            self.count = self.add_weight((), "zeros", trainable=False, dtype="int64", name="count")
        else:
            self._numbers = [np.broadcast_to(each, shape).astype(np.float32) for each in self._given]
        self._broadcast = tuple(input_shape[a] if a in kept else 1 for a in range(rank))
        self.built = True

    @property
    def mean(self) -> Any:
        return self._shown(0, "adapt_mean")

    @property
    def variance(self) -> Any:
        return self._shown(1, "adapt_variance")

    def _shown(self, which: int, name: str) -> Any:
        """The numbers in the shape that broadcasts with the inputs; None before they are known."""
        if not self.built:
            return None
        found = getattr(self, name)._as_tensor()._value if self._given is None else pm.tensor(self._numbers[which])
        return wrap(found.reshape(self._broadcast))

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Finds mean and variance of all data."""
        total: Any = None
        squares: Any = None
        count = 0
        for each in _batches(data):
            x = np.asarray(each, np.float64)
            if x.ndim == 1 and self.axis:
                x = x[:, None]
            if not self.built:
                self.build((None, *x.shape[1:]))
                self.built = True
            axes = tuple(d for d in range(x.ndim) if d not in self._kept)
            more = int(np.prod([x.shape[d] for d in axes]))
            s, q = x.sum(axis=axes), (x * x).sum(axis=axes)
            total, squares = (s, q) if total is None else (total + s, squares + q)
            count += more
        if total is None:
            raise ValueError("adapt() was given no data")
        mean = total / count
        self.adapt_mean.assign(mean.astype(np.float32))
        self.adapt_variance.assign(np.maximum(squares / count - mean * mean, 0).astype(np.float32))
        self.count.assign(np.int64(count))

    def call(self, inputs: Any) -> Any:
        x = raw(inputs)
        if x.dtype not in (pm.f32, pm.f16, pm.bf16, pm.f64):
            x = pm.cast(x, pm.f32)
        if x.ndim == 1 and self._kept == [1]:
            x = x.reshape((x.shape[0], 1))
        shape = [n if d in self._kept else 1 for d, n in enumerate(x.shape)]
        if self._given is None:
            mean, variance = self.adapt_mean._variable.value, self.adapt_variance._variable.value
        else:
            mean, variance = (pm.tensor(each) for each in self._numbers)
        mean = mean.reshape(shape)
        deviation = pm.maximum(pm.sqrt(variance), 1e-7).reshape(shape)
        return wrap(x * deviation + mean if self.invert else (x - mean) / deviation)


class Discretization(Layer):
    """The bin that each number is in."""

    def __init__(
        self, bin_boundaries: Any = None, num_bins: int | None = None, epsilon: float = 0.01,
        output_mode: str = "int", **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.bin_boundaries = None if bin_boundaries is None else [float(b) for b in bin_boundaries]
        self.num_bins, self.output_mode = num_bins, output_mode

    def adapt(self, data: Any, steps: int | None = None, **_: Any) -> None:
        values = np.sort(np.concatenate([np.asarray(each).reshape(-1) for each in _batches(data)]))
        assert self.num_bins is not None
        at = np.linspace(0, 1, self.num_bins + 1)[1:-1]
        self.bin_boundaries = [float(b) for b in np.quantile(values, at)]

    def call(self, inputs: Any) -> Any:
        if self.bin_boundaries is None:
            raise ValueError("You must call `adapt()` before using a Discretization layer with num_bins")
        x = raw(inputs)
        x = x if x.dtype == pm.f32 else pm.cast(x, pm.f32)
        bounds = pm.tensor(np.asarray(self.bin_boundaries, np.float32))
        spread = x.reshape((*x.shape, 1)) >= bounds.reshape((*([1] * x.ndim), bounds.size))
        found = pm.cast(pm.sum(pm.cast(spread, pm.f32), axis=-1), pm.i64)
        return _encoded(found, len(self.bin_boundaries) + 1, self.output_mode, None)


def _encoded(ids: pm.Tensor, size: int, mode: str, weights: Any) -> Any:
    """Ids as they are, or as rows of 0 and 1, or of counts."""
    if mode == "int":
        return wrap(ids)
    if mode == "one_hot":
        if ids.ndim and ids.shape[-1] == 1:
            ids = ids.reshape(ids.shape[:-1])
        return wrap(pm.one_hot(ids, size))
    hot = pm.one_hot(ids, size)
    if weights is not None:
        hot = hot * weights.reshape((*weights.shape, 1))
    if mode == "multi_hot":
        return wrap(pm.max(hot, axis=-2) if ids.ndim else hot)
    if mode == "count":
        return wrap(pm.sum(hot, axis=-2) if ids.ndim else hot)
    raise ValueError(f"Unknown output_mode: {mode}")


class CategoryEncoding(Layer):
    def __init__(self, num_tokens: int, output_mode: str = "multi_hot", sparse: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.num_tokens, self.output_mode = num_tokens, output_mode
        self.autocast = False

    def call(self, inputs: Any, count_weights: Any = None) -> Any:
        ids = raw(inputs)
        ids = ids if ids.dtype in (pm.i32, pm.i64) else pm.cast(ids, pm.i64)
        return _encoded(ids, self.num_tokens, self.output_mode,
                        None if count_weights is None else raw(count_weights))


class _Host(Layer):
    """A layer that looks at values: it runs on the host, not in a traced step."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.autocast = False
        self.built = True

    def __call__(self, inputs: Any, **kwargs: Any) -> Any:
        if is_symbolic([inputs]):
            return self._symbolic(inputs)
        if isinstance(inputs, RaggedTensor):
            return RaggedTensor(self(inputs.values, **kwargs), inputs.row_splits)
        return super().__call__(inputs if isinstance(inputs, Tensor) else convert_to_tensor(inputs), **kwargs)

    def _symbolic(self, inputs: Any) -> Any:
        """The recorded call: the shape is known without running it, since strings cannot be traced."""
        node = LayerNode(self._run, (inputs,), {}, self.name)
        node.layer = self
        object.__setattr__(self, "_last_node", node)
        probes = [Typed(as_dtype(self.result_dtype()), self.result_shape(tuple(probe.shape), size))
                  for probe, size in zip(inputs._value.probes, PROBES)]
        made = Tensor(Record(node, 0, (probes[0], probes[1])))
        made._keras_history = (self, node)
        node.structure, node.outputs = made, [made]
        return made

    def call(self, inputs: Any) -> Any:
        if isinstance(inputs, Tensor) and isinstance(inputs._value, _core.Symbolic):
            from ..._function import numpy_function

            found = numpy_function(lambda x: self.of_array(np.asarray(x)).numpy(), [inputs],
                                   as_dtype(self.result_dtype()))
            dims = self._dims(inputs._value.shape)
            return found if dims is None else Tensor(ensure_shape(found._value, dims))
        return self.of_array(_host_array(inputs, type(self).__name__))

    def _dims(self, shape: Any) -> list[int | None] | None:
        """The extents of the result in Dataset.map, as far as they are known."""
        if shape is None:
            return None
        a, b = (self.result_shape(tuple(size if n is None else n for n in shape), size) for size in PROBES)
        return [x if x == y else None for x, y in zip(a, b)] if len(a) == len(b) else None

    def of_array(self, values: Any) -> Any:
        raise NotImplementedError

    def result_dtype(self) -> str:
        return "int64" if getattr(self, "output_mode", "int") == "int" else "float32"

    def result_shape(self, shape: tuple[int, ...], unknown: int) -> tuple[int, ...]:
        """The shape for values of this one; `unknown` is an extent that is not known."""
        return shape


def _host_array(x: Any, who: str) -> Any:
    if isinstance(x, Tensor):
        if not x.is_concrete:
            raise NotImplementedError(
                f"keras.layers.{who} looks at strings, which cannot be traced; apply it to the data before "
                "the model, or with dataset.map through tf.py_function")
        return x.numpy() if x.shape.rank else np.asarray(x.numpy())
    return np.asarray(x)


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class _Lookup(_Host):
    """A vocabulary: tokens to ids, or back."""

    oov_default: Any = "[UNK]"

    def __init__(
        self, max_tokens: int | None = None, num_oov_indices: int = 1, mask_token: Any = None,
        oov_token: Any = None, vocabulary: Any = None, idf_weights: Any = None, invert: bool = False,
        output_mode: str = "int", pad_to_max_tokens: bool = False, sparse: bool = False,
        encoding: str = "utf-8", **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if output_mode == "tf_idf" or sparse:
            raise NotImplementedError(f"{type(self).__name__}(output_mode=\"tf_idf\", sparse=True) are not "
                                      "supported")
        self.max_tokens, self.num_oov_indices, self.mask_token = max_tokens, num_oov_indices, mask_token
        self.oov_token = self.oov_default if oov_token is None else oov_token
        self.invert, self.output_mode, self.pad_to_max_tokens = invert, output_mode, pad_to_max_tokens
        self._tokens: list[Any] = []
        self._counts: dict[Any, int] = {}
        if vocabulary is not None:
            self.set_vocabulary(vocabulary)

    def _token(self, value: Any) -> Any:
        return _text(value)

    def _special(self) -> list[Any]:
        mask = [self.mask_token] if self.mask_token is not None else []
        return mask + [self.oov_token] * self.num_oov_indices

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        if isinstance(vocabulary, str):
            with open(vocabulary, encoding="utf-8") as file:
                vocabulary = [line.rstrip("\n") for line in file]
        tokens = [self._token(each) for each in np.asarray(vocabulary).reshape(-1).tolist()]
        special = self._special()
        if tokens[: len(special)] == special:
            tokens = tokens[len(special):]
        if len(set(tokens)) != len(tokens):
            raise ValueError("The passed vocabulary has at least one repeated term.")
        self._tokens = tokens
        self._index()

    def _index(self) -> None:
        start = len(self._special())
        self._ids = {each: i + start for i, each in enumerate(self._tokens)}

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Builds the vocabulary of data, the most frequent tokens first."""
        self.reset_state()
        for each in _batches(data):
            self.update_state(each)
        self.finalize_state()

    def reset_state(self) -> None:
        self._counts, self._tokens = {}, []

    def update_state(self, data: Any) -> None:
        for value in np.asarray(data).reshape(-1).tolist():
            token = self._token(value)
            self._counts[token] = self._counts.get(token, 0) + 1

    def finalize_state(self) -> None:
        ignored = {self.mask_token, self.oov_token}
        found = [each for each in self._counts if each not in ignored]
        found.sort(key=lambda token: (self._counts[token], token), reverse=True)
        if self.max_tokens is not None:
            found = found[: self.max_tokens - len(self._special())]
        self._tokens = found
        self._index()

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        return (self._special() if include_special_tokens else []) + list(self._tokens)

    def vocabulary_size(self) -> int:
        return len(self._special()) + len(self._tokens)

    def _id(self, value: Any) -> int:
        token = self._token(value)
        if self.mask_token is not None and token == self.mask_token:
            return 0
        found = self._ids.get(token)
        if found is not None:
            return found
        if self.num_oov_indices == 0:
            raise ValueError(f"{self.name} has no id for {token!r}, and num_oov_indices=0")
        first = 1 if self.mask_token is not None else 0
        if self.num_oov_indices == 1:
            return first
        digest = hashlib.sha256(str(token).encode()).digest()
        return first + int.from_bytes(digest[:8], "little") % self.num_oov_indices

    def of_array(self, values: Any) -> Any:
        if not self._tokens:
            raise ValueError(f"When using {type(self).__name__}, the vocabulary must be set first: "
                             "set_vocabulary(), or adapt()")
        if self.invert:
            every = self.get_vocabulary()
            flat = [every[int(i)] if 0 <= int(i) < len(every) else self.oov_token
                    for i in np.asarray(values).reshape(-1).tolist()]
            if not flat or not isinstance(flat[0], str):
                return convert_to_tensor(np.asarray(flat, np.int64).reshape(np.shape(values)))
            made = np.empty(len(flat), object)
            made[:] = [each.encode() for each in flat]
            return convert_to_tensor(made.reshape(np.shape(values)))
        ids = np.asarray([self._id(each) for each in np.asarray(values).reshape(-1).tolist()], np.int64)
        ids = ids.reshape(np.shape(values))
        if self.output_mode == "int":
            return convert_to_tensor(ids)
        size = self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()
        return _encoded(pm.tensor(ids), size, self.output_mode, None)

    def result_dtype(self) -> str:
        if self.invert:
            return "string" if isinstance(self, StringLookup) else "int64"
        return super().result_dtype()

    def result_shape(self, shape: tuple[int, ...], unknown: int) -> tuple[int, ...]:
        if self.invert or self.output_mode == "int":
            return shape
        size = self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()
        if self.output_mode == "one_hot":
            return (*(shape[:-1] if shape and shape[-1] == 1 else shape), size)
        return (*shape[:-1], size)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "vocabulary": list(self._tokens) or None}


class StringLookup(_Lookup):
    pass


class IntegerLookup(_Lookup):
    oov_default = -1

    def _token(self, value: Any) -> Any:
        return int(value)


class Hashing(_Host):
    """A bin for each value, by a hash. The bins are not TensorFlow's."""

    def __init__(
        self, num_bins: int, mask_value: Any = None, salt: Any = None, output_mode: str = "int",
        sparse: bool = False, **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_bins, self.mask_value, self.salt, self.output_mode = num_bins, mask_value, salt, output_mode

    def of_array(self, values: Any) -> Any:
        def bin_of(value: Any) -> int:
            text = _text(value)
            if self.mask_value is not None and text == str(self.mask_value):
                return 0
            digest = hashlib.blake2b(f"{self.salt}:{text}".encode(), digest_size=8).digest()
            number = int.from_bytes(digest, "little")
            return number % self.num_bins if self.mask_value is None else 1 + number % (self.num_bins - 1)

        ids = np.asarray([bin_of(each) for each in np.asarray(values).reshape(-1).tolist()], np.int64)
        ids = ids.reshape(np.shape(values))
        if self.output_mode == "int":
            return convert_to_tensor(ids)
        return _encoded(pm.tensor(ids), self.num_bins, self.output_mode, None)
