"""Devices: TensorFlow's names for them, which are visible, and their limits."""

from __future__ import annotations

import logging
import os
import re
import threading
from typing import Any, NamedTuple

import plimsoll as pm
from plimsoll import _core

from ._errors import unsupported


class PhysicalDevice(NamedTuple):
    name: str
    device_type: str


class LogicalDevice(NamedTuple):
    name: str
    device_type: str


class LogicalDeviceConfiguration:
    """A logical device: its limit in MiB."""

    def __init__(self, memory_limit: Any = None, experimental_priority: Any = None, experimental_device_ordinal: Any = None) -> None:
        if experimental_priority is not None:
            unsupported("tf.config.LogicalDeviceConfiguration", "experimental_priority")
        self.memory_limit = memory_limit

    def __repr__(self) -> str:
        return f"LogicalDeviceConfiguration(memory_limit={self.memory_limit})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogicalDeviceConfiguration) and other.memory_limit == self.memory_limit

    def __hash__(self) -> int:
        return hash(self.memory_limit)


class _Devices:
    """What the process knows of its devices."""

    def __init__(self) -> None:
        self.growth: dict[str, bool] = {}
        self.visible: dict[str, list[PhysicalDevice]] = {}
        self.configured: dict[str, list[LogicalDeviceConfiguration]] = {}
        self.opened: dict[str, list[pm.Device]] = {}
        self.warned = False


class _Placed(threading.local):
    """How many tf.device blocks this thread is in."""

    def __init__(self) -> None:
        self.blocks = 0


devices = _Devices()
placed = _Placed()
tf32 = [True]  # whether GPUs may multiply float32 with TF32: as TensorFlow begins
_MIB = 1 << 20
_RESERVE = 32 * _MIB  # for the interpreter and for libraries that are loaded later


def physical() -> list[PhysicalDevice]:
    """All devices of the machine, as TensorFlow names them."""
    found = []
    for each in pm.list_devices():
        kind, _, number = each["name"].partition(":")
        tf_kind = "GPU" if kind == "cuda" else "CPU"
        found.append(PhysicalDevice(f"/physical_device:{tf_kind}:{number or 0}", tf_kind))
    return found


def visible(kind: str | None = None) -> list[PhysicalDevice]:
    result = []
    for each in ("CPU", "GPU"):
        if kind in (None, each):
            result.extend(devices.visible.get(each, [d for d in physical() if d.device_type == each]))
    return result


def own_name(device: Any) -> str:
    """"cuda:0" of a physical device."""
    kind, number = parse(device.name if hasattr(device, "name") else str(device))
    return f"{'cuda' if kind == 'GPU' else 'cpu'}:{number}"


def parse(name: str) -> tuple[str, int]:
    """("GPU", 0) of "/device:GPU:0", "gpu:0", "/job:localhost/replica:0/task:0/device:GPU:0"."""
    found = re.search(r"(?:^|[/:])(cpu|gpu|xla_gpu|cuda)(?::(\d+|\*))?$", name.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"Unknown attribute: '{name}' while parsing device name: '{name}'")
    kind = "CPU" if found.group(1).lower() == "cpu" else "GPU"
    return kind, 0 if found.group(2) in (None, "*") else int(found.group(2))


def logical(kind: str) -> list[pm.Device]:
    """The devices behind /CPU:0, /CPU:1 ... or /GPU:0 ...: split where that was configured."""
    if kind in devices.opened:
        return devices.opened[kind]
    result: list[pm.Device] = []
    for each in visible(kind):
        name = own_name(each)
        wanted = devices.configured.get(name)
        growth = devices.growth.get(name)
        if wanted and (len(wanted) > 1 or wanted[0].memory_limit is not None):
            result.extend(_split(name, wanted))
        else:
            preallocate = kind == "GPU" and growth is False
            result.append(pm.device(name, preallocate=True) if preallocate else pm.device(name))
    devices.opened[kind] = result
    if kind == "GPU" and result:
        _core._tf32(tf32[0])
    return result


def _split(name: str, wanted: list[LogicalDeviceConfiguration]) -> list[pm.Device]:
    limits = [None if each.memory_limit is None else int(each.memory_limit * _MIB) for each in wanted]
    if len(limits) == 1 and limits[0] is not None:
        return [pm.device(name, limit=limits[0])]
    whole = pm.device(name)
    unlimited = sum(each is None for each in limits)
    if unlimited == 0:
        return whole.split([each for each in limits if each is not None])
    if name.startswith("cuda"):
        raise ValueError("memory_limit must be given for each of several logical GPUs: "
                         "tf.config.LogicalDeviceConfiguration(memory_limit=1024) is 1 GiB")
    # CPUs without a limit of their own have equal parts of what the others leave.
    rest = (whole.budget.limit or 0) - sum(each or 0 for each in limits)
    if rest < unlimited * _MIB:
        raise ValueError(f"the logical devices with a memory_limit leave {max(rest, 0) // _MIB} MiB for the {unlimited} without one; lower their memory_limit")
    return whole.split([rest // unlimited if each is None else each for each in limits])


def initialized() -> bool:
    return bool(devices.opened)


def pm_device(name: Any) -> pm.Device:
    """The library's device behind a name of TensorFlow's; the CPU where there is no such GPU."""
    if isinstance(name, pm.Device):
        return name
    kind, number = parse(getattr(name, "name", name))
    found = logical(kind)
    if number < len(found):
        return found[number]
    if kind == "GPU" and not found:
        if not devices.warned:
            devices.warned = True
            logging.getLogger("plimsoll").warning("there is no %s: using the CPU, as TensorFlow's soft placement does", name)
        return logical("CPU")[0]
    raise RuntimeError(f"{name} unknown device: there are {len(found)} logical devices of type {kind}")


def current_device() -> pm.Device:
    """Where tensors go that are made now."""
    prepare()
    return pm.default_device()


def prepare() -> None:
    """Opens the CPU within the limit that was configured, before its first use."""
    if "CPU" not in devices.opened and devices.configured.get("cpu:0"):
        pm.set_default_device(logical("CPU")[0])


_stated: list[int] = []  # the limit that the CPU had at first, where nobody has stated one


def mind_others() -> None:
    """Before something large is planned: where no limit is stated, it is what is free now, without
    the memory that the script's arrays have taken since the device was opened."""
    device = current_device()
    if "PLIMSOLL_BUDGET" in os.environ or devices.configured.get("cpu:0") or device.name != "cpu:0":
        return
    budget = device.budget
    free = next((int(each["free"]) for each in pm.list_devices() if each["name"] == "cpu:0"), None)
    if free is None or budget.limit is None:
        return
    if not _stated:
        _stated.append(int(budget.limit))
    room = max(0, free - free // 64 - _RESERVE)
    budget.limit = min(_stated[0], max(budget.used + room, budget.used, _MIB))


def device_string(value: Any) -> str:
    """"/job:localhost/replica:0/task:0/device:CPU:0" for a tensor's device."""
    found = getattr(value, "device", None)
    if not isinstance(found, pm.Device):
        return "/job:localhost/replica:0/task:0/device:CPU:0"
    kind = "GPU" if found.kind == "cuda" else "CPU"
    at = next((i for i, each in enumerate(devices.opened.get(kind, [])) if each == found), found.ordinal)
    return f"/job:localhost/replica:0/task:0/device:{kind}:{at}"


class device:
    """Tensors of the block go to a device.

    >>> with tf.device("/GPU:0"):
    ...     x = tf.zeros([2, 3])
    """

    def __init__(self, device_name: Any) -> None:
        self._name = device_name
        self._scopes: list[Any] = []

    def __enter__(self) -> None:
        prepare()
        # A traced function is planned for one device.
        stays = self._name is None or callable(self._name) or _core._tracing()
        scope = _core._Here(pm.default_device() if stays else pm_device(self._name))
        scope.__enter__()
        self._scopes.append(scope)
        placed.blocks += 1

    def __exit__(self, *raised: Any) -> None:
        placed.blocks -= 1
        self._scopes.pop().__exit__(*raised)


def set_growth(device: Any, enable: bool) -> None:
    name = own_name(device)
    if initialized() and devices.growth.get(name) != bool(enable) and name.startswith("cuda"):
        raise RuntimeError("Physical devices cannot be modified after being initialized")
    devices.growth[name] = bool(enable)


def configure(device: Any, logical_devices: Any) -> None:
    name = own_name(device)
    wanted = list(logical_devices)
    kind = "GPU" if name.startswith("cuda") else "CPU"
    if kind in devices.opened and devices.configured.get(name) != wanted:
        raise RuntimeError("Virtual devices cannot be modified after being initialized")
    if devices.growth.get(name) and kind == "GPU" and any(each.memory_limit for each in wanted):
        raise ValueError("Cannot set memory growth on device when virtual devices configured")
    devices.configured[name] = wanted
    if kind == "CPU":
        prepare()


def memory_info(name: str) -> dict[str, int]:
    found = pm_device(name)
    return {"current": found.used, "peak": found.peak}


def reset_memory_stats(name: str) -> None:
    pm_device(name).budget.reset_peak()
