"""Small helpers of keras.utils: a progress bar for loops of one's own, parts of batches, messages."""

from __future__ import annotations

import sys
import time
from typing import Any

from ._base import static_shape
from ._config import get_custom_objects, registered_name

_interactive = [True]


class Progbar:
    """Shows how far a loop is, and means of its numbers.

    >>> bar = tf.keras.utils.Progbar(steps, stateful_metrics=["accuracy"])
    >>> bar.update(step + 1, values=[("loss", loss)])
    """

    def __init__(
        self, target: int | None, width: int = 20, verbose: int = 1, interval: float = 0.05, stateful_metrics: Any = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose, self.interval, self.unit_name = target, width, verbose, interval, unit_name
        self._stateful = set(stateful_metrics or [])
        self._values: dict[str, tuple[float, float]] = {}
        self._start = self._last = time.monotonic()
        self._shown = 0.0
        self._seen = 0

    def update(self, current: int, values: Any = None, finalize: bool | None = None) -> None:
        done = finalize if finalize is not None else self.target is not None and current >= self.target
        for name, value in (values.items() if isinstance(values, dict) else values or []):
            number = float(value)
            total, count = self._values.get(name, (0.0, 0.0))
            step = max(current - self._seen, 1)
            self._values[name] = (number, 1.0) if name in self._stateful else (total + number * step, count + step)
        self._seen = current
        now = time.monotonic()
        if not self.verbose or (not done and (self.verbose == 2 or now - self._shown < self.interval)):
            return
        self._shown = now
        share = min(current / self.target, 1.0) if self.target else 1.0
        bar = "━" * int(self.width * share) + "─" * (self.width - int(self.width * share))
        each = (now - self._start) / max(current, 1)
        text = f"{current}/{self.target or 'Unknown'} {bar} {now - self._start:.0f}s {1000 * each:.0f}ms/{self.unit_name}"
        for name, (total, count) in self._values.items():
            text += f" - {name}: {total / max(count, 1e-30):.4f}"
        sys.stdout.write(("\r" if sys.stdout.isatty() else "") + text + ("\n" if done or not sys.stdout.isatty() else ""))
        sys.stdout.flush()

    def add(self, n: int, values: Any = None) -> None:
        self.update(self._seen + n, values)


def unpack_x_y_sample_weight(data: Any) -> tuple[Any, Any, Any]:
    """x, y and weights of what train_step is given; None for those that are missing."""
    if not isinstance(data, (tuple, list)):
        return data, None, None
    if isinstance(data, list):
        data = tuple(data)
    if not 1 <= len(data) <= 3:
        raise ValueError("Data is expected to be in format `x`, `(x,)`, `(x, y)`, or `(x, y, sample_weight)`, found: "
                         f"{len(data)} parts")
    return (*data, None, None)[:3]


def pack_x_y_sample_weight(x: Any, y: Any = None, sample_weight: Any = None) -> Any:
    if sample_weight is not None:
        return x, y, sample_weight
    return (x, y) if y is not None else (x,) if isinstance(x, (tuple, list)) else x


def get_registered_object(name: str, custom_objects: Any = None, module_objects: Any = None) -> Any:
    for known in (custom_objects or {}, get_custom_objects(), module_objects or {}):
        if name in known:
            return known[name]
    return None


def get_registered_name(obj: Any) -> str:
    return registered_name(obj)


def enable_interactive_logging() -> None:
    _interactive[0] = True


def disable_interactive_logging() -> None:
    _interactive[0] = False


def is_interactive_logging_enabled() -> bool:
    return _interactive[0]


class InputSpec:
    """What a layer takes: its rank, its shape, or extents of single axes."""

    def __init__(
        self, dtype: Any = None, shape: Any = None, ndim: int | None = None, max_ndim: int | None = None,
        min_ndim: int | None = None, axes: Any = None, allow_last_axis_squeeze: bool = False, name: str | None = None,
        optional: bool = False,
    ) -> None:
        self.dtype, self.name, self.optional = dtype, name, optional
        self.shape = None if shape is None else tuple(shape)
        self.ndim = len(self.shape) if self.shape is not None else ndim
        self.max_ndim, self.min_ndim = max_ndim, min_ndim
        self.axes = {int(key): value for key, value in (axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze

    def check(self, shape: Any, layer: str) -> None:
        """ValueError where a shape is not what the layer takes."""
        lead = f"Input 0 of layer \"{layer}\" is incompatible with the layer: expected "
        rank = len(shape)
        for name, fits in (("ndim", self.ndim is None or rank == self.ndim),
                           ("min_ndim", self.min_ndim is None or rank >= self.min_ndim),
                           ("max_ndim", self.max_ndim is None or rank <= self.max_ndim)):
            if not fits:
                raise ValueError(f"{lead}{name}={getattr(self, name)}, found ndim={rank}. Full shape received: {tuple(shape)}")
        wanted = dict(self.axes) if self.shape is None else {**dict(enumerate(self.shape)), **self.axes}
        for axis, extent in wanted.items():
            if extent is not None and shape[axis] not in (extent, None):
                raise ValueError(f"{lead}axis {axis} of input shape to have value {extent}, but received input with shape "
                                 f"{tuple(shape)}")


def check_inputs(spec: Any, args: Any, layer: str) -> None:
    """Compares the inputs of a call with the layer's input_spec."""
    specs = spec if isinstance(spec, (list, tuple)) else [spec]
    given = args[0] if args and isinstance(args[0], (list, tuple)) else args[:1]
    for one, value in zip(specs, given):
        if isinstance(one, InputSpec) and value is not None:
            one.check(static_shape(value), layer)
