"""Computing in 16 bits with weights in 32: policies, in Keras's spelling of today and of 2.3."""

from __future__ import annotations

import types
from typing import Any

from .. import _dtypes
from ._base import floatx

__all__ = ["DTypePolicy", "LossScaleOptimizer", "Policy", "dtype_policy", "experimental",
           "global_policy", "set_dtype_policy", "set_global_policy"]


class Policy:
    """"float32", "mixed_float16", "mixed_bfloat16": what layers compute in, and what weights are."""

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            name = _dtypes.as_dtype(name).name
        self._name = name
        if name.startswith("mixed_"):
            self._compute, self._variable = name[len("mixed_"):], "float32"
            if self._compute not in ("float16", "bfloat16"):
                raise ValueError(f"Cannot convert '{name}' to a mixed precision DTypePolicy. Valid "
                                 "policies include 'mixed_float16', 'mixed_bfloat16'.")
        else:
            self._compute = self._variable = _dtypes.as_dtype(name).name

    @property
    def name(self) -> str:
        return self._name

    @property
    def compute_dtype(self) -> str:
        return self._compute

    @property
    def variable_dtype(self) -> str:
        return self._variable

    def get_config(self) -> dict[str, Any]:
        return {"name": self._name}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Policy:
        return cls(**config)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Policy) and other._name == self._name

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f'<DTypePolicy "{self._name}">'


DTypePolicy = Policy
_global: list[Policy | None] = [None]


def global_policy() -> Policy:
    return _global[0] or Policy(floatx())


dtype_policy = global_policy


def set_global_policy(policy: Any) -> None:
    """What layers that are made from now on use."""
    _global[0] = None if policy is None else policy_of(policy)


set_dtype_policy = set_global_policy


def policy_of(dtype: Any) -> Policy:
    if dtype is None:
        return global_policy()
    if isinstance(dtype, dict):
        dtype = dtype.get("config", dtype).get("name")
    return dtype if isinstance(dtype, Policy) else Policy(dtype)


experimental = types.SimpleNamespace(
    Policy=Policy, set_policy=set_global_policy, global_policy=global_policy
)


def __getattr__(name: str) -> Any:
    if name == "LossScaleOptimizer":
        from .optimizers import LossScaleOptimizer

        return LossScaleOptimizer
    raise AttributeError(f"module 'keras.mixed_precision' has no attribute '{name}'")
