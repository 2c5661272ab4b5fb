"""tf.config: devices, their memory, how functions run."""

from __future__ import annotations

from typing import Any

import plimsoll as pm
from plimsoll import _core

from . import _config, _names
from ._config import LogicalDevice, LogicalDeviceConfiguration, PhysicalDevice
from ._errors import unsupported
from ._function import functions_run_eagerly, run_functions_eagerly

__all__ = [
    "LogicalDevice", "LogicalDeviceConfiguration", "PhysicalDevice", "experimental",
    "functions_run_eagerly", "get_logical_device_configuration", "get_soft_device_placement",
    "get_visible_devices", "list_logical_devices", "list_physical_devices", "optimizer",
    "run_functions_eagerly", "set_logical_device_configuration", "set_soft_device_placement",
    "set_visible_devices", "threading",
]


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Devices of this machine: "CPU", "GPU", or all."""
    return [each for each in _config.physical() if device_type in (None, each.device_type)]


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Devices as they were divided: opens them."""
    found = []
    for kind in ("CPU", "GPU"):
        if device_type in (None, kind):
            found += [LogicalDevice(f"/device:{kind}:{i}", kind) for i, _ in enumerate(_config.logical(kind))]
    return found


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    return _config.visible(device_type)


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Hides the other devices of a type."""
    given = [] if devices is None else list(devices) if isinstance(devices, (list, tuple)) and not isinstance(devices, PhysicalDevice) else [devices]
    for kind in ("CPU", "GPU"):
        if device_type in (None, kind):
            if kind in _config.devices.opened:
                raise RuntimeError("Visible devices cannot be modified after being initialized")
            _config.devices.visible[kind] = [each for each in given if each.device_type == kind]


def set_logical_device_configuration(device: Any, logical_devices: Any) -> None:
    """Divides a device, or limits it: memory_limit is in MiB.

    >>> tf.config.set_logical_device_configuration(
    ...     gpu, [tf.config.LogicalDeviceConfiguration(memory_limit=4096)])
    """
    _config.configure(device, logical_devices)


def get_logical_device_configuration(device: Any) -> Any:
    return _config.devices.configured.get(_config.own_name(device))


def set_soft_device_placement(enabled: bool) -> None:
    if not enabled:
        unsupported("tf.config.set_soft_device_placement(False)", way="check tf.config.list_physical_devices('GPU')")


def get_soft_device_placement() -> bool:
    return True


_inter_op = [0]  # as it was set; 0 until then


class threading:
    """How many threads compute."""

    @staticmethod
    def set_intra_op_parallelism_threads(num_threads: int) -> None:
        pm.set_compute_threads(num_threads)

    @staticmethod
    def get_intra_op_parallelism_threads() -> int:
        return pm.compute_threads()

    @staticmethod
    def set_inter_op_parallelism_threads(num_threads: int) -> None:
        """A hint that changes nothing: ops run one after the other, and each divides its work."""
        _inter_op[0] = int(num_threads)

    @staticmethod
    def get_inter_op_parallelism_threads() -> int:
        return _inter_op[0]


class optimizer:
    """Plans are always optimized; XLA is not here."""

    @staticmethod
    def set_jit(enabled: Any) -> None:
        if enabled:
            unsupported("tf.config.optimizer.set_jit", way="functions are planned without it")

    @staticmethod
    def get_jit() -> str:
        return ""

    _options: dict[str, Any] = {}

    @staticmethod
    def set_experimental_options(options: dict[str, Any]) -> None:
        """Hints for how graphs are rewritten, which change no results. Plans are made without them."""
        optimizer._options.update(options)

    @staticmethod
    def get_experimental_options() -> dict[str, Any]:
        return dict(optimizer._options)


class experimental:
    """tf.config.experimental."""

    ClusterDeviceFilters = None
    VirtualDeviceConfiguration = LogicalDeviceConfiguration
    list_physical_devices = staticmethod(list_physical_devices)
    list_logical_devices = staticmethod(list_logical_devices)
    get_visible_devices = staticmethod(get_visible_devices)
    set_visible_devices = staticmethod(set_visible_devices)
    set_virtual_device_configuration = staticmethod(set_logical_device_configuration)
    get_virtual_device_configuration = staticmethod(get_logical_device_configuration)

    @staticmethod
    def set_memory_growth(device: Any, enable: bool) -> None:
        """True: memory is taken as it is needed, which it always is here. False takes all at once."""
        _config.set_growth(device, enable)

    @staticmethod
    def get_memory_growth(device: Any) -> bool:
        return _config.devices.growth.get(_config.own_name(device), False)

    @staticmethod
    def get_memory_info(device: str) -> dict[str, int]:
        """Bytes in use now, and the most there has been."""
        return _config.memory_info(device)

    @staticmethod
    def get_memory_usage(device: str) -> int:
        return _config.memory_info(device)["current"]

    @staticmethod
    def reset_memory_stats(device: str) -> None:
        _config.reset_memory_stats(device)

    @staticmethod
    def get_device_details(device: Any) -> dict[str, Any]:
        name = _config.own_name(device)
        found = next(each for each in pm.list_devices() if each["name"] == name)
        return {"device_name": found.get("description", name)}

    @staticmethod
    def enable_tensor_float_32_execution(enabled: bool) -> None:
        """Whether GPUs may multiply float32 with TF32, in this thread; they may unless it is said."""
        _config.tf32[0] = bool(enabled)
        _core._tf32(bool(enabled))

    @staticmethod
    def tensor_float_32_execution_enabled() -> bool:
        return _config.tf32[0]

    @staticmethod
    def enable_op_determinism() -> None:
        """Ops give the same bits for the same seed and inputs here without being asked."""

    @staticmethod
    def enable_mlir_graph_optimization() -> None:
        unsupported("tf.config.experimental.enable_mlir_graph_optimization")

    @staticmethod
    def set_synchronous_execution(enable: bool) -> None:
        if not enable:
            unsupported("tf.config.experimental.set_synchronous_execution(False)")

    @staticmethod
    def get_synchronous_execution() -> bool:
        return True


experimental_run_functions_eagerly = run_functions_eagerly
experimental_functions_run_eagerly = functions_run_eagerly


def __getattr__(name: str) -> Any:
    _names.missing(f"tf.config.{name}", __all__)
