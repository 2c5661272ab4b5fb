"""First values of weights, with Keras's names and defaults. They are NumPy arrays: drawn once, on the host."""

from __future__ import annotations

import math
from typing import Any, Callable, Sequence

import numpy as np

from . import _random
from ._config import Configured, lookup

__all__ = [
    "Constant", "GlorotNormal", "GlorotUniform", "HeNormal", "HeUniform", "Identity", "Initializer",
    "LecunNormal", "LecunUniform", "Ones", "Orthogonal", "RandomNormal", "RandomUniform",
    "TruncatedNormal", "VarianceScaling", "Zeros", "constant", "deserialize", "get", "glorot_normal",
    "glorot_uniform", "he_normal", "he_uniform", "identity", "lecun_normal", "lecun_uniform", "ones",
    "orthogonal", "random_normal", "random_uniform", "serialize", "truncated_normal",
    "variance_scaling", "zeros",
]

Shape = Sequence[int]


class Initializer(Configured):
    """Base of all: override array(shape), or __call__(shape, dtype) as in Keras."""

    def array(self, shape: Shape) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no array(shape)")

    def __call__(self, shape: Shape, dtype: Any = None, **kwargs: Any) -> Any:
        from ._base import convert

        made = self.array(tuple(int(n) for n in shape))
        return convert(made, dtype if dtype is not None else "float32")


class Zeros(Initializer):
    def array(self, shape: Shape) -> Any:
        return np.zeros(shape, np.float32)


class Ones(Initializer):
    def array(self, shape: Shape) -> Any:
        return np.ones(shape, np.float32)


class Constant(Initializer):
    def __init__(self, value: Any = 0.0) -> None:
        self.value = value

    def array(self, shape: Shape) -> Any:
        return np.broadcast_to(np.asarray(self.value, np.float32), shape).copy()

    def get_config(self) -> dict[str, Any]:
        value = self.value
        return {"value": value.tolist() if hasattr(value, "tolist") else value}


class Identity(Initializer):
    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def array(self, shape: Shape) -> Any:
        if len(shape) != 2:
            raise ValueError(f"Identity initializer takes 2 dimensions; the shape is {tuple(shape)}")
        return self.gain * np.eye(*shape, dtype=np.float32)

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain}


class _Drawn(Initializer):
    seed: Any = None

    def generator(self) -> np.random.Generator:
        """With a seed the same values each time, as Keras does it."""
        if isinstance(self.seed, int):
            return np.random.default_rng(self.seed)
        return _random.generator()


def _scaled(drawn: Any, factor: float, offset: float) -> Any:
    """In place: weights may be large."""
    drawn *= np.float32(factor)
    drawn += np.float32(offset)
    return drawn


def _truncated(rng: np.random.Generator, shape: Shape, mean: float, stddev: float) -> Any:
    found = rng.standard_normal(shape, dtype=np.float32)
    while True:
        beyond = np.abs(found) > 2
        count = int(beyond.sum())
        if count == 0:
            return _scaled(found, stddev, mean)
        found[beyond] = rng.standard_normal(count, dtype=np.float32)


class RandomNormal(_Drawn):
    def __init__(self, mean: float = 0.0, stddev: float = 0.05, seed: Any = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def array(self, shape: Shape) -> Any:
        drawn = self.generator().standard_normal(shape, dtype=np.float32)
        return _scaled(drawn, self.stddev, self.mean)

    def get_config(self) -> dict[str, Any]:
        return {"mean": self.mean, "stddev": self.stddev, "seed": self.seed}


class TruncatedNormal(RandomNormal):
    def array(self, shape: Shape) -> Any:
        return _truncated(self.generator(), shape, self.mean, self.stddev)


class RandomUniform(_Drawn):
    def __init__(self, minval: float = -0.05, maxval: float = 0.05, seed: Any = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def array(self, shape: Shape) -> Any:
        drawn = self.generator().random(shape, dtype=np.float32)
        return _scaled(drawn, self.maxval - self.minval, self.minval)

    def get_config(self) -> dict[str, Any]:
        return {"minval": self.minval, "maxval": self.maxval, "seed": self.seed}


def fans(shape: Shape) -> tuple[float, float]:
    """What goes in and what comes out for a kernel in Keras's layout."""
    if len(shape) == 0:
        return 1, 1
    if len(shape) == 1:
        return shape[0], shape[0]
    if len(shape) == 2:
        return shape[0], shape[1]
    field = math.prod(shape[:-2])
    return shape[-2] * field, shape[-1] * field


class VarianceScaling(_Drawn):
    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal",
        seed: Any = None,
    ) -> None:
        if scale <= 0:
            raise ValueError(f"Argument `scale` must be positive float. Received: scale={scale}")
        if mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(f"Invalid `mode` argument: mode={mode}")
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def array(self, shape: Shape) -> Any:
        fan_in, fan_out = fans(shape)
        by = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        scale = self.scale / max(1.0, by)
        if self.distribution == "truncated_normal":
            return _truncated(self.generator(), shape, 0.0, math.sqrt(scale) / 0.87962566103423978)
        if self.distribution in ("normal", "untruncated_normal"):
            drawn = self.generator().standard_normal(shape, dtype=np.float32)
            return _scaled(drawn, math.sqrt(scale), 0.0)
        bound = math.sqrt(3 * scale)
        return _scaled(self.generator().random(shape, dtype=np.float32), 2 * bound, -bound)

    def get_config(self) -> dict[str, Any]:
        return {"scale": self.scale, "mode": self.mode, "distribution": self.distribution,
                "seed": self.seed}


class _Scaled(VarianceScaling):
    rule: tuple[float, str, str] = (1.0, "fan_in", "truncated_normal")

    def __init__(self, seed: Any = None) -> None:
        super().__init__(*self.rule, seed=seed)

    def get_config(self) -> dict[str, Any]:
        return {"seed": self.seed}


class GlorotUniform(_Scaled):
    rule = (1.0, "fan_avg", "uniform")


class GlorotNormal(_Scaled):
    rule = (1.0, "fan_avg", "truncated_normal")


class HeUniform(_Scaled):
    rule = (2.0, "fan_in", "uniform")


class HeNormal(_Scaled):
    rule = (2.0, "fan_in", "truncated_normal")


class LecunUniform(_Scaled):
    rule = (1.0, "fan_in", "uniform")


class LecunNormal(_Scaled):
    rule = (1.0, "fan_in", "truncated_normal")


class Orthogonal(_Drawn):
    def __init__(self, gain: float = 1.0, seed: Any = None) -> None:
        self.gain, self.seed = gain, seed

    def array(self, shape: Shape) -> Any:
        if len(shape) < 2:
            raise ValueError(f"Orthogonal initializer takes 2 or more dimensions; it is {tuple(shape)}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        flat = (max(rows, columns), min(rows, columns))
        q, r = np.linalg.qr(self.generator().standard_normal(flat))
        q = q * np.sign(np.diag(r))
        if rows < columns:
            q = q.T
        return (self.gain * q).reshape(shape).astype(np.float32)

    def get_config(self) -> dict[str, Any]:
        return {"gain": self.gain, "seed": self.seed}


zeros, ones, constant, identity = Zeros, Ones, Constant, Identity
random_normal, random_uniform, truncated_normal = RandomNormal, RandomUniform, TruncatedNormal
variance_scaling, orthogonal = VarianceScaling, Orthogonal
glorot_uniform, glorot_normal = GlorotUniform, GlorotNormal
he_uniform, he_normal = HeUniform, HeNormal
lecun_uniform, lecun_normal = LecunUniform, LecunNormal

_CLASSES = {
    each.__name__: each
    for each in (
        Zeros, Ones, Constant, Identity, RandomNormal, RandomUniform, TruncatedNormal, VarianceScaling,
        GlorotUniform, GlorotNormal, HeUniform, HeNormal, LecunUniform, LecunNormal, Orthogonal,
    )
}
_OTHER_NAMES = {"normal": "RandomNormal", "uniform": "RandomUniform", "one": "Ones", "zero": "Zeros",
                "IdentityInitializer": "Identity", "OrthogonalInitializer": "Orthogonal"}


def get(identifier: Any) -> Callable[..., Any] | None:
    """An initializer by name, class, configuration, or itself."""
    made: Callable[..., Any] | None = lookup(identifier, _CLASSES, "initializer", _OTHER_NAMES)
    return made


def serialize(initializer: Initializer) -> dict[str, Any]:
    return initializer.serialized()


def deserialize(config: Any, custom_objects: Any = None) -> Any:
    return get(config)


def __getattr__(name: str) -> Any:
    from .._names import missing

    missing(f"tf.keras.initializers.{name}", list(globals()))
