"""Losses, metrics, optimizers and schedules with arguments, written down and made again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plimsoll.compat.tf as tf

K: Any = tf.keras

LOSSES: dict[str, dict[str, Any]] = {
    "Huber": dict(delta=0.5, reduction="sum"), "CosineSimilarity": dict(axis=0),
    "BinaryCrossentropy": dict(from_logits=True, label_smoothing=0.2),
    "CategoricalCrossentropy": dict(from_logits=True, label_smoothing=0.2),
    "SparseCategoricalCrossentropy": dict(from_logits=True, ignore_class=1),
    "BinaryFocalCrossentropy": dict(apply_class_balancing=True, alpha=0.4, gamma=3.0, from_logits=True),
    "CategoricalFocalCrossentropy": dict(alpha=0.4, gamma=3.0, label_smoothing=0.1),
    "Dice": dict(axis=[1]), "Tversky": dict(alpha=0.3, beta=0.7), "MeanSquaredError": dict(reduction=None, name="mine"),
}
METRICS: dict[str, dict[str, Any]] = {
    "BinaryAccuracy": dict(threshold=0.7), "TopKCategoricalAccuracy": dict(k=2),
    "SparseTopKCategoricalAccuracy": dict(k=3), "BinaryCrossentropy": dict(from_logits=True, label_smoothing=0.1),
    "CategoricalCrossentropy": dict(from_logits=True), "SparseCategoricalCrossentropy": dict(from_logits=True),
    "CosineSimilarity": dict(axis=0), "R2Score": dict(class_aggregation="variance_weighted_average"),
    "MeanTensor": dict(shape=[2, 3]), "TruePositives": dict(thresholds=[0.3, 0.6]),
    "Precision": dict(thresholds=0.7, class_id=1), "Recall": dict(thresholds=[0.2, 0.4], class_id=0),
    "AUC": dict(num_thresholds=50, curve="PR", from_logits=True), "FBetaScore": dict(average="macro", beta=2.0, threshold=0.4),
    "F1Score": dict(average="micro", threshold=0.4), "MeanIoU": dict(num_classes=3),
    "IoU": dict(num_classes=3, target_class_ids=[0, 2], sparse_y_pred=False),
    "BinaryIoU": dict(target_class_ids=[1], threshold=0.3), "OneHotIoU": dict(num_classes=3, target_class_ids=[1]),
    "OneHotMeanIoU": dict(num_classes=3, sparse_y_pred=True),
    "PrecisionAtRecall": dict(recall=0.6, num_thresholds=20), "SensitivityAtSpecificity": dict(specificity=0.4),
}
OPTIMIZERS: dict[str, dict[str, Any]] = {
    "SGD": dict(momentum=0.8, nesterov=True, clipnorm=1.0), "RMSprop": dict(rho=0.8, momentum=0.1, epsilon=1e-5, centered=True),
    "Adam": dict(beta_1=0.8, beta_2=0.98, epsilon=1e-5, amsgrad=True, global_clipnorm=2.0),
    "AdamW": dict(weight_decay=0.01, clipvalue=0.5), "Adadelta": dict(rho=0.9, epsilon=1e-6),
    "Adagrad": dict(initial_accumulator_value=0.2), "Adamax": dict(beta_1=0.8), "Nadam": dict(beta_2=0.98),
    "Ftrl": dict(learning_rate_power=-0.4, l1_regularization_strength=0.01, l2_regularization_strength=0.02, beta=0.1),
    "Lion": dict(beta_1=0.8, weight_decay=0.1), "Lamb": dict(epsilon=1e-5),
    "Adafactor": dict(beta_2_decay=-0.7, clip_threshold=2.0, relative_step=False),
}


def again(module: Any, made: Any) -> Any:
    """What a file has of it."""
    return module.deserialize(json.loads(json.dumps(module.serialize(made))))


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_made_again_has_its_arguments(name: str) -> None:
    made = getattr(K.losses, name)(**LOSSES[name])
    config = again(K.losses, made).get_config()
    assert config == made.get_config()
    assert {key: config[key] for key in LOSSES[name]} == LOSSES[name]


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_made_again_has_its_arguments(name: str) -> None:
    made = getattr(K.metrics, name)(name="mine", **METRICS[name])
    config = again(K.metrics, made).get_config()
    assert config == made.get_config()
    assert {key: config[key] for key in METRICS[name]} == METRICS[name]


def test_thresholds_of_an_area_stay() -> None:
    made = K.metrics.AUC(thresholds=[0.25, 0.75])
    assert again(K.metrics, made).thresholds == made.thresholds


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_an_optimizer_made_again_has_its_arguments(name: str) -> None:
    made = getattr(K.optimizers, name)(learning_rate=0.125, use_ema=True, ema_momentum=0.9, **OPTIMIZERS[name])
    config = again(K.optimizers, made).get_config()
    assert config == made.get_config()
    wanted = dict(learning_rate=0.125, use_ema=True, ema_momentum=0.9, **OPTIMIZERS[name])
    assert {key: config[key] for key in wanted} == wanted


def test_a_scaled_optimizer_made_again_has_its_scale_and_its_inner_one() -> None:
    made = K.optimizers.LossScaleOptimizer(K.optimizers.SGD(0.5, momentum=0.75), initial_scale=64.0, dynamic_growth_steps=3)
    found = again(K.optimizers, made)
    assert found.get_config() == made.get_config()
    assert float(found.dynamic_scale.numpy()) == 64.0 and found.inner_optimizer.momentum == 0.75


def test_a_schedule_made_again_has_its_arguments() -> None:
    s = K.optimizers.schedules
    for made in (s.ExponentialDecay(0.1, 10, 0.5, staircase=True), s.PiecewiseConstantDecay([3, 6], [0.3, 0.2, 0.1]),
                 s.PolynomialDecay(0.1, 10, 0.01, power=2.0, cycle=True), s.InverseTimeDecay(0.1, 5, 0.5),
                 s.CosineDecay(0.1, 10, alpha=0.2, warmup_target=0.3, warmup_steps=4), s.CosineDecayRestarts(0.1, 5, 1.5, 0.9)):
        found = again(K.optimizers, K.optimizers.Adam(made))
        assert found._schedule.get_config() == made.get_config()
        assert float(found._schedule(7)) == pytest.approx(float(made(7)))


def test_a_reloaded_model_evaluates_as_before(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(64, 4)).astype("float32")
    y = 3 * x.sum(axis=1, keepdims=True)
    model = K.Sequential([K.Input((4,)), K.layers.Dense(8, activation="relu"), K.layers.Dense(1)])
    # Not all of the errors are on one side of delta.
    model.compile(K.optimizers.Adam(0.01), K.losses.Huber(delta=0.5), metrics=[
        "mae", K.losses.Huber(delta=0.25), K.metrics.MeanMetricWrapper(K.losses.huber, name="wrapped", delta=2.0)])
    model.fit(x, y, verbose=0)
    model.save(tmp_path / "model.keras")
    found = K.models.load_model(tmp_path / "model.keras")
    before = model.evaluate(x, y, verbose=0)
    assert found.evaluate(x, y, verbose=0) == before
    assert len(set(before)) == 4
