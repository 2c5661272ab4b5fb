"""keras.config: floats, dtypes, and how much is shown."""

from __future__ import annotations

from typing import Any

from .. import debugging as _debugging
from . import backend as _backend
from .backend import (
    backend as backend, epsilon as epsilon, floatx as floatx, set_epsilon as set_epsilon, set_floatx as set_floatx,
)
from ._utilities import (
    disable_interactive_logging as disable_interactive_logging, enable_interactive_logging as enable_interactive_logging,
    is_interactive_logging_enabled as is_interactive_logging_enabled,
)
from .mixed_precision import global_policy as dtype_policy, set_global_policy as set_dtype_policy

__all__ = [
    "backend", "disable_flash_attention", "disable_interactive_logging", "disable_traceback_filtering", "dtype_policy",
    "enable_flash_attention", "enable_interactive_logging", "enable_traceback_filtering",
    "enable_unsafe_deserialization", "epsilon", "floatx", "is_flash_attention_enabled",
    "is_interactive_logging_enabled", "is_traceback_filtering_enabled", "set_dtype_policy", "set_epsilon", "set_floatx",
]

enable_traceback_filtering = _debugging.enable_traceback_filtering
disable_traceback_filtering = _debugging.disable_traceback_filtering
is_traceback_filtering_enabled = _debugging.is_traceback_filtering_enabled


def enable_flash_attention() -> None:
    """Attention never stores its scores, unless they are asked for."""


def disable_flash_attention() -> None:
    raise NotImplementedError(
        "keras.config.disable_flash_attention is not supported; ask for the scores (return_attention_scores=True)")


def is_flash_attention_enabled() -> bool:
    return True


def enable_unsafe_deserialization() -> None:
    raise NotImplementedError(
        "keras.config.enable_unsafe_deserialization is not supported: functions are not stored in files; "
        "give load_model(custom_objects=...)")


def __getattr__(name: str) -> Any:
    return getattr(_backend, name)
