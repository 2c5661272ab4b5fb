"""Metrics that count: precision, recall, AUC, F scores, intersection over union."""

from __future__ import annotations

import inspect
from typing import Any, Sequence

import numpy as np

import plimsoll as pm

from ._base import raw, read, wrap, write
from ._loss_functions import same_rank
from .losses import weight_like
from .metrics import Metric, _maybe, _ratio

Thresholds = float | Sequence[float] | None


def _flat(
    y_true: Any, y_pred: Any, sample_weight: Any, class_id: int | None = None
) -> tuple[pm.Tensor, pm.Tensor, pm.Tensor | None]:
    """Labels as 0 and 1, predictions and weights, in one row each."""
    p, t = raw(y_pred), raw(y_true)
    t, p = same_rank(t if t.dtype == p.dtype else pm.cast(t, p.dtype), p)
    weight = _maybe(sample_weight)
    if class_id is not None:
        t, p = t[..., class_id], p[..., class_id]
    if weight is not None:
        weight = pm.broadcast_to(weight_like(weight, p), p.shape).reshape((p.size,))
    return pm.cast(t.reshape((t.size,)) > 0.0, pm.f32), p.reshape((p.size,)), weight


class _Counting(Metric):
    """Counts of right and wrong predictions at each threshold."""

    _which: tuple[str, ...] = ()

    def __init__(
        self, thresholds: Thresholds = None, name: str | None = None, dtype: Any = None,
        top_k: int | None = None, class_id: int | None = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        if top_k is not None:
            raise NotImplementedError(f"{type(self).__name__}(top_k=...) is not supported")
        self.init_thresholds, self.class_id = thresholds, class_id
        found: Any = 0.5 if thresholds is None else thresholds
        self.thresholds = [float(x) for x in (found if isinstance(found, (list, tuple)) else [found])]
        self._states = {
            each: self.add_variable((len(self.thresholds),), name=each) for each in self._which
        }

    def _count(self, y_true: Any, y_pred: Any, sample_weight: Any) -> None:
        t, p, weight = _flat(y_true, y_pred, sample_weight, self.class_id)
        bounds = pm.tensor(np.asarray(self.thresholds, np.float32))
        positive = pm.cast(p.reshape((p.size, 1)) > bounds.reshape((1, len(self.thresholds))), pm.f32)
        true = t.reshape((t.size, 1))
        if weight is not None:
            weight = weight.reshape((weight.size, 1))
        for name, state in self._states.items():
            hits = {
                "true_positives": lambda: positive * true,
                "false_positives": lambda: positive * (1.0 - true),
                "true_negatives": lambda: (1.0 - positive) * (1.0 - true),
                "false_negatives": lambda: (1.0 - positive) * true,
            }[name]()
            if weight is not None:
                hits = hits * weight
            write(state, read(state) + pm.sum(hits, axis=0))

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        self._count(y_true, y_pred, sample_weight)

    def _one(self, x: pm.Tensor) -> Any:
        return wrap(x[0] if len(self.thresholds) == 1 else x)

    def result(self) -> Any:
        return self._one(read(self._states[self._which[0]]) * 1.0)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "thresholds": self.init_thresholds}


class TruePositives(_Counting):
    _which = ("true_positives",)


class TrueNegatives(_Counting):
    _which = ("true_negatives",)


class FalsePositives(_Counting):
    _which = ("false_positives",)


class FalseNegatives(_Counting):
    _which = ("false_negatives",)


class Precision(_Counting):
    _which = ("true_positives", "false_positives")

    def __init__(
        self, thresholds: Thresholds = None, top_k: int | None = None, class_id: int | None = None,
        name: str | None = None, dtype: Any = None,
    ) -> None:
        super().__init__(thresholds, name, dtype, top_k, class_id)

    def result(self) -> Any:
        first, second = (read(self._states[each]) for each in self._which)
        return self._one(_ratio(first, first + second))

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "class_id": self.class_id}


class Recall(Precision):
    _which = ("true_positives", "false_negatives")


class AUC(_Counting):
    """The area under the ROC curve or the precision-recall curve, by thresholds."""

    _which = ("true_positives", "true_negatives", "false_positives", "false_negatives")

    def __init__(
        self, num_thresholds: int = 200, curve: str = "ROC", summation_method: str = "interpolation",
        name: str | None = None, dtype: Any = None, thresholds: Any = None, multi_label: bool = False,
        num_labels: int | None = None, label_weights: Any = None, from_logits: bool = False,
    ) -> None:
        if multi_label or label_weights is not None:
            raise NotImplementedError("AUC(multi_label=True): make one AUC for each label instead")
        if summation_method != "interpolation" or curve not in ("ROC", "PR"):
            raise NotImplementedError(f"AUC(curve={curve!r}, summation_method={summation_method!r}): "
                                      "there are ROC and PR by interpolation")
        self.num_thresholds, self.curve, self.from_logits = num_thresholds, curve, from_logits
        self._inner = None if thresholds is None else [float(x) for x in thresholds]
        if thresholds is not None:
            inner = sorted(float(x) for x in thresholds)
        else:
            inner = [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        super().__init__([-1e-7] + inner + [1.0 + 1e-7], name, dtype)

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        if self.from_logits:
            y_pred = wrap(pm.sigmoid(raw(y_pred)))
        self._count(y_true, y_pred, sample_weight)

    def result(self) -> Any:
        tp, tn, fp, fn = (read(self._states[each]) for each in self._which)
        if self.curve == "PR":
            return wrap(_pr_area(tp, fp, fn))
        recall, wrong = _ratio(tp, tp + fn), _ratio(fp, fp + tn)
        heights = (recall[:-1] + recall[1:]) * 0.5
        return wrap(pm.sum((wrong[:-1] - wrong[1:]) * heights))

    def get_config(self) -> dict[str, Any]:
        return {"name": self.name, "dtype": self.dtype, "num_thresholds": self.num_thresholds,
                "curve": self.curve, "from_logits": self.from_logits, "thresholds": self._inner}


def _pr_area(tp: pm.Tensor, fp: pm.Tensor, fn: pm.Tensor) -> pm.Tensor:
    """Davis and Goadrich 2006: hits grow linearly between thresholds."""
    zero = pm.zeros_like(tp[1:])
    step = tp[:-1] - tp[1:]
    positives = tp + fp
    slope = _ratio(step, pm.maximum(positives[:-1] - positives[1:], 0.0))
    intercept = tp[1:] - slope * positives[1:]
    both = pm.logical_and(positives[:-1] > 0.0, positives[1:] > 0.0)
    safe = pm.where(both, _ratio(positives[:-1], pm.maximum(positives[1:], 0.0)), zero + 1.0)
    area = slope * (step + intercept * pm.log(safe))
    return pm.sum(_ratio(area, pm.maximum(tp[1:] + fn[1:], 0.0)))


class FBetaScore(Metric):
    def __init__(
        self, average: str | None = None, beta: float = 1.0, threshold: float | None = None,
        name: str | None = "fbeta_score", dtype: Any = None,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        self.average, self.beta, self.threshold = average, beta, threshold
        self._states: list[Any] = []

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        p, t = raw(y_pred), raw(y_true)
        t, p = same_rank(t if t.dtype == p.dtype else pm.cast(t, p.dtype), p)
        if not self._states:
            shape = () if self.average == "micro" else (int(p.shape[-1]),)
            names = ("true_positives", "false_positives", "false_negatives", "intermediate_weights")
            self._states = [self.add_variable(shape, name=each) for each in names]
        if self.threshold is None:
            top = pm.max(p, axis=-1, keepdims=True)
            chosen = pm.logical_and(p >= top, pm.abs(p) > 1e-9)
        else:
            chosen = p > self.threshold
        yes = pm.cast(chosen, pm.f32)
        weight = 1.0 if sample_weight is None else weight_like(raw(sample_weight), yes)
        counts = (yes * t * weight, yes * (1.0 - t) * weight, (1.0 - yes) * t * weight, t * weight)
        for state, each in zip(self._states, counts):
            write(state, read(state) + (pm.sum(each) if self.average == "micro" else pm.sum(each, axis=0)))

    def result(self) -> Any:
        if not self._states:
            return wrap(pm.zeros(()))
        tp, fp, fn, weights = (read(each) for each in self._states)
        precision, recall = _ratio(tp, tp + fp), _ratio(tp, tp + fn)
        squared = self.beta**2
        score = _ratio(precision * recall, precision * squared + recall) * (1.0 + squared)
        if self.average == "weighted":
            return wrap(pm.sum(score * _ratio(weights, pm.broadcast_to(pm.sum(weights), weights.shape))))
        return wrap(pm.mean(score) if self.average in ("macro", "micro") and score.ndim else score)

    def reset_state(self) -> None:
        if self._states:
            super().reset_state()

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "average": self.average, "beta": self.beta,
                "threshold": self.threshold}


class F1Score(FBetaScore):
    def __init__(
        self, average: str | None = None, threshold: float | None = None,
        name: str | None = "f1_score", dtype: Any = None,
    ) -> None:
        super().__init__(average, 1.0, threshold, name, dtype)

    def get_config(self) -> dict[str, Any]:
        found = super().get_config()
        del found["beta"]
        return found


class _Overlap(Metric):
    """A confusion matrix of classes."""

    def __init__(
        self, num_classes: int, name: str | None = None, dtype: Any = None,
        ignore_class: int | None = None, sparse_y_true: bool = True, sparse_y_pred: bool = True,
        axis: int = -1,
    ) -> None:
        super().__init__(dtype=dtype, name=name)
        if ignore_class is not None:
            raise NotImplementedError(f"{type(self).__name__}(ignore_class=...) is not supported")
        self.num_classes, self.axis = num_classes, axis
        self.sparse_y_true, self.sparse_y_pred = sparse_y_true, sparse_y_pred
        self.total_cm = self.add_variable((num_classes, num_classes), name="total_confusion_matrix")

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        t, p = raw(y_true), raw(y_pred)
        t = t if self.sparse_y_true else pm.argmax(t, axis=self.axis)
        p = p if self.sparse_y_pred else pm.argmax(p, axis=self.axis)
        rows = pm.one_hot(pm.cast(t.reshape((t.size,)), pm.i64), self.num_classes)
        columns = pm.one_hot(pm.cast(p.reshape((p.size,)), pm.i64), self.num_classes)
        if sample_weight is not None:
            weight = raw(sample_weight)
            rows = rows * pm.cast(pm.broadcast_to(weight, t.shape), pm.f32).reshape((t.size, 1))
        write(self.total_cm, read(self.total_cm) + pm.matmul(pm.transpose(rows), columns))

    def _scores(self) -> tuple[pm.Tensor, pm.Tensor]:
        matrix = read(self.total_cm)
        right = pm.sum(matrix * pm.eye(self.num_classes), axis=0)
        union = pm.sum(matrix, axis=0) + pm.sum(matrix, axis=1) - right
        return _ratio(right, union), pm.cast(union > 0.0, pm.f32)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the class's own __init__."""
        taken = inspect.signature(type(self).__init__).parameters
        own = ("num_classes", "target_class_ids", "threshold", "sparse_y_true", "sparse_y_pred", "axis")
        return {**super().get_config(), **{name: getattr(self, name) for name in own if name in taken}}


class MeanIoU(_Overlap):
    def result(self) -> Any:
        scores, seen = self._scores()
        return wrap(_ratio(pm.sum(scores), pm.sum(seen)))


class IoU(_Overlap):
    def __init__(
        self, num_classes: int, target_class_ids: Sequence[int], name: str | None = None,
        dtype: Any = None, ignore_class: int | None = None, sparse_y_true: bool = True,
        sparse_y_pred: bool = True, axis: int = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, sparse_y_true, sparse_y_pred, axis)
        self.target_class_ids = list(target_class_ids)

    def result(self) -> Any:
        scores, seen = self._scores()
        chosen = np.zeros(self.num_classes, np.float32)
        chosen[self.target_class_ids] = 1
        among = pm.tensor(chosen)
        return wrap(_ratio(pm.sum(scores * among), pm.sum(seen * among)))


class BinaryIoU(IoU):
    def __init__(
        self, target_class_ids: Sequence[int] = (0, 1), threshold: float = 0.5,
        name: str | None = None, dtype: Any = None,
    ) -> None:
        super().__init__(2, target_class_ids, name, dtype)
        self.threshold = threshold

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
        chosen = wrap(pm.cast(raw(y_pred) >= self.threshold, pm.i64))
        super().update_state(y_true, chosen, sample_weight)


class OneHotIoU(IoU):
    def __init__(
        self, num_classes: int, target_class_ids: Sequence[int], name: str | None = None,
        dtype: Any = None, ignore_class: int | None = None, sparse_y_pred: bool = False, axis: int = -1,
    ) -> None:
        super().__init__(num_classes, target_class_ids, name, dtype, ignore_class, False, sparse_y_pred,
                         axis)


class OneHotMeanIoU(MeanIoU):
    def __init__(
        self, num_classes: int, name: str | None = None, dtype: Any = None,
        ignore_class: int | None = None, sparse_y_pred: bool = False, axis: int = -1,
    ) -> None:
        super().__init__(num_classes, name, dtype, ignore_class, False, sparse_y_pred, axis)
