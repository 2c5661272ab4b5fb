"""Training inside a stated memory budget.

>>> import plimsoll as pm
>>> cpu = pm.device("cpu", limit="256MiB")
>>> x = pm.ones((2, 3), device=cpu)
"""

from __future__ import annotations

import atexit as _atexit
import os as _os
from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import errors as errors
from ._core import (
    Budget as Budget,
    Device as Device,
    DType as DType,
    GradientTape as GradientTape,
    Gradients as Gradients,
    Session as Session,
    Tensor as Tensor,
    Variable as Variable,
    compute_threads as compute_threads,
    default_device as default_device,
    device as device,
    format_bytes as format_bytes,
    from_dlpack as from_dlpack,
    from_numpy as from_numpy,
    list_devices as list_devices,
    load_safetensors as load_safetensors,
    parse_bytes as parse_bytes,
    save_safetensors as save_safetensors,
    set_compute_threads as set_compute_threads,
    set_default_device as set_default_device,
    set_seed as set_seed,
    tensor as tensor,
    version as _version,
)
from .errors import *
from .function import (
    Function as Function,
    ScanResult as ScanResult,
    function as function,
    scan as scan,
)
from .ops import *
from .train import (
    Callback as Callback,
    History as History,
    Metric as Metric,
    Run as Run,
    Trainer as Trainer,
    TrainingPlan as TrainingPlan,
)
from . import data as data, image as image, nn as nn, ops as ops, optim as optim
from . import plan as plan, report as report, strings as strings, train as train

from . import _assign as _assign, _core as _core, _hints as _hints, _notebook as _notebook, _numpy as _numpy, _pickle as _pickle

__version__ = _version()

f64, f32, f16, bf16 = DType.f64, DType.f32, DType.f16, DType.bf16
i64, i32, i16, i8 = DType.i64, DType.i32, DType.i16, DType.i8
u16, u8, bool_, bytes_ = DType.u16, DType.u8, DType.bool_, DType.bytes

if not _TYPE_CHECKING:  # type checkers know what there is
    __getattr__, _ = _hints.names_in(__name__, ())
_hints.hint_methods(Tensor, ops)
_hints.hint_methods(Variable, ops)
_hints.hint_text(data.Symbolic, ops, strings)
for _kind in (nn.Module, optim.Optimizer, data.Dataset, Trainer, History):
    _hints.hint_names(_kind)
for _kind in (optim.Optimizer, data.Dataset, Trainer):
    _assign.known_names_only(_kind)
for _kind in (data.Dataset, Trainer):
    _assign.refuse_to_set(_kind)
del _kind

_core._start_logging()
_atexit.register(_core._at_exit)
_atexit.register(_core._stop_logging)  # before the line above, in the order of exit handlers
_os.register_at_fork(after_in_child=_core._after_fork)
