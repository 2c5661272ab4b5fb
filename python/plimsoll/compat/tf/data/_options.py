"""tf.data.Options: accepted as hints. The order of elements follows `deterministic`; threads and
buffers are the pipeline's own choice, within its budget."""

from __future__ import annotations

from typing import Any


class AutoShardPolicy:
    OFF, AUTO, FILE, DATA, HINT = -1, 0, 1, 2, 3


class ExternalStatePolicy:
    WARN, IGNORE, FAIL = 0, 1, 2


class _Group:
    """Options of one kind; those it does not know are mistakes."""

    _names: tuple[str, ...] = ()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self._names:
            raise AttributeError(
                f"Cannot set the property {name} on {type(self).__name__}: it has {', '.join(self._names)}"
            )
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name in type(self)._names:
            return None
        raise AttributeError(f"{type(self).__name__} has no option {name}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return id(type(self))


class ThreadingOptions(_Group):
    _names = ("max_intra_op_parallelism", "private_threadpool_size")


class AutotuneOptions(_Group):
    _names = ("enabled", "cpu_budget", "ram_budget", "autotune_algorithm", "initial_parallelism", "min_parallelism")


class DistributeOptions(_Group):
    _names = ("auto_shard_policy", "num_devices")


class OptimizationOptions(_Group):
    _names = (
        "apply_default_optimizations", "filter_fusion", "filter_parallelization", "inject_prefetch",
        "map_and_batch_fusion", "map_and_filter_fusion", "map_fusion", "map_parallelization",
        "noop_elimination", "parallel_batch", "seq_interleave_prefetch", "shuffle_and_repeat_fusion",
        "warm_start",
    )


class Options(_Group):
    """How a pipeline runs.

    >>> options = tf.data.Options()
    >>> options.deterministic = False
    >>> dataset = dataset.with_options(options)
    """

    _names = (
        "autotune", "dataset_name", "deterministic", "distribute", "experimental_deterministic",
        "experimental_distribute", "experimental_external_state_policy", "experimental_optimization",
        "experimental_slack", "experimental_symbolic_checkpoint", "experimental_threading",
        "experimental_warm_start", "framework_type", "optimization", "threading",
    )

    def __init__(self) -> None:
        for name, group in (
            ("autotune", AutotuneOptions()), ("experimental_distribute", DistributeOptions()),
            ("experimental_optimization", OptimizationOptions()), ("threading", ThreadingOptions()),
        ):
            object.__setattr__(self, name, group)
        object.__setattr__(self, "experimental_threading", self.threading)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name == "experimental_deterministic":
            super().__setattr__("deterministic", value)

    def merge(self, options: Options) -> Options:
        """These, with what others say."""
        made = Options()
        for each in (self, options):
            for name, value in vars(each).items():
                if value is not None:
                    object.__setattr__(made, name, value)
        return made
