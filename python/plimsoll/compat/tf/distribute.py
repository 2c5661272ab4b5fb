"""tf.distribute: one replica, which refuses to be more."""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator

from . import _config, _names
from ._errors import unsupported
from ._reduce import reduce_mean, reduce_sum

__all__ = [
    "MirroredStrategy", "OneDeviceStrategy", "ReduceOp", "Strategy", "get_replica_context",
    "get_strategy", "has_strategy", "in_cross_replica_context",
]


class ReduceOp:
    SUM, MEAN = "SUM", "MEAN"


class ReplicaContext:
    num_replicas_in_sync = 1
    replica_id_in_sync_group = 0

    def all_reduce(self, reduce_op: Any, value: Any, options: Any = None) -> Any:
        return value

    def merge_call(self, merge_fn: Callable[..., Any], args: Any = (), kwargs: Any = None) -> Any:
        return merge_fn(get_strategy(), *args, **(kwargs or {}))


class Strategy:
    """Runs functions on its one device."""

    num_replicas_in_sync = 1

    def __init__(self, device: Any = None) -> None:
        self._device = device
        self.extended = self

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        before = _current[0]
        _current[0] = self
        try:
            if self._device is None:
                yield self
            else:
                with _config.device(self._device):
                    yield self
        finally:
            _current[0] = before

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: Any = None) -> Any:
        with self.scope():
            return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op: Any, value: Any, axis: Any = None) -> Any:
        if axis is None:
            return value
        return (reduce_mean if str(reduce_op).upper().endswith("MEAN") else reduce_sum)(value, axis=axis)

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        return dataset

    def distribute_datasets_from_function(self, dataset_fn: Callable[..., Any], options: Any = None) -> Any:
        return dataset_fn(InputContext())

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        return value if isinstance(value, tuple) else (value,)

    def gather(self, value: Any, axis: int) -> Any:
        return value


class InputContext:
    num_input_pipelines, input_pipeline_id, num_replicas_in_sync = 1, 0, 1

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        return global_batch_size


class MirroredStrategy(Strategy):
    """One replica. More devices are refused: what it would do on several is not here."""

    def __init__(self, devices: Any = None, cross_device_ops: Any = None) -> None:
        named = [devices] if isinstance(devices, str) else list(devices or [])
        if len(named) > 1:
            unsupported("tf.distribute.MirroredStrategy", f"{len(named)} devices", "one device: MirroredStrategy(['/GPU:0'])")
        if not named and len(_config.visible("GPU")) > 1:
            unsupported("tf.distribute.MirroredStrategy", "several visible GPUs", "choose one: tf.config.set_visible_devices(gpus[0], 'GPU')")
        super().__init__(named[0] if named else ("/GPU:0" if _config.visible("GPU") else None))


class OneDeviceStrategy(Strategy):
    def __init__(self, device: str) -> None:
        super().__init__(device)


_current: list[Strategy | None] = [None]
_default = Strategy()


def get_strategy() -> Strategy:
    return _current[0] or _default


def has_strategy() -> bool:
    return _current[0] is not None


def get_replica_context() -> ReplicaContext:
    return ReplicaContext()


def in_cross_replica_context() -> bool:
    return _current[0] is not None


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.distribute.{name}", __all__)
