"""Metrics that choose the best of many thresholds."""

from __future__ import annotations

from typing import Any

import plimsoll as pm

from ._base import read, wrap
from ._confusion import _Counting
from .metrics import _ratio


class _BestAt(_Counting):
    """The largest of one ratio among the thresholds at which another one is at least `value`."""

    _which = ("true_positives", "true_negatives", "false_positives", "false_negatives")
    _argument = ""

    def __init__(
        self, value: float, num_thresholds: int = 200, class_id: int | None = None, name: str | None = None, dtype: Any = None
    ) -> None:
        if not 0 <= value <= 1:
            raise ValueError(f"Argument `{self._argument}` must be in the range [0, 1]. Received: {self._argument}={value}")
        if num_thresholds <= 0:
            raise ValueError(f"Argument `num_thresholds` must be an integer > 0. Received: num_thresholds={num_thresholds}")
        self.value, self.num_thresholds = value, num_thresholds
        inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        super().__init__([0.5] if num_thresholds == 1 else [0.0, *inner, 1.0], name, dtype, None, class_id)

    def _ratios(self, tp: pm.Tensor, tn: pm.Tensor, fp: pm.Tensor, fn: pm.Tensor) -> tuple[pm.Tensor, pm.Tensor]:
        """What must be at least `value`, and what is wanted."""
        raise NotImplementedError

    def result(self) -> Any:
        bound, wanted = self._ratios(*(read(self._states[each]) for each in self._which))
        return wrap(pm.max(wanted * pm.cast(bound >= self.value, pm.f32)))

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype, "num_thresholds": self.num_thresholds, "class_id": self.class_id,
                self._argument: self.value}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        return cls(config[cls._argument], **{key: value for key, value in config.items() if key != cls._argument})


class SensitivityAtSpecificity(_BestAt):
    _argument = "specificity"

    def __init__(self, specificity: float, *args: Any, **kwargs: Any) -> None:
        super().__init__(specificity, *args, **kwargs)

    def _ratios(self, tp: pm.Tensor, tn: pm.Tensor, fp: pm.Tensor, fn: pm.Tensor) -> tuple[pm.Tensor, pm.Tensor]:
        return _ratio(tn, tn + fp), _ratio(tp, tp + fn)


class SpecificityAtSensitivity(_BestAt):
    _argument = "sensitivity"

    def __init__(self, sensitivity: float, *args: Any, **kwargs: Any) -> None:
        super().__init__(sensitivity, *args, **kwargs)

    def _ratios(self, tp: pm.Tensor, tn: pm.Tensor, fp: pm.Tensor, fn: pm.Tensor) -> tuple[pm.Tensor, pm.Tensor]:
        return _ratio(tp, tp + fn), _ratio(tn, tn + fp)


class PrecisionAtRecall(_BestAt):
    _argument = "recall"

    def __init__(self, recall: float, *args: Any, **kwargs: Any) -> None:
        super().__init__(recall, *args, **kwargs)

    def _ratios(self, tp: pm.Tensor, tn: pm.Tensor, fp: pm.Tensor, fn: pm.Tensor) -> tuple[pm.Tensor, pm.Tensor]:
        return _ratio(tp, tp + fn), _ratio(tp, tp + fp)


class RecallAtPrecision(_BestAt):
    _argument = "precision"

    def __init__(self, precision: float, *args: Any, **kwargs: Any) -> None:
        super().__init__(precision, *args, **kwargs)

    def _ratios(self, tp: pm.Tensor, tn: pm.Tensor, fp: pm.Tensor, fn: pm.Tensor) -> tuple[pm.Tensor, pm.Tensor]:
        return _ratio(tp, tp + fp), _ratio(tp, tp + fn)
